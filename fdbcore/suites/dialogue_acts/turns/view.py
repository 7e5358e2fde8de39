"""What the screen and the page show of the turns of calls: their acts, what follows which act, and every turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from fdbcore.report.format import NONE
from fdbcore.report.html.templates import render
from fdbcore.report.html.values import Cell, Row
from fdbcore.report.scorecard.columns import ColumnGroup, columns, table
from fdbcore.suites.dialogue_acts.page.svg import PACKAGE
from fdbcore.suites.dialogue_acts.page.told_acts import act_list
from fdbcore.types import clock_text
from fdbcore.types.scorecard import Figure, Scale, ScoreRow

if TYPE_CHECKING:
    from fdbcore.suites.dialogue_acts.act_types import CallOfTurns, TurnJson, TurnsJson

FOLLOWS: Final = "What B says next after an act of A, % of what it says"
QUARTERS: Final = "Acts by quarter of the call, % of what is said"
NO_REPLY: Final = "no reply"
MOST_CALLS: Final = 200
"""So many calls are listed on the page; scores.json has all."""


def scales(acts: Sequence[str]) -> list[Scale]:
    """A column for each act."""
    return [Scale(act, act, unit="%", decimals=1, bounds=(0, 100)) for act in acts]


def condition(side: str, annotator: str) -> str:
    """The name of the turns of a side as one annotator labels them."""
    return f"{side}'s turns, annotated by {annotator}"


def share_rows(turns: TurnsJson) -> list[ScoreRow]:
    """The acts of each side as rows of a scorecard."""
    return [
        ScoreRow(
            condition(each["side"], each["annotator"]),
            "system",
            each["system"],
            each["turns"],
            {
                act: Figure(100 * one["share"], None, None if one["ci95"] is None else [100 * x for x in one["ci95"]])
                for act, one in each["acts"].items()
            },
        )
        for each in turns["shares"]
    ]


def details(turns: TurnsJson, acts: Sequence[str], width: int) -> list[list[str]]:
    """Both tables as blocks of lines of at most `width` columns."""
    blocks = []
    if turns["follows"]:
        names = [_of(each["system"], each["annotator"], turns, each["act"]) for each in turns["follows"]]
        heads = [*acts, NO_REPLY]
        blocks.append([FOLLOWS, *_table(names, "turns", heads, list(_follows(turns, acts)), width)])
    if turns["quarters"]:
        names = [
            _of(each["system"], each["annotator"], turns, f"{each['side']} {each['quarter']}/4")
            for each in turns["quarters"]
        ]
        blocks.append([QUARTERS, *_table(names, "turns", acts, list(_quarters(turns, acts)), width)])
    return blocks


def section(turns: TurnsJson, acts: Sequence[str]) -> str:
    """The tables, and every turn of the calls, as HTML."""
    follows: list[Row] = [
        (Cell(each["act"], _of(each["system"], each["annotator"], turns)), cells)
        for each, cells in zip(turns["follows"], _follows(turns, acts), strict=True)
    ]
    quarters: list[Row] = [
        (Cell(f"{each['side']}, quarter {each['quarter']}", _of(each["system"], each["annotator"], turns)), cells)
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


def _follows(turns: TurnsJson, acts: Sequence[str]) -> Iterator[list[str]]:
    for each in turns["follows"]:
        yield [str(each["turns"]), *(_percent(each["next"][act]) for act in acts), _percent(each["no_reply"])]


def _quarters(turns: TurnsJson, acts: Sequence[str]) -> Iterator[list[str]]:
    for each in turns["quarters"]:
        yield [str(each["turns"]), *(_percent(each["acts"].get(act)) for act in acts)]


def _of(system: str, annotator: str, turns: TurnsJson, what: str = "") -> str:
    """What of whom, naming only what there are several of."""
    several = [len({each[name] for each in turns["shares"]}) > 1 for name in ("system", "annotator")]
    named = [name for name, shown in zip((system, annotator), several, strict=True) if shown]
    return ", ".join(filter(None, [what, *named]))


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
