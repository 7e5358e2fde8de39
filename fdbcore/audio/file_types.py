"""The types of what is known of an audio file, as JSON values.

They need msgspec, and are for type checkers and for the schemas: nothing at run time imports this module.
"""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict

from msgspec import Meta


class SourceFile(TypedDict):
    """A file that was read."""

    path: Annotated[str, Meta(description="in a recording from its folder")]
    sha256: NotRequired[str]
    bytes: NotRequired[int]
    modified_ns: NotRequired[Annotated[int, Meta(description="since 1970")]]
    container: NotRequired[str]
    codec: NotRequired[str]
    rate_hz: NotRequired[int]
    channels: NotRequired[int]
    bit_depth: NotRequired[int | None]
    samples: NotRequired[Annotated[int, Meta(description="at rate_hz")]]
    notes: NotRequired[Annotated[list[str], Meta(description="what is odd about it")]]
    damage: NotRequired[Annotated[str | None, Meta(description="what is missing of it")]]
    playable_in_browser: NotRequired[Annotated[bool, Meta(description="with the same timing")]]
    channel: NotRequired[Annotated[str, Meta(description="that a clip plays")]]
