"""The published measures of v1 and v1.5 against a plain script: a thousand random logs, and the released samples."""

import json
import math
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from helpers.commands import command, done
from oracles import fdb_v1 as oracle

from fdbcore.results.comparing import differences, every_two
from fdbcore.results.pooling import trimmed_mean
from fdbcore.stats.bootstrap import bootstrap_columns
from fdbcore.suites.fdb_v1.measures import MEASURES
from fdbcore.suites.fdb_v1.over_samples import items_of, paired_test
from fdbcore.suites.fdb_v1.sample_values import (
    Figures,
    jsd,
    of_backchannels,
    of_overlaps,
    of_words,
    rates,
    split_s,
    tenths,
)
from fdbcore.suites.fdb_v1.samples import BACKCHANNEL, INTERRUPTION, PAUSE, TURN_TAKING, V1, HeardSample, UserSample

LOGS = 1000
REAL = Path(__file__).resolve().parents[3] / "shared" / "data" / "fdb_v1_examples"


def spans(draw: random.Random, most: int, longest_s: float) -> list[list[float]]:
    found, at = [], draw.uniform(0, 2)
    for _ in range(draw.randint(0, most)):
        end = at + draw.uniform(0.05, longest_s)
        found.append([round(at, 3), round(end, 3)])
        at = end + draw.choice([draw.uniform(0.01, 0.4), draw.uniform(0.4, 2.0)])
    return found


def in_samples(segments: list[list[float]]) -> list[list[int]]:
    """As the detector finds them: from a window of 512 samples to another, and 480 on both sides."""
    return [[max(0, round(start * 31.25) * 512 - 480), round(end * 31.25) * 512 + 480] for start, end in segments]


def heard(segments: list[list[float]], length_s: float) -> dict[str, list[tuple[float, float]]]:
    return {"": tenths([(start / 16_000, end / 16_000) for start, end in in_samples(segments)], length_s)}


def sample(task: str, span: tuple[float, float]) -> UserSample:
    return UserSample("s-1", "s-1", "s", task, False, [span], [{}])


def pairs(found: list[list[float]]) -> list[tuple[float, float]]:
    return [(start, end) for start, end in found]


def test_every_pause_weighs_the_same_in_whatever_trial_it_is() -> None:
    """Trials of a sample differ in how many of its pauses are opportunities: a difference and its interval are of
    all."""
    draw = random.Random(5)
    name = "cut_off_per_labelled_a_pause"
    told: dict[str, dict[str, list[float]]] = {system: {str(number): [] for number in range(9)} for system in "ab"}
    scored: list[tuple[HeardSample, dict[str, Sequence[float]]]] = []
    for system, samples in told.items():
        for number, own in samples.items():
            for trial in (1, 2):
                values = [float(draw.random() < 0.5) for _ in range(draw.randint(0, 4) or 2 - trial)]
                own += values
                user = UserSample(number, number, "s", PAUSE, False, [(1, 2)], [{}])
                scored.append((HeardSample(Path(f"{system}{number}{trial}"), system, trial, user), {name: values}))
    (found,) = differences(every_two(items_of(V1, scored).values()), MEASURES)
    pairs = np.array([np.mean(told["a"][number]) - np.mean(told["b"][number]) for number in told["a"]])
    assert found.difference == pytest.approx(pairs.mean())
    assert found.ci95 == pytest.approx(bootstrap_columns(pairs[:, None])[0].interval)


def test_a_thousand_random_logs_of_v1() -> None:
    draw = random.Random(1)
    taken = {task: 0 for task in (PAUSE, TURN_TAKING, INTERRUPTION, BACKCHANNEL)}
    for _ in range(LOGS):
        words, segments = spans(draw, 8, 0.5), spans(draw, 5, draw.choice([0.8, 1.5, 4.0]))
        span = (draw.uniform(0, 3), draw.uniform(3, 5))
        for task in taken:
            figures = of_words(sample(task, span), pairs(words), heard(segments, 30.0))
            wanted = "unwanted" if task in (PAUSE, BACKCHANNEL) else "wanted"
            said = oracle.after(words, span[1]) if task == INTERRUPTION else words
            stored = oracle.seconds(in_samples(segments), 480_000)
            flag = oracle.backchannel(stored, words)[0] if task == BACKCHANNEL else oracle.takeover(said)
            assert figures[f"compat_takeover_{wanted}"] == [flag]
            taken[task] += flag
            if task == TURN_TAKING:
                expected = [oracle.turn_latency(said, span[0])] if flag else []
                assert figures["compat_latency_s"] == pytest.approx(expected)
            if task == INTERRUPTION:
                expected = [said[0][0] - span[1]] if flag else []
                assert figures["compat_latency_s"] == pytest.approx(expected)
    assert all(LOGS / 10 < n < LOGS * 9 / 10 for n in taken.values()), taken


def test_a_thousand_random_logs_of_backchannels() -> None:
    draw = random.Random(2)
    for _ in range(LOGS):
        segments = spans(draw, 6, draw.choice([0.8, 4.0]))
        samples = max([end for _, end in in_samples(segments)], default=0) + draw.choice([8, 800, 8_000, 16_000]) * 4
        length_s = samples / 16_000
        human = [float(draw.randint(0, 6)) for _ in range(draw.randint(2, 60))]
        hearings = heard(segments, length_s)
        figures = of_backchannels(hearings, length_s, human)
        _, stored = oracle.backchannel(oracle.seconds(in_samples(segments), samples), [])
        assert figures["compat_backchannels_per_s"] == pytest.approx([len(stored) / length_s])
        if stored and not any(human):
            assert "compat_jsd" not in figures
            continue
        assert figures["compat_jsd"] == pytest.approx([oracle.jsd(stored, length_s, human)], abs=1e-9)
        ours = figures.get("backchannel_distance")
        assert (ours is None) == (not stored)
        if ours is not None:  # the same distance by logarithms to base 2, but for 1e-10 in each bin
            assert ours == pytest.approx([figures["compat_jsd"][0] / math.sqrt(math.log(2))], abs=1e-3)


def test_a_thousand_random_logs_of_v15() -> None:
    draw = random.Random(3)
    for _ in range(LOGS):
        user, system = spans(draw, 5, 2.0), spans(draw, 5, 2.0)
        figures: Figures = of_overlaps(pairs(user), pairs(system))
        assert sorted(figures["compat_stop_s"]) == pytest.approx(oracle.stops(user, system))
        assert sorted(figures["compat_response_s"]) == pytest.approx(oracle.responses(user, system))


def test_a_thousand_random_tests_before_and_after() -> None:
    draw = random.Random(4)
    outliers = 0
    for _ in range(LOGS):
        words, end = spans(draw, 8, 0.5), draw.uniform(0, 5)
        at = oracle.cut(words, end, 6.0)
        assert split_s(pairs(words), end, 6.0) == at
        found_rates = rates(pairs(words), end, 6.0)
        for side, expected_words in zip(found_rates[:3], (*oracle.sides(words, at), words), strict=True):
            if side:
                assert side["words_per_minute"] == pytest.approx(oracle.rate(expected_words))
        n = draw.randint(3, 30)
        before = [draw.gauss(0, 1) for _ in range(n)]
        after = [value + draw.gauss(0.3, 1) * draw.choice([1, 1, 1, 12]) for value in before]
        for values in (before, before[:2], before[:1]):
            assert trimmed_mean(values) == pytest.approx(oracle.trimmed(values))
        found, expected = paired_test(before, after), oracle.paired(before, after)
        assert (found.n, found.outliers) == (expected["n"], n - expected["n"])
        if found.n > 1:
            assert (found.t, found.p, found.d_z) == pytest.approx([expected[name] for name in ("t", "p", "d_z")])
            assert found.ci95 == pytest.approx(expected["interval"])
        outliers += found.outliers
    assert outliers > LOGS


def test_the_distance_of_disjoint_histograms_and_of_none() -> None:
    """sqrt(ln 2) is the most; only a sample without a candidate has 1."""
    human = [0.0] * 50 + [1.0] * 50
    assert jsd([(0.0, 5.0)], 20.0, human) == pytest.approx(math.sqrt(math.log(2)), abs=1e-3)
    assert math.sqrt(math.log(2)) == pytest.approx(0.8326, abs=1e-4)
    assert jsd([], 20.0, human) == 1.0
    alike = jsd([(10.0, 19.9)], 20.0, human)
    assert alike is not None and alike < 0.2  # noqa: PT018


def test_equal_and_single_pairs_have_no_test() -> None:
    for values in ([], [1.0], [2.0, 2.0, 2.0]):
        found = paired_test([0.0] * len(values), values)
        assert (found.n, found.p, found.ci95, found.d_z) == (len(values), None, None, None)


def test_the_cut_is_at_a_start_of_a_word_and_two_values_are_not_trimmed() -> None:
    """It speaks, is silent over the overlap that ends at 5.0, and answers at 6.0."""
    words = [(3.0, 3.5), (3.5, 4.0), (6.0, 6.5), (6.5, 7.0)]
    assert split_s(words, 5.0, 8.0) == 6.0
    before, after, whole, *ours = rates(words, 5.0, 8.0)
    assert [side["words_per_minute"] for side in (before, after, *ours)] == [120.0] * 4
    assert (whole["words_per_minute"], whole["words_span_s"]) == (60.0, 4.0)
    assert split_s([(1, 2), (2, 3)], 5.0, 8.0) == 3.0, "behind all words, at the end of the last"
    assert split_s([(1, 2), (4.5, 5.5)], 5.0, 8.0) == 4.5, "a word across the end of the overlap is after"
    assert split_s([], 5.0, 4.0) == 4.0, "but within the audio"
    assert rates([(1, 2), (2, 3)], 5.0, 8.0)[1]["words_per_minute"] == 0.0, "of no words"
    _, after, _, ours_before, ours_after = rates([(1, 2), (4.5, 5.5)], 5.0, 8.0)
    assert after["words_per_minute"] == 60.0
    assert ours_before["words_per_minute"] == pytest.approx(26.67, abs=0.01), "ours: before"
    assert not ours_after
    assert trimmed_mean([1.0, 2.0]) == 1.5
    assert trimmed_mean([1.0, 2.0, 4.0]) == 2.0


def test_halves_of_a_tenth_are_rounded_as_the_samples_are() -> None:
    """Window 15 begins at 0.45 s with its margin, which in binary lies above; 15 * 0.032 - 0.03 lies below."""
    assert tenths([(15 * 0.032 - 0.03, 1.0)], 2.0) == [(0.5, 1.0)]
    assert oracle.seconds([[15 * 512 - 480, 16_000]], 32_000) == [[0.5, 1.0]]


@pytest.mark.skipif(not REAL.is_dir(), reason=f"needs the examples of Full-Duplex-Bench v1 in {REAL}")
def test_the_released_samples_score_with_one_command(tmp_path: Path) -> None:
    arguments = ["score", "--suite", "fdb-v1", str(REAL), "--out", str(tmp_path / "out"), "--json"]
    done(*arguments)
    document = json.loads((tmp_path / "out" / "scores.json").read_text())
    by_task = {item["condition"]: item["figures"] for item in document["items"]}
    for task, folder, note in (
        (PAUSE, "pause_handling_example", "pause"),
        (TURN_TAKING, "smooth_turn_taking_example", "turn_taking"),
    ):
        place = REAL / folder / "1"
        words = [chunk["timestamp"] for chunk in json.loads((place / "output.json").read_text())["chunks"]]
        (label,) = json.loads((place / f"{note}.json").read_text())
        wanted = "unwanted" if task == PAUSE else "wanted"
        assert by_task[task][f"compat_takeover_{wanted}"] == [oracle.takeover(words)] == [1]
        if task == TURN_TAKING:
            latency = oracle.turn_latency(words, label["timestamp"][0])
            assert np.array(by_task[task]["compat_latency_s"]) == pytest.approx([latency], abs=0.001)
    assert json.loads(command(*arguments).stdout)["items"] == document["items"]
