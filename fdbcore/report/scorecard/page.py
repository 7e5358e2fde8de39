"""A scorecard as an HTML page: one file that needs no network."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from fdbcore.report.format import NONE
from fdbcore.report.html.templates import render
from fdbcore.report.html.values import Cell, Row, Shown
from fdbcore.report.scorecard.tables import value_text
from fdbcore.types import Difference, Figure, Scale, Scorecard, ScoreRow

ARROWS: Final = {-1: " ↓", 0: "", 1: " ↑"}


def page(card: Scorecard, picture: Callable[[Mapping[str, Any]], str]) -> str:
    """The whole page. Every text of the scorecard is escaped. picture: a case's own view, as HTML."""
    heads = [f"{scale.part} {scale.label} {scale.unit}".strip() + ARROWS[scale.direction] for scale in card.scales]
    conditions = [
        {
            "heading": heading,
            "columns": ["system", "n", *heads],
            "rows": [_row(card.scales, row) for row in card.rows if row.condition == condition],
            "differences": [_difference(card, one) for one in card.differences if one.condition == condition],
        }
        for condition, heading in card.conditions.items()
    ]
    telling = []
    for case in card.telling:
        scale = card.scale(case.scale)
        title = f"{case.what}: {scale.label} {value_text(case.value, scale)}, {case.system}, {case.id}"
        telling.append((title, case.text, picture(case.item)))
    systems = dict.fromkeys(row.system for row in card.rows if row.group == "system")
    return render(
        "scorecard.html", title=card.title, facts=list(systems), card=card, conditions=conditions, telling=telling
    )


def _row(scales: Sequence[Scale], row: ScoreRow) -> Row:
    notes = [row.group if row.group not in ("system", row.system) else "", row.note]
    n = NONE if row.n is None else str(row.n)
    return Cell(row.system, meaning="; ".join(filter(None, notes))), [n, *_cells(scales, row)]


def _cells(scales: Sequence[Scale], row: ScoreRow) -> Iterator[Shown]:
    for scale in scales:
        figure = row.figures.get(scale.id, Figure(None))
        text = value_text(figure.value, scale)
        if scale.main:
            sd = "" if figure.sd is None else f"SD {value_text(figure.sd, scale)}"
            spread = [_span(figure.interval, scale) if figure.interval else "", sd]
            yield Cell(text, meaning="; ".join(filter(None, spread)), is_strong=True)
        else:
            yield text


def _span(limits: Sequence[float] | None, scale: Scale) -> str:
    return " to ".join(value_text(limit, scale) for limit in limits) if limits else NONE


def _difference(card: Scorecard, one: Difference) -> Row:
    scale = card.scale(one.scale)
    ps = [NONE if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}" for p in (one.p, one.p_corrected)]
    found = [value_text(one.value, scale), _span(one.interval, scale), *ps, value_text(one.detectable, scale)]
    return f"{one.a} − {one.b}", [scale.label + ARROWS[scale.direction], str(one.n), *found]
