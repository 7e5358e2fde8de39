"""A scorecard as JSON: scorecard.json, in which every row is one figure of one system under one condition.

Its schema, `static/scorecard.schema.json`, is generated from its type.
"""

from collections.abc import Iterator
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from fdbcore._version import __version__
from fdbcore.types.scorecard import Difference, Scorecard, ScoredCase, ScoreRow
from fdbcore.types.units import Count

Share: TypeAlias = Annotated[float, Meta(ge=0, le=1)]
Low: TypeAlias = Annotated[float | None, Meta(description="lower limit of the interval at `level`")]
High: TypeAlias = Annotated[float | None, Meta(description="upper limit of the interval at `level`")]


class MeasureEntry(Struct, frozen=True):
    """A measure of the suite."""

    id: str
    label: str
    part: Annotated[str, Meta(description="the title over measures that belong together")]
    unit: str
    direction: Annotated[Literal[-1, 0, 1], Meta(description="1: more is better, -1: less is, 0: neither")]
    main: bool
    adds_to: Annotated[str | None, Meta(description="the id of the measure that this one and its like sum to")]


class FigureRow(Struct, frozen=True):
    """One measure of one system under one condition."""

    condition: str
    group: Annotated[str, Meta(description='"system", or what systems are seen beside: "ceiling", "baseline", ...')]
    system: str
    subset: Annotated[str | None, Meta(description="which of the cases these are; null: all of the condition")]
    measure: str
    n: Annotated[Count | None, Meta(description="how many cases or items it is over; null where that is not stated")]
    value: float | None
    sd: Annotated[float | None, Meta(description="standard deviation of single cases")]
    low: Low
    high: High
    note: Annotated[str, Meta(description="what is not in the figures, or counts as nothing")]


class DifferenceRow(Struct, frozen=True):
    """System a's excess over system b in a measure, over the cases that both have."""

    condition: str
    measure: str
    a: str
    b: str
    n: Count
    difference: float | None
    low: Low
    high: High
    p: Share | None
    p_corrected: Annotated[Share | None, Meta(description="for all differences of the scorecard; null: not tested")]
    smallest_detectable: Annotated[
        float | None, Meta(description="the least true difference that so many cases are likely to show")
    ]
    better: Annotated[str | None, Meta(description="which system is better; null where it cannot be told")]


class TellingCase(Struct, frozen=True):
    """A case to look at first."""

    what: Annotated[str, Meta(description='"most" or "least" of the measure, for example')]
    measure: str
    value: float
    condition: str
    system: str
    id: str
    text: str


class ProblemRow(Struct, frozen=True):
    """An item that was left out, and why."""

    where: str
    reason: str


class ScorecardDocument(Struct, frozen=True):
    """Scores of a benchmark's systems. Fields may be added under the same version; a field is never given another
    meaning."""

    schema: Literal["fdbcore.scorecard/1"]
    suite: str
    fdbcore: Annotated[str, Meta(description="the version that wrote it")]
    title: str
    measures: list[MeasureEntry]
    conditions: Annotated[dict[str, str], Meta(description="a heading for each")]
    rows: Annotated[list[FigureRow], Meta(description="those of subsets last")]
    differences: list[DifferenceRow]
    telling: list[TellingCase]
    statements: Annotated[list[str], Meta(description="what it comes to, in sentences")]
    warnings: Annotated[list[str], Meta(description="what must be known before any number")]
    problems: list[ProblemRow]
    notes: Annotated[list[str], Meta(description="what rows and measures mean, and how they were computed")]
    level: Annotated[Share, Meta(description="of the intervals; below 1 - level a corrected p tells systems apart")]


def document(card: Scorecard, suite: str) -> ScorecardDocument:
    """The document of a scorecard. suite: the name of the benchmark. The single cases are in scores.json."""
    return ScorecardDocument(
        "fdbcore.scorecard/1",
        suite,
        __version__,
        card.title,
        [
            MeasureEntry(each.id, each.label, each.part, each.unit, each.direction, each.main, each.adds_to or None)
            for each in card.scales
        ],
        dict(card.conditions),
        [figure for row in (*card.rows, *card.subsets) for figure in _figures(row)],
        [_difference(card, one) for one in card.differences],
        [_telling(each.what, each.measure, each.case) for each in card.telling],
        list(card.statements),
        list(card.warnings),
        [ProblemRow(*problem) for problem in (*card.problems, *card.gaps)],
        [*filter(None, [card.how_tested]), *card.notes],
        card.level,
    )


def _figures(row: ScoreRow) -> Iterator[FigureRow]:
    place = row.condition, row.group, row.system, row.subset or None
    for measure, of in row.measures.items():
        low, high = of.ci95 or (None, None)
        n = row.n if of.n is None else of.n
        yield FigureRow(*place, measure, n, of.value, of.sd, low, high, row.note)


def _telling(what: str, measure: str, case: ScoredCase) -> TellingCase:
    return TellingCase(what, measure, case.values[measure], case.condition, case.system, case.id, case.text)


def _difference(card: Scorecard, one: Difference) -> DifferenceRow:
    low, high = one.ci95 or (None, None)
    better = card.better(one)
    tested = one.p, one.p_corrected, one.detectable
    return DifferenceRow(one.condition, one.measure, one.a, one.b, one.n, one.difference, low, high, *tested, better)
