"""Our measures over recordings: for each system and slice, differences of systems, and repeated trials.

Recordings of one speaker resemble each other, and so do recordings of one scenario. Each interval is made twice, by
speaker and by scenario, and the wider one is given. A share of recordings has Wilson's interval (`fdbcore.stats.
shares`), all else the cluster bootstrap (`fdbcore.stats.bootstrap`). The p values of differences are those of the kind
that gives the larger one: that the mean difference of recordings is 0, by flipping the signs of whole clusters
(`sign_flip_p`). One measure is tested first, the others where it differs (`gatekeeper_p`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from statistics import fmean
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from fdbcore.stats.bootstrap import MEDIAN, RESAMPLES, Estimate, Floats, Statistic, bootstrap_ci, difference_ci, mean
from fdbcore.stats.passes import pass_all, pass_at
from fdbcore.stats.shares import wilson_by_cluster, wilson_difference
from fdbcore.stats.significance import gatekeeper_p, sign_flip_p
from fdbcore.suites.fdb_v3.compat.logs import SystemLog
from fdbcore.suites.fdb_v3.ours.measures import failure, figures
from fdbcore.suites.fdb_v3.slices import ORDER, slices_of
from fdbcore.suites.fdb_v3.terms import COMPARED, FAILURES, MEASURES, FailureClass, Pooled

if TYPE_CHECKING:
    from fdbcore.suites.fdb_v3.cases import V3Case
    from fdbcore.suites.fdb_v3.document_types import OursComparison, OursFigure, OursPasses, OursRow
    from fdbcore.suites.fdb_v3.scenario_types import RecordedScenarioEntry


class OursItem(NamedTuple):
    """What one system did in one trial of a recording. values: by the ids of their measures."""

    system: str
    trial: int
    record: RecordedScenarioEntry
    values: Mapping[str, float | None]
    failure: FailureClass | None


def ours_of(case: V3Case, log: SystemLog | None) -> OursItem:
    """Our measures of a case. log: with a judge's verdicts, if there is one; see `figures`."""
    return OursItem(case.system, case.trial, case.record, figures(case, log), failure(case, log))


def rows_of(items: Sequence[OursItem]) -> Iterator[OursRow]:
    """For each system a row over all its items, then one for each slice that has any.

    In slices only the measures of COMPARED have intervals.
    """
    for system, own in _by_system(items).items():
        for name in ("", *ORDER):
            within = [item for item in own if not name or name in slices_of(item.record)]
            if within:
                yield _row(system, name, within)


def _by_system(items: Iterable[OursItem]) -> dict[str, list[OursItem]]:
    found: dict[str, list[OursItem]] = {}
    for item in items:
        found.setdefault(item.system, []).append(item)
    return found


def _row(system: str, name: str, items: Sequence[OursItem]) -> OursRow:
    classes = Counter(item.failure for item in items if item.failure is not None)
    return {
        "system": system,
        "slice": name,
        "n": len(items),
        "recordings": len({item.record["id"] for item in items}),
        "failures": {each: classes[each] for each in FAILURES if each in classes},
        "measures": {
            each.id: _pooled(each.pooled, _Sample.of(items, each.id), not name or each.id in COMPARED)
            for each in MEASURES.values()
        },
    }


class _Sample(NamedTuple):
    """The values of a measure, (n,), and the names of their clusters, (n,), of either kind."""

    values: Floats
    speakers: Sequence[str]
    scenarios: Sequence[str]

    @classmethod
    def of(cls, items: Iterable[OursItem], measure: str) -> _Sample:
        return cls.at((item.values[measure], item.record) for item in items)

    @classmethod
    def at(cls, values: Iterable[tuple[float | None, RecordedScenarioEntry]]) -> _Sample:
        known = [(value, record) for value, record in values if value is not None]
        return cls(
            np.array([value for value, _ in known], np.float64),
            [record["speaker"] for _, record in known],
            [record["scenario"] for _, record in known],
        )


def _pooled(pooling: Pooled, sample: _Sample, has_interval: bool = True) -> OursFigure:
    if not len(sample.values):
        return {"value": None, "ci95": None, "by": None, "n": 0}
    if not has_interval:
        value = float((np.median if pooling == "median" else np.mean)(sample.values))
        return {"value": value, "ci95": None, "by": None, "n": len(sample.values)}
    estimate, by = _wider(partial(_estimate, pooling), [sample])
    return {"value": estimate.value, "ci95": estimate.interval, "by": by, "n": len(sample.values)}


def _wider(
    estimate: Callable[[Sequence[Floats], Sequence[Sequence[str]]], Estimate], samples: Sequence[_Sample]
) -> tuple[Estimate, Literal["speaker", "scenario"] | None]:
    """The estimate with the wider interval of both kinds of clusters, and that kind."""
    values = [sample.values for sample in samples]
    by_speaker = estimate(values, [sample.speakers for sample in samples])
    by_scenario = estimate(values, [sample.scenarios for sample in samples])
    if by_speaker.interval is None and by_scenario.interval is None:
        return by_scenario, None
    return (by_speaker, "speaker") if _width(by_speaker) > _width(by_scenario) else (by_scenario, "scenario")


def _width(estimate: Estimate) -> float:
    return -1.0 if estimate.interval is None else estimate.interval.high - estimate.interval.low


def _estimate(pooling: Pooled, values: Sequence[Floats], clusters: Sequence[Sequence[str]]) -> Estimate:
    """Of one sample its figure, of two their paired difference."""
    if pooling != "share":
        statistic: Statistic = MEDIAN if pooling == "median" else mean
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


def comparisons_of(items: Sequence[OursItem]) -> list[OursComparison]:
    """Each two systems on the recordings that both have, in the measures of COMPARED, tested together."""
    found: list[OursComparison] = []
    differences: list[Mapping[str, float]] = []
    for a, b in combinations(_by_system(items).values(), 2):
        for measure in COMPARED:
            known = [[item for item in own if item.values[measure] is not None] for own in (a, b)]
            shared = set.intersection(*({item.record["id"] for item in own} for own in known))
            both = [[item for item in own if item.record["id"] in shared] for own in known]
            if shared:
                found.append(_compared(measure, *both))
                differences.append(_differences(measure, *both))
    records = {item.record["id"]: item.record for item in sorted(items, key=lambda item: item.record["id"])}
    columns = [[own.get(name, math.nan) for own in differences] for name in records]
    pairs = [(one["a"], one["b"]) for one in found]
    clusters = [[record["speaker"] for record in records.values()], [record["scenario"] for record in records.values()]]
    for one, p, corrected in zip(found, *p_values(np.array(columns), pairs, clusters), strict=True):
        one["p"], one["p_corrected"] = p, corrected
    return found


def p_values(
    differences: Floats, pairs: Sequence[tuple[str, str]], clusters: Iterable[Sequence[str]], flips: int = RESAMPLES
) -> tuple[list[float], list[float | None]]:
    """Of each comparison p, and p corrected for all (None: not tested), the larger ones of all kinds of clusters.

    differences: (recordings, comparisons), NaN where a recording has none. pairs: of each comparison its systems; the
    first of a pair is the gate of the others. clusters: of each kind the cluster of each recording.
    """
    gates = [pairs.index(pair) for pair in pairs]
    single = [sign_flip_p(differences, each, flips=flips) for each in clusters]
    corrected = [gatekeeper_p(differences, gates, each, flips=flips) for each in clusters]
    return (
        [max(each or 0.0 for each in own) for own in zip(*single, strict=True)],
        [None if None in own else max(each or 0.0 for each in own) for own in zip(*corrected, strict=True)],
    )


def _compared(measure: str, a: Sequence[OursItem], b: Sequence[OursItem]) -> OursComparison:
    """The difference on the same recordings, not tested yet."""
    samples = [_Sample.of(own, measure) for own in (a, b)]
    estimate, by = _wider(partial(_estimate, MEASURES[measure].pooled), samples)
    return {
        "measure": measure,
        "a": a[0].system,
        "b": b[0].system,
        "n": len({item.record["id"] for item in a}),
        "difference": estimate.value,
        "ci95": estimate.interval,
        "by": by,
        "p": 1.0,
        "p_corrected": None,
    }


def _differences(measure: str, a: Iterable[OursItem], b: Iterable[OursItem]) -> Mapping[str, float]:
    """The difference on each recording, which counts once, by the mean of its trials."""
    means_a, means_b = _means(a, measure), _means(b, measure)
    return {name: means_a[name] - means_b[name] for name in means_a}


def _means(items: Iterable[OursItem], measure: str) -> dict[str, float]:
    """The mean of each recording's trials."""
    trials: dict[str, list[float]] = {}
    for item in items:
        value = item.values[measure]
        assert value is not None
        trials.setdefault(item.record["id"], []).append(value)
    return {name: fmean(own) for name, own in trials.items()}


def passes_of(items: Sequence[OursItem]) -> Iterator[OursPasses]:
    """pass@k and pass^k of each system that has several trials of a recording, means over recordings with k or more."""
    for system, own in _by_system(items).items():
        trials: dict[str, list[OursItem]] = {}
        for item in own:
            trials.setdefault(item.record["id"], []).append(item)
        most = max(map(len, trials.values()))
        for k in range(1, most + 1) if most > 1 else ():
            enough = [each for each in trials.values() if len(each) >= k]
            yield {
                "system": system,
                "k": k,
                "pass_at_k": _of_trials(pass_at, k, enough),
                "pass_all_k": _of_trials(pass_all, k, enough),
            }


def _of_trials(formula: Callable[[int, int, int], float], k: int, trials: Iterable[Sequence[OursItem]]) -> OursFigure:
    sample = _Sample.at(
        (formula(k, len(own), sum(item.failure is None for item in own)), own[0].record) for own in trials
    )
    return _pooled("mean", sample)
