"""The distance of two sequences of acts, as the paper has it, and the scores of replies against references."""

import math
import warnings
from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pytest
from helpers.act_sets import annotation, answers, record, record_set, repeated, response, sequence, sequences
from hypothesis import given, settings
from hypothesis import strategies as st

from fdbcore.errors import ActError
from fdbcore.stats.bootstrap import bootstrap_columns
from fdbcore.suites.dialogue_acts.scoring import baselines
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
from fdbcore.suites.dialogue_acts.scoring.baselines import (
    BEST_CONSTANT,
    MOST_FREQUENT,
    SHUFFLED,
    baseline_rows,
    most_frequent,
    shuffled_row,
)
from fdbcore.suites.dialogue_acts.scoring.scores import (
    MEASURES,
    References,
    SystemScores,
    packed,
    score_pairs,
    system_row,
    taken,
)
from fdbcore.suites.dialogue_acts.sets import Answers, RecordSet

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


Acts = list[tuple[str, float]]

TINY = 1e-10  # importances are rounded to 1e-12


def scores(reference: ActSequence, prediction: ActSequence) -> dict[str, float]:
    found, _ = score_pairs(packed([reference], "given"), packed([prediction], "given"))
    return dict(zip(MEASURES, found[0].tolist(), strict=True))


def every_script(reference: Acts, prediction: Acts) -> Iterator[tuple[float, float, float]]:
    """(deletion, insertion, substitution) of each way to turn the prediction into the reference."""
    if not reference and not prediction:
        yield 0.0, 0.0, 0.0
    if reference and prediction:
        (act, inserted), (other, deleted) = reference[0], prediction[0]
        cost = 0.0 if act == other else (inserted + deleted) / 2
        yield from ((d, i, s + cost) for d, i, s in every_script(reference[1:], prediction[1:]))
    if prediction:
        yield from ((d + prediction[0][1], i, s) for d, i, s in every_script(reference, prediction[1:]))
    if reference:
        yield from ((d, i + reference[0][1], s) for d, i, s in every_script(reference[1:], prediction))


def best_common(weighing: Acts, other: Acts) -> float:
    """The greatest weight of a subsequence of the one whose acts are a subsequence of the other."""
    return max(
        sum(weight for _, weight in chosen)
        for size in range(len(weighing) + 1)
        for chosen in combinations(weighing, size)
        if is_subsequence([act for act, _ in chosen], [act for act, _ in other])
    )


def is_subsequence(acts: list[str], of: list[str]) -> bool:
    rest = iter(of)
    return all(act in rest for act in acts)


@given(sequences(), sequences())
def test_scores_are_the_best_of_all_scripts_and_subsequences(reference: Acts, prediction: Acts) -> None:
    found = scores(reference, prediction)
    scripts = list(every_script(reference, prediction))
    wed = min(map(sum, scripts))
    assert found["wed"] == pytest.approx(wed, abs=TINY)
    parts = [found[part] for part in ("deletion", "insertion", "substitution")]
    assert any(parts == pytest.approx(script, abs=TINY) for script in scripts if sum(script) < wed + TINY)
    wlcs, recall = best_common(prediction, reference), best_common(reference, prediction)
    assert [found["wlcs"], found["recall"]] == pytest.approx([wlcs, recall], abs=TINY)
    assert found["f1"] == pytest.approx(2 * wlcs * recall / (wlcs + recall) if wlcs + recall else 0.0, abs=TINY)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.lists(sequences(), min_size=1, max_size=3), sequences()), min_size=1, max_size=5))
def test_the_nearest_of_several_references_counts_for_all(items: list[tuple[list[Acts], Acts]]) -> None:
    of = record_set(*[choices for choices, _ in items])
    predictions = packed([prediction for _, prediction in items], "given")
    found = References.of(of.records.values(), "given").score(np.arange(len(items)), predictions)
    for k, (choices, prediction) in enumerate(items):
        alone = [scores(choice, prediction) for choice in choices]
        best = min(range(len(choices)), key=lambda j: (alone[j]["wed"], -alone[j]["wlcs"], j))
        assert found.reference[k] == best
        assert found.scores[k].tolist() == list(alone[best].values())
        assert sum(step.cost for step in found.alignment(k).path) == pytest.approx(alone[best]["wed"])


def test_ties_between_references_go_by_wlcs_and_then_by_place() -> None:
    # Both are 0.5 away; of the first only the half weight is common, of the others all.
    of = record_set(["Inf .5 Ans .5", "Q .5 Inf .5", "Inf .5 Q .5"])
    found = References.of(of.records.values(), "given").score(np.array([0]), packed([sequence("Inf 1")], "given"))
    assert [scores(r.annotation.sequence, sequence("Inf 1"))["wed"] for r in of.records["r0"].references] == [0.5] * 3
    assert found.reference.tolist() == [0]
    assert found.scores[0, :2].tolist() == [1.0, 0.5]


@given(st.lists(sequences(), min_size=1, max_size=6), st.data())
def test_taking_sequences_keeps_them_as_they_are(given: list[Acts], data: st.DataObject) -> None:
    which = data.draw(st.lists(st.integers(0, len(given) - 1), max_size=8))
    found, expected = taken(pack_acts(given), np.array(which, dtype=np.intp)), pack_acts([given[k] for k in which])
    for name in ("acts", "weights", "offsets"):
        assert np.array_equal(getattr(found, name), getattr(expected, name))


def test_a_reply_that_was_not_given_is_an_empty_sequence() -> None:
    row = system_row(answers(record_set(["Q .4 Inf .6"], ["Ans 1"]), None, "Ans 1"), "x", "given")
    assert dict(zip(MEASURES, row.values[0, 0].tolist(), strict=True)) == {
        "wlcs": 0.0,
        "wed": 1.0,
        "deletion": 0.0,
        "insertion": 1.0,
        "substitution": 0.0,
        "recall": 0.0,
        "f1": 0.0,
    }
    assert (row.n, row.no_reply) == (2, 1)
    blank = Answers(row_set(), "s", {"r0": [response("r0", "Ans 1")]})
    assert system_row(blank, "x", "given").no_reply == 0


def row_set() -> RecordSet:
    return record_set(["Ans 1"])


def test_uniform_weights_weigh_all_acts_of_a_sequence_the_same() -> None:
    of = record_set(["Q .7 Inf .2 Sug .1"])
    given_row, uniform_row = (system_row(answers(of, "Q .9 Sug .1"), "x", weights) for weights in ("given", "uniform"))
    assert given_row.values[0, 0, :2].tolist() == pytest.approx([1.0, 0.2])
    assert uniform_row.values[0, 0, :2].tolist() == pytest.approx([1.0, 1 / 3])


def test_uniform_weights_are_scored_against_the_good_reply_that_counts_by_the_given_ones() -> None:
    of = record_set(["Q 1", "Q .5 Inf .3 Ans .2"])  # by the given weights 0.1 and 0.2 away; by uniform ones 1/2 and 1/3
    given_row, uniform_row = (system_row(answers(of, "Q .9 Inf .1"), "x", weights) for weights in ("given", "uniform"))
    assert given_row.values[0, 0, :2].tolist() == pytest.approx([0.9, 0.1])
    assert uniform_row.values[0, 0, :2].tolist() == pytest.approx([1 / 2, 1 / 2])
    assert uniform_row.scored is not None
    assert uniform_row.scored.reference.tolist() == [0]
    assert uniform_row.scored.alignment(0).wed == pytest.approx(1 / 2)
    of = record_set(["Q 1", "Q .5 Inf .3 Ans .2"], ["Q .9 Inf .1"], ["Q .9 Inf .1"])  # the last is the best constant
    rows = {(row.system, row.weights): row.values[0, 0, 1] for row in baseline_rows(of)}
    assert rows[BEST_CONSTANT, "uniform"] == pytest.approx(1 / 2)


def test_repeats_and_missing_annotations_have_their_places() -> None:
    of = record_set(["Q 1"], ["Inf 1"], ["Ans 1"], ["Com 1"])
    replies = [repeated("r0", {1: "Q 1", 3: "Inf 1"}), repeated("r1", {3: "Inf 1"}), response("r2", None)]
    row = system_row(Answers(of, "s", {reply.id: [reply] for reply in replies}), "x", "given")
    assert row.repeats == (1, 3)
    nan = np.nan
    np.testing.assert_array_equal(row.values[..., 1], [[0, 1], [nan, 0], [1, 1], [nan, nan]])
    assert (row.n, row.no_reply, len(row.singles)) == (3, 1, 5)


def test_the_most_frequent_sequence_has_mean_importances() -> None:
    texts = ["Inf 1", "Ans .8 Sug .2", "Q 1", "Ans .6 Sug .4", "Inf 1"]
    assert most_frequent([record(f"r{k}", text) for k, text in enumerate(texts)]) == [("Inform", 1.0)]
    found = most_frequent([record(f"r{k}", text) for k, text in enumerate(texts[:-1])])
    assert [act for act, _ in found] == ["Answer", "Suggestion"]
    assert [weight for _, weight in found] == pytest.approx([0.7, 0.3])


@settings(max_examples=40)
@given(st.lists(st.lists(sequences(3), min_size=1, max_size=2), min_size=2, max_size=5))
def test_shuffled_references_are_all_pairs_of_two_records(choices: list[list[Acts]]) -> None:
    references = References.of(record_set(*choices).records.values(), "given")
    row = shuffled_row("set", references, references, "given", 0)
    expected = [
        min((scores(reference, others[0]) for reference in own), key=lambda s: (s["wed"], -s["wlcs"]))
        for k, own in enumerate(choices)
        for j, others in enumerate(choices)
        if j != k
    ]
    means = {name: np.mean([one[name] for one in expected]) for name in MEASURES}
    assert row.pairs == len(expected)
    assert dict(zip(MEASURES, row.values.mean(axis=(0, 1)), strict=True)) == pytest.approx(means)
    assert row.singles.std(axis=0) == pytest.approx([np.std([one[name] for one in expected]) for name in MEASURES])


def random_set(rng: np.random.Generator, n: int) -> RecordSet:
    def one() -> ActSequence:
        acts = rng.choice(ACTS, size=rng.integers(1, 4), p=[0.05, 0.1, 0.2, 0.3, 0.1, 0.15, 0.1])
        return list(zip(acts.tolist(), rng.dirichlet(np.ones(len(acts))).tolist(), strict=True))

    return record_set(*[[one()] for _ in range(n)])


def test_beyond_the_bound_as_many_pairs_are_drawn_by_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    references = References.of(random_set(np.random.default_rng(1), 60).records.values(), "given")
    exact = shuffled_row("set", references, references, "given", 0)
    monkeypatch.setattr(baselines, "PAIRS", 600)
    drawn, again, other = (shuffled_row("set", references, references, "given", seed) for seed in (3, 3, 4))
    assert (exact.pairs, drawn.pairs) == (60 * 59, 600)
    assert np.array_equal(drawn.values, again.values)
    assert not np.array_equal(drawn.values, other.values)
    assert drawn.values.mean(axis=0) == pytest.approx(exact.values.mean(axis=0), abs=0.06)


def test_the_interval_of_shuffled_references_is_as_wide_as_sets_differ() -> None:
    rng = np.random.default_rng(7)
    means, widths = [], []
    for _ in range(100):
        references = References.of(random_set(rng, 20).records.values(), "given")
        row = shuffled_row("set", references, references, "given", 0)
        estimate = bootstrap_columns(row.values[..., 1], resamples=300)[0]
        assert estimate.interval is not None
        assert estimate.value is not None
        means.append(estimate.value)
        widths.append(np.ptp(estimate.interval))
    assert np.mean(widths) == pytest.approx(2 * 1.96 * np.std(means), rel=0.3)


def test_baselines_come_with_both_weights_and_a_set_of_one_has_nothing_to_shuffle() -> None:
    rows = list(baseline_rows(record_set(["Inf 1"], ["Q .5 Inf .5"])))
    assert [(row.system, row.weights) for row in rows] == [
        (name, weights)
        for weights in ("given", "uniform")
        for name in ("always Inform", MOST_FREQUENT, BEST_CONSTANT, SHUFFLED)
    ]
    assert wed_of(rows[0]) == [0.0, 0.5]
    assert [row.system for row in baseline_rows(record_set(["Inf 1"]))] == [
        "always Inform",
        MOST_FREQUENT,
        BEST_CONSTANT,
    ] * 2


def wed_of(row: SystemScores) -> list[float]:
    found: list[float] = row.values[:, 0, 1].tolist()
    return found


def test_sums_off_1_are_scored_without_a_warning() -> None:
    odd = annotation("Q .7 Sug .15 Ans .05")
    (row,) = packed([odd.sequence], "given").weights[None, :]
    assert row.sum() == 900_000_000_000
