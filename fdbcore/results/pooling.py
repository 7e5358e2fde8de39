"""Items of suites, and the figures of their measures: a value for each system, with its interval.

An item is what one system did in one trial of a sample, a recording, a dialogue or a record. Values of one cluster (a
speaker, a scenario) resemble each other: intervals resample clusters (`fdbcore.stats.bootstrap`), and shares have
Wilson's with the design effect of clusters (`fdbcore.stats.shares`). Where items have clusters of several kinds, the
interval is made by each kind, and the widest is given.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Final, NamedTuple

import numpy as np
from msgspec import Meta, Struct

from fdbcore.stats.bootstrap import (
    MEDIAN,
    Estimate,
    Floats,
    Statistic,
    bootstrap_ci,
    bootstrap_columns,
    difference_ci,
    mean,
)
from fdbcore.stats.passes import pass_all, pass_at
from fdbcore.stats.shares import wilson_by_cluster, wilson_difference
from fdbcore.types.scorecard import NO_FIGURE, Figure, Measure, Passes, PassesOfK, Pooling, ScoreRow

TRIMMED_PERCENTILES: Final = (5, 95)
LEAST_TRIMMED: Final = 3


class ScoredItem(Struct, frozen=True):
    """One system's values in one trial."""

    condition: str
    system: str
    id: Annotated[str, Meta(description="of what every system was given; its trials have the same")]
    values: Annotated[
        Mapping[str, Sequence[float]],
        Meta(description="by measure one value, or one for each opportunity; what is not known is left out"),
    ]
    clusters: Annotated[
        Mapping[str, str], Meta(description="by kind the name of its cluster; without any, each id is a cluster")
    ] = {}
    subsets: Sequence[str] = ()
    draws: Annotated[
        Sequence[Mapping[str, float]],
        Meta(description="for each of several draws, such as verdicts asked for again, the values that differ"),
    ] = ()
    text: Annotated[str, Meta(description="what it is, in words")] = ""
    tags: Annotated[Mapping[str, Sequence[str]], Meta(description="groups of tags, to filter by")] = {}
    recording: Annotated[str, Meta(description="the folder of its call; empty: none")] = ""


def by_system(items: Iterable[ScoredItem]) -> dict[tuple[str, str], list[ScoredItem]]:
    """The items of each condition and system, in the order in which these come first."""
    found: dict[tuple[str, str], list[ScoredItem]] = {}
    for item in items:
        found.setdefault((item.condition, item.system), []).append(item)
    return found


def rows_of(
    items: Iterable[ScoredItem],
    measures: Sequence[Measure],
    subsets: Sequence[str] = (),
    figure: Callable[[Sequence[ScoredItem], Measure, bool], Figure | None] | None = None,
    in_subsets: Collection[str] | None = None,
) -> Iterator[ScoreRow]:
    """For each condition and system the row of all its items, then one for each of these subsets that it has any of.

    figure: pools a measure over items, without an interval if it is told so; None: `figure_of_values`. in_subsets: the
    ids of the measures that have intervals in subsets, where so many would mislead; None: all.
    """
    pooled = figure or figure_of_values
    for (condition, system), of_system in by_system(items).items():
        for subset in ("", *subsets):
            own = [item for item in of_system if not subset or subset in item.subsets]
            if own:
                found = {
                    each.id: pooled(own, each, not subset or in_subsets is None or each.id in in_subsets)
                    for each in measures
                }
                known = {name: figure for name, figure in found.items() if figure is not None}
                yield ScoreRow(condition, "system", system, len(own), known, subset=subset)


class Clustered(NamedTuple):
    """Values, (n,), and by kind the cluster of each, (n,); of one kind without a name if each id is a cluster."""

    values: Floats
    clusters: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, valued: Iterable[tuple[float, ScoredItem]]) -> "Clustered":
        """The values of items."""
        known = list(valued)
        kinds = known[0][1].clusters if known else {}
        return cls(
            np.array([value for value, _ in known], np.float64),
            {kind: [item.clusters[kind] for _, item in known] for kind in kinds}
            or {"": [item.id for _, item in known]},
        )


def values_of(items: Iterable[ScoredItem], measure: str) -> Clustered:
    """All values of a measure."""
    return Clustered.of((value, item) for item in items for value in item.values.get(measure, ()))


def figure_of_values(items: Sequence[ScoredItem], scale: Measure, has_interval: bool = True) -> Figure | None:
    """A measure over all its values, each with the same weight; None without any. It has no SD: see `with_sd`."""
    return pooled(values_of(items, scale.id), scale.pools, has_interval)


def with_sd(items: Sequence[ScoredItem], scale: Measure, has_interval: bool = True) -> Figure | None:
    """`figure_of_values` with the standard deviation (n - 1) of its values; a share has none."""
    sample = values_of(items, scale.id)
    found = pooled(sample, scale.pools, has_interval)
    if found is None or len(sample.values) < 2 or scale.pools == "share":
        return found
    return Figure(found.value, float(np.std(sample.values, ddof=1)), found.ci95, found.n, found.by)


def pooled(sample: Clustered, pools: Pooling, has_interval: bool = True) -> Figure | None:
    """The figure of a sample; None without values. A trimmed mean has no interval."""
    n = len(sample.values)
    if not n:
        return None
    if pools == "trimmed mean":
        return Figure(trimmed_mean(sample.values), n=n)
    if not has_interval:
        return Figure(float((np.median if pools == "median" else np.mean)(sample.values)), n=n)
    estimate, by = widest([sample], pools)
    return Figure(estimate.value, None, estimate.interval, n, by)


def trimmed_mean(values: Sequence[float] | Floats) -> float:
    """The mean of what is neither below the 5th nor above the 95th percentile; of one or two values, of all."""
    found = np.asarray(values, np.float64)
    low, high = np.percentile(found, TRIMMED_PERCENTILES) if len(found) >= LEAST_TRIMMED else (-np.inf, np.inf)
    return float(np.mean(found[(low <= found) & (found <= high)]))


def widest(samples: Sequence[Clustered], pools: Pooling) -> tuple[Estimate, str]:
    """Of one sample its estimate, of two their paired difference: by the kind of clusters whose interval is widest.

    The kind is "" where there is no interval.
    """
    found = [(_estimate(samples, kind, pools), kind) for kind in reversed([*samples[0].clusters])]
    estimate, kind = max(found, key=lambda each: _width(each[0]))
    return estimate, "" if estimate.interval is None else kind


def _width(estimate: Estimate) -> float:
    return -1.0 if estimate.interval is None else estimate.interval.high - estimate.interval.low


def _estimate(samples: Sequence[Clustered], kind: str, pools: Pooling) -> Estimate:
    values, clusters = [sample.values for sample in samples], [sample.clusters[kind] for sample in samples]
    if pools != "share":
        statistic: Statistic = MEDIAN if pools == "median" else mean
        if len(values) == 1:
            return bootstrap_ci(values[0], clusters[0], statistic)
        return difference_ci(values[0], clusters[0], values[1], clusters[1], statistic, paired=True)
    names, numbers = np.unique(np.concatenate([np.asarray(each, np.str_) for each in clusters]), return_inverse=True)
    parts = np.split(numbers, np.cumsum([len(each) for each in clusters])[:-1])
    counts = [
        (np.bincount(part, weights=own, minlength=len(names)), np.bincount(part, minlength=len(names)))
        for part, own in zip(parts, values, strict=True)
    ]
    if len(counts) == 1:
        return Estimate(float(values[0].mean()), wilson_by_cluster(*counts[0]), len(names))
    return wilson_difference(*counts[0], *counts[1])


def figure_of_ids(items: Sequence[ScoredItem], scale: Measure, has_interval: bool = True) -> Figure | None:
    """A measure over ids, each with the same weight whatever its number of trials; None without a value.

    The SD is that of single values. The interval draws ids, and one of the draws of each.
    """
    sample = values_of(items, scale.id)
    if not len(sample.values):
        return None
    sd = float(np.std(sample.values, ddof=1)) if len(sample.values) > 1 else None
    means = means_of_ids(items, scale.id).values()
    drawn = [cells for cells in draws_of_ids(items, scale.id).values() if not np.isnan(cells).all()]
    interval = bootstrap_columns(np.array(drawn)[..., None])[0].interval if has_interval else None
    return Figure(sum(means) / len(means), sd, interval, len(sample.values))


def by_id(items: Iterable[ScoredItem]) -> dict[str, list[ScoredItem]]:
    """The trials of each id, by the order of the ids' names."""
    found: dict[str, list[ScoredItem]] = {}
    for item in items:
        found.setdefault(item.id, []).append(item)
    return dict(sorted(found.items()))


def means_of_ids(items: Iterable[ScoredItem], measure: str) -> dict[str, float]:
    """The mean of all values of each id, over its trials; ids without any are left out."""
    found = {
        name: [value for item in own for value in item.values.get(measure, ())] for name, own in by_id(items).items()
    }
    return {name: float(np.mean(own)) for name, own in found.items() if own}


def draws_of_ids(items: Sequence[ScoredItem], measure: str) -> dict[str, Floats]:
    """For each id the mean over its trials in each draw, (draws,); without draws its mean, (1,). NaN where it is not
    known, so that all ids stand in the same rows whatever the measure is.
    """
    draws = max((len(item.draws) for item in items), default=0)
    if not draws:
        means = means_of_ids(items, measure)
        return {name: np.array([means.get(name, np.nan)]) for name in by_id(items)}
    found: dict[str, Floats] = {}
    for name, own in by_id(items).items():
        cells = np.full((len(own), draws), np.nan)
        for trial, item in enumerate(own):
            if item.values.get(measure):
                cells[trial] = float(np.mean(item.values[measure]))
            for draw, drawn in enumerate(item.draws):
                cells[trial, draw] = drawn.get(measure, cells[trial, draw])
        known = (~np.isnan(cells)).sum(axis=0)
        found[name] = np.divide(np.nansum(cells, axis=0), known, out=np.full(len(known), np.nan), where=known > 0)
    return found


def passes_of(
    items: Sequence[ScoredItem],
    verdict: Callable[[ScoredItem], bool | None],
    subset: str = "",
    *,
    least_trials: int = 1,
) -> Passes | None:
    """The passes of these items, for each k up to the most trials of an id.

    verdict: whether an item passes; None: it cannot be told. None if none can be told, or if no id has `least_trials`.
    """
    told: dict[str, list[bool]] = {}
    first: dict[str, ScoredItem] = {}
    for item in items:
        if (passed := verdict(item)) is not None:
            told.setdefault(item.id, []).append(passed)
            first.setdefault(item.id, item)
    most = max(map(len, told.values()), default=0)
    if most < least_trials:
        return None
    trials = sum(map(len, told.values()))
    return Passes(
        items[0].condition,
        items[0].system,
        subset,
        trials,
        sum(map(sum, told.values())),
        len(items) - trials,
        [_of_k(k, told, first) for k in range(1, most + 1)],
    )


def _of_k(k: int, told: Mapping[str, Sequence[bool]], first: Mapping[str, ScoredItem]) -> PassesOfK:
    enough = {name: own for name, own in told.items() if len(own) >= k}

    def figure(formula: Callable[[int, int, int], float]) -> Figure:
        sample = Clustered.of((formula(k, len(own), sum(own)), first[name]) for name, own in sorted(enough.items()))
        return pooled(sample, "mean") or NO_FIGURE

    return PassesOfK(k, len(enough), figure(pass_at), figure(pass_all))
