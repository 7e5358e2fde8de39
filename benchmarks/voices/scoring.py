"""How near what a detector found comes to the truth: units, floor events, floor transfers and answers, pooled."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from benchmarks.bench_turns import floor_events, matching_starts
from benchmarks.voices.speech import RATE_HZ, TICK_SAMPLES, Bools, Spans, runs, ticks_in, units
from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.opportunities import fto, opportunities_in, turn_start
from fdbcore.session.turns import detect_turns
from fdbcore.types import SIDES, TICK_MS, Side, TurnSettings

SAME_TRANSFER_TICKS: Final = 25
NEAR_MS: Final = 100
ONSET_TICKS: Final = 4
WITHIN_TICKS: Final = 20  # an interruption begins so long after the start of what it interrupts, and before its end


def matched(truth: Spans, found: Spans) -> tuple[Spans, Spans]:
    """Pairs of spans that share at least half of their union. Both sorted and without overlaps: each is in one pair."""
    shared = np.minimum(truth[:, None, 1], found[None, :, 1]) - np.maximum(truth[:, None, 0], found[None, :, 0])
    union = np.maximum(truth[:, None, 1], found[None, :, 1]) - np.minimum(truth[:, None, 0], found[None, :, 0])
    of_truth, of_found = np.nonzero(2 * shared >= union)
    _, first = np.unique(of_truth, return_index=True)  # exact halves could make two pairs
    return truth[of_truth[first]], found[of_found[first]]


@dataclass
class Heard:
    """One dialogue as a detector, or the truth, has it. transfers: by taking side, offsets (ms) by tick."""

    events: dict[tuple[str, str], list[int]]
    transfers: dict[Side, dict[int, float]]
    latencies_ms: list[float]
    premature: int
    opportunities: int

    @classmethod
    def of(cls, active: Bools) -> Heard:
        """active: bool (n_ticks, 2)."""
        detected = detect_turns(active[:, 0], active[:, 1])
        dialogue = Dialogue(detected, len(active), TurnSettings())
        transfers: dict[Side, dict[int, float]] = {
            side: {turn_start(e): fto(e) * TICK_MS for e in dialogue.uncensored("gap", "overlap_between", side=side)}
            for side in SIDES
        }
        found = opportunities_in(dialogue)
        return cls(
            dict(floor_events(active)),
            transfers,
            [float(fto(e) * TICK_MS) for e in found.answered],
            len(found.premature),
            found.n,
        )


@dataclass
class Tally:
    """What one detector got right over the dialogues of one line. Errors are found less true, in ms."""

    n_true: int = 0
    n_found: int = 0
    start_ms: list[float] = field(default_factory=list)
    end_ms: list[float] = field(default_factory=list)
    events_matched: int = 0
    events_all: int = 0  # true and found
    transfers_true: int = 0
    transfers_found: int = 0
    offset_ms: list[float] = field(default_factory=list)  # of floor transfers at the same moment
    true_latencies_ms: list[float] = field(default_factory=list)
    latencies_ms: list[float] = field(default_factory=list)
    premature: list[int] = field(default_factory=lambda: [0, 0])  # true, found
    opportunities: list[int] = field(default_factory=lambda: [0, 0])
    frames: list[int] = field(default_factory=lambda: [0, 0, 0])  # true, found, both
    interruptions: list[int] = field(default_factory=lambda: [0, 0])  # true, found

    def add_dialogue(self, spans: tuple[Spans, Spans], active: Bools) -> None:
        """spans: the truth of both sides. active: what was found, bool (n_ticks, 2)."""
        truth = np.stack([ticks_in(side, len(active)) for side in spans], axis=1)
        for side in (0, 1):
            self.add_side(spans[side], active[:, side], truth[:, side])
            self._add_interruptions(spans[side], active[:, side], spans[1 - side])
        true, found = Heard.of(truth), Heard.of(active)
        self.events_all += sum(map(len, (*true.events.values(), *found.events.values())))
        self.events_matched += sum(
            matching_starts(starts, found.events.get(key, [])) for key, starts in true.events.items()
        )
        for side_name in SIDES:
            self._add_transfers(true.transfers[side_name], found.transfers[side_name])
        self.true_latencies_ms += true.latencies_ms
        self.latencies_ms += found.latencies_ms
        for number, heard in enumerate((true, found)):
            self.premature[number] += heard.premature
            self.opportunities[number] += heard.opportunities

    def add_side(self, spans: Spans, active: Bools, truth: Bools) -> None:
        """Units and frames of one side. truth: the spans as ticks."""
        true, found = units(spans), units(runs(active) * TICK_SAMPLES)
        self.n_true += len(true)
        self.n_found += len(found)
        errors = np.subtract(*matched(true, found)[::-1]) * 1000 / RATE_HZ
        self.start_ms += errors[:, 0].tolist()
        self.end_ms += errors[:, 1].tolist()
        for number, count in enumerate((truth.sum(), active.sum(), (truth & active).sum())):
            self.frames[number] += int(count)

    def _add_interruptions(self, spans: Spans, active: Bools, spans_of_other: Spans) -> None:
        """Onsets of units well within a unit of the other side; each is found by one at most ONSET_TICKS beside it."""
        found = units(runs(active) * TICK_SAMPLES)[:, 0]
        within = units(spans_of_other) + np.array([WITHIN_TICKS, -WITHIN_TICKS]) * TICK_SAMPLES
        starts = [at for at in units(spans)[:, 0].tolist() if ((within[:, 0] <= at) & (at < within[:, 1])).any()]
        beside = [np.abs(found - at).min(initial=RATE_HZ) <= ONSET_TICKS * TICK_SAMPLES for at in starts]
        self.interruptions[0] += len(starts)
        self.interruptions[1] += sum(beside)

    def _add_transfers(self, true: dict[int, float], found: dict[int, float]) -> None:
        """Each true transfer with the nearest found one within 250 ms that no other has."""
        self.transfers_true += len(true)
        self.transfers_found += len(found)
        left = dict(found)
        for moment, offset_ms in sorted(true.items()):
            near = min(left, key=lambda tick: abs(tick - moment), default=None)
            if near is not None and abs(near - moment) <= SAME_TRANSFER_TICKS:
                self.offset_ms.append(left.pop(near) - offset_ms)

    def figures(self) -> dict[str, float | int | None]:
        """By name; None where there is nothing to say. Shares are from 0 to 1, but `premature_points` in points."""
        within = int(np.sum(np.abs(self.offset_ms) <= NEAR_MS))
        true_share, share = (self.premature[n] / max(self.opportunities[n], 1) for n in (0, 1))
        return {
            "units": self.n_true,
            "unit_f1": _f1(len(self.start_ms), self.n_true + self.n_found),
            "event_f1": _f1(self.events_matched, self.events_all),
            "transfers": self.transfers_true,
            "transfer_f1": _f1(within, self.transfers_true + self.transfers_found),
            "offset_median_ms": _quantile(self.offset_ms, 0.5),
            "offset_abs_p95_ms": _quantile(np.abs(self.offset_ms), 0.95),
            "offset_within_100_ms": within / max(self.transfers_true, 1),
            "start_median_ms": _quantile(self.start_ms, 0.5),
            "start_abs_p95_ms": _quantile(np.abs(self.start_ms), 0.95),
            "end_median_ms": _quantile(self.end_ms, 0.5),
            "end_abs_p95_ms": _quantile(np.abs(self.end_ms), 0.95),
            "premature_points": 100 * (share - true_share),
            "latency_shift_ms": _shift(self.true_latencies_ms, self.latencies_ms),
            "interruptions": self.interruptions[0],
            "interruption_recall": self.interruptions[1] / max(self.interruptions[0], 1),
            "frame_recall": self.frames[2] / max(self.frames[0], 1),
            "frame_precision": self.frames[2] / max(self.frames[1], 1),
        }


def _f1(matched: int, both: int) -> float:
    return 2 * matched / max(both, 1)


def _quantile(values: object, share: float) -> float | None:
    array = np.asarray(values, dtype=np.float64)
    return float(np.quantile(array, share)) if len(array) else None


def _shift(true_ms: list[float], found_ms: list[float]) -> float | None:
    """The found median latency less the true one."""
    return float(np.median(found_ms) - np.median(true_ms)) if true_ms and found_ms else None
