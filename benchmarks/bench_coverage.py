"""How often 95 % intervals hold the truth, and how often p finds a difference between equal systems.

Calls differ in length (lognormal numbers of turns, median 6, sigma 0.9), and the turns of a call resemble each other:
shares of calls have a beta distribution with an intraclass correlation of 0 to 0.6, log latencies are normal, rates
gamma. In brackets beside each share is Wilson's interval of all turns, which ignores that turns belong to calls. Two
equal systems are compared in two ways: over the same scenarios, which are hard or easy for both, and over calls of
their own.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from statistics import NormalDist
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import stats

from benchmarks.harness import print_table
from fdbcore.stats.bootstrap import FEW_CLUSTERS, MEDIAN, Interval, Quantile, bootstrap_ci, difference_ci, ratio_of_sums
from fdbcore.stats.shares import wilson_by_cluster, wilson_difference

CALLS: Final = (5, 10, 20, 40, 100)
SHARES: Final = (0.05, 0.1, 0.2, 0.5)
CORRELATIONS: Final = (0.0, 0.1, 0.3, 0.6)
STUDIES: Final = 1_000
COMPARISONS: Final = 500
RESAMPLES: Final = 2_000
MEDIAN_TURNS, SIGMA_TURNS = 6, 0.9

Counts: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]
Hits: TypeAlias = Iterator[tuple[str, bool]]
"""Of one study: what was estimated, and whether its interval held the truth, or its p told apart what is the same."""


def turns(random: np.random.Generator, calls: int) -> Counts:
    """How many turns each call has."""
    drawn = MEDIAN_TURNS * np.exp(random.normal(0, SIGMA_TURNS, calls))
    return np.asarray(np.maximum(1, np.rint(drawn)), dtype=np.int64)


def of_calls(random: np.random.Generator, share: float, correlation: float, calls: int) -> Floats:
    """The share of each call."""
    if not correlation:
        return np.full(calls, share)
    rest = (1 - correlation) / correlation
    return random.beta(share * rest, (1 - share) * rest, calls)


def held(interval: Interval | None, truth: float) -> bool:
    """Whether the truth is in the interval; without an interval, nothing wrong is claimed."""
    return interval is None or interval.low <= truth <= interval.high


def share(random: np.random.Generator, calls: int, truth: float, correlation: float) -> Hits:
    """A share, over calls and over turns."""
    n = turns(random, calls)
    counts = random.binomial(n, of_calls(random, truth, correlation, calls))
    yield "calls", held(wilson_by_cluster(counts, n), truth)
    alone = stats.binomtest(int(counts.sum()), int(n.sum())).proportion_ci(method="wilson")
    yield "turns", held(Interval(alone.low, alone.high), truth)


def same_shares(random: np.random.Generator, calls: int, truth: float, correlation: float) -> Hits:
    """Two systems with the same shares, over the same scenarios and over calls of their own."""
    n, more = turns(random, calls), turns(random, calls)
    hard, other = (of_calls(random, truth, correlation, calls) for _ in "ab")
    first, second, apart = random.binomial(n, hard), random.binomial(more, hard), random.binomial(more, other)
    none = np.zeros(calls)
    yield "paired", _told(wilson_difference(first, n, second, more).p)
    unpaired = wilson_difference([*first, *none], [*n, *none], [*none, *apart], [*none, *more])
    yield "unpaired", _told(unpaired.p)


def latencies(random: np.random.Generator, calls: int) -> Hits:
    """Lognormal latencies with an intraclass correlation of 0.3 and 0.6, 0.8 s at the median."""
    of = np.repeat(np.arange(calls), turns(random, calls))
    for correlation in (0.3, 0.6):
        values = _latencies(random, random.normal(0, 1, calls), of, correlation)
        found = bootstrap_ci(values, of, MEDIAN, resamples=RESAMPLES)
        yield f"median latency, correlation {correlation}", held(found.interval, 800.0)
    by_turn = bootstrap_ci(values, np.arange(len(of)), MEDIAN, resamples=RESAMPLES)
    yield "  of turns, not calls", held(by_turn.interval, 800.0)
    values = _latencies(random, random.normal(0, 1, calls), of, 0.3)
    p90 = bootstrap_ci(values, of, Quantile(0.9), resamples=RESAMPLES)
    yield "p90 of latencies, correlation 0.3", held(p90.interval, 800 * math.exp(0.5 * NormalDist().inv_cdf(0.9)))


def rates(random: np.random.Generator, calls: int) -> Hits:
    """Events a minute; a call's own rate is gamma distributed, its length lognormal."""
    for rate in (3.0, 0.1):
        minutes = 2 * np.exp(random.normal(0, SIGMA_TURNS, calls))
        events = random.poisson(rate * minutes * random.gamma(4, 0.25, calls))
        rows = np.stack([events, minutes], axis=1)
        found = bootstrap_ci(rows, np.arange(calls), ratio_of_sums, resamples=RESAMPLES)
        yield f"rate of {rate:g} a minute", held(found.interval, rate)


def same_latencies(random: np.random.Generator, calls: int) -> Hits:
    """Two systems with the same latencies, with a correlation of 0.3, and with the same rates."""
    hard, other = random.normal(0, 1, (2, calls))
    of, more = (np.repeat(np.arange(calls), turns(random, calls)) for _ in "ab")
    values = _latencies(random, hard, of, 0.3)
    for name, paired, second in (("paired", True, hard), ("unpaired", False, other)):
        others = _latencies(random, second, more, 0.3)
        found = difference_ci(values, of, others, more, MEDIAN, paired=paired, resamples=RESAMPLES)
        yield f"medians, {name}", _told(found.p)
    minutes = 2 * np.exp(random.normal(0, SIGMA_TURNS, (2, calls)))
    scale = np.exp(0.5 * np.stack([hard, hard, other]) - 0.125)
    events = random.poisson(3 * minutes[[0, 1, 1]] * scale)
    first, second, apart = (np.stack([events[k], minutes[min(k, 1)]], axis=1) for k in range(3))
    ids = np.arange(calls)
    for name, paired, rows in (("paired", True, second), ("unpaired", False, apart)):
        found = difference_ci(first, ids, rows, ids, ratio_of_sums, paired=paired, resamples=RESAMPLES)
        yield f"rates, {name}", _told(found.p)


def _latencies(random: np.random.Generator, of_call: Floats, of: Counts, correlation: float) -> Floats:
    logs = correlation**0.5 * of_call[of] + random.normal(0, (1 - correlation) ** 0.5, len(of))
    return np.asarray(800 * np.exp(0.5 * logs))


def _told(p: float | None) -> bool:
    return p is not None and p < 0.05


def found(study: Callable[[np.random.Generator, int], Hits], calls: int, studies: int) -> dict[str, float]:
    """In how many of 100 studies this was so."""
    random, hits = np.random.default_rng(calls), Counter[str]()
    for _ in range(studies):
        hits.update({name: int(hit) for name, hit in study(random, calls)})
    return {name: 100 * count / studies for name, count in hits.items()}


def main() -> None:
    _print_shares(
        "Shares: truth within the 95 % interval (Wilson's of all turns)",
        share,
        STUDIES,
        "{calls:.0f} ({turns:.0f})",
        95,
    )
    _print_shares(
        "The same shares told apart, p < 0.05: paired / unpaired",
        same_shares,
        COMPARISONS,
        "{paired:.1f} / {unpaired:.1f}",
        5,
    )
    _print_others("Truth within the 95 % interval", (latencies, rates), STUDIES, 95)
    _print_others("The same told apart, p < 0.05", (same_latencies,), COMPARISONS, 5)
    print(
        f"Tables warn below {FEW_CLUSTERS} calls, and of shares where fewer than {FEW_CLUSTERS} calls have the event."
    )


def _print_shares(title: str, study: Callable[..., Hits], studies: int, form: str, goal: int) -> None:
    rows = []
    for truth in SHARES:
        for correlation in CORRELATIONS:
            of_share = partial(study, truth=truth, correlation=correlation)
            cells = [found(of_share, calls, studies) for calls in CALLS]
            rows.append([f"{truth:g}", f"{correlation:g}", *(form.format(**cell) for cell in cells)])
    print_table(_titled(title, studies, goal), ["share", "correlation", *_columns()], rows)


def _print_others(
    title: str, studied: tuple[Callable[[np.random.Generator, int], Hits], ...], studies: int, goal: int
) -> None:
    rows = []
    for study in studied:
        cells = [found(study, calls, studies) for calls in CALLS]
        rows += [[name, *(f"{cell[name]:.1f}" for cell in cells)] for name in cells[0]]
    print_table(_titled(title, studies, goal), ["estimate", *_columns()], rows)


def _columns() -> list[str]:
    return [f"{calls} calls" for calls in CALLS]


def _titled(title: str, studies: int, goal: int) -> str:
    noise = 1.96 * (goal * (100 - goal) / studies) ** 0.5
    return f"{title}; % of {studies:,} simulated studies (+-{noise:.1f}), goal {goal}"


if __name__ == "__main__":
    main()
