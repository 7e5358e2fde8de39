"""What the 95 % intervals cover: how often they hold the truth where it is known, by the number of clusters.

Calls of about twelve turns, which resemble each other (intraclass correlation 0.3 of log latencies, 0.2 of shares, 0.1
of rare ones); rates of events that differ from call to call; two systems that answer the same scenarios, which are hard
or easy for both. Beside each, the intervals that one would make without thinking of calls: percentile bootstrap of all
turns, and Wilson's of all turns. Goal: 92 to 97 % from FEW_CLUSTERS clusters on,
of rare events from so many clusters that have one.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.harness import print_table
from fdbcore.shares import wilson, wilson_by_cluster, wilson_difference
from fdbcore.stats import FEW_CLUSTERS, MEDIAN, Interval, bootstrap_ci, difference_ci, ratio_of_sums

CLUSTERS: Final = (5, 8, FEW_CLUSTERS, 15, 20, 40, 100)
STUDIES: Final = 1_000
RESAMPLES: Final = 2_000
TURNS: Final = 12
LOWEST, HIGHEST = 0.92, 0.97

Array: TypeAlias = npt.NDArray[np.float64] | npt.NDArray[np.int64]
Hits: TypeAlias = Iterator[tuple[str, bool]]
"""Of one study: what was estimated, and whether its interval held the truth."""


def held(interval: Interval | None, truth: float) -> bool:
    """Whether the truth is in the interval; where none is given, nothing is said that could be wrong."""
    return interval is None or interval.low <= truth <= interval.high


def turns(random: np.random.Generator, calls: int) -> npt.NDArray[np.int64]:
    """How many turns each call has."""
    return 1 + random.poisson(TURNS - 1, calls)


def latencies(random: np.random.Generator, calls: int) -> Hits:
    """The median of lognormal latencies, true value 0.8 s."""
    of = np.repeat(np.arange(calls), turns(random, calls))
    logs = random.normal(0, 0.3**0.5, calls)[of] + random.normal(0, 0.7**0.5, len(of))
    values = 800 * np.exp(0.5 * logs)
    yield "median latency", held(bootstrap_ci(values, of, MEDIAN, resamples=RESAMPLES).interval, 800.0)
    by_turn = bootstrap_ci(values, np.arange(len(of)), MEDIAN, resamples=RESAMPLES).interval
    yield "  of turns, not calls", held(by_turn, 800.0)


def shares(random: np.random.Generator, calls: int) -> Hits:
    """Shares of turns; those of calls are beta distributed."""
    for name, share, correlation in (
        ("share of 50 %", 0.5, 0.2),
        ("share of 10 %", 0.1, 0.1),
        ("share of 5 %, in few calls", 0.05, 0.2),
    ):
        n = turns(random, calls)
        rest = (1 - correlation) / correlation
        counts = random.binomial(n, random.beta(share * rest, (1 - share) * rest, calls))
        yield name, held(wilson_by_cluster(counts, n), share)
        if share == 0.05:
            yield "  the table warns of it", 0 < (counts > 0).sum() < FEW_CLUSTERS
            continue
        yield f"{name}, independent", held(wilson_by_cluster(random.binomial(n, share), n), share)
        if share == 0.5:
            yield "  of turns, not calls ", held(wilson(int(counts.sum()), int(n.sum())), share)


def rates(random: np.random.Generator, calls: int) -> Hits:
    """Events a minute, three on average; a call's own rate is gamma distributed, and so is its length."""
    minutes = random.gamma(8, 0.25, calls)
    events = random.poisson(3 * minutes * random.gamma(4, 0.25, calls))
    rows = np.stack([events, minutes], axis=1)
    yield "ratio", held(bootstrap_ci(rows, np.arange(calls), ratio_of_sums, resamples=RESAMPLES).interval, 3.0)


def pairs(random: np.random.Generator, scenarios: int) -> Hits:
    """Two systems over the same scenarios, which are hard or easy for both; the second is 100 ms, 10 points worse."""
    hard = random.uniform(-1, 1, scenarios)
    answers: list[Array] = []
    counts: list[Array] = []
    for more_ms, share in ((0.0, 0.3), (100.0, 0.4)):
        n = turns(random, scenarios)
        of = np.repeat(np.arange(scenarios), n)
        answers += [800 * np.exp(0.3 * hard[of] + random.normal(0, 0.4, len(of))) + more_ms, of]
        counts += [random.binomial(n, share + 0.2 * hard), n]
    found = difference_ci(answers[0], answers[1], answers[2], answers[3], MEDIAN, resamples=RESAMPLES, paired=True)
    yield "paired difference of medians", held(found.interval, -100.0)
    yield (
        "paired difference of shares",
        held(wilson_difference(counts[0], counts[1], counts[2], counts[3]).interval, -0.1),
    )


def others(random: np.random.Generator, calls: int) -> Hits:
    """Two systems in calls of their own, so many each."""
    answers: list[Array] = []
    counts: list[Array] = []
    for shift, share in ((0.0, 0.3), (0.25, 0.4)):
        n = turns(random, calls)
        of = np.repeat(np.arange(calls), n)
        logs = random.normal(0, 0.3, calls)[of] + random.normal(shift, 0.4, len(of))
        answers += [800 * np.exp(logs), of]
        counts += [random.binomial(n, share + random.uniform(-0.2, 0.2, calls)), n]
    found = difference_ci(answers[0], answers[1], answers[2], answers[3], MEDIAN, resamples=RESAMPLES, paired=False)
    yield "difference of medians", held(found.interval, 800 * (1 - np.exp(0.25)))
    first, second = (np.concatenate(of) for of in ((counts[0], 0 * n), (counts[1], 0 * n)))
    third, fourth = (np.concatenate(of) for of in ((0 * n, counts[2]), (0 * n, n)))
    yield "difference of shares", held(wilson_difference(first, second, third, fourth).interval, -0.1)


STUDIED: Final[tuple[Callable[[np.random.Generator, int], Hits], ...]] = (latencies, shares, rates, pairs, others)


def coverage(clusters: int) -> dict[str, float]:
    """In which share of all studies each interval holds the truth."""
    random = np.random.default_rng(clusters)
    hits: Counter[str] = Counter()
    for _ in range(STUDIES):
        for study in STUDIED:
            hits.update({name: int(hit) for name, hit in study(random, clusters)})
    return {name: count / STUDIES for name, count in hits.items()}


def main() -> None:
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        found = dict(zip(CLUSTERS, pool.map(coverage, CLUSTERS), strict=True))
    names = list(found[CLUSTERS[-1]])
    rows = [[name, *(f"{100 * found[k][name]:.1f}" for k in CLUSTERS), _holds_from(name, found)] for name in names]
    noise = 100 * 1.96 * (0.95 * 0.05 / STUDIES) ** 0.5
    print_table(
        f"Truth within the 95 % interval, % of {STUDIES:,} simulated studies (+-{noise:.1f}), by clusters",
        ["estimate", *map(str, CLUSTERS), f"{100 * LOWEST:.0f}-{100 * HIGHEST:.0f} from"],
        rows,
    )
    print(
        f"Tables say that intervals may be too narrow below {FEW_CLUSTERS} clusters, or {FEW_CLUSTERS} with the event."
    )


def _holds_from(name: str, found: dict[int, dict[str, float]]) -> str:
    """The number of clusters from which on all are as they should be; above, as far as so many studies can tell."""
    slack = 1.96 * (HIGHEST * (1 - HIGHEST) / STUDIES) ** 0.5
    ends = {k: found[k][name] for k in CLUSTERS}
    within = [k for k in ends if all(LOWEST <= ends[more] <= HIGHEST + slack for more in ends if more >= k)]
    if name.startswith(" "):
        return ""
    return str(min(within)) if within else "never"


if __name__ == "__main__":
    main()
