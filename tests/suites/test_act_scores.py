"""Scores of dialogue acts against every edit script and every common subsequence, and what rows are made of."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pytest
from helpers.act_sets import annotation, answers, record, record_set, repeated, response, sequence, sequences
from hypothesis import given, settings
from hypothesis import strategies as st

from fdbcore.stats.bootstrap import bootstrap_columns
from fdbcore.suites.dialogue_acts.scoring import baselines
from fdbcore.suites.dialogue_acts.scoring.alignment import ACTS, ActSequence, pack_acts
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
