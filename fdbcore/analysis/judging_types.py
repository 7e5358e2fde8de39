"""The type of what judging took, as documents of several benchmarks have it.

It needs msgspec, and is for type checkers and for the schemas: nothing at run time imports this module.
"""

from __future__ import annotations

from typing import Annotated, TypedDict

from msgspec import Meta


class JudgingSpent(TypedDict):
    """How often judges were asked, and what that took, whenever it was."""

    repeats: Annotated[int, Meta(description="how often each question was asked; a mark is the median")]
    requests: int
    counts: Annotated[dict[str, float], Meta(description="what vendors counted, by unit")]
    usd: Annotated[float, Meta(description="of the requests with a known price")]
    unpriced: Annotated[int, Meta(description="requests without one")]
    priced_on: Annotated[str | None, Meta(description="the day of the oldest list price")]
    temperatures: Annotated[
        list[float | None],
        Meta(description="that requests were sent; null: the vendor's, also of a model that takes none"),
    ]
    stopped: Annotated[str | None, Meta(description="why not all was asked")]
