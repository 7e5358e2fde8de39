"""Dialogue-act alignment against plain Python, and the bootstrap by cluster against NumPy and SciPy."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import combinations, pairwise

import numpy as np
import numpy.typing as npt

from benchmarks.harness import best_seconds, met, print_table
from fdbcore.stats.bootstrap import MEDIAN, RESAMPLES, Statistic, bootstrap_ci, mean
from fdbcore.suites.dialogue_acts.scoring.alignment import ACTS, ActAlignments, PackedActs, align_acts_batch
from fdbcore.suites.dialogue_acts.tag_sets import TagSet, paper_acts, tags_in

Weighted = list[tuple[int, int]]
Floats = npt.NDArray[np.float64]

PAIRS = 200_000
PLAIN_PAIRS = 5_000  # the first of them: plain Python takes its time
GOAL = 100


def main() -> None:
    align_benchmark()
    factors_benchmark()
    bootstrap_benchmark()


def align_benchmark() -> None:
    lengths = {"1-8 acts": (1, 8), "2-8 acts": (2, 8), "12 x 12 acts": (12, 12)}
    rows = [row for name, (shortest, longest) in lengths.items() for row in align_rows(name, shortest, longest)]
    title = f"Alignment: weighted LCS, WED, its three parts and its path, for each of {PAIRS:,} pairs (equal results)"
    print_table(title, ["sequences", "by", "threads", "us a pair", "times plain", f"goal {GOAL} x"], rows)


def align_rows(name: str, shortest: int, longest: int) -> Iterator[list[object]]:
    references, predictions = random_acts(1, shortest, longest), random_acts(2, shortest, longest)
    pairs = list(zip(unpacked(references), unpacked(predictions), strict=True))
    check_equal(align_acts_batch(references, predictions), pairs)
    plain_us = 1e6 / PLAIN_PAIRS * best_seconds(lambda: [plain_align(*pair) for pair in pairs])
    yield [name, "plain Python", 1, plain_us, 1.0, ""]
    for threads in sorted({1, os.cpu_count() or 1}):
        ours_us = 1e6 / PAIRS * best_seconds(partial(align_acts_batch, references, predictions, threads))
        goal = met(f"align: {name}, {GOAL} times plain Python", plain_us >= GOAL * ours_us) if threads == 1 else ""
        yield [name, "align_acts_batch", threads, ours_us, plain_us / ours_us, goal]


def factors_benchmark() -> None:
    """What factors of swaps cost in time: the same pairs without any, with factors of 1, and with partial credit."""
    ones = replace(paper_acts(), related={frozenset(pair): 1.0 for pair in combinations(ACTS, 2)})
    rows: list[list[object]] = []
    for name, (shortest, longest) in {"1-8 acts": (1, 8), "12 x 12 acts": (12, 12)}.items():
        by_tags = {
            tags: (random_acts(1, shortest, longest, tags=given), random_acts(2, shortest, longest, tags=given))
            for tags, given in (("no factors", None), ("factors of 1", ones), ("partial credit", tags_in(None)))
        }
        plain, with_ones = (align_acts_batch(*by_tags[tags], threads=1) for tags in ("no factors", "factors of 1"))
        same = [np.array_equal(getattr(plain, of), getattr(with_ones, of)) for of in ("wed", "deletion", "path_starts")]
        if not all(same) or any(plain[k] != with_ones[k] for k in range(PLAIN_PAIRS)):
            raise SystemExit("factors of 1 change the result")
        us = {tags: 1e6 / PAIRS * best_seconds(partial(align_acts_batch, *pair, 1)) for tags, pair in by_tags.items()}
        rows += [[name, tags, each_us, us["no factors"] / each_us] for tags, each_us in us.items()]
    title = f"Alignment with factors of swaps, one thread, {PAIRS:,} pairs (factors of 1: equal bits)"
    print_table(title, ["sequences", "with", "us a pair", "times without factors"], rows)


def random_acts(seed: int, shortest: int, longest: int, count: int = PAIRS, tags: TagSet | None = None) -> PackedActs:
    rng = np.random.default_rng(seed)
    offsets = np.cumsum([0, *rng.integers(shortest, longest + 1, count)])
    importances = rng.integers(1, 100, offsets[-1])
    sums = np.add.reduceat(importances, offsets[:-1])
    codes = rng.integers(0, len(ACTS), offsets[-1])
    return PackedActs(codes, importances / np.repeat(sums, np.diff(offsets)), offsets, tags=tags)


def unpacked(packed: PackedActs) -> list[Weighted]:
    items = list(zip(packed.acts.tolist(), packed.weights.tolist(), strict=True))
    offsets = packed.offsets[: PLAIN_PAIRS + 1].tolist()
    return [items[start:end] for start, end in pairwise(offsets)]


def plain_align(reference: Weighted, prediction: Weighted) -> tuple[int, int, int, int, int, list[str]]:
    """The computation of the kernel in plain, fast Python: lists, integers and local variables."""
    best = [0] * (len(reference) + 1)
    row = [0]
    for _, inserted in reference:
        row.append(row[-1] + 2 * inserted)
    costs = [row]
    for act, deleted in prediction:
        above, row, diagonal = row, [row[0] + 2 * deleted], 0
        for j, (other, inserted) in enumerate(reference):
            common = best[j + 1]
            if act == other:
                gain, cost = diagonal + deleted, above[j]
            else:
                gain, cost = diagonal, above[j] + deleted + inserted
            best[j + 1] = max(common, best[j], gain)
            diagonal = common
            row.append(min(cost, above[j + 1] + 2 * deleted, row[j] + 2 * inserted))
        costs.append(row)
    return (best[-1], row[-1], *plain_trace(reference, prediction, costs))


def plain_trace(reference: Weighted, prediction: Weighted, costs: list[list[int]]) -> tuple[int, int, int, list[str]]:
    i, j, path = len(prediction), len(reference), []
    deletion = insertion = substitution = 0
    while i or j:
        if i and j:
            (act, deleted), (other, inserted) = prediction[i - 1], reference[j - 1]
            cost = 0 if act == other else deleted + inserted
            if costs[i][j] == costs[i - 1][j - 1] + cost:
                path.append("match" if act == other else "substitution")
                substitution += cost
                i, j = i - 1, j - 1
                continue
        if i and (not j or costs[i][j] == costs[i - 1][j] + 2 * prediction[i - 1][1]):
            path.append("deletion")
            deletion += 2 * prediction[i - 1][1]
            i -= 1
        else:
            path.append("insertion")
            insertion += 2 * reference[j - 1][1]
            j -= 1
    path.reverse()
    return deletion, insertion, substitution, path


def check_equal(batch: ActAlignments, pairs: list[tuple[Weighted, Weighted]]) -> None:
    for pair, ours in zip(pairs, batch, strict=False):
        lcs, *costs, path = plain_align(*pair)
        theirs = (lcs / 1e12, *(cost / 2e12 for cost in costs), path)
        scores = (ours.weighted_lcs, ours.wed, ours.deletion, ours.insertion, ours.substitution)
        if (*scores, [step.operation for step in ours.path]) != theirs:
            raise SystemExit(f"plain Python and the kernel differ: {theirs}, {ours}")


def bootstrap_benchmark() -> None:
    rows = [
        bootstrap_row(name, statistic, numpys, per_call)
        for name, statistic, numpys in (("mean", mean, np.mean), ("median", MEDIAN, np.median))
        for per_call in (10, 1)
    ]
    title = f"Bootstrap interval, {RESAMPLES:,} resamples of 500 items (compiled before; scipy has no clusters)"
    print_table(title, ["statistic", "fdbcore ms", "numpy loop ms", "times", "scipy ms", "times"], rows)


def bootstrap_row(name: str, statistic: Statistic, numpys: Callable[[Floats], float], per_call: int) -> list[object]:
    values = np.random.default_rng(3).gamma(2.0, 400.0, 500)
    calls = np.arange(500) // per_call
    ours_ms = 1e3 * best_seconds(lambda: bootstrap_ci(values, calls, statistic))
    loop_ms = 1e3 * best_seconds(lambda: numpy_loop(values, calls, numpys), repeats=3)
    row: list[object] = [f"{name}, {500 // per_call} calls of {per_call}", ours_ms, loop_ms, loop_ms / ours_ms]
    if per_call > 1:
        return [*row, "", ""]
    scipy_ms = 1e3 * best_seconds(lambda: scipy_interval(values, numpys), repeats=3)
    return [*row, scipy_ms, scipy_ms / ours_ms]


def scipy_interval(values: Floats, statistic: Callable[[Floats], float]) -> object:
    from scipy import stats

    return stats.bootstrap((values,), statistic, n_resamples=RESAMPLES, method="percentile")


def numpy_loop(values: Floats, calls: npt.NDArray[np.int64], statistic: Callable[[Floats], float]) -> Floats:
    """The same interval, written with NumPy alone."""
    rng = np.random.default_rng(0)
    by_call = np.split(values, np.flatnonzero(np.diff(calls)) + 1)
    if len(by_call) == len(values):
        drawn = (values[rng.integers(len(values), size=len(values))] for _ in range(RESAMPLES))
    else:
        draws = (rng.integers(len(by_call), size=len(by_call)) for _ in range(RESAMPLES))
        drawn = (np.concatenate([by_call[call] for call in draw]) for draw in draws)
    return np.quantile([statistic(sample) for sample in drawn], [0.025, 0.975])
