"""Parties and detectors simple enough to predict by hand."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fdbcore.protocols import Clocking, Endpoint
from fdbcore.types import FRAME_SAMPLES, Pcm, Side, TurnEvent


class Speaker(Endpoint):
    """Says a loud constant in the given ticks, and keeps all that it hears."""

    clocking: Clocking = "tick"

    def __init__(self, speaks: Sequence[bool]) -> None:
        self.speaks = speaks
        self.heard: list[Pcm] = []
        self.events: list[tuple[int, TurnEvent]] = []
        self.closed = False

    def open(self, side: Side) -> None:
        self.side = side

    def say(self, tick: int) -> Pcm | None:
        if tick >= len(self.speaks):
            return None
        return np.full(FRAME_SAMPLES, 1000 if self.speaks[tick] else 0, dtype=np.int16)

    def hear(self, tick: int, frame: Pcm) -> None:
        self.heard.append(frame.copy())

    def notice(self, tick: int, events: Sequence[TurnEvent]) -> None:
        self.events += [(tick, event) for event in events]

    def describe(self) -> Mapping[str, Any]:
        return {"kind": "speaker"}

    def close(self) -> None:
        self.closed = True


class Caller(Speaker):
    """Says a tone in the given ticks, which any detector hears."""

    def say(self, tick: int) -> Pcm | None:
        if tick >= len(self.speaks):
            return None
        n = np.arange(FRAME_SAMPLES)
        tone: Pcm = (9000 * self.speaks[tick] * np.sin(2 * np.pi * 5 * n / FRAME_SAMPLES)).astype(np.int16)
        return tone


class Echo(Speaker):
    """Says at each tick what it heard in the one before."""

    def say(self, tick: int) -> Pcm | None:
        return self.heard[-1] if self.heard else np.zeros(FRAME_SAMPLES, dtype=np.int16)


class LoudVad:
    """Active where the frame is not silent, known `delay_ticks` later."""

    name = "loud"

    def __init__(self, delay_ticks: int = 20) -> None:
        self.delay_ticks = delay_ticks
        self._seen: list[bool] = []

    def push(self, frame: Pcm) -> bool:
        self._seen.append(bool(frame.any()))
        return len(self._seen) > self.delay_ticks and self._seen[-1 - self.delay_ticks]

    @property
    def seems_active(self) -> bool:
        return bool(self._seen) and self._seen[-1]

    def finish(self) -> list[bool]:
        return self._seen[max(len(self._seen) - self.delay_ticks, 0) :]

    def evidence(self) -> Mapping[str, npt.NDArray[np.float32]]:
        return {}

    def describe(self) -> Mapping[str, Any]:
        return {"name": self.name}
