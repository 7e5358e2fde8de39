"""The results of scoring a suite, and its scorecard: rows for a screen, a page, tables and JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeAlias

from msgspec import Meta, Struct

from fdbcore.types import Problem
from fdbcore.types.remarks import NO_REMARKS, CallRemarks

DETECTABLE: Final = "minimum detectable effect"
"""The column of the differences that so many cases can show, and the term that explains it."""

Interval: TypeAlias = Annotated[tuple[float, float] | None, Meta(description="95 %; null where there is none")]
Pooling: TypeAlias = Literal["mean", "median", "share", "rate", "difference", "trimmed mean"]


@dataclass(frozen=True, slots=True)
class Scored:
    """The result of scoring.

    document: JSON values; "schema" names their form, and "problems" lists what was left out. files: further texts to
    store beside it, by file name. told: what this scoring alone did, in lines for the user.
    """

    document: Mapping[str, Any]
    files: Mapping[str, str] = field(default_factory=dict)
    told: Sequence[str] = ()


def scaled_interval(limits: Sequence[float] | None, factor: float) -> Interval:
    """An interval in another unit."""
    return None if limits is None else (factor * limits[0], factor * limits[1])


class Measure(Struct, frozen=True):
    """A measure of a suite, a column of its scorecard; of calls: `fdbcore.measures.measure.CallMeasure`.

    id, label: its name in documents and on screens. direction: 1 if more is better, -1 if less is better, 0 if neither.
    main: whether it is shown first, with its interval and SD. part: the title above columns that belong together.
    adds_to: the id of the scale that this one and others like it sum to; none of them is below 0, and they are drawn as
    one bar. bounds: the least and the most that it can be, where its axis ends; None for an axis that ends where the
    values do. pools: what its figures are of the values of items. compared: whether systems are compared by it.
    meaning: what it is, in words. over: the items that have it. defect: what is known to be wrong with it.
    """

    id: str
    label: str
    direction: Literal[-1, 0, 1] = 0
    unit: str = ""
    decimals: int = 3
    main: bool = False
    part: str = ""
    adds_to: str = ""
    bounds: tuple[float, float] | None = None
    pools: Pooling = "mean"
    compared: bool = False
    meaning: str = ""
    over: str = ""
    defect: str = ""


class Figure(Struct, frozen=True):
    """A measure over items, in the unit of its scale."""

    value: float | None
    sd: Annotated[float | None, Meta(description="standard deviation of single values; null: says nothing")] = None
    ci95: Interval = None
    n: Annotated[int | None, Meta(description="how many values it is over; null: the items of its row")] = None
    by: Annotated[str, Meta(description="which kind of clusters gave the interval; empty where there is one")] = ""


NO_FIGURE: Final = Figure(None)


class ScoreRow(Struct, frozen=True):
    """The scores of one system under one condition, over all its items or those of a subset."""

    condition: str
    group: Annotated[str, Meta(description='"system", or what systems are seen beside: "ceiling", "baseline", ...')]
    system: str
    n: Annotated[int | None, Meta(description="items; null: not stated")]
    measures: dict[str, Figure]
    note: Annotated[str, Meta(description="what is not in the figures, or counts as nothing")] = ""
    subset: Annotated[str, Meta(description="which of the items these are; empty: all of the condition")] = ""
    counts: Annotated[dict[str, int], Meta(description="of what else is known of them, such as silent ones")] = {}

    def figure(self, scale: Measure) -> Figure:
        """The figure of a scale; NO_FIGURE if it has none."""
        return self.measures.get(scale.id, NO_FIGURE)

    def n_of(self, scale: str) -> int | None:
        """The number of values behind the figure of a scale (its id); None if that is not stated, or there is none."""
        figure = self.measures.get(scale, NO_FIGURE)
        if figure.value is None:
            return None
        return self.n if figure.n is None else figure.n

    def own_n(self, scale: str) -> int | None:
        """The n of the figure of a scale (its id) where it is not the n of the row."""
        n = self.n_of(scale)
        return None if n == self.n else n


class Difference(Struct, frozen=True):
    """System a's excess over system b in a measure, over the n items that both have."""

    condition: str
    a: str
    b: str
    measure: str
    n: int
    difference: float | None
    ci95: Interval
    p: float | None
    p_corrected: Annotated[float | None, Meta(description="for all differences of the scorecard; null: not tested")]
    detectable: Annotated[
        float | None, Meta(description="the least true difference that so many items are likely to show")
    ] = None
    needed: Annotated[int, Meta(description="the fewest items with which p can fall below 1 - level")] = 0
    differing: Annotated[int | None, Meta(description="in how many items the two differ; null: not known")] = None
    clusters: Annotated[
        int | None, Meta(description="how many recorded users the items are turns of; null: each stands alone")
    ] = None
    by: Annotated[str, Meta(description="which kind of clusters gave the interval; empty where there is one")] = ""

    @property
    def is_equal(self) -> bool:
        """True if both systems are known to have the same value in every item."""
        return self.n > 0 and self.differing == 0

    def too_few(self, level: float) -> str:
        """A statement that its items cannot reach p < 1 - level, in words; "" if they can."""
        count, what = (self.n, "pair") if self.clusters is None else (self.clusters, "recorded user")
        if count >= self.needed:
            return ""
        return (
            f"{count} {what}{'' if count == 1 else 's'} cannot reach p < {1 - level:.2g}; at least {self.needed} needed"
        )


class PassesOfK(Struct, frozen=True):
    """Passing in k trials: at least once (pass@k), every time (pass^k), over the items with k trials or more."""

    k: int
    n: int
    pass_at_k: Figure
    pass_all_k: Figure


class Passes(Struct, frozen=True):
    """A system's pass rates of items, over all of them or those of a subset."""

    condition: str
    system: str
    subset: Annotated[str, Meta(description="empty: all of the condition")]
    trials: Annotated[int, Meta(description="of which it is known whether they pass")]
    passed: int
    unknown: Annotated[int, Meta(description="trials of which it is not known; they are not among the others")]
    by_k: list[PassesOfK]


@dataclass(frozen=True, slots=True)
class ScoredCase:
    """One case of one system, as a page lists it.

    id: the case's name. text: its words, in the language `lang` (a BCP 47 tag). values: by the ids of their scales.
    subset: as in ScoreRow. note: how it differs from cases with the same id ("annotation 2"). tags: groups of tags to
    filter by, such as {"missing": ("Question",)}. words: further texts to search. item: what the suite draws the case
    from, as JSON values. recording: the folder of the call that was scored; the case then has a page of the call, with
    the remarks of the suite. outcome: what it came to, in a word or two; a list shows it in place of the value of the
    first main scale.
    """

    condition: str
    system: str
    id: str
    text: str
    values: Mapping[str, float]
    subset: str = ""
    note: str = ""
    lang: str = ""
    tags: Mapping[str, Sequence[str]] = field(default_factory=dict)
    words: Sequence[str] = ()
    item: Mapping[str, Any] = field(default_factory=dict)
    recording: str = ""
    outcome: str = ""


class PageWords(NamedTuple):
    """The words of a scorecard's page in another language. language: a BCP 47 tag. words: by their English.

    `fdbcore.report.html.wording` says how they are looked up.
    """

    language: str
    words: Mapping[str, str]


class SuiteViews:
    """Views of a document beside its scorecard, by a suite; by default none. Every text in its HTML is escaped."""

    def details(self, width: int) -> Sequence[Sequence[str]]:
        """Blocks of lines on the screen, of at most `width` columns (60 or more)."""
        return ()

    def page_words(self) -> PageWords | None:
        """The words of the page in another language than English, if the user wants one; None for English."""
        return None

    def style(self) -> str:
        """The style sheet (CSS) of its drawings on the page, in light and dark mode."""
        return ""

    def legend(self) -> str:
        """HTML that stands once above the pictures: how to read them, and what they refer to, such as patterns."""
        return ""

    def picture(self, case: ScoredCase) -> str:
        """The view of one case on the page, as HTML."""
        return ""

    def remarks(self, case: ScoredCase) -> CallRemarks:
        """Remarks beside the recording on the page of a case's call, if the case has a `recording`."""
        return NO_REMARKS

    def section(self) -> str:
        """A section of the page beside the scorecard, as HTML. It begins with an h2."""
        return ""

    def figures(self) -> Mapping[str, str]:
        """Figures for a paper, beside those of the scorecard: SVG by file name."""
        return {}


@dataclass(frozen=True, slots=True)
class Telling:
    """A case to look at first. what: what it shows, such as the "most" or the "least". measure: the id of the scale."""

    what: str
    measure: str
    case: ScoredCase


@dataclass(frozen=True, slots=True)
class Scorecard:
    """The scores of the systems of a suite, for a screen, a page, tables and JSON.

    scales: the first main one ranks cases. conditions: the heading of each, by name; conditions_by: what they are
    ("noise"). rows: over all cases of a condition; subsets: over some of them, grouped by what subsets_by names
    ("topic"). cases: all of them; telling: a few of them that show something well. facts: what was scored, in a few
    words; statements: the results, in sentences. level: two systems differ if the corrected p is below 1 - level.
    caption: the caption of its table in a paper. test: how p and its correction were computed. detectable: what the
    minimum detectable effect is. notes: what rows and columns mean, and how they were computed; terms: what each
    term means, at length.
    not_compared: why there are no differences, where there are none. correction: the name of that of p. views: what
    only this suite shows.
    evidence: what the figures rest on, as JSON values. problems: what was left out; gaps: what is missing of cases that
    are scored all the same.
    """

    title: str
    scales: Sequence[Measure]
    conditions: Mapping[str, str]
    rows: Sequence[ScoreRow]
    differences: Sequence[Difference] = ()
    telling: Sequence[Telling] = ()
    warnings: Sequence[str] = ()
    problems: Sequence[Problem] = ()
    caption: str = ""
    test: str = ""
    detectable: str = ""
    notes: Sequence[str] = ()
    facts: Sequence[str] = ()
    statements: Sequence[str] = ()
    subsets: Sequence[ScoreRow] = ()
    subsets_by: str = ""
    conditions_by: str = "condition"
    cases: Sequence[ScoredCase] = ()
    terms: Mapping[str, str] = field(default_factory=dict)
    evidence: Mapping[str, Any] = field(default_factory=dict)
    level: float = 0.95
    gaps: Sequence[Problem] = ()
    not_compared: str = "There are no two systems to compare."
    correction: str = "Holm"
    views: SuiteViews = field(default_factory=SuiteViews)

    @property
    def shows_detectable(self) -> bool:
        """True if the minimum detectable effect is known of any."""
        return any(one.detectable is not None for one in self.differences)

    @property
    def how_tested(self) -> str:
        """The computation of p, and the minimum detectable effect, where it is shown."""
        return f"{self.test}; {DETECTABLE}: {self.detectable}" if self.shows_detectable else self.test

    @property
    def shown_terms(self) -> Mapping[str, str]:
        """The terms, without those of columns that it does not have."""
        return {name: text for name, text in self.terms.items() if self.shows_detectable or name.lower() != DETECTABLE}

    def scale(self, id: str) -> Measure:
        """The scale of that id."""
        return next(scale for scale in self.scales if scale.id == id)

    def better(self, one: Difference) -> str | None:
        """The better one of the two systems, by the corrected p; None where it cannot be told, or neither is."""
        direction = self.scale(one.measure).direction
        if one.p_corrected is None or one.p_corrected >= 1 - self.level or not one.difference or not direction:
            return None
        return one.a if (one.difference > 0) == (direction > 0) else one.b
