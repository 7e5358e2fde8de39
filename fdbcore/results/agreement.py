"""Agreement of raters, alike in all suites: people with each other, judges with people, and judges with each other.

A suite hands over who gave which mark to which item by which measure, and names the statistics. What somebody cannot
tell, or has not rated, is left out and counted. Two raters whose means and variances are alike have nearly the same
interval alpha and Pearson's r; a rater who is stricter throughout lowers alpha, and not r.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from statistics import fmean
from typing import Annotated, Any, Final, Literal, TypeAlias

import numpy as np
from msgspec import UNSET, Meta, Struct, UnsetType

from fdbcore.errors import SettingsError
from fdbcore.results.document import ProblemEntry
from fdbcore.stats.bootstrap import Estimate, Floats, bootstrap_times
from fdbcore.stats.raters import interval_alpha, kappas, ordinal_alpha, pearson, spearman
from fdbcore.types import Problem
from fdbcore.types.scorecard import Interval

PEOPLE: Final = "people"
"""The rater that stands for all people."""

Between: TypeAlias = Literal["people", "judge and people", "judges"]
RaterKind: TypeAlias = Literal["person", "judge"]
ItemKey: TypeAlias = tuple[str | int, ...]
RatedMeasure: TypeAlias = tuple[str, ...]
"""The name of a measure, and of what else it is compared apart: a family, a set."""
Mark: TypeAlias = float | None
"""None: cannot tell."""


class AgreementFigure(Struct, frozen=True):
    """A statistic of agreement. reason: why it, or its interval, is null."""

    value: float | None
    ci95: Interval
    reason: str

    @classmethod
    def of(cls, estimate: Estimate) -> "AgreementFigure":
        """An estimate as it is published."""
        return cls(estimate.value, estimate.interval, estimate.reason)


class RaterEntry(Struct, frozen=True, kw_only=True):
    """A rater, and how many items were rated."""

    name: str
    kind: Annotated[RaterKind | UnsetType, Meta(description="a judge is a model, a matcher or a measure")] = UNSET
    dialogues: Annotated[int | UnsetType, Meta(description="with a rating, or a mark of an event")] = UNSET
    calls: int | UnsetType = UNSET
    replies: Annotated[int | UnsetType, Meta(description="that were rated, and are scored")] = UNSET


_Figure: TypeAlias = AgreementFigure | UnsetType
_OfTwo: TypeAlias = Annotated[_Figure | None, Meta(description="null: there are more than two raters")]


class RaterComparison(Struct, frozen=True, kw_only=True):
    """The agreement of raters in one thing, which the first fields name. Each suite has some of the fields."""

    set: str | UnsetType = UNSET
    annotator: Annotated[str | UnsetType | None, Meta(description="by whom the measure is; null: people alone")] = UNSET
    system: Annotated[str | UnsetType | None, Meta(description="whose replies; null: those of all systems")] = UNSET
    measure: Annotated[str | UnsetType | None, Meta(description="beside people; null: people alone")] = UNSET
    metric: str | UnsetType = UNSET
    family: Annotated[str | UnsetType | None, Meta(description="whose rubric the score is by; null: no score")] = UNSET
    between: Between | UnsetType = UNSET
    raters: Annotated[list[str], Meta(description="two, or all people; 'people' is their mean, or what most say")]
    n: Annotated[int, Meta(description="items that all, or of more than two raters two, gave a mark")]
    records: Annotated[int | UnsetType, Meta(description="whose replies the items are")] = UNSET
    cannot_tell: Annotated[int | UnsetType, Meta(description="items left out because one could not tell")] = UNSET
    not_rated: Annotated[int | UnsetType, Meta(description="items left out because one has not rated them")] = UNSET
    means: Annotated[list[float | None] | UnsetType, Meta(description="of each rater, over the n items")] = UNSET
    yes: Annotated[list[int] | UnsetType, Meta(description="of the n items by each rater")] = UNSET
    identical: Annotated[_Figure, Meta(description="share on which all say the same")] = UNSET
    alpha_interval: _Figure = UNSET
    alpha_ordinal: _Figure = UNSET
    pearson: _OfTwo = UNSET
    spearman: _OfTwo = UNSET
    alpha: Annotated[_Figure | None, Meta(description="null: a measure of another scale")] = UNSET
    kappa: _OfTwo = UNSET
    clusters: Annotated[int | UnsetType, Meta(description="that were resampled, each with all its items")] = UNSET


class RaterAgreement(Struct, frozen=True):
    """Agreement of raters on dialogues, calls or replies. Intervals resample these, or what they are clusters of."""

    schema: Literal["fdbcore.rating_agreement/1", "fdbcore.verdict_agreement/1", "fdbcore.acts_ratings/1"]
    raters: list[RaterEntry]
    comparisons: list[RaterComparison]
    problems: list[ProblemEntry]


@dataclass(slots=True)
class Rater:
    """A person or a judge, and the marks that it gave, by item and measure."""

    name: str
    kind: RaterKind
    marks: dict[ItemKey, dict[RatedMeasure, Mark]] = field(default_factory=dict)

    def take(self, item: ItemKey, marks: Mapping[RatedMeasure, Mark], where: str, what: str) -> None:
        """Add the marks of an item. SettingsError for a second one that differs. where, what: they are, in words."""
        known = self.marks.setdefault(item, {})
        for measure, mark in marks.items():
            if known.setdefault(measure, mark) != mark:
                reason = f"got a second one that differs in {measure[0]}"
                raise SettingsError(f"{where}: expected one {what} by {self.name}, {reason}")


def marks_in(
    row: Mapping[str, str],
    where: str,
    names: Iterable[str],
    mark_of: Callable[[str], Mark],
    expected: str,
    problems: list[Problem],
) -> dict[str, Mark]:
    """The marks in the columns of these names; empty cells have none. mark_of: raises ValueError for what is none."""
    marks = {}
    for name in names:
        if text := row.get(name, ""):
            try:
                marks[name] = mark_of(text)
            except ValueError:
                problems.append(Problem(where, f"{name}: left out: expected {expected}, got {text!r}"))
    return marks


Pool: TypeAlias = Callable[[Sequence[float]], Mark]
"""A function for the joint mark of people, from the marks of those who can tell."""


def people_as_one(people: Sequence[Rater], pool: Pool) -> Rater:
    """The joint marks of people, as one rater; it cannot tell what none of them can."""
    found = Rater(PEOPLE, "person")
    for person in people:
        for item in person.marks.keys() - found.marks.keys():
            own = [each.marks[item] for each in people if item in each.marks]
            found.marks[item] = marks = {}
            for measure in {measure for given in own for measure in given}:
                known = [mark for given in own if (mark := given.get(measure)) is not None]
                marks[measure] = pool(known) if known else None
    return found


def _groups(raters: Sequence[Rater], pool: Pool) -> Iterator[tuple[Between, Sequence[Rater]]]:
    """All people, their pairs, each judge with the people as one and with each of them, and pairs of judges."""
    people, judges = ([each for each in raters if each.kind == kind] for kind in ("person", "judge"))
    if len(people) > 2:
        yield "people", people
    yield from (("people", pair) for pair in combinations(people, 2))
    for judge in judges:
        if len(people) > 1:
            yield "judge and people", (judge, people_as_one(people, pool))
        yield from (("judge and people", (judge, person)) for person in people)
    yield from (("judges", pair) for pair in combinations(judges, 2))


def _identical(ratings: Floats, times: Floats) -> Floats:
    alike = (np.nanmin(ratings, axis=1) == np.nanmax(ratings, axis=1)).astype(float)
    share: Floats = times @ alike / times.sum(axis=1)
    return share


def _kappa(ratings: Floats, times: Floats) -> Floats:
    """Of yes (1) and no (0)."""
    return kappas(times @ np.eye(4)[(2 * ratings[:, 0] + ratings[:, 1]).astype(int)])


StatisticName: TypeAlias = Literal[
    "identical", "alpha", "alpha_interval", "alpha_ordinal", "pearson", "spearman", "kappa"
]
_STATISTICS: Final[Mapping[StatisticName, Callable[[Floats, Floats], Floats]]] = {
    "identical": _identical,
    "alpha": interval_alpha,  # between 0 and 1 the metrics of nominal and of interval scales are the same
    "alpha_interval": interval_alpha,
    "alpha_ordinal": ordinal_alpha,
    "pearson": pearson,
    "spearman": spearman,
    "kappa": _kappa,
}
_OF_TWO: Final = {"pearson", "spearman", "kappa"}


@dataclass(frozen=True, slots=True)
class RatersCompared:
    """Ratings of the items that two raters of them or more can tell, which are in order.

    ratings: (items, raters), NaN where there is none. cannot_tell, not_rated: how many items are left out.
    """

    between: Between
    raters: list[str]
    items: Sequence[ItemKey]
    ratings: Floats
    cannot_tell: int
    not_rated: int

    def entry(
        self, names: Iterable[StatisticName], what: Mapping[str, Any], clusters: Sequence[str] | None = None
    ) -> RaterComparison:
        """The statistics of these names, with intervals over items, or their clusters. what: the other fields.

        clusters: the name of each item's.
        """
        is_pair = len(self.raters) == 2
        found: dict[str, Any] = {"raters": self.raters, "n": len(self.items), **what}
        for name in names:
            found[name] = None if name in _OF_TWO and not is_pair else self.figure(name, clusters)
        return RaterComparison(**found)

    def figure(self, name: StatisticName, clusters: Sequence[str] | None = None) -> AgreementFigure:
        """One of the statistics."""
        statistic = partial(_STATISTICS[name], self.ratings)
        if clusters is None:
            return AgreementFigure.of(bootstrap_times(statistic, len(self.items)))
        _, cluster_of = np.unique(clusters, return_inverse=True)
        sizes = np.bincount(cluster_of)
        return AgreementFigure.of(
            bootstrap_times(lambda times: statistic(times[:, cluster_of]), len(sizes), sizes=sizes)
        )


def compared_all(between: Between, raters: Sequence[Rater], measure: RatedMeasure) -> RatersCompared:
    """These raters together."""
    own = [{item: of[measure] for item, of in each.marks.items() if measure in of} for each in raters]
    items = sorted({item for marks in own for item in marks})
    given = {item: sum(item in marks for marks in own) for item in items}
    told = {item: sum(marks.get(item) is not None for marks in own) for item in items}
    kept = [item for item in items if told[item] >= 2]
    ratings = [[np.nan if (mark := marks.get(item)) is None else mark for marks in own] for item in kept]
    return RatersCompared(
        between,
        [each.name for each in raters],
        kept,
        np.array(ratings, dtype=np.float64).reshape(-1, len(own)),
        cannot_tell=sum(told[item] < 2 <= given[item] for item in items),
        not_rated=sum(given[item] < 2 for item in items),
    )


def compared(raters: Sequence[Rater], measure: RatedMeasure, pool: Pool = fmean) -> Iterator[RatersCompared]:
    """Each group of raters of whom two or more have rated something by the measure, or could not tell.

    pool: makes one mark of those that people gave who can tell.
    """
    for between, group in _groups(raters, pool):
        if sum(any(measure in marks for marks in each.marks.values()) for each in group) >= 2:
            yield compared_all(between, group, measure)
