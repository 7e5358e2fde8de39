"""The types of the lines that a transcriber heard, as JSON values.

They need msgspec, and are for type checkers and for the schemas: nothing at run time imports this module.
"""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

from msgspec import Meta

from fdbcore.recording.meta_types import Tick
from fdbcore.types import Side


class HeardLine(TypedDict):
    """Words of a side as a transcriber heard them, in one stretch of its speech."""

    side: Side
    by: Annotated[str, Meta(description="the address of the transcriber")]
    text: str
    start_tick: Tick
    end_tick: Tick
    in_silence: NotRequired[
        Annotated[
            Literal[True],
            Meta(description="the side was silent there by its voice activity; most likely nobody said it"),
        ]
    ]
    in_loop: NotRequired[
        Annotated[
            Literal[True],
            Meta(description="the transcriber says a phrase again and again; most likely nobody said it"),
        ]
    ]
