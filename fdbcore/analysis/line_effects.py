"""Effects of many calls' lines on their figures, and whether these are more than a gate allows."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Annotated, Final, TypedDict

from msgspec import Meta

from fdbcore.analysis.corpus import Call
from fdbcore.analysis.facts import LINES
from fdbcore.analysis.gate_file import Gate
from fdbcore.errors import FdbError
from fdbcore.measures.catalogue import MEASURES
from fdbcore.measures.placed_lines import LineStatus, PlacedLines, shift_text
from fdbcore.types import SIDES, TICK_MS
from fdbcore.types.units import Count


class PooledLines(TypedDict):
    """Effects of calls' lines on B's answer times, by lines like them that were measured."""

    calls: Annotated[Count, Meta(description="that were examined for it")]
    answers_ms: Annotated[
        tuple[float, float, float] | None,
        Meta(description="B's answer times, found less true: median, least and most; null where it is not known"),
    ]
    answers_of: Annotated[Count, Meta(description="the calls of which it is known")]
    not_placed: Annotated[
        dict[str, list[str]],
        Meta(description="calls with a side that is unlike all measured lines, not measured or not known"),
    ]


LEAST_POINTS: Final = 2.0
MOST_NAMES: Final = 3
NOT_PLACED: Final[tuple[LineStatus, ...]] = ("unlike", "not measured", "not known")


def shift_of(measure: str, lines: PlacedLines) -> float | None:
    """The shift of one of a call's figures by its lines, found less true: ms for latencies, points for premature
    answers; None where that is not known, and for other measures."""
    a, b = (line.like if (line := lines[side]) is not None else None for side in SIDES)
    moved_by = MEASURES[measure].moved_by
    if a is None or b is None or moved_by is None:
        return None
    if moved_by == "premature_points":
        return ((a.premature_points or 0.0) + (b.premature_points or 0.0)) / 2
    later, earlier = (getattr({"A": a, "B": b}[side], edge) for side, edge in moved_by)
    return None if later is None or earlier is None else later - earlier


def pooled_lines(found: Iterable[tuple[str, PlacedLines | None]]) -> PooledLines | None:
    """Effects of calls' lines on B's answer times, and which calls lie on lines that nobody measured.

    found: the name of each call with its lines. None if no call was examined for it.
    """
    examined = [(name, lines) for name, lines in found if lines is not None]
    if not examined:
        return None
    shifts = [line.answers_ms for _, lines in examined if (line := lines["B"]) is not None]
    known = [shift for shift in shifts if shift is not None]
    not_placed: dict[str, list[str]] = {}
    for name, lines in examined:
        statuses = dict.fromkeys(line.status for side in SIDES if (line := lines[side]) is not None)
        for status in statuses:
            if status in NOT_PLACED:
                not_placed.setdefault(status, []).append(name)
    return {
        "calls": len(examined),
        "answers_ms": (median(known), min(known), max(known)) if known else None,
        "answers_of": len(known),
        "not_placed": not_placed,
    }


def pooled_text(found: PooledLines) -> str:
    """The same in a sentence; "" if no channel moves an answer time by more than its rounding, or is unlike all."""
    parts = []
    if found["answers_ms"] is not None and max(map(abs, found["answers_ms"])) > TICK_MS:
        middle, least, most = found["answers_ms"]
        several = f", from {shift_text(least)} to {shift_text(most)}" if round(least) != round(most) else ""
        calls = f"{found['answers_of']:,} of {found['calls']:,} calls"
        parts.append(f"on channels like these responses of B read {shift_text(middle)} (median of {calls}{several})")
    if names := found["not_placed"].get("unlike"):
        more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
        calls = f"{len(names):,} call{'s' * (len(names) > 1)}"
        parts.append(f"no measured channel is like that of {calls}: {', '.join(names[:MOST_NAMES])}{more}")
    return "; ".join(parts)


class LineShifts:
    """The lines of the calls of gates, each read once."""

    def __init__(self) -> None:
        self._lines: dict[Path, PlacedLines | None] = {}

    def median_of(self, measure: str, calls: Sequence[Call]) -> float | None:
        """The median of `shift_of` over the calls for which it is known; None if that is less than half of them."""
        found = [
            shift for call in calls if (lines := self._of(call)) and (shift := shift_of(measure, lines)) is not None
        ]
        return median(found) if found and 2 * len(found) >= len(calls) else None

    def _of(self, call: Call) -> PlacedLines | None:
        if call.path not in self._lines:
            try:
                self._lines[call.path] = call.fact(LINES)
            except (FdbError, KeyError):
                self._lines[call.path] = None
        return self._lines[call.path]


def gate_note(
    gate: Gate, value: float, limit: float, baseline: float | None, shifts: Mapping[str, float | None]
) -> str:
    """A note on a gate that allows less than the lines of its calls do to its measure; "" for others.

    value, limit: of its result. baseline: the statistic of the baseline, if the limit depends on it. shifts: as of
    `LineShifts.median_of`, by the name of the run. What a tick or two points can do is said of no gate.
    """
    is_share = MEASURES[gate.measure].moved_by == "premature_points"
    allowed = abs(limit - value) if baseline is None else abs(gate.plus + (gate.times - 1) * baseline)
    allowed *= 100 if is_share else 1
    known = {name: shift for name, shift in shifts.items() if shift is not None}
    most = max(map(abs, known.values()), default=0.0)
    if most <= max(allowed, LEAST_POINTS if is_share else TICK_MS):
        return ""
    unit = "points" if is_share else "ms"
    moved = [f"{abs(shift):.0f} {unit} too {'large' if shift > 0 else 'small'}" for shift in known.values()]
    if baseline is None:
        return f"the figure is {allowed:.0f} {unit} from its limit, but on channels like these it is {moved[0]}"
    told = " and ".join(f"{text} in the {name}" for text, name in zip(moved, known, strict=True))
    return f"it allows {allowed:.0f} {unit}, but on channels like these the figure is {told}"
