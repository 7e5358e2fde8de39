"""Dialogue acts of a large evaluation, scored with intervals, beside plain Python, NumPy and SciPy."""

from __future__ import annotations

import os
from functools import partial

import numpy as np

from benchmarks.bench_align import PLAIN_PAIRS, Floats, check_equal, plain_align, random_acts, scipy_interval, unpacked
from benchmarks.harness import best_seconds, met, print_table
from fdbcore.stats.bootstrap import RESAMPLES, bootstrap_columns
from fdbcore.stats.significance import sign_flip_p
from fdbcore.suites.dialogue_acts.scoring.alignment import align_acts_batch
from fdbcore.suites.dialogue_acts.scoring.scores import score_pairs

PAIRS = 1_000_000
ITEMS, SYSTEMS = 1_000, 10
GOAL_S = {"pairs": 0.25, "intervals": 1.0}


def main() -> None:
    pairs_benchmark()
    intervals_benchmark()


def pairs_benchmark() -> None:
    references, predictions = (random_acts(seed, 2, 8, PAIRS) for seed in (1, 2))
    pairs = list(zip(unpacked(references), unpacked(predictions), strict=True))
    check_equal(align_acts_batch(references, predictions), pairs)
    plain_s = PAIRS / PLAIN_PAIRS * best_seconds(lambda: [plain_align(*pair) for pair in pairs], repeats=3)
    rows: list[list[object]] = [[f"plain Python (from {PLAIN_PAIRS:,} of them)", 1, plain_s, 1.0, ""]]
    for threads in sorted({1, os.cpu_count() or 1}):
        ours_s = best_seconds(partial(align_acts_batch, references, predictions, threads))
        rows.append(
            ["align_acts_batch", threads, ours_s, plain_s / ours_s, in_time("pairs", ours_s) if threads > 1 else ""]
        )
    all_s = best_seconds(lambda: score_pairs(references, predictions))
    rows.append(["all measures, recall and F1 too", os.cpu_count(), all_s, plain_s / all_s, ""])
    title = f"{PAIRS:,} pairs of 2 to 8 acts, packed: weighted LCS, WED, its parts and its path (equal results)"
    print_table(title, ["by", "threads", "s", "times plain", f"goal {GOAL_S['pairs']} s on 2 cores"], rows)


def intervals_benchmark() -> None:
    values = np.random.default_rng(3).gamma(2.0, 0.3, (ITEMS, SYSTEMS))
    ours_s = best_seconds(lambda: bootstrap_columns(values))
    loop_s = best_seconds(lambda: numpy_loop(values), repeats=2)
    scipy_s = best_seconds(lambda: [scipy_interval(column, np.mean) for column in values.T], repeats=1)
    flips_s = best_seconds(lambda: sign_flip_p(values - values[:, :1]))
    rows: list[list[object]] = [
        ["bootstrap_columns, the same draws", ours_s, 1.0, in_time("intervals", ours_s)],
        ["NumPy, a loop over resamples, the same draws", loop_s, loop_s / ours_s, ""],
        ["scipy.stats.bootstrap, of each system alone", scipy_s, scipy_s / ours_s, ""],
        ["sign_flip_p of all systems with the first", flips_s, flips_s / ours_s, ""],
    ]
    title = f"Intervals of {SYSTEMS} systems on {ITEMS:,} items, {RESAMPLES:,} resamples (compiled before)"
    print_table(title, ["by", "s", "times ours", f"goal {GOAL_S['intervals']} s"], rows)


def numpy_loop(values: Floats) -> Floats:
    """The same intervals, written with NumPy alone."""
    rng = np.random.default_rng(0)
    means = [values[rng.integers(len(values), size=len(values))].mean(axis=0) for _ in range(RESAMPLES)]
    limits: Floats = np.quantile(means, [0.025, 0.975], axis=0)
    return limits


def in_time(goal: str, seconds: float) -> str:
    return met(f"acts: {goal} in {GOAL_S[goal]} s", seconds <= GOAL_S[goal])
