"""The examiners themselves, and whose the variance is, on the screen and on the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from fdbcore.report.format import NONE
from fdbcore.report.html.templates import render
from fdbcore.report.scorecard.columns import ColumnGroup, columns, fitted, table, wrapped
from fdbcore.suites.staged.card import SCALES
from fdbcore.suites.staged.cases import SCRIPTED

if TYPE_CHECKING:
    from fdbcore.suites.staged.document_types import StagedDocument, StagedExaminer, StagedShare

TITLE: Final = "The examiner itself"
NAME_COLUMNS: Final = 28
HEADS: Final = {
    "calls": "scored",
    "invalid": "for a fault of its own (docs/staged.md has the rule), and held again",
    "contradicted": "it acted on an early cue that was none",
    "off script": "words of no part of its brief, or those of an assistant",
    "in a pause": "it took a pause of the system for the end of its answer: the system went on within 1 s",
    "cut in": "it began while the system spoke, which its pacing does not",
    "not yielded": "it went on while the system spoke over it, although its pacing yields",
    "deaf": "it took the system for silent that had spoken for a second or more",
    "never stated": "it left the goal as done without a word for it, or as met with under half of each saying heard",
    "opened second": "the system spoke before it",
    "muted speech": "the system spoke while it was muted, so that the examiner opens",
    "closed early": "it said its last words with goals left and no limit reached",
    "stalled": "it said nothing while the system waited, or did not get on",
    "reactions": "from the end of the system's speech to its own first sound; p95 from 100 of them on",
    "promised ms": "the reaction times of its pacing; sooner, later: so many were outside of them",
}
"""What the columns of the table mean."""
EXAMINER_COLUMNS: Final = (
    ("", ("calls",)),
    ("", ("invalid", "contradicted")),
    ("of sayings", ("off script", "in a pause", "cut in", "not yielded", "deaf")),
    ("of goals", ("never stated",)),
    ("of calls", ("opened second", "muted speech", "closed early", "stalled")),
    ("", ("reactions", "median ms", "p95 ms", "promised ms", "sooner", "later")),
)
"""The columns themselves, by the title above them."""
EXAMINER_NOTE: Final = "; ".join(f"{head}: {meaning}" for head, meaning in HEADS.items()) + "."
VARIANCE_NOTE: Final = (
    "Analysis of variance, all effects random; intervals: bootstrap over scenarios. The examiner's share is what its "
    "seeds, and different examiners, change on one system in one scenario."
)
ONE_TRIAL: Final = " With one trial a seed it holds, too, what the system varies by itself."
PARTS: Final = ("scenario", "system", "scenario x system", "examiner", "rest")


class ShownTable(NamedTuple):
    """A table. names: of the rows."""

    title: str
    names: Sequence[str]
    groups: Sequence[ColumnGroup]
    note: str


def details(document: StagedDocument, width: int) -> list[list[str]]:
    """Blocks of lines of at most `width` columns."""
    return [_lines(each, width) for each in _tables(document)]


def section(document: StagedDocument) -> str:
    """The tables as HTML; it begins with an h2. Empty without an examiner."""
    tables = [_html(each) for each in _tables(document)]
    return render("examined.html", __package__, title=TITLE, tables=tables) if tables else ""


def _tables(document: StagedDocument) -> Iterator[ShownTable]:
    if rows := document["examiners"]:
        names = [f"{row['pacing']}{'' if row['examiner'] == SCRIPTED else ', ' + row['examiner']}" for row in rows]
        parts = zip(EXAMINER_COLUMNS, zip(*map(_cells, rows), strict=True), strict=True)
        yield ShownTable("", names, [_group(*heads, cells) for heads, cells in parts], EXAMINER_NOTE)
    labels = {scale.id: scale.label for scale in SCALES}
    for pacing, group in groupby(document["variance"], lambda each: each["pacing"]):
        found = list(group)
        counts = [[str(len(each["systems"])), str(len(each["examiners"]))] for each in found]
        n = [[str(each["scenarios"]), str(each["seeds"]), str(each["trials"])] for each in found]
        shares = [[_share(each["shares"].get(part)) for part in PARTS] for each in found]
        note = VARIANCE_NOTE + (ONE_TRIAL if any(each["trials"] == 1 for each in found) else "")
        yield ShownTable(
            f"Whose the variance is, {pacing}",
            [labels[each["measure"]] for each in found],
            [
                _group("", ["scenarios", "seeds", "trials"], n),
                _group("", ["systems", "examiners"], counts),
                *(_group("", [part], [[row[at]] for row in shares]) for at, part in enumerate(PARTS)),
            ],
            note,
        )


def _cells(row: StagedExaminer) -> Sequence[Sequence[str]]:
    """The cells of a row under each part of EXAMINER_COLUMNS."""
    counts, reactions, calls = row["counts"], row["reactions"], row["calls"]
    promised_ms = reactions["promised_ms"]

    def of(n: int, *names: str) -> list[str]:
        return [_of(counts.get(name, 0), n) for name in names]

    return (
        [str(calls)],
        [str(row["invalid"]), str(counts["contradicted"])],
        [
            _of(counts["off_script"] + counts["left_role"], row["told"]),
            *of(row["sayings"], "in_pause", "cut_in", "not_yielded", "deaf"),
        ],
        of(row["goals"], "unstated"),
        [_of(row["not_opened"], calls), *of(calls, "muted", "closed_early", "stalled")],
        [
            str(reactions["n"]),
            _ms(reactions["median_ms"]),
            _ms(reactions["p95_ms"]),
            NONE if promised_ms is None else "-".join(map(_ms, dict.fromkeys(promised_ms))),
            str(counts["too_soon"]),
            str(counts["too_late"]),
        ],
    )


def _group(title: str, heads: Sequence[str], cells: Sequence[Sequence[str]]) -> ColumnGroup:
    """Columns under one title, each as wide as its head, or its widest cell."""
    return ColumnGroup(title, heads, [*map(columns, heads)], cells)


def _of(count: int, n: int) -> str:
    return f"{count}/{n}" if n else NONE


def _ms(value: float | None) -> str:
    return NONE if value is None else f"{value:.0f}"


def _share(found: StagedShare | None) -> str:
    if found is None or found["share"] is None:
        return NONE
    limits = found["ci95"]
    return f"{found['share']:.0%}" + (f" [{limits[0]:.0%}, {limits[1]:.0%}]" if limits else "")


def _lines(shown: ShownTable, width: int) -> list[str]:
    lines = table([fitted(name, NAME_COLUMNS) for name in shown.names], shown.groups, width)
    return [*wrapped(shown.title or TITLE, width), *lines, *wrapped(shown.note, width)]


def _html(shown: ShownTable) -> dict[str, Any]:
    heads = [head for group in shown.groups for head in group.headers]
    rows = [
        (name, [cell for group in shown.groups for cell in group.cells[number]])
        for number, name in enumerate(shown.names)
    ]
    return {
        "title": shown.title,
        "name": shown.title or TITLE,
        "columns": ["measure" if shown.title else "examiner", *heads],
        "rows": rows,
        "note": shown.note,
    }
