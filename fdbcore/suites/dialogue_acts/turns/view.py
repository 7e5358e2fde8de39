"""Views of calls, on the screen and the page: the acts of their turns, what follows which act, and their timing."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from fdbcore.report import (
    NONE,
    Cell,
    ColumnGroup,
    Row,
    cells,
    counted,
    render,
    table,
    titles,
    width_columns,
)
from fdbcore.suites.dialogue_acts.models.annotate import annotation_took
from fdbcore.suites.dialogue_acts.page.phrases import PACKAGE
from fdbcore.suites.dialogue_acts.page.picture import act_list
from fdbcore.suites.dialogue_acts.scoring.document import ActsDocument
from fdbcore.suites.dialogue_acts.turns.calls import CallTurns, Turn
from fdbcore.suites.dialogue_acts.turns.tables import NO_REPLY
from fdbcore.types import Problem, clock_text
from fdbcore.types.scorecard import NO_FIGURE, Measure, Scorecard, ScoreRow

FOLLOWS: Final = "What B says next after an act of A, % of what it says"
QUARTERS: Final = "Acts by quarter of the call, % of what is said"
NOTE_OF_FOLLOWS: Final = "A turn counts by the importance of the act in it. A's last turn counts only if B answered it."
TIMING: Final = "Timing of the calls"
MOST_CALLS: Final = 200
"""So many calls are listed on the page; scores.json has all."""
NOTES: Final = (
    "An act's figure is the mean of its importance over turns, in %: how much of a side's turns it is. Its "
    "interval is in table.csv and scores.json: it resamples calls, those with one recorded user together.",
    "A turn goes from where a side takes the floor to where the other one takes it, or to a silence of the side longer "
    "than lapse_ms. Speech that takes no floor (backchannels, asides) has no acts.",
    "A's turns are annotated by the same rules as B's, each as a reply to what the other side said last.",
)
NOT_COMPARED: Final = "Shares of acts are not compared between systems: only with good replies (--references) are they."


def card(document: ActsDocument) -> Scorecard:
    """The scorecard of a document with turns; a condition is the turns of a side as one annotator labels them."""
    turns, settings = document.turns, document.settings
    assert turns is not None
    evidence = {"fdbcore": f"fdbcore {settings.fdbcore}", "level of intervals": f"{100 * settings.level:g} %"}
    for one in settings.annotated_with:
        evidence[f"annotation by {one['annotator']}"] = f"{annotation_took(one)}; {one['sdk']}, {one['server']}"
    n_turns = sum(len(call.turns) for call in turns["calls"])
    return Scorecard(
        "Which dialogue acts do the turns have?",
        [Measure(act["name"], act["name"], unit="%", decimals=1, bounds=(0, 100)) for act in document.tag_set["acts"]],
        {row.condition: f"{row.condition}, share of each act" for row in turns["shares"]},
        turns["shares"],
        warnings=document.warnings,
        problems=[Problem(each.where, each.reason) for each in document.problems],
        caption="Dialogue acts of turns: mean importance per turn, in %.",
        notes=NOTES,
        facts=[f"{counted(len(turns['calls']), 'call')}, {counted(n_turns, 'turn')}, {turns['locale']}"],
        evidence=evidence,
        level=settings.level,
        not_compared=NOT_COMPARED,
    )


class _Table(NamedTuple):
    """A table of the screen and of the page. names: of its rows, on both. heads: of names, of counts, of the others."""

    title: str
    names: Sequence[tuple[str, Cell]]
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


def details(document: ActsDocument, width: int) -> list[list[str]]:
    """The tables of turns and of timing as blocks of lines of at most `width` columns."""
    blocks = []
    for each in [*_turn_tables(document), *_timing(document)]:
        groups = [
            ColumnGroup("", [head], [width_columns(head)], [[row[place]] for row in each.rows])
            for place, head in enumerate(each.heads[1:])
        ]
        blocks.append([each.title, *table([name for name, _ in each.names], groups, width)])
    return blocks


def section(document: ActsDocument) -> str:
    """The tables, and every turn of the calls, as HTML."""
    calls, lang = (document.turns["calls"], document.turns["locale"]) if document.turns else ([], "")
    return render(
        "turns.html",
        PACKAGE,
        tables=_on_page(_turn_tables(document)),
        lang=lang,
        calls=[_call(call, lang) for call in calls[:MOST_CALLS]],
        more=max(len(calls) - MOST_CALLS, 0),
        timing=_on_page(_timing(document)),
    )


def _on_page(tables: Iterable[_Table]) -> list[tuple[_Table, list[Row]]]:
    return [(each, [(cell, row) for (_, cell), row in zip(each.names, each.rows, strict=True)]) for each in tables]


def _turn_tables(document: ActsDocument) -> Iterator[_Table]:
    """Tables of what follows which act, and of the acts by quarter of the call, of a document with turns."""
    if document.turns is None:
        return
    acts, shares = [act["name"] for act in document.tag_set["acts"]], document.turns["shares"]
    systems, annotators = {row.system for row in shares}, {_annotator(row) for row in shares}

    def of(row: ScoreRow) -> list[str]:
        """The system and annotator of a row, where there are several of them."""
        several = [row.system] if len(systems) > 1 else []
        return several + ([_annotator(row)] if len(annotators) > 1 else [])

    def named(row: ScoreRow, on_screen: str, on_page: str) -> tuple[str, Cell]:
        return ", ".join([on_screen, *of(row)]), Cell(on_page, ", ".join(of(row)))

    if rows := document.turns["follows"]:
        names = [named(row, row.subset, row.subset) for row in rows]
        heads = [*acts, NO_REPLY]
        yield _Table(FOLLOWS, names, ["act of A", "turns", *heads], _figures(rows, heads), NOTE_OF_FOLLOWS)
    if rows := document.turns["quarters"]:
        sides = [(row, row.condition[0]) for row in rows]
        names = [named(row, f"{side} {row.subset[-1]}/4", f"{side}, {row.subset}") for row, side in sides]
        yield _Table(QUARTERS, names, ["turns of", "turns", *acts], _figures(rows, acts))


def _annotator(row: ScoreRow) -> str:
    return row.condition.partition(", annotated by ")[2]


def _figures(rows: Sequence[ScoreRow], heads: Sequence[str]) -> list[list[str]]:
    """The cells of a table: n, and a figure below each head."""
    values = [[row.measures.get(head, NO_FIGURE).value for head in heads] for row in rows]
    texts = [[NONE if value is None else f"{value:.1f}" for value in own] for own in values]
    return [[str(row.n), *own] for row, own in zip(rows, texts, strict=True)]


def _timing(document: ActsDocument) -> Iterator[_Table]:
    """The timing of the calls of each system."""
    if found := document.timing:
        rows = [[str(each["calls"]), *cells(each["measures"])] for each in found]
        names = [(each["system"], Cell(each["system"], "")) for each in found]
        yield _Table(TIMING, names, ["system", "calls", *titles()], rows)


def _call(call: CallTurns, lang: str) -> dict[str, Any]:
    return {
        "name": call.call,
        "system": call.system,
        "turns": [
            {"side": turn.side, "at": clock_text(int(turn.start_s)), "text": turn.text, "acts": _acts(turn, lang)}
            for turn in call.turns
        ],
    }


def _acts(turn: Turn, lang: str) -> list[tuple[str, str]]:
    """The acts of a turn as HTML, by each annotator, who is named if there are several."""
    several = len({one.annotator for one in turn.acts}) > 1
    return [(one.annotator if several else "", act_list(one.steps, lang)) for one in turn.acts]
