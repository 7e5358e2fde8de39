"""What the screen and the page show of calls: the acts of their turns, what follows which act, and their timing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from fdbcore._version import __version__
from fdbcore.report.columns import cells, note, titles
from fdbcore.report.format import NONE, counted
from fdbcore.report.html.templates import render
from fdbcore.report.html.values import Cell, Row
from fdbcore.report.scorecard.columns import ColumnGroup, columns, table, wrapped
from fdbcore.suites.dialogue_acts.models.annotate import annotation_took
from fdbcore.suites.dialogue_acts.page.picture import act_list
from fdbcore.suites.dialogue_acts.page.words import PACKAGE
from fdbcore.suites.dialogue_acts.scoring.document import ActsDocument
from fdbcore.suites.dialogue_acts.turns.tables import (
    CallOfTurns,
    LiveTiming,
    QuarterShares,
    SideShares,
    TurnJson,
    TurnsJson,
    WhatFollows,
)
from fdbcore.types import Problem, clock_text
from fdbcore.types.scorecard import Figure, Scale, Scorecard, ScoreRow

FOLLOWS: Final = "What B says next after an act of A, % of what it says"
QUARTERS: Final = "Acts by quarter of the call, % of what is said"
NO_REPLY: Final = "no reply"
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
    turns, settings = document["turns"], document["settings"]
    evidence = {"fdbcore": f"fdbcore {__version__}", "level of intervals": f"{100 * settings['level']:g} %"}
    for one in settings["annotated_with"]:
        evidence[f"annotation by {one['annotator']}"] = f"{annotation_took(one)}; {one['sdk']}, {one['server']}"
    n_turns = sum(len(call["turns"]) for call in turns["calls"])
    conditions = dict.fromkeys(map(_condition, turns["shares"]))
    return Scorecard(
        "Which dialogue acts do the turns have?",
        [Scale(act["name"], act["name"], unit="%", decimals=1, bounds=(0, 100)) for act in document["tag_set"]["acts"]],
        {condition: f"{condition}, share of each act" for condition in conditions},
        list(_share_rows(turns)),
        warnings=document["warnings"],
        problems=[Problem(**problem) for problem in document["problems"]],
        caption="Dialogue acts of turns: mean importance per turn, in %.",
        notes=NOTES,
        facts=[f"{counted(len(turns['calls']), 'call')}, {counted(n_turns, 'turn')}, {turns['locale']}"],
        evidence=evidence,
        level=settings["level"],
        not_compared=NOT_COMPARED,
    )


def _share_rows(turns: TurnsJson) -> Iterator[ScoreRow]:
    """The acts of each side as rows of a scorecard."""
    for each in turns["shares"]:
        figures = {
            act: Figure(100 * one["share"], None, one["ci95"] and [100 * limit for limit in one["ci95"]])
            for act, one in each["acts"].items()
        }
        yield ScoreRow(_condition(each), "system", each["system"], each["turns"], figures)


def _condition(of: SideShares) -> str:
    """The name of the turns of a side as one annotator labels them."""
    return f"{of['side']}'s turns, annotated by {of['annotator']}"


def details(turns: TurnsJson, acts: Sequence[str], width: int) -> list[list[str]]:
    """Both tables as blocks of lines of at most `width` columns."""
    blocks = []
    if turns["follows"]:
        names = [_of(each, turns, each["act"]) for each in turns["follows"]]
        heads = [*acts, NO_REPLY]
        blocks.append([FOLLOWS, *_table(names, "turns", heads, list(_follows(turns, acts)), width)])
    if turns["quarters"]:
        names = [_of(each, turns, f"{each['side']} {each['quarter']}/4") for each in turns["quarters"]]
        blocks.append([QUARTERS, *_table(names, "turns", acts, list(_quarters(turns, acts)), width)])
    return blocks


def section(turns: TurnsJson, acts: Sequence[str]) -> str:
    """The tables, and every turn of the calls, as HTML."""
    follows: list[Row] = [
        (Cell(each["act"], _of(each, turns)), cells)
        for each, cells in zip(turns["follows"], _follows(turns, acts), strict=True)
    ]
    quarters: list[Row] = [
        (Cell(f"{each['side']}, quarter {each['quarter']}", _of(each, turns)), cells)
        for each, cells in zip(turns["quarters"], _quarters(turns, acts), strict=True)
    ]
    return render(
        "turns.html",
        PACKAGE,
        follows=follows,
        follows_title=FOLLOWS,
        follows_heads=["act of A", "turns", *acts, NO_REPLY],
        quarters=quarters,
        quarters_title=QUARTERS,
        quarters_heads=["turns of", "turns", *acts],
        lang=turns["locale"],
        calls=[_call(call, turns["locale"]) for call in turns["calls"][:MOST_CALLS]],
        more=max(len(turns["calls"]) - MOST_CALLS, 0),
    )


def timing_details(timing: Sequence[LiveTiming], width: int) -> list[str]:
    """The timing of the calls of each system as lines of at most `width` columns."""
    rows = [[str(each["calls"]), *cells(each["measures"])] for each in timing]
    names = [each["system"] for each in timing]
    return [TIMING, *_table(names, "calls", titles(), rows, width), *wrapped(note(), width)]


def timing_section(timing: Sequence[LiveTiming]) -> str:
    """The same as a section of the page."""
    rows: list[Row] = [(Cell(each["system"], ""), [str(each["calls"]), *cells(each["measures"])]) for each in timing]
    heads = ["system", "calls", *titles()]
    return render("timing.html", PACKAGE, title=TIMING, rows=rows, heads=heads, note=note())


def _follows(turns: TurnsJson, acts: Sequence[str]) -> Iterator[list[str]]:
    for each in turns["follows"]:
        yield [str(each["turns"]), *(_percent(each["next"][act]) for act in acts), _percent(each["no_reply"])]


def _quarters(turns: TurnsJson, acts: Sequence[str]) -> Iterator[list[str]]:
    for each in turns["quarters"]:
        yield [str(each["turns"]), *(_percent(each["acts"].get(act)) for act in acts)]


def _of(row: WhatFollows | QuarterShares, turns: TurnsJson, what: str = "") -> str:
    """What of whom, naming only what there are several of."""
    system = row["system"] if len({each["system"] for each in turns["shares"]}) > 1 else ""
    annotator = row["annotator"] if len({each["annotator"] for each in turns["shares"]}) > 1 else ""
    return ", ".join(filter(None, (what, system, annotator)))


def _table(
    names: Sequence[str], count: str, heads: Sequence[str], rows: Sequence[Sequence[str]], width: int
) -> list[str]:
    groups = [
        ColumnGroup("", [count], [columns(count)], [row[:1] for row in rows]),
        *(
            ColumnGroup("", [head], [columns(head)], [[row[place]] for row in rows])
            for place, head in enumerate(heads, 1)
        ),
    ]
    return table(names, groups, width)


def _percent(share: float | None) -> str:
    return NONE if share is None else f"{100 * share:.1f}"


def _call(call: CallOfTurns, lang: str) -> dict[str, Any]:
    return {
        "name": call["call"],
        "system": call["system"],
        "turns": [
            {
                "side": turn["side"],
                "at": clock_text(int(turn["start_s"])),
                "text": turn["text"],
                "acts": _acts(turn, lang),
            }
            for turn in call["turns"]
        ],
    }


def _acts(turn: TurnJson, lang: str) -> list[tuple[str, str]]:
    """The acts of a turn as HTML, by each annotator, who is named if there are several."""
    several = len({one["annotator"] for one in turn["acts"]}) > 1
    return [(one["annotator"] if several else "", act_list(one["steps"], lang)) for one in turn["acts"]]
