"""A scorecard as an HTML page: one file that needs no network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import Any, Final

from fdbcore._version import __version__
from fdbcore.protocols.suite import Suite
from fdbcore.report.format import NONE, p_value
from fdbcore.report.html.templates import render
from fdbcore.report.html.values import Cell, Row, Shown, flat
from fdbcore.report.scorecard import drawings
from fdbcore.report.scorecard.cases import PER_CHUNK, choices, listed, orders, packed, pictures, shown, tag_groups
from fdbcore.report.scorecard.drawings import BarPart
from fdbcore.report.scorecard.tables import OWN_N, has_sd, label, scales_of, span_text, value_text
from fdbcore.types.scorecard import NO_FIGURE, Difference, Scale, Scorecard, ScoreRow

ARROWS: Final = {-1: "\N{NO-BREAK SPACE}↓", 0: "", 1: "\N{NO-BREAK SPACE}↑"}
REFERENCES: Final = ("ceiling", "baseline")
"""Groups of rows that a bar is to be seen against."""
DIFFERENCE_COLUMNS: Final = (
    "a − b", "measure", "n", "difference", "95 % interval", "p", "p (Holm)", "smallest detectable", "verdict"
)  # fmt: skip
OPEN: Final = 2  # tables of subsets; the others are folded


def page(
    card: Scorecard, suite: Suite, document: Mapping[str, Any], of_calls: Mapping[str, str] = MappingProxyType({})
) -> str:
    """The whole page of a scorecard. document: what `suite` made the scorecard of. Every text of it is escaped.

    of_calls: the addresses of the pages of calls, by recording.
    The pictures of all cases are in the page, compressed; one is unpacked when it is opened.
    """
    systems = dict.fromkeys(row.system for row in card.rows if row.group == "system")
    cases, left_out = shown(card.cases)
    places = {scale.id: place for place, scale in enumerate(card.scales)}
    return render(
        "scorecard.html",
        title=card.title,
        suite=suite.name,
        facts=card.facts or list(systems),
        card=card,
        style=drawings.style() + suite.style(),
        definitions=drawings.definitions(),
        conditions=[_condition(card, name) for name in card.conditions],
        pooled=_pooled(card),
        own_n_told=OWN_N,
        has_own_n=any(row.own_n(name) is not None for row in (*card.rows, *card.subsets) for name in row.figures),
        bars=[
            (whole.label, [(scale.label, drawings.swatch(k)) for k, scale in enumerate(_parts(card, whole))])
            for whole in _wholes(card)
        ],
        legend=suite.legend(),
        telling=[_telling(card, suite, number) for number in range(len(card.telling))],
        difference_columns=DIFFERENCE_COLUMNS,
        differences=[_difference(card, one) for one in sorted(card.differences, key=lambda one: places[one.scale])],
        too_few=dict.fromkeys(filter(None, (one.too_few(card.level) for one in card.differences))),
        section=suite.section(document),
        subsets=_subsets(card),
        left_out=left_out,
        choices=choices(cases),
        called={"condition": card.conditions_by, "subset": card.subsets_by},
        tags=tag_groups(cases),
        orders=orders(card),
        listed=packed(listed(card, cases, of_calls)),
        pictures=[packed(chunk) for chunk in pictures(suite, cases)],
        per_chunk=PER_CHUNK,
        evidence={"": flat(card.evidence)} if card.evidence else {},
        footer=f"fdbcore {__version__} · {document['schema']}",
    )


def _pooled(card: Scorecard) -> str:
    """What figures, intervals and SD are."""
    kinds = [f"{kind}s" for kind in dict.fromkeys(scale.pools for scale in scales_of(card, card.rows))]
    *others, last = kinds or ["values"]
    named = f"{', '.join(others)} and {last}" if others else last
    has_any_sd = any(has_sd((*card.rows, *card.subsets), scale) for scale in card.scales)
    sd = " SD: the standard deviation of single cases." if has_any_sd else ""
    return f"{named.capitalize()}; intervals are of 95 %.{sd}"


def _wholes(card: Scorecard) -> list[Scale]:
    """The scales that are sums of others."""
    return [scale for scale in card.scales if any(part.adds_to == scale.id for part in card.scales)]


def _condition(card: Scorecard, name: str) -> dict[str, Any]:
    """The table and the drawing of a condition."""
    rows = [row for row in card.rows if row.condition == name]
    scales = scales_of(card, rows)
    return {
        "heading": card.conditions[name],
        "columns": ["system", "n", *(_head(scale, scales) for scale in scales)],
        "rows": [_row(card, scales, row, rows) for row in rows],
        "drawn": drawings.chart(scales, rows, card.conditions[name]) if drawings.has_intervals(rows) else "",
    }


def _head(scale: Scale, beside: Sequence[Scale]) -> str:
    return f"{label(scale, beside)} {scale.unit}".strip() + ARROWS[scale.direction]


def _row(card: Scorecard, scales: Sequence[Scale], row: ScoreRow, beside: Sequence[ScoreRow]) -> Row:
    notes = [row.group if row.group not in ("system", row.system) else "", row.note]
    bars = "".join(_bar(card, whole, row, beside) for whole in _wholes(card))
    n = NONE if row.n is None else str(row.n)
    return Cell("", "; ".join(filter(None, notes)), names=(row.system,), svg=bars), [n, *_cells(scales, row)]


def _cells(scales: Sequence[Scale], row: ScoreRow) -> Iterator[Shown]:
    for scale in scales:
        figure = row.figures.get(scale.id, NO_FIGURE)
        text = value_text(figure.value, scale)
        own_n = row.own_n(scale.id)
        n = () if own_n is None else (f"n {own_n}",)
        if scale.main:
            sd = () if figure.sd is None else (f"SD {value_text(figure.sd, scale)}",)
            span = span_text(figure.interval, scale) if figure.interval else ""
            yield Cell(text, span, is_strong=True, further=(*sd, *n))
        else:
            yield Cell(text, further=n)


def _bar(card: Scorecard, whole: Scale, row: ScoreRow, beside: Sequence[ScoreRow]) -> str:
    """The parts of a value as a bar, with marks for the ceiling and the baselines of its condition."""
    if row.figures.get(whole.id, NO_FIGURE).value is None:
        return ""
    found = [one.figures[whole.id].value or 0.0 for one in card.rows if whole.id in one.figures]
    parts = [BarPart(scale.label, row.figures.get(scale.id, NO_FIGURE).value or 0.0) for scale in _parts(card, whole)]
    marks = {
        one.system: (one.group, value)
        for one in beside
        if one.group in REFERENCES and (value := one.figures.get(whole.id, NO_FIGURE).value) is not None
    }
    return drawings.bar(whole, parts, max(1.0, *found), marks)


def _parts(card: Scorecard, whole: Scale) -> list[Scale]:
    return [scale for scale in card.scales if scale.adds_to == whole.id]


def _telling(card: Scorecard, suite: Suite, number: int) -> tuple[str, str, str]:
    """Its title, what it is, and its picture."""
    telling = card.telling[number]
    scale, case = card.scale(telling.scale), telling.case
    title = f"{telling.what} {scale.label}: {value_text(case.values[scale.id], scale)}"
    picture = suite.picture(case)
    return title, f"{case.system}, {case.id}" + ("" if picture else f": {case.text}"), picture


def _difference(card: Scorecard, one: Difference) -> Row:
    scale = card.scale(one.scale)
    ps = p_value(one.p), p_value(one.p_corrected)
    found = [value_text(one.value, scale), span_text(one.interval, scale), *ps, value_text(one.detectable, scale)]
    better = card.better(one)
    verdict: Shown = Cell(" is better", names=(better,)) if better else "cannot be told" if scale.direction else NONE
    place = one.condition if len({other.condition for other in card.differences}) > 1 else ""
    head = scale.label + ARROWS[scale.direction]
    return Cell("", place, names=(one.a, one.b)), [head, str(one.n), *found, verdict]


def _subsets(card: Scorecard) -> list[dict[str, Any]]:
    """For each system a table of its scores in each subset, the worst first."""
    several = len({row.condition for row in card.subsets}) > 1
    found = []
    for number, ((condition, system), own) in enumerate(groupby(card.subsets, lambda row: (row.condition, row.system))):
        rows = list(own)
        scales = scales_of(card, rows)
        found.append(
            {
                "system": system,
                "place": condition if several else "",
                "is_open": number < OPEN,
                "columns": [f"{card.subsets_by}, worst first", "n", *(_head(scale, scales) for scale in scales)],
                "rows": [
                    (row.subset or NONE, [NONE if row.n is None else str(row.n), *_cells(scales, row)])
                    for row in sorted(rows, key=lambda row: (row.group == "overall", _badness(row, scales)))
                ],
            }
        )
    return found


def _badness(row: ScoreRow, scales: Sequence[Scale]) -> float:
    """The key to sort by: the first main scale, the worst first."""
    main = next((scale for scale in scales if scale.main), None)
    value = None if main is None else row.figures.get(main.id, NO_FIGURE).value
    return float("inf") if main is None or value is None else (main.direction or 1) * value
