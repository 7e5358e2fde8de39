"""A side that plays back recorded audio: the two sides of one session, read together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from fdbcore._ext.pcm import PlayoutQueue
from fdbcore.protocols import Endpoint
from fdbcore.types import FRAME_SAMPLES, Pcm


class Tape:
    """The blocks of both sides, read from their files once, when either side runs short."""

    def __init__(self, blocks: Iterator[tuple[Pcm | None, Pcm | None]]) -> None:
        self._blocks = blocks
        self.sides = (ReplayEndpoint(self), ReplayEndpoint(self))

    def wind(self) -> None:
        """Hand the next block to both sides; None to one that has ended."""
        for side, block in zip(self.sides, next(self._blocks, (None, None)), strict=True):
            side.load(block)


class ReplayEndpoint(Endpoint):
    """One side of a tape. It says what was recorded, and hears nothing."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self._queue = PlayoutQueue()
        self._queued_samples = 0
        self._ended = False
        self._frame: Pcm = np.zeros(FRAME_SAMPLES, dtype=np.int16)

    def load(self, pcm: Pcm | None) -> None:
        """Queue more of this side: int16 (n,), or None at the end."""
        if pcm is None:
            self._queue.end_item()
            self._ended = True
        else:
            self._queued_samples += self._queue.push(pcm)

    def say(self, tick: int) -> Pcm | None:
        """The next 480 samples; the last frame is filled up with silence; None after it."""
        while self._queued_samples < FRAME_SAMPLES and not self._ended:
            self._tape.wind()
        self._queued_samples -= FRAME_SAMPLES
        return self._frame if self._queue.pop_into(self._frame) else None

    def hear(self, tick: int, frame: Pcm) -> None:
        """A recording does not listen."""

    def describe(self) -> Mapping[str, Any]:
        """The kind of party; what is on the tape is the recording's source."""
        return {"kind": "replay"}
