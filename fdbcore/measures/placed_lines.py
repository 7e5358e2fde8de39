"""What the lines of a call do to the edges of its speech and to its latencies, by measured lines like them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fdbcore.measures.health.figures import DOUBTFUL_TAIL_MS, ROOM_TAIL_MS
from fdbcore.measures.health.measured_lines import MEASURED_KINDS, MeasuredLine, measured_lines, place
from fdbcore.measures.reading import Reading
from fdbcore.types import SIDES, Side, other_side

if TYPE_CHECKING:
    from fdbcore.measures.placed_line_types import LineStatus, PlacedLine, PlacedLines

GOOD_F1: Final = 0.95
"""Below this, the sentence says how many stretches of speech were found as they are."""
UNKNOWN: Final = "what it does to edges and answers is not known"
UNMEASURED: Final = frozenset({"tone", "ringing", "dtmf"})
"""What it finds and no measured line has; nor has one a hum."""


def placed_lines(reading: Reading) -> PlacedLines | None:
    """The line of each side among those that were measured; None if the audio was not examined for it."""
    health = reading.health
    if health is None or "tail_ms" not in health.get("sides", {}).get("A", {}):  # older recordings
        return None
    found: dict[Side, MeasuredLine | None] = dict.fromkeys(SIDES)
    lines: dict[Side, PlacedLine | None] = dict.fromkeys(SIDES)
    for side in SIDES:
        known, vad = health["sides"][side], reading.meta["settings"]["vad"][side]
        if known["level_dbov"] is None:
            continue
        table, at = measured_lines().get(vad["name"]), place(known)
        if table is None or table.version != vad.get("version"):
            name = " ".join(filter(None, (vad["name"], vad.get("version"))))
            lines[side] = _line("not measured", f"nothing was measured for {name}: {UNKNOWN}")
        elif at is None:
            lines[side] = _line("not known", f"too little is heard beside the speech to know the line: {UNKNOWN}")
        elif known["tail_ms"] is not None and DOUBTFUL_TAIL_MS <= known["tail_ms"] < ROOM_TAIL_MS:
            lines[side] = _line("not known", f"either a room, or a voice that ends slowly: {UNKNOWN}")
        else:
            findings = [finding for finding in health["findings"] if finding["side"] == side]
            ids = {finding["id"] for finding in findings}
            has_hum = any("hum_hz" in finding["figures"] for finding in findings)
            nearest, distance = table.nearest(at, known["tail_ms"], ids)
            if distance > table.like_within or (not ids & MEASURED_KINDS.keys() and (has_hum or ids & UNMEASURED)):
                lines[side] = _line("unlike", f"unlike all lines that were measured: {UNKNOWN}", distance)
            else:
                found[side] = nearest
                lines[side] = _line("like", "", distance, nearest)
    for side, line in lines.items():
        own, other = found[side], found[other_side(side)]
        if line is not None and own is not None:
            if other is not None and own.turn_start_ms is not None and other.turn_end_ms is not None:
                line["answers_ms"] = round(own.turn_start_ms - other.turn_end_ms, 1)
            line["text"] = _sentence(own, line["answers_ms"])
    return {"A": lines["A"], "B": lines["B"]}


def _line(status: LineStatus, text: str, distance: float | None = None, like: MeasuredLine | None = None) -> PlacedLine:
    return {
        "status": status,
        "like": None if like is None else like.to_json(),
        "distance": None if distance is None else round(distance, 2),
        "answers_ms": None,
        "text": text,
    }


def _sentence(line: MeasuredLine, answers_ms: float | None) -> str:
    """ "nearest to clean speech: 9 of 10 edges within 9 ms, answers 4 ms early"."""
    parts = []
    if line.unit_f1 < GOOD_F1:
        parts.append(f"{100 * line.unit_f1:.0f} % of stretches of speech right")
    if line.edges_within_ms is not None:
        parts.append(f"9 of 10 {'of their ' if parts else ''}edges within {line.edges_within_ms:.0f} ms")
    if answers_ms is not None:
        parts.append(f"answers {shift_text(answers_ms)}")
    if line.premature_points is not None:
        more = "too many" if line.premature_points > 0 else "too few"
        parts.append(f"{abs(line.premature_points):.0f} points {more} premature")
    return f"nearest to {line.what}: {', '.join(parts)}"


def shift_text(ms: float) -> str:
    """An error of times in words: "4 ms early", "in time"."""
    return f"{abs(ms):.0f} ms {'late' if ms > 0 else 'early'}" if round(ms) else "in time"


def line_sentences(lines: PlacedLines | None) -> list[tuple[str, str]]:
    """One sentence a side, or one for both if they agree: [("A", text), ("B", text)] or [("A and B", text)]."""
    told = [(side, line["text"]) for side in SIDES if lines and (line := lines[side]) is not None]
    return [("A and B", told[0][1])] if len(told) == len(SIDES) and told[0][1] == told[1][1] else [*told]
