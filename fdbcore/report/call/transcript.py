"""The words of a call, as its parties told them and as a transcriber heard them, with what a suite says of them.

Each line plays from its beginning. Of a side whose words are known in several ways, one is shown: its own words before
those of a transcriber, and these before what its partner heard. The others can be shown beside it.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fdbcore.analysis.self_reported import SelfReported
from fdbcore.measures.heard_words import HeardLine
from fdbcore.measures.transcript import HeldLine
from fdbcore.report.call.document import Document
from fdbcore.report.format import amount
from fdbcore.types import Side, ticks_to_s
from fdbcore.types.remarks import RemarkRow


class ShownLine(NamedTuple):
    """A line as the page shows it: words of a side, or a remark (side None).

    notes: who heard the words so, and how much was heard if they were cut short; or more about the remark. row: the
    number of the remark's row, from 0. heard_by: who heard the words so; "" if the side told them itself. is_other: the
    words of its side are shown in another way already.
    """

    start_s: float
    side: Side | None
    text: str
    notes: Sequence[str] = ()
    row: int = 0
    is_first: bool = False
    heard_by: str = ""
    is_other: bool = False


def section(content: Document, rows: Sequence[RemarkRow] = ()) -> list[ShownLine]:
    """The lines of the page by their start; none without remarks if no party told any words, and nobody transcribed
    the call."""
    held = content["held"]
    told = [_line(each) for each in held.get("transcript", [])] if held else []
    own = {line.side for line in told if not line.heard_by}
    # Words by `told` are the side's own ones, which stand here already.
    transcribed = [
        each for each in content.get("transcript", []) if each["by"] != SelfReported.name or each["side"] not in own
    ]
    by_itself, by_partner = ([line for line in told if bool(line.heard_by) is is_heard] for is_heard in (False, True))
    lines: list[ShownLine] = [*_remarks(rows)]
    for way in (by_itself, map(_heard, transcribed), by_partner):
        shown = {line.side for line in lines if not line.is_other}
        lines += [line._replace(is_other=line.side in shown) for line in way]
    return sorted(lines, key=lambda line: (line.start_s, not line.is_first, line.side is None, line.is_other))


def others(lines: Sequence[ShownLine]) -> str:
    """Other ways in which words can be shown, and whose: "B as whisper:base heard it"; "" if there are none."""
    found = dict.fromkeys((line.side, line.heard_by) for line in lines if line.is_other)
    return "; ".join(f"{side} as {by} heard it" for side, by in found)


def _remarks(rows: Sequence[RemarkRow]) -> Iterator[ShownLine]:
    for number, row in enumerate(rows):
        for of in row.remarks:
            yield ShownLine(ticks_to_s(of.start_tick), None, of.text, of.lines, number, row.is_first)


def _line(line: HeldLine) -> ShownLine:
    by = "" if line["told_by"] == line["side"] else line["told_by"]
    notes = _joined([*([f"as {by} heard it"] if by else []), *_of_cut(line)])
    return ShownLine(ticks_to_s(line["start_tick"]), line["side"], line["text"], notes, heard_by=by)


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
    notes = _joined([f"as {line['by']} heard it", *silent, *again])
    return ShownLine(ticks_to_s(line["start_tick"]), line["side"], line["text"], notes, heard_by=line["by"])


def _joined(notes: Sequence[str]) -> list[str]:
    return ["; ".join(notes)] if notes else []
