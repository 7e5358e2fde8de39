"""A scorecard as an HTML page: one file that needs no network."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import add
from types import MappingProxyType
from typing import Any, Final

from fdbcore._version import __version__
from fdbcore.protocols.suite import Suite
from fdbcore.report.format import NONE, p_value
from fdbcore.report.html.templates import render
from fdbcore.report.html.values import Cell, Row, Shown, flat
from fdbcore.report.html.wording import Wording, words_of_pages
from fdbcore.report.scorecard import drawings
from fdbcore.report.scorecard.cases import PER_CHUNK, choices, listed, orders, packed, pictures, shown, tag_groups
from fdbcore.report.scorecard.drawings import BarPart
from fdbcore.report.scorecard.tables import OWN_N, has_sd, headed, pooled_label, scales_of, span_text, value_text
from fdbcore.types.scorecard import DETECTABLE, Difference, Measure, PageWords, Scorecard, ScoredCase, ScoreRow

ARROWS: Final = {-1: "\N{NO-BREAK SPACE}↓", 0: "", 1: "\N{NO-BREAK SPACE}↑"}
REFERENCES: Final = ("ceiling", "baseline")
"""Groups of rows that a bar is to be seen against."""
DIFFERENCE_COLUMNS: Final = ("a − b", "measure", "n", "difference", "95 % interval", "p")
VERDICT: Final = "verdict"
OPEN: Final = 2  # tables of subsets; the others are folded, and so are long ones
OPEN_ROWS: Final = 12
MOST_SUMMARY: Final = 8
"""Columns of figures in the table over all conditions: as many as fit."""


def page(card: Scorecard, suite: Suite, of_calls: Mapping[str, str] = MappingProxyType({})) -> str:
    """The whole page of a scorecard of a suite. Every text of it is escaped.

    of_calls: the addresses of the pages of calls, by recording.
    The pictures of all cases are in the page, compressed; one is unpacked when it is opened. It is in the language of
    `SuiteViews.page_words`.
    """
    views = card.views
    wording = _wording(views.page_words())
    systems = dict.fromkeys(row.system for row in card.rows if row.group == "system")
    cases, left_out = shown(card.cases)
    cases = [_in_words(case, wording) for case in cases]
    places = {scale.id: place for place, scale in enumerate(card.scales)}
    corrected = [f"p ({card.correction})", *([DETECTABLE] if card.shows_detectable else [])]
    made = render(
        "scorecard.html",
        title=card.title,
        suite=suite.name,
        facts=card.facts or list(systems),
        card=card,
        style=drawings.style() + views.style(),
        definitions=drawings.definitions(),
        summary=_summary(card),
        conditions=[_condition(card, name) for name in card.conditions],
        pooled=_pooled(card),
        own_n_told=OWN_N,
        has_own_n=any(row.own_n(name) is not None for row in (*card.rows, *card.subsets) for name in row.measures),
        bars=[
            (whole.label, [(scale.label, drawings.swatch(k)) for k, scale in enumerate(_parts(card, whole))])
            for whole in _wholes(card)
        ],
        legend=views.legend(),
        telling=[_telling(card, number) for number in range(len(card.telling))],
        difference_columns=[*DIFFERENCE_COLUMNS, *corrected, VERDICT],
        differences=[_difference(card, one) for one in sorted(card.differences, key=lambda one: places[one.measure])],
        too_few=dict.fromkeys(filter(None, (one.too_few(card.level) for one in card.differences))),
        section=views.section(),
        subsets=_subsets(card),
        left_out=left_out,
        choices=choices(cases),
        called={"condition": card.conditions_by, "subset": card.subsets_by},
        tags=tag_groups(cases),
        orders=orders(card),
        listed=packed([each | {"bar": wording.html(each["bar"])} for each in listed(card, cases, of_calls)]),
        pictures=[packed([wording.html(picture) for picture in chunk]) for chunk in pictures(views, cases)],
        per_chunk=PER_CHUNK,
        evidence={"": flat(_said(card.evidence, wording))} if card.evidence else {},
        footer=f"fdbcore {__version__} · {suite.schema}",
    )
    return wording.html(made)


def _wording(own: PageWords | None) -> Wording:
    """The words of a suite, with those of all pages."""
    return Wording("en", {}) if own is None else Wording(own.language, {**words_of_pages(own.language), **own.words})


def _in_words(case: ScoredCase, wording: Wording) -> ScoredCase:
    """A case with what the script of the page shows of it in the language of the page."""
    return replace(
        case,
        condition=wording.text(case.condition),
        system=wording.name(case.system),
        note=wording.text(case.note),
    )


def _said(evidence: Mapping[str, Any], wording: Wording) -> dict[str, Any]:
    """The texts of what figures rest on in the language of the page: as code, they would stay as they are."""
    return {name: wording.text(what) if isinstance(what, str) else what for name, what in evidence.items()}


def _pooled(card: Scorecard) -> str:
    """The kinds of figures, intervals and SD."""
    kinds = [f"{kind}s" for kind in dict.fromkeys(scale.pools for scale in scales_of(card, card.rows))]
    *others, last = kinds or ["values"]
    named = f"{', '.join(others)} and {last}" if others else last
    has_any_sd = any(has_sd((*card.rows, *card.subsets), scale) for scale in card.scales)
    sd = " SD: the standard deviation of single cases." if has_any_sd else ""
    return f"{named.capitalize()}; intervals are of 95 %.{sd}"


def _wholes(card: Scorecard) -> list[Measure]:
    """The scales that are sums of others."""
    return [scale for scale in card.scales if any(part.adds_to == scale.id for part in card.scales)]


def _condition(card: Scorecard, name: str) -> dict[str, Any]:
    """The table and the drawing of a condition."""
    rows = [row for row in card.rows if row.condition == name]
    scales = scales_of(card, rows)
    return {
        "heading": card.conditions[name],
        "tables": _tables("system", scales, rows, [_name(card, row, rows) for row in rows]),
        "drawn": drawings.chart(scales, rows, card.conditions[name]) if drawings.has_intervals(rows) else "",
    }


def _summary(card: Scorecard) -> dict[str, Any] | None:
    """Systems in rows, the main scales of the conditions side by side; None of a single condition, or of too many."""
    shown = [
        (name, scale)
        for name in card.conditions
        if (own := [row for row in card.rows if (row.condition, row.group) == (name, "system")])
        for scale in [scale for scale in scales_of(card, own) if scale.main][: MOST_SUMMARY // len(card.conditions)]
    ]
    if len({name for name, _ in shown}) < 2:
        return None
    rows = {(row.condition, row.system): row for row in card.rows if row.group == "system"}
    heads = [f"{name}: {pooled_label(scale)} {scale.unit}".strip() + ARROWS[scale.direction] for name, scale in shown]
    return {
        "columns": ["system", *heads],
        "rows": [
            (Cell("", names=(system,)), [_main_cell(rows.get((name, system)), scale) for name, scale in shown])
            for system in dict.fromkeys(system for _, system in rows)
        ],
    }


def _main_cell(row: ScoreRow | None, scale: Measure) -> Shown:
    """A value with its interval below it."""
    if row is None or (figure := row.figure(scale)).value is None:
        return NONE
    return Cell(value_text(figure.value, scale), span_text(figure.ci95, scale) if figure.ci95 else "", is_strong=True)


def _tables(
    of: str, scales: Sequence[Measure], rows: Sequence[ScoreRow], names: Sequence[Cell]
) -> list[dict[str, Any]]:
    """The rows as tables: the main scales, then a table for each part. Only the first has more than names beside rows.

    of: the title of the names. names: of each row. What was published stands only where it has a figure.
    """
    parts = [("", [scale for scale in scales if scale.main])]
    others = groupby((scale for scale in scales if not scale.main), lambda scale: scale.part)
    parts += [(part, list(own)) for part, own in others]
    found: list[dict[str, Any]] = []
    for part, own in parts:
        if own:
            title, heads = headed(part, own)
            arrows = (ARROWS[scale.direction] for scale in own)
            beside = [replace(name, meaning="", svg="") for name in names] if found else names
            found.append(
                {
                    "title": title,
                    "columns": [of, "n", *map(add, heads, arrows)],
                    "rows": [
                        (name, [*_cells(own, row)])
                        for name, row in zip(beside, rows, strict=True)
                        if row.group != "published" or any(row.figure(scale).value is not None for scale in own)
                    ],
                }
            )
    return found


def _name(card: Scorecard, row: ScoreRow, beside: Sequence[ScoreRow]) -> Cell:
    """A system with what is to be known of its row, and its bars."""
    notes = [row.group if row.group not in ("system", row.system) else "", row.note]
    bars = "".join(_bar(card, whole, row, beside) for whole in _wholes(card))
    return Cell("", "; ".join(filter(None, notes)), names=(row.system,), svg=bars)


def _cells(scales: Sequence[Measure], row: ScoreRow) -> Iterator[Shown]:
    yield NONE if row.n is None else str(row.n)
    for scale in scales:
        figure = row.figure(scale)
        text = value_text(figure.value, scale)
        own_n = row.own_n(scale.id)
        n = () if own_n is None else (f"n {own_n}",)
        if scale.main:
            sd = () if figure.sd is None else (f"SD {value_text(figure.sd, scale)}",)
            span = span_text(figure.ci95, scale) if figure.ci95 else ""
            yield Cell(text, span, is_strong=True, further=(*sd, *n))
        else:
            yield Cell(text, further=n)


def _bar(card: Scorecard, whole: Measure, row: ScoreRow, beside: Sequence[ScoreRow]) -> str:
    """The parts of a value as a bar, with marks for the ceiling and the baselines of its condition."""
    if row.figure(whole).value is None:
        return ""
    found = [one.measures[whole.id].value or 0.0 for one in card.rows if whole.id in one.measures]
    parts = [BarPart(scale.label, row.figure(scale).value or 0.0) for scale in _parts(card, whole)]
    marks = {
        one.system: (one.group, value)
        for one in beside
        if one.group in REFERENCES and (value := one.figure(whole).value) is not None
    }
    return drawings.bar(whole, parts, max(1.0, *found), marks)


def _parts(card: Scorecard, whole: Measure) -> list[Measure]:
    return [scale for scale in card.scales if scale.adds_to == whole.id]


def _telling(card: Scorecard, number: int) -> tuple[str, str, str]:
    """Its title, what it is, and its picture."""
    telling = card.telling[number]
    scale, case = card.scale(telling.measure), telling.case
    title = f"{telling.what} {scale.label}: {value_text(case.values[scale.id], scale)}"
    picture = card.views.picture(case)
    return title, f"{case.system}, {case.id}" + ("" if picture else f": {case.text}"), picture


def _difference(card: Scorecard, one: Difference) -> Row:
    scale = card.scale(one.measure)
    ps = p_value(one.p), p_value(one.p_corrected)
    found = [value_text(one.difference, scale), span_text(one.ci95, scale), *ps]
    found += [value_text(one.detectable, scale)] if card.shows_detectable else []
    better = card.better(one)
    undecided = "no difference" if one.is_equal else "cannot be told" if scale.direction else NONE
    verdict: Shown = Cell(" is better", names=(better,)) if better else undecided
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
        ranked = sorted(rows, key=lambda row: (row.group == "overall", _badness(row, scales)))
        found.append(
            {
                "system": system,
                "place": condition if several else "",
                "is_open": number < OPEN and len(rows) <= OPEN_ROWS,
                "tables": _tables(
                    f"{card.subsets_by}, worst first", scales, ranked, [Cell(row.subset or NONE) for row in ranked]
                ),
            }
        )
    return found


def _badness(row: ScoreRow, scales: Sequence[Measure]) -> list[float]:
    """The key to sort by: the first main scale, the worst first; of equal ones the next."""
    values = [(scale, row.figure(scale).value) for scale in scales if scale.main]
    return [math.inf if value is None else (scale.direction or 1) * value for scale, value in values]
