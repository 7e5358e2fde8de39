"""A party that says back what it heard, to try the loop, the recording and the measures on."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from fdbcore.protocols import Endpoint
from fdbcore.runtime.address import Setting, values
from fdbcore.types import FRAME_SAMPLES, TICK_MS, Pcm

SETTINGS: Final = (
    Setting("delay_ms", "how much later it says it", int, TICK_MS, unit="ms", least=TICK_MS, most=60_000, step=TICK_MS),
)


def echo(address: str) -> Endpoint:
    """The party "echo" or "echo:delay_ms=200". SettingsError for anything else."""
    kind, colon, rest = address.partition(":")
    name, _, value = rest.partition("=")
    return EchoEndpoint(**values(kind, {name: value} if colon else {}, SETTINGS))


class EchoEndpoint(Endpoint):
    """Says what it heard `delay_ms` before.

    delay_ms: a multiple of 10, at least one tick, because in each tick a side speaks before it hears.
    """

    def __init__(self, delay_ms: int = TICK_MS) -> None:
        self._delay_ms = delay_ms
        self._heard = np.zeros((delay_ms // TICK_MS, FRAME_SAMPLES), dtype=np.int16)
        self._next_tick = 0
        # A copy, because `hear` overwrites this frame's place in the ring before the partner reads the frame.
        self._frame: Pcm = np.zeros(FRAME_SAMPLES, dtype=np.int16)

    def say(self, tick: int) -> Pcm | None:
        """The frame that was heard `delay_ms` before `tick`, int16 (480,); silence if there was none."""
        self._fall_silent_until(tick)
        self._frame[:] = self._heard[tick % len(self._heard)]
        return self._frame

    def hear(self, tick: int, frame: Pcm) -> None:
        """Store the frame until its delay is over."""
        self._fall_silent_until(tick)
        self._heard[tick % len(self._heard)] = frame
        self._next_tick = tick + 1

    def describe(self) -> Mapping[str, Any]:
        """Kind and delay, as JSON values."""
        return {"kind": "echo", "delay_ms": self._delay_ms}

    def _fall_silent_until(self, tick: int) -> None:
        for missed in range(max(self._next_tick, tick - len(self._heard)), tick):
            self._heard[missed % len(self._heard)] = 0
        self._next_tick = tick
