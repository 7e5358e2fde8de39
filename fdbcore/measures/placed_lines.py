"""Effects of a call's lines on the edges of its speech and on its latencies, by measured lines like them."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, TypeAlias, TypedDict

from msgspec import Meta, Struct
from msgspec.structs import replace

from fdbcore.measures.health.measured_lines import MEASURED_KINDS, MeasuredLine, measured_lines, place
from fdbcore.measures.health.side_sound import DOUBTFUL_TAIL_MS, ROOM_TAIL_MS
from fdbcore.measures.reading import Reading
from fdbcore.types import SIDES, TICK_MS, Side

LineStatus: TypeAlias = Literal["like", "unlike", "not measured", "not known"]

GOOD_F1: Final = 0.95
"""Below this, the sentence says how many stretches of speech were found as they are."""
UNKNOWN: Final = "what it does to edges and answers is not known"
UNMEASURED: Final = frozenset({"tone", "ringing", "dtmf"})
"""Findings of it that no measured line has; nor has one a hum."""


class PlacedLine(Struct, frozen=True):
    """The line of a side among those that were measured."""

    status: Annotated[
        LineStatus,
        Meta(
            description="unlike: far from all measured lines; not measured: by this detector; not known: too little of "
            "the side was heard to tell"
        ),
    ]
    like: Annotated[MeasuredLine | None, Meta(description="the line that it is most like; null if unlike all")]
    distance: Annotated[
        float | None, Meta(description="from the nearest line, in units of how far sides of one line lie from it")
    ]
    answers_ms: Annotated[
        float | None,
        Meta(description="the error of the side's answer times: of its own starts, less that of the other side's ends"),
    ]
    text: Annotated[str, Meta(description="the same in a sentence")]


class PlacedLines(TypedDict):
    """The lines of both sides; null for a side without speech."""

    A: PlacedLine | None
    B: PlacedLine | None


def placed_lines(reading: Reading) -> PlacedLines | None:
    """The line of each side among those that were measured; None if the audio was not examined for it."""
    health = reading.health
    if health is None or "tail_ms" not in health.get("sides", {}).get("A", {}):  # older recordings
        return None
    lines: dict[Side, PlacedLine | None] = dict.fromkeys(SIDES)
    for side in SIDES:
        known, vad = health["sides"][side], reading.meta["settings"]["vad"][side]
        if known["level_dbov"] is None:
            continue
        table, at = measured_lines().get(vad["name"]), place(known)
        if table is None or table.version != vad.get("version"):
            name = " ".join(filter(None, (vad["name"], vad.get("version"))))
            lines[side] = _unlike("not measured", f"nothing was measured for {name}")
        elif at is None:
            lines[side] = _unlike("not known", "too little is heard beside the speech to know the line")
        elif known["tail_ms"] is not None and DOUBTFUL_TAIL_MS <= known["tail_ms"] < ROOM_TAIL_MS:
            lines[side] = _unlike("not known", "either a room, or a voice that ends slowly")
        else:
            findings = [finding for finding in health["findings"] if finding["side"] == side]
            ids = {finding["id"] for finding in findings}
            has_hum = any("hum_hz" in finding["figures"] for finding in findings)
            nearest, distance = table.nearest(at, known["tail_ms"], ids)
            far = distance > table.like_within or (not ids & MEASURED_KINDS.keys() and (has_hum or ids & UNMEASURED))
            if far and "telephone" in ids:  # the commonest of all: that it is missing is no news of this call
                lines[side] = _unlike("not measured", "no telephone call with such a background was measured")
            elif far:
                lines[side] = _unlike("unlike", "no measured channel is like this one", round(distance, 2))
            else:
                lines[side] = PlacedLine("like", nearest, round(distance, 2), None, "")
    a, b = lines["A"], lines["B"]
    return {"A": _told(a, b), "B": _told(b, a)}


def _unlike(status: LineStatus, why: str, distance: float | None = None) -> PlacedLine:
    return PlacedLine(status, None, distance, None, f"{why}: {UNKNOWN}")


def _told(line: PlacedLine | None, other: PlacedLine | None) -> PlacedLine | None:
    """A line with what it says of answers, in words too."""
    if line is None or (own := line.like) is None:
        return line
    start_ms, end_ms = own.turn_start_ms, other.like.turn_end_ms if other is not None and other.like else None
    answers_ms = None if start_ms is None or end_ms is None else round(start_ms - end_ms, 1)
    return replace(line, answers_ms=answers_ms, text=_sentence(own, answers_ms))


def _sentence(line: MeasuredLine, answers_ms: float | None) -> str:
    """ "on channels like this 9 of 10 edges are within 9 ms, responses read 4 ms early"."""
    parts = []
    if line.unit_f1 < GOOD_F1:
        parts.append(f"{100 * line.unit_f1:.0f} % of stretches of speech are right")
    if line.edges_within_ms is not None:
        parts.append(f"9 of 10 {'of their ' if parts else ''}edges are within {line.edges_within_ms:.0f} ms")
    if answers_ms is not None:
        parts.append(f"responses read {shift_text(answers_ms)}")
    if line.premature_points is not None:
        more = "too many" if line.premature_points > 0 else "too few"
        parts.append(f"{abs(line.premature_points):.0f} points {more} are premature")
    return f"on channels like this {', '.join(parts)}"


def shift_text(ms: float) -> str:
    """An error of times in words: "4 ms early", "in time"."""
    return f"{abs(ms):.0f} ms {'late' if ms > 0 else 'early'}" if round(ms) else "in time"


def line_sentences(lines: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """One sentence a side, or one for both if they agree: [("A", text), ("B", text)] or [("A and B", text)].

    Only of sides whose channel moves a figure by more than its rounding, or is unlike all that were measured.
    lines: of a document, as JSON values.
    """
    told = [
        (side, line["text"]) for side in SIDES if lines and (line := lines[side]) is not None and _moves_figures(line)
    ]
    return [("A and B", told[0][1])] if len(told) == len(SIDES) and told[0][1] == told[1][1] else [*told]


def _moves_figures(line: Mapping[str, Any]) -> bool:
    """True if a reader of this call's figures should know of the channel: latencies are shown to a tick."""
    if (known := line["like"]) is None:
        return bool(line["status"] == "unlike")
    shift_ms, points = line["answers_ms"] or 0.0, known["premature_points"] or 0.0
    return bool(abs(shift_ms) > TICK_MS or round(points) or known["unit_f1"] < GOOD_F1)
