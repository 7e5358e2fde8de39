"""The seams: what a part must offer to take its place in the loop. Each is small enough for a stranger to implement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from fdbcore.types import Pcm, Side, TurnEvent

Clocking = Literal["tick", "input", "burst", "realtime"]
"""What an endpoint's output follows: the tick (replay, scripted), its input (Moshi), bursts of a vendor's server, or
real time (WebRTC). A virtual clock refuses the last two."""


class Clock(Protocol):
    """Paces the loop. `realtime` is False for a clock that never waits."""

    realtime: bool

    def wait(self, tick: int) -> None:
        """Return at the deadline of `tick` (0, 1, 2, ... in order)."""

    def certificate(self) -> Mapping[str, Any]:
        """What was measured about the timing so far, as JSON values."""


class Endpoint(Protocol):
    """One side of a conversation. Each tick: `say`, then `hear`; so what it says at n rests on what it heard to n-1."""

    clocking: Clocking

    def open(self, side: Side) -> None:
        """Get ready; tick 0 comes when both sides have returned."""

    def say(self, tick: int) -> Pcm | None:
        """The frame of `tick`: int16 (480,), valid until the next call; None once this side will never speak again."""

    def hear(self, tick: int, frame: Pcm, events: Sequence[TurnEvent]) -> None:
        """The partner's frame of `tick`, and the turn events that became known in it. The frame is only lent."""

    def describe(self) -> Mapping[str, Any]:
        """Every setting and version of this party, as JSON values, for meta.json."""

    def close(self) -> None:
        """Release everything. Called once, also after an error."""


class Vad(Protocol):
    """Voice activity of one side. Streaming, and the decision of tick n is final at tick n + delay_ticks."""

    name: str
    delay_ticks: int

    def push(self, frame: Pcm) -> bool:
        """Take the frame of tick n; return whether tick n - delay_ticks is active (False while that is below 0)."""

    def finish(self) -> list[bool]:
        """The activity of the last delay_ticks ticks (fewer if fewer were pushed)."""

    def evidence(self) -> Mapping[str, npt.NDArray[np.float32]]:
        """What the decisions so far were made from, to be kept beside them, e.g. a model's probabilities."""

    def describe(self) -> Mapping[str, Any]:
        """Name, version, settings and measured bias (ms), as JSON values."""
