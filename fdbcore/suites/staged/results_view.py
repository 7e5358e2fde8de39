"""Views of staged dialogues beside the scorecard, on the screen and the page: means of families, passing, curves, and
what other transcribers, judges and wordings say.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby, product
from typing import Any, Final

from fdbcore.report import (
    NAME_COLUMNS,
    NONE,
    Cell,
    Chart,
    ColumnGroup,
    Row,
    TrendPoint,
    cells_table,
    filled,
    fitted,
    interval_text,
    number_text,
    render,
    rows_table,
    scales_of,
    span_text,
    table,
    trend,
    value_text,
    wrapped,
)
from fdbcore.suites.staged import examined
from fdbcore.suites.staged.curves import CurvePoint, StagedCurve
from fdbcore.suites.staged.document import (
    ASPECTS,
    PUBLISHED_SCALES,
    StagedDocument,
    StagedSettings,
    StagedVariant,
    VariantRow,
    difference_text,
)
from fdbcore.suites.staged.rows import COMPARED, EVENTS_MEAN, FAMILIES_MEAN, JUDGED, LABELS
from fdbcore.types.scorecard import NO_FIGURE, Measure, Passes, PassesOfK, Scorecard, ScoreRow

MEANS: Final = {
    FAMILIES_MEAN: "each family that has the score counts the same",
    EVENTS_MEAN: "each event counts the same",
}
_SHARE = Measure("", "", decimals=2)


def details(document: StagedDocument, found: Scorecard, width: int) -> list[list[str]]:
    """Blocks of lines in at most `width` columns (60 or more). found: the scorecard of the document."""
    return [
        list(_families(found, width)),
        list(_beside_published(found, width)) if document.published else [],
        list(_passes(document, width)),
        list(_curves(document, width)),
        *(_variant_lines(variant, width) for variant in document.variants if variant.rows),
        *(examined.lines(each, width) for each in examined.tables_of(document.examiners, document.variance)),
    ]


def section(document: StagedDocument) -> str:
    """Passing, curves, other setups and the examiners themselves as HTML; "" if nothing is known."""
    n_bins = _bins_reached(document.curves)
    results = render(
        "results.html",
        __package__,
        rule=rule_text(document.settings),
        passes=[row for one in document.passes if not one.subset for row in _pass_rows(document, one)],
        slopes=[
            (
                Cell("", curve.heading, names=(curve.system,)),
                [LABELS[curve.measure], _strong(curve.slope_per_min, curve.slope_ci95, "+")],
            )
            for curve in document.curves
        ],
        charts=[
            (f"{curve.system}, {curve.heading}: {LABELS[curve.measure]}", _charts(curve, n_bins))
            for curve in document.curves
        ],
    )
    if variants := list(map(_variant_tables, document.variants)):
        results += render("variants.html", __package__, variants=variants)
    return results + examined.section(examined.tables_of(document.examiners, document.variance))


def rule_text(settings: StagedSettings) -> str:
    """The rule for a dialogue to pass, in words; without a judge, nobody gives what a judge gives."""
    rule = {name: least for name, least in settings.passes.items() if settings.judge or name not in JUDGED}
    texts = [f"{name.replace('_', ' ')} of {least:g} or more" for name, least in rule.items()]
    told = " and ".join(texts)
    return f"{told}, where its family has one" if "task_score" in rule else told


def _families(found: Scorecard, width: int) -> Iterator[str]:
    """The rows over families and over events, below those over all dialogues."""
    for name, means in MEANS.items():
        rows = [row for row in found.subsets if row.subset == name]
        yield from wrapped(f"{name}: {means}", width, 2) if rows else ()
        for condition, own in groupby(rows, lambda row: row.condition):
            yield from wrapped(f"{found.conditions[condition]}, {name}", width, 2)
            shown = list(own)
            yield from rows_table([scale for scale in scales_of(found, shown) if scale.main], shown, width)


def _beside_published(found: Scorecard, width: int) -> Iterator[str]:
    """Published figures, and our own of the same measures, by family; slow and fast for themselves."""
    shown = [row for row in found.subsets if row.group in ("system", "published")]
    for name, speed in product(PUBLISHED_SCALES.values(), ("slow", "fast")):
        own_too = [row for row in shown if name in row.measures or row.group == "system"]
        rows = [row for row in own_too if speed in row.condition]
        families, scale = list(dict.fromkeys(row.subset for row in rows)), found.scale(name)
        by_system: dict[str, list[ScoreRow]] = {}
        for row in rows:
            place = "" if row.condition == speed else f", {row.condition.removesuffix(f' {speed}')}"
            by_system.setdefault(fitted(f"{row.system}{place}", NAME_COLUMNS), []).append(row)
        cells = [
            [system, *(_figure_text(own, family, scale) for family in families)] for system, own in by_system.items()
        ]
        yield from wrapped(f"{scale.label} by family, {speed} examiner", width, 2)
        yield from filter(None, cells_table([["", *families], *cells], width))


def _figure_text(rows: Sequence[ScoreRow], family: str, scale: Measure) -> str:
    """The figure of a family, with its interval if it has one."""
    figure = next((row.figure(scale) for row in rows if row.subset == family), NO_FIGURE)
    text = number_text(figure.value, scale)
    return f"{text} {interval_text(figure.ci95)}" if figure.ci95 else text


def _passes(document: StagedDocument, width: int) -> Iterator[str]:
    whole = [one for one in document.passes if not one.subset]
    if whole:
        rule = rule_text(document.settings)
        several = max(len(one.by_k) for one in whole) > 1
        means = "; pass@k: once in k trials; pass^k: in all of k trials" if several else ""
        yield from wrapped(f"passing: {rule}{means}", width, 2)
    for condition, found in groupby(whole, lambda one: one.condition):
        yield from wrapped(document.conditions[condition].heading, width, 2)
        own = list(found)
        counts = [[str(one.trials), str(one.passed)] for one in own]
        groups = [ColumnGroup("", ["dialogues", "pass"], [9, 4], counts)]
        for place in range(max(len(one.by_k) for one in own)):
            cells = [_cells(one.by_k[place]) if place < len(one.by_k) else ["0", NONE, NONE] for one in own]
            if place:
                heads = ["n", f"pass@{place + 1}", f"pass^{place + 1}"]
                groups.append(ColumnGroup(f"{place + 1} trials", heads, [4, 16, 16], cells))
            else:  # pass@1 and pass^1 are the same
                groups.append(ColumnGroup("1 trial", ["n", "pass@1"], [4, 16], [row[:2] for row in cells]))
        yield from table([fitted(one.system, NAME_COLUMNS) for one in own], groups, width)


def _cells(of: PassesOfK) -> Sequence[str]:
    figures = (of.pass_at_k, of.pass_all_k)
    return [str(of.n), *(f"{number_text(each.value, _SHARE)} {interval_text(each.ci95):>11}" for each in figures)]


def _pass_rows(document: StagedDocument, one: Passes) -> Iterator[Row]:
    unknown = f", {one.unknown} unknown" if one.unknown else ""
    head = Cell("", f"{document.conditions[one.condition].heading}{unknown}", names=(one.system,))
    for of in one.by_k:
        counts = [str(one.trials), str(one.passed), str(of.k), str(of.n)]
        yield head, [*counts, *(_strong(each.value, each.ci95) for each in (of.pass_at_k, of.pass_all_k))]


def _strong(value: float | None, limits: Sequence[float] | None, sign: str = "") -> Cell:
    return Cell(value_text(value, _SHARE, sign), span_text(limits, _SHARE, sign) if limits else "", is_strong=True)


def _curves(document: StagedDocument, width: int) -> Iterator[str]:
    found = document.curves
    if found:
        text = (
            "over time: slope a minute, and means of bins of 15 s by where they begin; by goal: means with the effects "
            "of scenarios taken out; the page has n and the interval of each"
        )
        yield from wrapped(text, width, 2)
    n_bins = _bins_reached(found)
    places = dict.fromkeys(one.heading for one in found)
    for place, measure in product(places, sorted({one.measure for one in found})):
        own = [one for one in found if (one.heading, one.measure) == (place, measure)]
        if not own:
            continue
        yield from wrapped(f"{place}, {LABELS[measure]}", width, 2)
        slopes = [
            f"{number_text(one.slope_per_min, _SHARE, '+')} {interval_text(one.slope_ci95, '+'):>13}" for one in own
        ]
        groups = [ColumnGroup("", ["a minute [95 %]"], [19], [[slope] for slope in slopes])]
        goals = max(len(one.goals) for one in own)
        for title, points, ends in (
            ("over time", [one.bins[:n_bins] for one in own], [f"{of.at:g} s" for of in own[0].bins[:n_bins]]),
            ("by goal", [one.goals for one in own], [str(number + 1) for number in range(goals)]),
        ):
            cells = [[number_text(of.mean, _SHARE) for of in row] + [NONE] * (len(ends) - len(row)) for row in points]
            groups.append(ColumnGroup(title, ends, [5] * len(ends), cells))
        yield from table([fitted(one.system, NAME_COLUMNS) for one in own], groups, width)


def _bins_reached(curves: Sequence[StagedCurve]) -> int:
    """The number of bins up to the last in which any of these curves has a dialogue."""
    return max((number for one in curves for number, of in enumerate(one.bins, 1) if of.n), default=0)


def _charts(curve: StagedCurve, n_bins: int) -> list[Chart]:
    """The first bins, and the goals."""
    label = LABELS[curve.measure]
    places = {
        f"{label} over time": [(f"{of.at:g} s", of) for of in curve.bins[:n_bins]],
        f"{label} by goal": [(f"goal {of.at:g}", of) for of in curve.goals],
    }
    return [
        trend(title, "", [_point(*each) for each in points], COMPARED[curve.measure])
        for title, points in places.items()
    ]


def _point(name: str, of: CurvePoint) -> TrendPoint:
    told = f"{name}: {number_text(of.mean, _SHARE)} {interval_text(of.ci95)}, n = {of.n}"
    return TrendPoint(name, of.at, of.mean, of.ci95, f"n {of.n}", told)


def _variant_lines(variant: StagedVariant, width: int) -> list[str]:
    head = f"{ASPECTS[variant.aspect]}: {variant.other} in place of {variant.main}; * its interval excludes 0"
    rows = [["", "score", "main", "other", "difference [95 %]", "n"]]
    rows += [[f"{row.system}, {row.pacing}", *_scores(row), difference_text(row), str(row.n)] for row in variant.rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return [*filled(head, width).splitlines(), *(line[:width] for line in lines)]


def _scores(row: VariantRow) -> Sequence[str]:
    return LABELS[row.measure], f"{row.main:.2f}", f"{row.other:.2f}"


def _variant_tables(variant: StagedVariant) -> dict[str, Any]:
    """The table of its scores, and that of the orders of systems, for the page."""
    return {
        "title": f"{ASPECTS[variant.aspect].capitalize()}: {variant.other} in place of {variant.main}",
        "main": variant.main,
        "other": variant.other,
        "rows": list(map(_variant_row, variant.rows)),
        "orders": [
            (
                Cell(LABELS[order.measure], order.heading),
                [", ".join(order.main), ", ".join(order.other), "changes" if order.changes else "the same"],
            )
            for order in variant.orders
        ],
    }


def _variant_row(row: VariantRow) -> Row:
    head = Cell("", row.heading, names=(row.system,))
    limits = "" if row.ci95 is None else interval_text(row.ci95, "+")
    difference = Cell(f"{row.difference:+.2f}", limits, is_strong=True)
    return head, [*_scores(row), difference, str(row.n), "moves" if row.moves else "cannot be told"]
