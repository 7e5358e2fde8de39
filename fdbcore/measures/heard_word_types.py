"""The types of the lines that a transcriber heard, as JSON values.

They need msgspec, and are for type checkers and for the schemas: nothing at run time imports this module.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from fdbcore.recording.meta_types import Tick
from fdbcore.recording.word_types import Doubts
from fdbcore.types import Side


class HeardLine(Doubts):
    """Words of a side as a transcriber heard them, in one stretch of its speech."""

    side: Side
    by: Annotated[str, Meta(description="the address of the transcriber")]
    text: str
    start_tick: Tick
    end_tick: Tick
