"""Dialogue-act alignment as users call it: the paper's worked cases, batches, bounds, and what bad input says."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdbcore.errors import ActError
from fdbcore.suites.dialogue_acts.scoring.alignment import (
    ACTS,
    ActSequence,
    ActWarning,
    AlignmentStep,
    PackedActs,
    align_acts,
    align_acts_batch,
    pack_acts,
)

LETTERS = dict(zip(("Q", "ChkQ", "Ans", "Inf", "Req", "Sug", "Com"), ACTS, strict=True))


def acts(text: str) -> list[tuple[str, float]]:
    words = text.split()
    return [(LETTERS[act], float(weight)) for act, weight in zip(words[::2], words[1::2], strict=True)]


# The example of section 4.1.1 and the four of Table 2; the last column from all scripts, in exact fractions.
WORKED_CASES = {
    "4.1.1": ("Q .7 Sug .1 Inf .2", "Q .7 Sug .15 Ans .05", (0.85, 0.125, 0.0, 0.0, 0.125), "= = x"),
    "ID1": ("Com .60 Q .25 Inf .15", "Inf 1.00", (1.00, 0.85, 0.0, 0.85, 0.0), "+ + ="),
    "ID2": ("Q .65 Inf .15 Com .20", "Req .70 Q .30", (0.30, 1.05, 0.70, 0.35, 0.0), "- = + +"),
    "ID3": ("Com .60 Q .20 Q .20", "ChkQ .30 Inf .50 Inf .20", (0.0, 1.00, 0.0, 0.0, 1.00), "x x x"),
    "ID4": ("Inf .65 Q .35", "Inf .75 Q .25", (1.00, 0.0, 0.0, 0.0, 0.0), "= ="),
}
SIGNS = {"match": "=", "substitution": "x", "deletion": "-", "insertion": "+"}


@pytest.mark.filterwarnings(
    "ignore::fdbcore.suites.dialogue_acts.scoring.alignment.ActWarning"
)  # the weights of 4.1.1 sum to 0.9
@pytest.mark.parametrize("case", WORKED_CASES)
def test_worked_cases_of_the_paper(case: str) -> None:
    reference, prediction, scores, script = WORKED_CASES[case]
    result = align_acts(acts(reference), acts(prediction))
    assert (result.weighted_lcs, result.wed, result.deletion, result.insertion, result.substitution) == scores
    assert " ".join(SIGNS[step.operation] for step in result.path) == script


def test_path_names_both_indexes_and_the_cost_of_each_step() -> None:
    assert align_acts(acts("Q .65 Inf .15 Com .20"), acts("Req .70 Q .30")).path == (
        AlignmentStep("deletion", None, 0, 0.70),
        AlignmentStep("match", 0, 1, 0.0),
        AlignmentStep("insertion", 1, None, 0.15),
        AlignmentStep("insertion", 2, None, 0.20),
    )
    assert align_acts(acts("Q 1"), acts("Inf 1")).path == (AlignmentStep("substitution", 0, 0, 1.0),)


def test_ties_prefer_the_diagonal_then_deletion_seen_from_the_end() -> None:
    two_matches = align_acts(acts("Q 1"), acts("Q .5 Q .5"))
    assert [step.operation for step in two_matches.path] == ["deletion", "match"]
    two_crossed = align_acts(acts("Q 0 Inf 1"), acts("Inf 1 Q 0"))
    assert [step.operation for step in two_crossed.path] == ["insertion", "match", "deletion"]


@pytest.mark.parametrize(("reference", "prediction"), [("", "Inf .4 Q .6"), ("Inf .4 Q .6", "")])
def test_an_empty_side_costs_all_of_the_other(reference: str, prediction: str) -> None:
    result = align_acts(acts(reference), acts(prediction))
    assert (result.weighted_lcs, result.wed) == (0.0, 1.0)
    assert result.insertion == (0.0 if prediction else 1.0)


def test_two_empty_sequences_are_the_same() -> None:
    result = align_acts([], [])
    assert (result.weighted_lcs, result.wed, result.path) == (0.0, 0.0, ())


@st.composite
def normalised(draw: st.DrawFn) -> ActSequence:
    labels = draw(st.lists(st.sampled_from(ACTS), min_size=1, max_size=6))
    shares = draw(st.lists(st.integers(0, 9), min_size=len(labels), max_size=len(labels)).filter(any))
    return [(act, share / sum(shares)) for act, share in zip(labels, shares, strict=True)]


@given(st.lists(st.tuples(normalised(), normalised()), max_size=8))
def test_a_batch_is_its_pairs_one_by_one(pairs: list[tuple[ActSequence, ActSequence]]) -> None:
    batch = align_acts_batch(pack_acts([pair[0] for pair in pairs]), pack_acts([pair[1] for pair in pairs]))
    assert list(batch) == [align_acts(*pair) for pair in pairs]
    assert batch.wed.tolist() == [result.wed for result in batch]


def test_threads_do_not_change_a_large_ragged_batch() -> None:
    rng = np.random.default_rng(5)

    def random_acts(lengths: list[int]) -> PackedActs:
        offsets = np.cumsum([0, *lengths])
        return PackedActs(rng.integers(0, len(ACTS), offsets[-1]), rng.random(offsets[-1]), offsets)

    with pytest.warns(ActWarning, match="the first of"):
        references, predictions = (random_acts(rng.integers(0, 9, 20_000).tolist()) for _ in range(2))
    one, many = (align_acts_batch(references, predictions, threads) for threads in (1, 4))
    for name in ("weighted_lcs", "wed", "deletion", "insertion", "substitution", "path_starts"):
        assert np.array_equal(getattr(one, name), getattr(many, name))
    assert [one[pair] for pair in (0, 8191, 8192, -1)] == [many[pair] for pair in (0, 8191, 8192, 19_999)]


def test_equal_costs_tie_though_their_float_sums_differ() -> None:
    assert 0.2 + (0.1 + 0.2) / 2 + 0.25 > 0.3 + 0.3  # three substitutions against one insertion and one deletion
    result = align_acts(acts("Sug .4 Inf .3 Q .1 Ans .2"), acts("Sug .4 Q .1 Ans .2 Inf .3"))
    assert [step.operation for step in result.path] == ["match", "substitution", "substitution", "substitution"]
    assert result.wed == 0.6


def test_weights_are_rounded_half_to_even_at_1e_minus_12() -> None:
    with pytest.warns(ActWarning):
        packed = pack_acts([[("Inform", 0.5e-12), ("Inform", 1.5e-12), ("Inform", 0.1 + 0.2)]])
    assert packed.weights.tolist() == [0, 2, 300_000_000_000]


def test_importances_that_do_not_sum_to_one_are_accepted_with_a_warning() -> None:
    with pytest.warns(ActWarning, match=r"^prediction: importances sum to 0\.9, not to 1$"):
        align_acts(acts("Q 1"), acts("Q .9"))
    with pytest.warns(ActWarning, match=r"^reference 1: importances sum to 2, not to 1 \(the first of 2\)$"):
        pack_acts([acts("Q 1"), acts("Q 2"), [], acts("Inf 3")], "reference")


def test_a_sum_off_by_rounding_is_no_reason_to_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pack_acts([[("Inform", 1 / 3)] * 3, acts("Q .333333 Q .333333 Q .333334"), []])


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (("Inform", -0.1), r"got \('Inform', -0\.1\)"),
        (("Inform", math.nan), r"from 0 to 1000\), got \('Inform', nan\)"),
        (("Inform", math.inf), "inf"),
        (("Inform", 10**400), "1000"),
        (("Inform", "0.5"), r"got \('Inform', '0\.5'\)"),
        (("Inform", True), "True"),
        (("inform", 0.5), "unknown act 'inform': expected one of Question, Check-Question"),
        (([], 0.5), r"expected \(act, importance"),
        ({"act": "Inform", "importance": 0.5}, r"expected \(act, importance"),
        ("Inform", r"expected \(act, importance"),
    ],
)
def test_a_bad_item_is_named_by_side_pair_and_position(item: tuple[str, float], message: str) -> None:
    with pytest.raises(ActError, match=rf"^prediction, act 1: .*{message}"):
        align_acts(acts("Q 1"), [("Question", 0.5), item])
    with pytest.raises(ActError, match=rf"^reference 2, act 1: .*{message}"):
        pack_acts([acts("Q 1"), [], [("Question", 0.5), item]], "reference")


@pytest.mark.parametrize("sequence", [None, 3, {"Inform": 1.0}])
def test_what_is_no_sequence_is_named(sequence: ActSequence) -> None:
    with pytest.raises(ActError, match=r"^reference: expected a list of \(act, importance\), got"):
        align_acts(sequence, acts("Q 1"))


def test_an_absurdly_long_sequence_is_refused() -> None:
    with pytest.raises(ActError, match=r"^sequence 1: expected at most 1024 acts, got 1025$"):
        pack_acts([acts("Q 1"), [("Inform", 1 / 1025)] * 1025])


def test_the_longest_and_heaviest_pair_does_not_overflow() -> None:
    heavy: ActSequence = [("Inform", 1000.0)] * 1024
    with pytest.warns(ActWarning):
        result = align_acts(heavy, [("Question", 1000.0)] * 1024)
    assert (result.wed, result.weighted_lcs, result.substitution) == (1_024_000.0, 0.0, 1_024_000.0)


@pytest.mark.parametrize(
    ("codes", "importances", "offsets", "message"),
    [
        ([0, 7], [0.5, 0.5], [0, 1, 2], "sequence 1, act 0: expected act code from 0 to 6, got 7"),
        ([0, 1], [0.5, math.nan], [0, 2], "sequence, act 1: expected importance from 0 to 1000, got nan"),
        ([0, 1], [0.5], [0, 2], r"expected acts \(n,\), importances \(n,\)"),
        ([0, 1], [0.5, 0.5], [0, 1], "offsets that grow from 0"),
        ([0, 1], [0.5, 0.5], [0, 3, 2], "offsets that grow from 0"),
        ([0, 1], [0.5, 0.5], [], "integers"),
        ([0.0, 1.0], [0.5, 0.5], [0, 2], "acts and offsets as integers"),
        ([0, 1], ["a", "b"], [0, 2], "importances as numbers"),
    ],
)
def test_bad_arrays_are_refused(
    codes: list[float], importances: list[float | str], offsets: list[int], message: str
) -> None:
    with pytest.raises(ActError, match=message):
        PackedActs(codes, np.array(importances), offsets)


def test_packed_acts_are_a_read_only_copy() -> None:
    codes = np.array([3, 4], dtype=np.int8)
    packed = PackedActs(codes, [0.5, 0.5], [0, 2])
    codes[0] = 99
    assert packed.acts.tolist() == [3, 4]
    with pytest.raises(ValueError, match="read-only"):
        packed.offsets[1] = 2**40


def test_a_batch_needs_as_many_predictions_as_references() -> None:
    with pytest.raises(ActError, match="expected one for each of 2 references, got 1"):
        align_acts_batch(pack_acts([[], []]), pack_acts([[]]))
