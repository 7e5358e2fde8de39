"""Parties that play back a recorded session: both sides are read together."""

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from fdbcore.protocols import Endpoint
from fdbcore.types import FRAME_SAMPLES, Pcm

Block = tuple[Pcm | None, Pcm | None]


def replayed_sides(blocks: Iterator[Block]) -> "tuple[ReplayEndpoint, ReplayEndpoint]":
    """The endpoints of both sides. blocks: int16 (n,) at 48 kHz of A and of B; None if a side has ended."""
    tape = _Tape(blocks)
    return ReplayEndpoint(tape, 0), ReplayEndpoint(tape, 1)


class _Tape:
    """The blocks of both sides. They are read once, whenever one side runs out.

    It holds no reference to its sides: such a cycle would keep them in memory until the next full garbage collection.
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
    """One side of a session. It says what was recorded, and ignores what it hears."""

    def __init__(self, tape: _Tape, number: int) -> None:
        self._tape = tape
        self._number = number
        self._frames: Iterator[Pcm] = iter(())  # the whole frames of the newest blocks
        self._rest: Pcm = np.zeros(0, np.int16)
        self._ended = False

    def say(self, tick: int) -> Pcm | None:
        """The next 480 samples, int16 (480,); the last frame is filled up with silence. None after it."""
        frame = next(self._frames, None)
        if frame is None and not self._ended:
            self._frames = iter(self._next_frames())
            frame = next(self._frames, None)
        return frame

    def _next_frames(self) -> Pcm:
        """The frames of the next block, or of as many as one frame takes, int16 (n, 480); none after the last."""
        parts, available = [self._rest], len(self._rest)
        while available < FRAME_SAMPLES and not self._ended:
            pcm = self._tape.next(self._number)
            self._ended = pcm is None
            pcm = np.zeros(-available % FRAME_SAMPLES, np.int16) if pcm is None else pcm
            parts.append(pcm)
            available += len(pcm)
        joined = np.concatenate(parts)
        whole = available // FRAME_SAMPLES * FRAME_SAMPLES
        self._rest = joined[whole:]
        return joined[:whole].reshape(-1, FRAME_SAMPLES)

    def hear(self, tick: int, frame: Pcm) -> None:
        """Do nothing: a recording does not listen."""

    def describe(self) -> Mapping[str, Any]:
        """The kind of party. The recording's `source` describes the audio."""
        return {"kind": "replay"}
