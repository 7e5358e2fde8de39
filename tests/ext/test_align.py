"""The alignment kernel against every edit script and every common subsequence, listed one by one."""

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fdbcore._ext.align import FACTOR_ONE, OPERATIONS, align_range

Weighted: TypeAlias = list[tuple[int, int]]  # (act code, weight)
Script: TypeAlias = tuple[str, ...]

# Few labels and few weights, so that ties between scripts are common.
SEQUENCES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), max_size=4)
LONG = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 10**12)), max_size=40)
PAIRS = st.lists(st.tuples(SEQUENCES, SEQUENCES), min_size=1, max_size=6)


FACTORS = arrays(np.int16, (4, 4), elements=st.sampled_from((0, 250, 333, 500, FACTOR_ONE)))
Factors: TypeAlias = npt.NDArray[np.int16]


def align(
    pairs: list[tuple[Weighted, Weighted]], factors: Factors | None = None
) -> tuple[npt.NDArray[np.int64], list[Script]]:
    """Scores (n, 5) and the paths of the kernel."""
    references, predictions = flatten([pair[0] for pair in pairs]), flatten([pair[1] for pair in pairs])
    scores, starts = np.full((len(pairs), 5), -1), np.full(len(pairs), -1)
    operations = np.full(len(references[0]) + len(predictions[0]), -1, dtype=np.int8)
    align_range(*references, *predictions, 0, scores, operations, starts, factors)
    ends = references[2][1:] + predictions[2][1:]
    paths = [operations[start:end].tolist() for start, end in zip(starts, ends, strict=True)]
    return scores, [tuple(OPERATIONS[code] for code in path) for path in paths]


def flatten(sequences: list[Weighted]) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    flat = [item for sequence in sequences for item in sequence]
    offsets = np.cumsum([0, *map(len, sequences)])
    return np.array([act for act, _ in flat], dtype=np.int8), np.array([w for _, w in flat], dtype=np.int64), offsets


def every_script(reference: Weighted, prediction: Weighted) -> Iterator[Script]:
    if not reference and not prediction:
        yield ()
    if reference and prediction:
        diagonal = "match" if reference[0][0] == prediction[0][0] else "substitution"
        yield from ((diagonal, *rest) for rest in every_script(reference[1:], prediction[1:]))
    if prediction:
        yield from (("deletion", *rest) for rest in every_script(reference, prediction[1:]))
    if reference:
        yield from (("insertion", *rest) for rest in every_script(reference[1:], prediction))


def parts(script: Script, reference: Weighted, prediction: Weighted, factors: Factors | None = None) -> dict[str, int]:
    """The cost of a script by operation, in half units."""
    costs = dict.fromkeys(OPERATIONS, 0)
    i = j = 0
    for operation in script:
        inserted = reference[j][1] if operation != "deletion" else 0
        deleted = prediction[i][1] if operation != "insertion" else 0
        factor = Fraction({"match": 0, "substitution": 1}.get(operation, 2))
        if operation == "substitution" and factors is not None:
            factor = Fraction(int(factors[reference[j][0], prediction[i][0]]), FACTOR_ONE)
        costs[operation] += math.floor(factor * (inserted + deleted) + Fraction(1, 2))
        i += operation != "insertion"
        j += operation != "deletion"
    return costs


def preference(script: Script) -> list[int]:
    """Orders scripts by the tie rule: from the end, diagonal before deletion before insertion."""
    return [("match", "deletion", "insertion").index(op.replace("substitution", "match")) for op in reversed(script)]


def naive_wed(reference: Weighted, prediction: Weighted, factors: Factors | None = None) -> tuple[int, Script]:
    def cost(script: Script) -> int:
        return sum(parts(script, reference, prediction, factors).values())

    scripts = list(every_script(reference, prediction))
    least = min(map(cost, scripts))
    return least, min((script for script in scripts if cost(script) == least), key=preference)


def naive_weighted_lcs(reference: Weighted, prediction: Weighted) -> int:
    labels = [act for act, _ in reference]
    common = {tuple(chosen) for n in range(len(labels) + 1) for chosen in combinations(labels, n)}
    kept = (chosen for n in range(len(prediction) + 1) for chosen in combinations(prediction, n))
    return max(sum(w for _, w in chosen) for chosen in kept if tuple(act for act, _ in chosen) in common)


def check_against_all_scripts(pairs: list[tuple[Weighted, Weighted]], factors: Factors | None = None) -> None:
    scores, paths = align(pairs, factors)
    for (reference, prediction), row, path in zip(pairs, scores.tolist(), paths, strict=True):
        wed, script = naive_wed(reference, prediction, factors)
        expected = parts(script, reference, prediction, factors)
        assert path == script
        assert row == [
            naive_weighted_lcs(reference, prediction),
            wed,
            expected["deletion"],
            expected["insertion"],
            expected["substitution"],
        ]


@given(PAIRS)
def test_scores_and_path_are_those_of_the_preferred_cheapest_script(pairs: list[tuple[Weighted, Weighted]]) -> None:
    check_against_all_scripts(pairs)


@given(PAIRS, FACTORS)
def test_scores_and_path_with_factors_of_swaps(pairs: list[tuple[Weighted, Weighted]], factors: Factors) -> None:
    check_against_all_scripts(pairs, factors)


@given(st.lists(st.tuples(LONG, LONG), min_size=1, max_size=4))
def test_factors_of_one_change_no_bit(pairs: list[tuple[Weighted, Weighted]]) -> None:
    ones = FACTOR_ONE * (1 - np.eye(7, dtype=np.int16))
    (scores, paths), (with_ones, their_paths) = align(pairs), align(pairs, ones)
    assert np.array_equal(scores, with_ones)
    assert paths == their_paths


def test_a_factor_is_of_the_largest_weights_too() -> None:
    most = 1000 * 10**12
    scores, _ = align([([(0, most)], [(1, most)])], np.array([[0, 999], [999, 0]], dtype=np.int16))
    assert scores[0, 1] == 2 * most * 999 // FACTOR_ONE


@pytest.mark.parametrize(
    "factors", [np.ones((2, 3)), np.ones((0, 0)), np.full((4, 4), 1001), np.full((4, 4), -1), np.ones((3, 3))]
)
def test_factors_that_do_not_fit_are_refused(factors: npt.NDArray[np.float64]) -> None:
    with pytest.raises(ValueError, match=r"factors"):
        align([([(3, 1)], [(0, 1)])], factors.astype(np.int16))


@pytest.mark.fuzz
@given(PAIRS)
def test_scores_and_path_over_many_pairs(pairs: list[tuple[Weighted, Weighted]]) -> None:
    check_against_all_scripts(pairs)


@given(LONG, LONG)
def test_wed_is_the_sum_of_its_parts_and_of_its_path(reference: Weighted, prediction: Weighted) -> None:
    scores, paths = align([(reference, prediction)])
    lcs, wed, deletion, insertion, substitution = scores[0].tolist()
    assert wed == deletion + insertion + substitution
    assert parts(paths[0], reference, prediction) == {
        "match": 0,
        "deletion": deletion,
        "insertion": insertion,
        "substitution": substitution,
    }
    assert 0 <= lcs <= sum(w for _, w in prediction)


@given(LONG, LONG)
def test_matches_of_the_cheapest_script_weigh_at_most_the_weighted_lcs(
    reference: Weighted, prediction: Weighted
) -> None:
    scores, paths = align([(reference, prediction)])
    predicted_side = iter(prediction)
    taken = [(op, next(predicted_side)) for op in paths[0] if op != "insertion"]
    assert sum(w for op, (_, w) in taken if op == "match") <= scores[0, 0]


@given(LONG)
def test_a_sequence_is_at_no_distance_from_the_same_labels(reference: Weighted) -> None:
    reweighted = [(act, 7 * position) for position, (act, _) in enumerate(reference)]
    scores, paths = align([(reference, reweighted)])
    assert scores[0].tolist() == [sum(w for _, w in reweighted), 0, 0, 0, 0]
    assert paths[0] == ("match",) * len(reference)


@given(LONG, LONG)
def test_swapping_the_sides_keeps_the_distance(reference: Weighted, prediction: Weighted) -> None:
    scores, _ = align([(reference, prediction), (prediction, reference)])
    assert scores[0, 1] == scores[1, 1]


@given(SEQUENCES, SEQUENCES)
def test_swapping_the_sides_exchanges_deletion_and_insertion(reference: Weighted, prediction: Weighted) -> None:
    breakdowns = {
        tuple(parts(script, reference, prediction).values()) for script in every_script(reference, prediction)
    }
    least = min(map(sum, breakdowns))
    if sum(sum(breakdown) == least for breakdown in breakdowns) == 1:  # else the tie rule decides which it is
        scores, _ = align([(reference, prediction), (prediction, reference)])
        assert scores[0, [2, 3, 4]].tolist() == scores[1, [3, 2, 4]].tolist()


def test_a_range_leaves_the_other_pairs_alone() -> None:
    reference, prediction = flatten([[(0, 1)], [(1, 2)], [(2, 3)]]), flatten([[(0, 1)], [(1, 9), (3, 1)], [(0, 1)]])
    scores, operations, starts = np.full((1, 5), -1), np.full(7, -1, dtype=np.int8), np.full(3, -1)
    align_range(*reference, *prediction, 1, scores, operations, starts)
    assert scores.tolist() == [[9, 2, 2, 0, 0]]
    assert operations.tolist() == [-1, -1, -1, 0, 2, -1, -1]
    assert starts.tolist() == [-1, 3, -1]


@pytest.mark.parametrize(
    ("offsets", "first", "operations"),
    [([0, 2, 1], 0, 4), ([0, 1, 3], 0, 4), ([-1, 1, 2], 0, 4), ([0, 1, 2], 1, 4), ([0, 1, 2], 0, 3)],
    ids=["shrinking", "beyond the acts", "negative", "too many pairs", "operations too short"],
)
def test_arrays_that_do_not_fit_are_refused(offsets: list[int], first: int, operations: int) -> None:
    acts, weights = np.zeros(2, dtype=np.int8), np.zeros(2, dtype=np.int64)
    side = acts, weights, np.array(offsets)
    with pytest.raises(ValueError, match=r"outside|grow|length"):
        align_range(
            *side, *side, first, np.zeros((2, 5), np.int64), np.zeros(operations, np.int8), np.zeros(2, np.int64)
        )
