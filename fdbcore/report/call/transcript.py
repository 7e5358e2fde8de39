"""What was said in a call, as its parties told it and as a transcriber heard it: each line plays from its beginning."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fdbcore.report.format import amount
from fdbcore.types import Side, ticks_to_s

if TYPE_CHECKING:
    from fdbcore.measures.heard_word_types import HeardLine
    from fdbcore.measures.live_record_types import HeldLine
    from fdbcore.report.call.document_types import Document


class ShownLine(NamedTuple):
    """A line as the page shows it. note: who heard it so, and how much was heard if it was cut short; may be empty."""

    start_s: float
    side: Side
    text: str
    note: str


def section(content: Document) -> list[ShownLine]:
    """The lines of the page by their start; none if no party told any words, and nobody transcribed the call."""
    held = content["held"]
    told = [_line(each) for each in held.get("transcript", [])] if held else []
    return sorted([*told, *map(_heard, content.get("transcript", []))], key=lambda line: line.start_s)


def _line(line: HeldLine) -> ShownLine:
    notes = [] if line["told_by"] == line["side"] else [f"as {line['told_by']} heard it"]
    return ShownLine(ticks_to_s(line["start_tick"]), line["side"], line["text"], "; ".join([*notes, *_of_cut(line)]))


def _of_cut(line: HeldLine) -> list[str]:
    cut = line.get("cut")
    if cut is None:
        return []
    heard, said_ms = amount(cut["heard_ms"] / 1000, "s"), cut["said_ms"]
    return [
        f"cut short: {heard} heard"
        + (f" of the {amount(said_ms / 1000, 's')} that had come" if said_ms is not None else "")
    ]


def _heard(line: HeardLine) -> ShownLine:
    silent = [f"{line['side']} was silent here: most likely nobody said this"] if line.get("in_silence") else []
    again = ["it says this again and again: most likely nobody did"] if line.get("in_loop") else []
    note = "; ".join([f"as {line['by']} heard it", *silent, *again])
    return ShownLine(ticks_to_s(line["start_tick"]), line["side"], line["text"], note)
