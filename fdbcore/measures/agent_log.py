"""Aligns an agent's own log with the timeline of a recording, and splits each latency at the marks of the log.

The log has its own clock. Its offset from the timeline is estimated from B's onsets: some mark of the log comes just
before each of them. A constant delay between that mark and the onset cannot be distinguished from a difference of the
clocks, so it becomes part of the offset.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from fdbcore.errors import InputError
from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.opportunities import fto, opportunities, turn_start
from fdbcore.sources.agent_logs import Mark
from fdbcore.types import TICK_MS, ticks_to_s

if TYPE_CHECKING:
    from fdbcore.recording.recorded_types import AgentLog, LogResponse

MARKS_SCHEMA: Final = "fdbcore.marks/1"
TOLERANCE_S: Final = 0.06
"""A mark belongs to an onset if the offset puts it within this distance. It is about the uncertainty of onsets, so that
a distance that varies as latencies do does not count as constant."""
BURST_S: Final = 0.5
"""If marks of one name follow each other faster than this (frames, chunks), only the first counts."""
FEWEST: Final = 6
"""The fewest onsets with a mark: with fewer, order statistics give no 95 % interval of a median."""
LEAST_SHARE: Final = 0.6
RIVAL_SHARE: Final = 0.7
NEARLY_AS_MANY: Final = 0.8
NEARLY_AS_STEADY: Final = 2.0
MOST_SPANS: Final = 20.0
_BEFORE_S: Final = 2.0
_EARLIEST_S: Final = -0.5

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Offset:
    """The offset to add to the log's times, in s. low_s, high_s: its 95 % limits, None if the user gave the offset.

    anchor: the name of the mark that it was estimated from. matched: how many of B's `onsets` have such a mark.
    """

    offset_s: float
    low_s: float | None = None
    high_s: float | None = None
    anchor: str | None = None
    matched: int = 0
    onsets: int = 0


def estimate_offset(marks: Sequence[Mark], dialogue: Dialogue) -> Offset:
    """Estimate the offset that puts one kind of mark on B's onsets: their median distance, with 95 % limits.

    A mark (of a burst, the first one) is a candidate if its distance to the starts of B's turns stays within
    TOLERANCE_S of a constant, at enough of them. Of the candidates that match nearly as many onsets as the best, and
    nearly as steadily, the latest one is taken. Raises InputError if fewer than FEWEST onsets, or less than LEAST_SHARE
    of them, match, or if another offset fits nearly as well, as in a very regular conversation.
    """
    onsets = np.array(sorted(ticks_to_s(e.start_tick) for e in dialogue.events if e.kind == "turn" and e.side == "B"))
    firsts = _first_of_bursts(marks)
    aligned = {
        name: _aligned(onsets, np.array([mark.time_s for mark in firsts if mark.name == name]))
        for name in dict.fromkeys(mark.name for mark in marks)
    }
    candidates = {name: distances for name, (distances, why_not) in aligned.items() if not why_not}
    if not candidates:
        name, (_, why_not) = max(aligned.items(), key=lambda item: len(item[1][0]))
        raise InputError(
            f"marks: the offset of the log cannot be estimated from the {len(onsets)} onsets of B: {name}: {why_not}"
            f"{_unit_hint(marks, dialogue)} (set it with --marks-offset-ms)"
        )
    enough = NEARLY_AS_MANY * max(map(len, candidates.values()))
    spreads_s = {
        name: float(np.median(np.abs(distances - np.median(distances))))
        for name, distances in candidates.items()
        if len(distances) >= enough
    }
    steady_s = NEARLY_AS_STEADY * min(spreads_s.values()) + TICK_MS / 1000
    steady = [name for name, spread_s in spreads_s.items() if spread_s <= steady_s]
    anchor, distances = min(((name, candidates[name]) for name in steady), key=lambda item: float(np.median(item[1])))
    low, high = _median_limits(distances)
    return Offset(float(np.median(distances)), low, high, anchor, len(distances), len(onsets))


def _first_of_bursts(marks: Sequence[Mark]) -> list[Mark]:
    """The sorted marks without those that follow one of the same name within BURST_S."""
    last: dict[str, float] = {}
    found = []
    for mark in marks:
        if mark.time_s - last.get(mark.name, -math.inf) > BURST_S:
            found.append(mark)
        last[mark.name] = mark.time_s
    return found


def _unit_hint(marks: Sequence[Mark], dialogue: Dialogue) -> str:
    """A hint for the error message if the times of the log are hardly seconds; otherwise empty."""
    span_s, length_s = marks[-1].time_s - marks[0].time_s, ticks_to_s(dialogue.n_ticks)
    if span_s < MOST_SPANS * length_s:
        return ""
    return f"; its times span {span_s:,.0f}, the recording {length_s:,.0f} s: times are expected in seconds"


def _aligned(onsets_s: Floats, times_s: Floats) -> tuple[Floats, str]:
    """Distances of onsets from their marks at the offset that matches the most onsets; and why it cannot be used."""
    pairs = onsets_s[:, None] - times_s
    distances = np.sort(pairs.ravel())
    if not len(distances):
        return distances, "B never takes the floor"
    ends = np.searchsorted(distances, distances + 2 * TOLERANCE_S, side="right")
    counts = ends - np.arange(len(distances))
    best = int(np.argmax(counts))
    centre = float(np.median(distances[best : ends[best]]))
    nearest = pairs[np.arange(len(onsets_s)), np.abs(pairs - centre).argmin(axis=1)]
    matched = nearest[np.abs(nearest - centre) <= TOLERANCE_S]
    apart = np.abs(distances - centre) > 3 * TOLERANCE_S
    rival = int(counts[apart].max(initial=0))
    possible = min(len(onsets_s), len(times_s))
    if len(matched) < max(FEWEST, LEAST_SHARE * possible):
        needed = max(FEWEST, math.ceil(LEAST_SHARE * possible))
        return matched, f"at best {len(matched)} of {possible} fit, but {needed} are needed"
    if rival > RIVAL_SHARE * len(matched):
        return matched, f"{len(matched)} fit one offset, but {rival} fit another"
    return matched, ""


def _median_limits(values: Floats) -> tuple[float, float]:
    """The order statistics that enclose the median with at least 95 % confidence, for any distribution."""
    n, below, k = len(values), 0.0, 0
    while (below := below + math.comb(n, k) / 2**n) <= 0.025:
        k += 1
    ordered = np.sort(values)
    return float(ordered[k - 1]), float(ordered[n - k])


def align_marks(marks: Sequence[Mark], dialogue: Dialogue, offset: Offset) -> AgentLog:
    """The log on the timeline of the recording, and each response of B split at its marks, as JSON values.

    Keys: schema, offset {...}, marks [{time_s, name}], outside (the number of marks beyond the recording), stages
    (names), responses [{a_end_s, b_onset_s, latency_ms, stages_ms}], the medians latency_ms and medians_ms (one per
    stage), and counts (responses per stage). A stage that a response lacks is None.
    """
    aligned = [Mark(mark.time_s + offset.offset_s, mark.name) for mark in marks]
    found = opportunities(dialogue)
    transfers = sorted((turn_start(e), turn_start(e) - fto(e)) for e in [*found.answered, *found.premature])
    spans = [(ticks_to_s(end), ticks_to_s(onset)) for onset, end in transfers]
    firsts = _first_of_bursts(aligned)
    marks_of_spans = [
        _marks_of_response(firsts, *span, last_onset_s=spans[k - 1][1] if k else -math.inf)
        for k, span in enumerate(spans)
    ]
    names = _stage_names(marks_of_spans, spans)
    responses = [_response(span, times_s, names) for span, times_s in zip(spans, marks_of_spans, strict=True)]
    points = ["A's end", *names, "B's onset"]
    columns = [[ms for r in responses if (ms := r["stages_ms"][k]) is not None] for k in range(len(points) - 1)]
    length_s = ticks_to_s(dialogue.n_ticks)
    within = [mark for mark in aligned if 0 <= mark.time_s <= length_s]
    return {
        "schema": MARKS_SCHEMA,
        "offset": {
            "offset_s": offset.offset_s,
            "low_s": offset.low_s,
            "high_s": offset.high_s,
            "anchor": offset.anchor,
            "matched": offset.matched,
            "onsets": offset.onsets,
        },
        "marks": [{"time_s": mark.time_s, "name": mark.name} for mark in within],
        "outside": len(aligned) - len(within),
        "stages": [f"{a} to {b}" for a, b in pairwise(points)],
        "responses": responses,
        "latency_ms": float(np.median([r["latency_ms"] for r in responses])) if responses else None,
        "medians_ms": [float(np.median(column)) if column else None for column in columns],
        "counts": [len(column) for column in columns],
    }


def _marks_of_response(marks: Sequence[Mark], end_s: float, onset_s: float, last_onset_s: float) -> dict[str, float]:
    """The time of the last mark of each name in a response: from shortly before A's end until B's onset."""
    first_s = max(min(end_s, onset_s) - _BEFORE_S, last_onset_s + TOLERANCE_S)
    return {mark.name: mark.time_s for mark in marks if first_s < mark.time_s <= onset_s + TOLERANCE_S}


def _stage_names(marks_of_spans: Sequence[Mapping[str, float]], spans: Sequence[tuple[float, float]]) -> list[str]:
    """The marks that split responses, in their usual order: at least half of the responses have them, after A's end."""
    times: dict[str, list[tuple[float, float]]] = {}
    for times_s, (end_s, onset_s) in zip(marks_of_spans, spans, strict=True):
        for name, time_s in times_s.items():
            times.setdefault(name, []).append((time_s - onset_s, time_s - min(end_s, onset_s)))
    medians = {name: np.median(np.array(each), axis=0) for name, each in times.items() if 2 * len(each) >= len(spans)}
    stages = [name for name, (_, after_end_s) in medians.items() if after_end_s >= _EARLIEST_S]
    return sorted(stages, key=lambda name: float(medians[name][0]))


def _response(span: tuple[float, float], times_s: Mapping[str, float], names: Sequence[str]) -> LogResponse:
    end_s, onset_s = span
    points = [end_s, *(times_s.get(name) for name in names), onset_s]
    stages = [None if a is None or b is None else round(1000 * (b - a), 1) for a, b in pairwise(points)]
    latency_ms = round((onset_s - end_s) * 1000 / TICK_MS) * TICK_MS
    return {"a_end_s": end_s, "b_onset_s": onset_s, "latency_ms": latency_ms, "stages_ms": stages}
