"""The rows of a scores document: what the items of many samples give, with intervals by sample; and comparisons.

The published table of v1 stands beside on request; nothing is tested against it. It is that of the README of
github.com/DanielLin94144/Full-Duplex-Bench, with the words of Parakeet-TDT 0.6B v2 (since June 2025). Results of v1.5
were not found as a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Annotated, Final, Literal, TypeAlias, TypedDict

import numpy as np
import numpy.typing as npt
from msgspec import Meta

from fdbcore.stats.bootstrap import Interval, bootstrap_ci, bootstrap_columns
from fdbcore.stats.shares import wilson_by_cluster
from fdbcore.stats.significance import detectable_difference, holm, pairs_needed, sign_flip_p, spread_of
from fdbcore.suites.fdb_v1.calls import HeardSample
from fdbcore.suites.fdb_v1.figures import Figures
from fdbcore.suites.fdb_v1.measures import BY_ID, COMPARED, MEASURES
from fdbcore.suites.fdb_v1.rules import trimmed_mean
from fdbcore.suites.fdb_v1.samples import BACKCHANNEL, INTERRUPTION, PAUSE, TURN_TAKING, V1, Version, tasks_of

_COLUMNS: Final = (
    (PAUSE, "synthetic", "compat_takeover_unwanted", 137),
    (PAUSE, "Candor", "compat_takeover_unwanted", 216),
    (BACKCHANNEL, "ICC", "compat_takeover_unwanted", 55),
    (BACKCHANNEL, "ICC", "compat_backchannels_per_s", 55),
    (BACKCHANNEL, "ICC", "compat_jsd", 55),
    (TURN_TAKING, "Candor", "compat_takeover_wanted", 119),
    (TURN_TAKING, "Candor", "compat_latency_s", 119),
    (INTERRUPTION, "synthetic", "compat_takeover_wanted", 200),
    (INTERRUPTION, "synthetic", "compat_rating", 200),
    (INTERRUPTION, "synthetic", "compat_latency_s", 200),
)
_TABLE: Final = {
    "PersonaPlex": (0.584, 0.662, 0.327, 0.025, 0.649, 0.992, 0.070, 1.000, 4.210, 0.400),
    "dGSLM": (0.934, 0.935, 0.691, 0.015, 0.934, 0.975, 0.352, 0.917, 0.201, 2.531),
    "Moshi": (0.985, 0.980, 1.000, 0.001, 0.957, 0.941, 0.265, 1.000, 0.765, 0.257),
    "Freeze-Omni": (0.642, 0.481, 0.636, 0.001, 0.997, 0.336, 0.953, 0.867, 3.615, 1.409),
    "Gemini Live 2.0": (0.255, 0.310, 0.091, 0.012, 0.896, 0.655, 1.301, 0.891, 3.376, 1.183),
    "GPT-Realtime": (0.010, 0.120, 0.000, 0.007, 0.980, 1.000, 1.470, 0.970, 3.850, 1.500),
}
RangeBy: TypeAlias = Literal["transcriber", "detector", "judge"]
Limits: TypeAlias = Annotated[tuple[float, float] | None, Meta(description="95 %; null where there is none")]


class V1Figure(TypedDict):
    """A measure over samples: a share, a mean, or for what is compared before and after a trimmed mean."""

    value: float | None
    sd: Annotated[float | None, Meta(description="of its items; null of a share")]
    ci95: Limits
    n: Annotated[int, Meta(description="items: opportunities of a share, values of a mean")]


class V1Row(TypedDict):
    """A system in one task, over all samples or those of one group."""

    condition: Annotated[str, Meta(description="the task; of v1.5 whether the user was disturbed, too")]
    group: Annotated[str | None, Meta(description="the folder of the samples; null: all of them")]
    system: str
    n: Annotated[int, Meta(description="samples that are scored, each trial counted")]
    measures: dict[str, V1Figure]


class V1Range(TypedDict):
    """What a figure is by several recognisers, detectors, or judges and wordings of their rubric, over the samples that
    all of them have it of; the first is the one of the tables, which may be of more samples."""

    condition: str
    system: str
    measure: str
    by: RangeBy
    n: Annotated[int, Meta(description="samples, each trial counted, that all of them have the figure of")]
    values: dict[str, float]
    low: float
    high: float


class V1Comparison(TypedDict):
    """System a minus system b in one task, on the samples that both have."""

    condition: str
    a: str
    b: str
    measure: str
    n: int
    difference: float
    ci95: Limits
    p: float | None
    p_holm: float | None
    detectable: float | None


Scored = Sequence[tuple[HeardSample, Figures]]
LEAST_COMPARED = 2


def figure_of(measure: str, items: Sequence[Sequence[float]], samples: Sequence[str]) -> V1Figure | None:
    """A measure over samples; None if none has an item.

    items: of each call. samples: the name of each call's sample, which intervals resample.
    """
    values = [value for own in items for value in own]
    if not values:
        return None
    clusters = [name for own, name in zip(items, samples, strict=True) for _ in own]
    pooling = BY_ID[measure].pooling
    interval: Interval | None = None
    if pooling == "trimmed":
        value = trimmed_mean(values)
    else:
        value = float(np.mean(values))
        if pooling == "share":
            _, places = np.unique(clusters, return_inverse=True)
            interval = wilson_by_cluster(np.bincount(places, weights=values), np.bincount(places))
        else:
            interval = bootstrap_ci(values, clusters).interval
    sd = float(np.std(values, ddof=1)) if len(values) > 1 and pooling != "share" else None
    return {"value": value, "sd": sd, "ci95": interval, "n": len(values)}


def rows_of(version: Version, scored: Scored) -> list[V1Row]:
    """A row for each task and system; then, where the samples of a task lie in several folders, one for each."""
    found: list[V1Row] = []
    for condition, system in _keys(version, scored):
        own = [each for each in scored if (each[0].sample.condition, each[0].system) == (condition, system)]
        found.append(_row(condition, None, system, own))
        groups = list(dict.fromkeys(case.sample.group for case, _ in own))
        for group in groups if len(groups) > 1 else []:
            found.append(_row(condition, group, system, [each for each in own if each[0].sample.group == group]))
    return found


def conditions_of(version: Version) -> list[str]:
    """The conditions in the order of tables."""
    return [name for task in tasks_of(version) for name in (task, f"{task}, clean")]


def _keys(version: Version, scored: Scored) -> list[tuple[str, str]]:
    order = conditions_of(version)
    found = dict.fromkeys((case.sample.condition, case.system) for case, _ in scored)
    return sorted(found, key=lambda key: order.index(key[0]))


def _row(condition: str, group: str | None, system: str, own: Scored) -> V1Row:
    samples = [case.sample.name for case, _ in own]
    measures = {
        measure.id: figure
        for measure in MEASURES
        if (figure := figure_of(measure.id, [items.get(measure.id, ()) for _, items in own], samples)) is not None
    }
    return {"condition": condition, "group": group, "system": system, "n": len(own), "measures": measures}


def comparisons_of(version: Version, scored: Scored) -> list[V1Comparison]:
    """Each pair of systems in each task, on the samples that both have, by the means of a sample's items."""
    found: list[V1Comparison] = []
    keys = _keys(version, scored)
    for condition in dict.fromkeys(condition for condition, _ in keys):
        means = {system: _means(scored, condition, system) for of, system in keys if of == condition}
        for a, b in combinations(means, 2):
            for measure in COMPARED:
                both = sorted(means[a][measure].keys() & means[b][measure].keys())
                if both:
                    pairs = [means[a][measure][name] - means[b][measure][name] for name in both]
                    found.append(_compared(condition, a, b, measure, np.array(pairs)))
    corrected = iter(holm([one["p"] for one in found if one["p"] is not None]))
    for one in found:
        one["p_holm"] = next(corrected) if one["p"] is not None else None
    return found


def _means(scored: Scored, condition: str, system: str) -> dict[str, dict[str, float]]:
    """The mean of the items of each sample, by measure and sample."""
    items: dict[str, dict[str, list[float]]] = {measure: {} for measure in COMPARED}
    for case, figures in scored:
        if (case.sample.condition, case.system) == (condition, system):
            for measure in COMPARED:
                if own := figures.get(measure):
                    items[measure].setdefault(case.sample.name, []).extend(own)
    return {
        measure: {name: float(np.mean(own)) for name, own in by_sample.items()} for measure, by_sample in items.items()
    }


def _compared(condition: str, a: str, b: str, measure: str, pairs: npt.NDArray[np.float64]) -> V1Comparison:
    return {
        "condition": condition,
        "a": a,
        "b": b,
        "measure": measure,
        "n": len(pairs),
        "difference": float(pairs.mean()),
        "ci95": bootstrap_columns(pairs[:, None])[0].interval,
        "p": sign_flip_p(pairs[:, None])[0],
        "p_holm": None,
        "detectable": None if len(pairs) < pairs_needed() else detectable_difference(spread_of(pairs), len(pairs)),
    }


def ranges_of(
    version: Version, scored: Scored, by: RangeBy, others: Mapping[str, Scored], main: str
) -> Iterator[V1Range]:
    """What figures are by several recognisers, detectors or judges, over the samples of which all that give it have it.

    others: what each other one says, with only the figures that hang on it. main: the name of the first.
    """
    if not others:
        return
    for condition, system in _keys(version, scored):
        own = {
            name: {
                case.path: (case.sample.name, items)
                for case, items in of
                if (case.sample.condition, case.system) == (condition, system)
            }
            for name, of in {main: scored, **others}.items()
        }
        for measure in MEASURES:
            having = {
                name: [path for path, (_, items) in of.items() if items.get(measure.id)] for name, of in own.items()
            }
            names = [name for name, paths in having.items() if paths]
            if main not in names or len(names) < LEAST_COMPARED:
                continue
            shared = [path for path in having[main] if all(path in having[name] for name in names)]
            samples = [own[main][path][0] for path in shared]
            values = {
                name: figure["value"]
                for name in names
                if (figure := figure_of(measure.id, [own[name][path][1][measure.id] for path in shared], samples))
                is not None
                and figure["value"] is not None
            }
            if len(values) == len(names):
                yield {
                    "condition": condition,
                    "system": system,
                    "measure": measure.id,
                    "by": by,
                    "n": len(shared),
                    "values": values,
                    "low": min(values.values()),
                    "high": max(values.values()),
                }


def published_rows(version: Version) -> list[V1Row]:
    """The published figures as rows, in the order of the table; n as the data state it."""
    rows: dict[tuple[str, str, str], V1Row] = {}
    for system, values in _TABLE.items() if version == V1 else ():
        for (condition, group, measure, n), value in zip(_COLUMNS, values, strict=True):
            row = rows.setdefault(
                (condition, group, system),
                {"condition": condition, "group": group, "system": system, "n": n, "measures": {}},
            )
            figure: V1Figure = {"value": value, "sd": None, "ci95": None, "n": n}
            row["measures"][measure] = figure
    return list(rows.values())
