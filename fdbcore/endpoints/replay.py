"""A side that plays back recorded audio: the two sides of one session, read together."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from fdbcore._ext.pcm import PlayoutQueue
from fdbcore.protocols import Endpoint
from fdbcore.types import FRAME_SAMPLES, Pcm

Block = tuple[Pcm | None, Pcm | None]


def replayed_sides(blocks: Iterator[Block]) -> tuple[ReplayEndpoint, ReplayEndpoint]:
    """The two sides of a session. blocks: int16 (n,) at 48 kHz of A and of B, None where a side has ended."""
    tape = _Tape(blocks)
    return ReplayEndpoint(tape, 0), ReplayEndpoint(tape, 1)


class _Tape:
    """The blocks of both sides, read from their files once, when either side runs short.

    It does not know its sides: as a cycle, they and all that they hold would stay until the next full collection.
    """

    def __init__(self, blocks: Iterator[Block]) -> None:
        self._blocks = blocks
        self._waiting: tuple[deque[Pcm | None], deque[Pcm | None]] = (deque(), deque())

    def next(self, number: int) -> Pcm | None:
        """The next block of a side; None once it has ended."""
        if not self._waiting[number]:
            for waiting, block in zip(self._waiting, next(self._blocks, (None, None)), strict=True):
                waiting.append(block)
        return self._waiting[number].popleft()


class ReplayEndpoint(Endpoint):
    """One side of a session. It says what was recorded, and hears nothing."""

    def __init__(self, tape: _Tape, number: int) -> None:
        self._tape = tape
        self._number = number
        self._queue = PlayoutQueue()
        self._queued_samples = 0
        self._ended = False
        self._frame: Pcm = np.zeros(FRAME_SAMPLES, dtype=np.int16)

    def say(self, tick: int) -> Pcm | None:
        """The next 480 samples; the last frame is filled up with silence; None after it."""
        while self._queued_samples < FRAME_SAMPLES and not self._ended:
            self._load(self._tape.next(self._number))
        self._queued_samples -= FRAME_SAMPLES
        return self._frame if self._queue.pop_into(self._frame) else None

    def _load(self, pcm: Pcm | None) -> None:
        if pcm is None:
            self._queue.end_item()
            self._ended = True
        else:
            self._queued_samples += self._queue.push(pcm)

    def hear(self, tick: int, frame: Pcm) -> None:
        """A recording does not listen."""

    def describe(self) -> Mapping[str, Any]:
        """The kind of party; what is on the tape is the recording's source."""
        return {"kind": "replay"}
