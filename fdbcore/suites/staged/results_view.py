"""What the screen and the page show of staged dialogues beside the scorecard: means of families, and passing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from fdbcore.report.format import NONE
from fdbcore.report.html.templates import render
from fdbcore.report.html.values import Cell, Row
from fdbcore.report.scorecard.columns import NAME_COLUMNS, ColumnGroup, fitted, table, wrapped
from fdbcore.report.scorecard.screen import interval_text, number_text, rows_table
from fdbcore.report.scorecard.tables import scales_of
from fdbcore.suites.staged.card import FAMILIES_MEAN, card, heading
from fdbcore.types.scorecard import Scale

if TYPE_CHECKING:
    from fdbcore.suites.staged.document_types import StagedDocument, StagedPasses

_SHARE = Scale("", "", decimals=2)


def details(document: StagedDocument, width: int) -> list[list[str]]:
    """Blocks of lines in at most `width` columns (60 or more)."""
    return [list(_families(document, width)), list(_passes(document, width))]


def section(document: StagedDocument) -> str:
    """How often systems pass, as HTML; "" if that is known of no dialogue."""
    whole = [one for one in document["passes"] if one["family"] is None]
    return render(
        "results.html",
        __package__,
        rule=rule_text(document["settings"]["passes"]),
        passes=[row for one in whole for row in _pass_rows(one)],
    )


def rule_text(rule: Mapping[str, float]) -> str:
    """What a dialogue needs to pass, in words."""
    texts = [f"{name.replace('_', ' ')} of {least:g} or more" for name, least in rule.items()]
    told = " and ".join(texts)
    return f"{told}, where its family has one" if "task_score" in rule else told


def _families(document: StagedDocument, width: int) -> Iterator[str]:
    """The rows over families, below those over all dialogues."""
    found = card(document)
    scales = [scale for scale in found.scales if scale.main]
    rows = [row for row in found.subsets if row.group == "overall"]
    if rows:
        yield from wrapped(f"{FAMILIES_MEAN}: each family that has the score counts the same", width, 2)
    for condition, own in groupby(rows, lambda row: row.condition):
        yield from wrapped(f"{found.conditions[condition]}, {FAMILIES_MEAN}", width, 2)
        shown = list(own)
        yield from rows_table(scales_of(found, shown), shown, width) if scales else ()


def _passes(document: StagedDocument, width: int) -> Iterator[str]:
    whole = [one for one in document["passes"] if one["family"] is None]
    if whole:
        rule = rule_text(document["settings"]["passes"])
        yield from wrapped(f"passing: {rule}; pass@k: once in k trials; pass^k: in all of k trials", width, 2)
    for (pacing, examiner), found in groupby(whole, lambda one: (one["pacing"], one["examiner"])):
        yield from wrapped(heading(pacing, examiner), width, 2)
        own = list(found)
        counts = [[str(one["dialogues"]), str(one["passed"])] for one in own]
        groups = [ColumnGroup("", ["dialogues", "pass"], [9, 4], counts)]
        for place in range(max(len(one["by_k"]) for one in own)):
            cells = [_cells(one, place) for one in own]
            title = f"{place + 1} trial{'s' if place else ''}"
            groups.append(ColumnGroup(title, ["n", f"pass@{place + 1}", f"pass^{place + 1}"], [4, 16, 16], cells))
        yield from table([fitted(one["system"], NAME_COLUMNS) for one in own], groups, width)


def _cells(one: StagedPasses, place: int) -> Sequence[str]:
    if place >= len(one["by_k"]):
        return ["0", NONE, NONE]
    of = one["by_k"][place]
    return [
        str(of["n"]),
        f"{number_text(of['pass_at_k'], _SHARE)} {interval_text(of['pass_at_k_ci95']):>11}",
        f"{number_text(of['pass_all_k'], _SHARE)} {interval_text(of['pass_all_k_ci95']):>11}",
    ]


def _pass_rows(one: StagedPasses) -> Iterator[Row]:
    unknown = f", {one['unknown']} unknown" if one["unknown"] else ""
    head = Cell("", f"{heading(one['pacing'], one['examiner'])}{unknown}", names=(one["system"],))
    for of in one["by_k"]:
        shares = [
            Cell(number_text(value, _SHARE), interval_text(limits) if limits else "", is_strong=True)
            for value, limits in (
                (of["pass_at_k"], of["pass_at_k_ci95"]),
                (of["pass_all_k"], of["pass_all_k_ci95"]),
            )
        ]
        yield head, [str(one["dialogues"]), str(one["passed"]), str(of["k"]), str(of["n"]), *shares]
