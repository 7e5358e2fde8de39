"""The types that several documents of the suite share.

They need msgspec, and are for type checkers and for the schemas: nothing at run time imports this module.
"""

from __future__ import annotations

from typing import Annotated, NotRequired, TypeAlias, TypedDict

from msgspec import Meta

Interval: TypeAlias = Annotated[tuple[float, float] | None, Meta(description="95 %; null where there is none")]


class ActJson(TypedDict):
    """An act of a reply. importance: its share of the reply."""

    act: str
    importance: float
    words: NotRequired[Annotated[str, Meta(description="that it stands for, as the annotator quotes them")]]
    is_quote: NotRequired[Annotated[bool, Meta(description="false where the reply does not have these words")]]
    rationale: NotRequired[str]
