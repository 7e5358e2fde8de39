"""An agent's own log laid on the timeline of a recording, so that a latency splits into what the agent did in it.

The log has its own clock. How far that is from the timeline is estimated from B's onsets: the log has a mark that comes
just before each of them. What constantly lies between that mark and the onset cannot be told from a difference of the
clocks, and is part of the offset.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from fdbcore.errors import InputError
from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.opportunities import fto, opportunities, turn_start
from fdbcore.sources.agent_logs import Mark
from fdbcore.types import TICK_MS, ticks_to_s

MARKS_SCHEMA: Final = "fdbcore.marks/1"
TOLERANCE_S: Final = 0.06
"""How far a mark may be from where the offset puts its onset, and still belong to it: about what onsets are uncertain
by, so that what varies as latencies do is no constant distance."""
BURST_S: Final = 0.5
"""Of marks of one name that follow each other faster than this (frames, chunks), the first counts."""
FEWEST: Final = 6
"""Of onsets with a mark: with fewer, the order statistics give no 95 % interval of a median."""
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
    """What to add to the log's times (s). low, high: 95 % limits, None if it was given.

    anchor: the mark by which it was estimated; matched: how many of the `onsets` of B's turns have one.
    """

    offset_s: float
    low_s: float | None = None
    high_s: float | None = None
    anchor: str | None = None
    matched: int = 0
    onsets: int = 0


def estimate_offset(marks: Sequence[Mark], dialogue: Dialogue) -> Offset:
    """The offset that puts a mark just at B's onsets: the median distance, within the order statistics' 95 %.

    Of the marks (of bursts their first) that keep within TOLERANCE_S of a constant distance to the starts of B's turns,
    and do so at nearly as many of them and nearly as steadily as the best, the latest one is taken. InputError if fewer
    than FEWEST onsets, or than LEAST_SHARE of them, have such a mark, or if another offset would do nearly as well, as
    in a conversation that is too regular.
    """
    onsets = np.array(sorted(ticks_to_s(e.start_tick) for e in dialogue.events if e.kind == "turn" and e.side == "B"))
    firsts = _firsts(marks)
    found = {name: _aligned(onsets, np.array([m.time_s for m in firsts if m.name == name])) for name in _names(marks)}
    told = {name: distances for name, (distances, why) in found.items() if not why}
    if not told:
        name, (_, why) = max(found.items(), key=lambda item: len(item[1][0]))
        raise InputError(
            f"marks: the log's offset cannot be told from the {len(onsets)} onsets of B: {name}: {why}"
            f"{_unit_hint(marks, dialogue)} (--marks-offset-ms gives it)"
        )
    enough = NEARLY_AS_MANY * max(len(of) for of in told.values())
    spreads_s = {name: _spread_s(of) for name, of in told.items() if len(of) >= enough}
    steady_s = NEARLY_AS_STEADY * min(spreads_s.values()) + TICK_MS / 1000
    steady = [name for name, spread_s in spreads_s.items() if spread_s <= steady_s]
    anchor, distances = min(((name, told[name]) for name in steady), key=lambda item: float(np.median(item[1])))
    low, high = _median_limits(distances)
    return Offset(float(np.median(distances)), low, high, anchor, len(distances), len(onsets))


def _names(marks: Sequence[Mark]) -> list[str]:
    return list(dict.fromkeys(mark.name for mark in marks))


def _firsts(marks: Sequence[Mark]) -> list[Mark]:
    """The marks, sorted, without those that follow one of their name within BURST_S."""
    last: dict[str, float] = {}
    found = []
    for mark in marks:
        if mark.time_s - last.get(mark.name, -math.inf) > BURST_S:
            found.append(mark)
        last[mark.name] = mark.time_s
    return found


def _unit_hint(marks: Sequence[Mark], dialogue: Dialogue) -> str:
    span_s, length_s = marks[-1].time_s - marks[0].time_s, ticks_to_s(dialogue.n_ticks)
    if span_s < MOST_SPANS * length_s:
        return ""
    return f"; its times span {span_s:,.0f}, the recording {length_s:,.0f} s: they are expected in seconds"


def _spread_s(distances: Floats) -> float:
    return float(np.median(np.abs(distances - np.median(distances))))


def _aligned(onsets_s: Floats, times_s: Floats) -> tuple[Floats, str]:
    """Distances of onsets from their marks at the offset that matches the most; and why that is not enough."""
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
        return matched, f"at best {len(matched)} of {possible} fit, and {needed} are needed"
    if rival > RIVAL_SHARE * len(matched):
        return matched, f"{len(matched)} fit one offset, and {rival} another"
    return matched, ""


def _median_limits(values: Floats) -> tuple[float, float]:
    """The order statistics between which the median lies with at least 95 % (of a sample of any distribution)."""
    n, below, k = len(values), 0.0, 0
    while (below := below + math.comb(n, k) / 2**n) <= 0.025:
        k += 1
    ordered = np.sort(values)
    return float(ordered[k - 1]), float(ordered[n - k])


def align_marks(marks: Sequence[Mark], dialogue: Dialogue, offset: Offset) -> dict[str, Any]:
    """The log on the timeline, and each response of B split at its marks, as JSON values.

    Keys: schema, offset {...}, marks [{time_s, name}], outside (marks beyond the recording), stages (their names),
    responses [{a_end_s, b_onset_s, latency_ms, stages_ms}]; and the medians: latency_ms, medians_ms (with counts).
    """
    laid = [Mark(mark.time_s + offset.offset_s, mark.name) for mark in marks]
    had = opportunities(dialogue)
    transfers = sorted((turn_start(e), turn_start(e) - fto(e)) for e in [*had.answered, *had.premature])
    spans = [(ticks_to_s(end), ticks_to_s(onset)) for onset, end in transfers]
    firsts = _firsts(laid)
    found = [_marks_of(firsts, *span, before=spans[k - 1][1] if k else -math.inf) for k, span in enumerate(spans)]
    names = _stage_names(found, spans)
    responses = [_response(span, of, names) for span, of in zip(spans, found, strict=True)]
    points = ["A's end", *names, "B's onset"]
    columns = [[ms for r in responses if (ms := r["stages_ms"][k]) is not None] for k in range(len(points) - 1)]
    length_s = ticks_to_s(dialogue.n_ticks)
    within = [mark for mark in laid if 0 <= mark.time_s <= length_s]
    return {
        "schema": MARKS_SCHEMA,
        "offset": {name: getattr(offset, name) for name in Offset.__slots__},
        "marks": [mark._asdict() for mark in within],
        "outside": len(laid) - len(within),
        "stages": [f"{a} to {b}" for a, b in pairwise(points)],
        "responses": responses,
        "latency_ms": float(np.median([r["latency_ms"] for r in responses])) if responses else None,
        "medians_ms": [float(np.median(column)) if column else None for column in columns],
        "counts": [len(column) for column in columns],
    }


def _marks_of(laid: Sequence[Mark], end_s: float, onset_s: float, before: float) -> dict[str, float]:
    """The last mark of each name that may belong to a response: from shortly before A's end until B's onset."""
    first_s = max(min(end_s, onset_s) - _BEFORE_S, before + TOLERANCE_S)
    return {mark.name: mark.time_s for mark in laid if first_s < mark.time_s <= onset_s + TOLERANCE_S}


def _stage_names(found: Sequence[Mapping[str, float]], spans: Sequence[tuple[float, float]]) -> list[str]:
    """The marks that half of the responses have, and not before A has finished, in the order in which they come."""
    times: dict[str, list[tuple[float, float]]] = {}
    for of, (end_s, onset_s) in zip(found, spans, strict=True):
        for name, time_s in of.items():
            times.setdefault(name, []).append((time_s - onset_s, time_s - min(end_s, onset_s)))
    medians = {name: np.median(np.array(each), axis=0) for name, each in times.items() if 2 * len(each) >= len(spans)}
    stages = [name for name, (_, after_end_s) in medians.items() if after_end_s >= _EARLIEST_S]
    return sorted(stages, key=lambda name: float(medians[name][0]))


def _response(span: tuple[float, float], of: Mapping[str, float], names: Sequence[str]) -> dict[str, Any]:
    end_s, onset_s = span
    points = [end_s, *(of.get(name) for name in names), onset_s]
    stages = [None if a is None or b is None else round(1000 * (b - a), 1) for a, b in pairwise(points)]
    latency_ms = round((onset_s - end_s) * 1000 / TICK_MS) * TICK_MS
    return {"a_end_s": end_s, "b_onset_s": onset_s, "latency_ms": latency_ms, "stages_ms": stages}
