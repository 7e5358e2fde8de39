"""A conversation as the measures see it: turn events, and the inter-pausal units (IPUs) of both sides as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from fdbcore.measures.harness_delay import HarnessLegs
from fdbcore.measures.line import Line, at_the_end
from fdbcore.types import SIDES, TICKS_PER_S, Side, TurnEvent, TurnKind, TurnSettings

Spans: TypeAlias = npt.NDArray[np.int64]
"""int64 (n, 2): half-open spans in ticks, sorted."""

NEVER_TICKS = 1 << 40


@dataclass(frozen=True)
class Dialogue:
    """Turn events of one session with its length and the settings that made them.

    detected: the events of the turn detector. legs: those of the harness to side B, where the session was live and its
    transport states them. line: whether B could answer after A's last turn. pauses: what is called a pause of A by
    labels or a suite, as spans of ticks.
    """

    detected: Sequence[TurnEvent]
    n_ticks: int
    settings: TurnSettings
    legs: HarnessLegs | None = None
    line: Line = "closed"
    pauses: Sequence[tuple[int, int]] = ()

    @cached_property
    def events(self) -> Sequence[TurnEvent]:
        """The events as the measures count them: what the line says of A's last turn is told."""
        return at_the_end(self.detected, self.n_ticks, self.settings, self.line)

    def told(self, *kinds: TurnKind, side: Side | None = None) -> list[TurnEvent]:
        """Events of these kinds (of one side) that became known before the end of the recording."""
        return [e for e in self.events if e.kind in kinds and not e.censored and side in (None, e.side)]

    @cached_property
    def ipus(self) -> dict[Side, Spans]:
        """All IPUs of each side; one that the end of the recording cuts off ends there."""
        return {side: self._spans(side) for side in SIDES}

    def _spans(self, side: Side) -> Spans:
        spans = [(e.start_tick, e.end_tick) for e in self.events if e.kind == "speech_end" and e.side == side]
        return np.array(spans, dtype=np.int64).reshape(-1, 2)

    @cached_property
    def speaking(self) -> dict[Side, npt.NDArray[np.bool_]]:
        """Whether each side is in an IPU, bool (n_ticks,)."""
        return {side: self._track(self.ipus[side]) for side in SIDES}

    def _track(self, spans: Spans) -> npt.NDArray[np.bool_]:
        edges = np.zeros(self.n_ticks + 1, dtype=np.int64)
        np.add.at(edges, spans[:, 0], 1)
        np.add.at(edges, spans[:, 1], -1)
        track: npt.NDArray[np.bool_] = np.cumsum(edges[:-1]) > 0
        return track

    def speech_min(self, side: Side) -> float:
        """Minutes that a side spends in IPUs."""
        return float(np.diff(self.ipus[side]).sum()) / TICKS_PER_S / 60

    def ipu_length_ticks(self, side: Side, start_tick: int) -> int:
        """Length of the IPU of `side` that starts at `start_tick`."""
        spans = self.ipus[side]
        row = int(np.searchsorted(spans[:, 0], start_tick))
        return int(spans[row, 1] - spans[row, 0])

    @cached_property
    def lapses(self) -> Spans:
        """Spans between the first and the last speech in which both sides are silent."""
        any_speech = np.flatnonzero(self.speaking["A"] | self.speaking["B"])
        jumps = np.flatnonzero(np.diff(any_speech) > 1)
        return np.stack([any_speech[jumps] + 1, any_speech[jumps + 1]], axis=1).astype(np.int64)

    def ticks_until_stop(self, side: Side) -> npt.NDArray[np.int64]:
        """From each tick, how long until `side` falls silent for at least yield_hold; NEVER_TICKS if it does not.

        The end of the recording is no stop: whether that silence would have held is not known.
        """
        spans, hold = self.ipus[side], self.settings.ticks("yield_hold_ms")
        following = np.append(spans[1:, 0], self.n_ticks) if len(spans) else np.zeros(0, dtype=np.int64)
        stops = spans[following - spans[:, 1] >= hold, 1]
        return self._until(stops)

    def ticks_until_end(self, side: Side) -> npt.NDArray[np.int64]:
        """From each tick, how long until `side` next ends an IPU."""
        return self._until(self.ipus[side][:, 1])

    def ticks_since_start(self, side: Side) -> npt.NDArray[np.int64]:
        """At each tick, how long ago `side` last began an IPU."""
        ticks = np.arange(self.n_ticks)
        starts = np.concatenate([[-NEVER_TICKS], self.ipus[side][:, 0]])
        since: npt.NDArray[np.int64] = ticks - starts[np.searchsorted(starts, ticks, side="right") - 1]
        return since

    def _until(self, moments: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        ticks = np.arange(self.n_ticks)
        moments = np.append(moments, NEVER_TICKS)
        until: npt.NDArray[np.int64] = moments[np.searchsorted(moments, ticks, side="right")] - ticks
        return until
