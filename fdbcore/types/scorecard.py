"""The results of scoring a suite, and its scorecard: rows for a screen, a page, tables and JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from fdbcore.types import Problem

DETECTABLE: Final = "smallest detectable"
"""The column of the differences that so many cases can show, and the term that explains it."""

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


@dataclass(frozen=True, slots=True)
class Scale:
    """A measure of a suite, as a column of its scorecard.

    direction: 1 if more is better, -1 if less is better, 0 if neither. main: whether it is shown first, with its
    interval and SD. part: the title above columns that belong together. adds_to: the id of the scale that this one and
    others like it sum to; none of them is below 0, and they are drawn as one bar. bounds: the least and the most that
    it can be, where its axis ends; None for an axis that ends where the values do. pools: what its figures are of the
    values of cases.
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


@dataclass(frozen=True, slots=True)
class Figure:
    """A value in the unit of its scale, the standard deviation over cases, and the two limits of its interval.

    n: how many items the value is over; None if these are the cases of its row.
    """

    value: float | None
    sd: float | None = None
    interval: Sequence[float] | None = None
    n: int | None = None


NO_FIGURE: Final = Figure(None)


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """The scores of one system under one condition, over n cases (None: not stated).

    group: "system", or the kind of reference that systems are compared with ("ceiling", "baseline", "published"); of a
    subset also "overall": the mean over subsets.
    figures: by the ids of their scales. note: what the figures leave out or count as zero. subset: which cases these
    are (of one topic, one task); empty for all cases of the condition.
    """

    condition: str
    group: str
    system: str
    n: int | None
    figures: Mapping[str, Figure]
    note: str = ""
    subset: str = ""

    def figure(self, scale: Scale) -> Figure:
        """The figure of a scale; NO_FIGURE if it has none."""
        return self.figures.get(scale.id, NO_FIGURE)

    def n_of(self, scale: str) -> int | None:
        """How many items the figure of a scale (its id) is over; None if that is not stated, or there is none."""
        figure = self.figures.get(scale, NO_FIGURE)
        if figure.value is None:
            return None
        return self.n if figure.n is None else figure.n

    def own_n(self, scale: str) -> int | None:
        """The n of the figure of a scale (its id) where it is not the n of the row."""
        n = self.n_of(scale)
        return None if n == self.n else n


@dataclass(frozen=True, slots=True)
class Difference:
    """How far system `a` is above system `b` on a scale (its id), over the n cases that both have.

    interval: its two limits. p: of the test; p_corrected: corrected for all differences of the scorecard, None where
    they leave it untested. detectable: the smallest true difference that n cases can show. needed: the fewest cases
    with which the test can give a p below 1 - level; with fewer, there is nothing to detect. differing: in how many
    cases the two differ; None where that is not known. clusters: how many recorded users the cases are turns of; None
    where each case stands alone.
    """

    condition: str
    a: str
    b: str
    scale: str
    n: int
    value: float | None
    interval: Sequence[float] | None
    p: float | None
    p_corrected: float | None
    detectable: float | None = None
    needed: int = 0
    differing: int | None = None
    clusters: int | None = None

    @property
    def is_equal(self) -> bool:
        """Whether both systems are known to have the same value in every case."""
        return self.n > 0 and self.differing == 0

    def too_few(self, level: float) -> str:
        """That its cases cannot reach p < 1 - level, in words; "" if they can."""
        count, what = (self.n, "pair") if self.clusters is None else (self.clusters, "recorded user")
        if count >= self.needed:
            return ""
        return (
            f"{count} {what}{'' if count == 1 else 's'} cannot reach p < {1 - level:.2g}; at least {self.needed} needed"
        )


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
    """What the page of a scorecard says in another language. language: a BCP 47 tag. words: by their English.

    `fdbcore.report.html.wording` says how they are looked up.
    """

    language: str
    words: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Telling:
    """A case to look at first. what: what it shows, such as the "most" or the "least". scale: the id of the scale."""

    what: str
    scale: str
    case: ScoredCase


@dataclass(frozen=True, slots=True)
class Scorecard:
    """The scores of the systems of a suite, for a screen, a page, tables and JSON.

    scales: the first main one ranks cases. conditions: the heading of each, by name; conditions_by: what they are
    ("noise"). rows: over all cases of a condition; subsets: over some of them, grouped by what subsets_by names
    ("topic"). cases: all of them; telling: a few of them that show something well. facts: what was scored, in a few
    words; statements: the results, in sentences. level: two systems differ if the corrected p is below 1 - level.
    caption: the caption of its table in a paper. test: how p and its correction were computed. detectable: what the
    smallest detectable difference is. notes: what rows and columns mean, and how they were computed; terms: what each
    term means, at length.
    not_compared: why there are no differences, where there are none. correction: the name of that of p.
    evidence: what the figures rest on, as JSON values. problems: what was left out; gaps: what is missing of cases that
    are scored all the same.
    """

    title: str
    scales: Sequence[Scale]
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

    @property
    def shows_detectable(self) -> bool:
        """Whether the smallest detectable difference is known of any."""
        return any(one.detectable is not None for one in self.differences)

    @property
    def how_tested(self) -> str:
        """How p was computed, and what "detectable" means where it is shown."""
        return f"{self.test}; detectable: {self.detectable}" if self.shows_detectable else self.test

    @property
    def shown_terms(self) -> Mapping[str, str]:
        """The terms, without those of columns that it does not have."""
        return {name: text for name, text in self.terms.items() if self.shows_detectable or name.lower() != DETECTABLE}

    def scale(self, id: str) -> Scale:
        """The scale of that id."""
        return next(scale for scale in self.scales if scale.id == id)

    def better(self, one: Difference) -> str | None:
        """Which of the two systems is better, by the corrected p; None where it cannot be told, or neither is."""
        direction = self.scale(one.scale).direction
        if one.p_corrected is None or one.p_corrected >= 1 - self.level or not one.value or not direction:
            return None
        return one.a if (one.value > 0) == (direction > 0) else one.b
