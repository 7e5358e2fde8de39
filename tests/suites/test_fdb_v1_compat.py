"""The published measures of v1 and v1.5 against a plain script: a thousand random logs, and the released samples."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from oracles import fdb_v1 as oracle

from fdbcore.cli.main import main
from fdbcore.suites.fdb_v1.calls import HeardSample
from fdbcore.suites.fdb_v1.figures import Figures, of_segments, of_words
from fdbcore.suites.fdb_v1.measures import COMPARED
from fdbcore.suites.fdb_v1.rows import comparisons_of
from fdbcore.suites.fdb_v1.rules import jsd, paired_test, split_s, trimmed_mean, words_per_minute
from fdbcore.suites.fdb_v1.samples import BACKCHANNEL, INTERRUPTION, PAUSE, TURN_TAKING, V1, V15, UserSample

LOGS = 1000
REAL = Path(__file__).resolve().parents[3] / "shared" / "data" / "fdb_v1_examples"


def spans(draw: random.Random, most: int, longest_s: float) -> list[list[float]]:
    found, at = [], draw.uniform(0, 2)
    for _ in range(draw.randint(0, most)):
        end = at + draw.uniform(0.05, longest_s)
        found.append([round(at, 3), round(end, 3)])
        at = end + draw.choice([draw.uniform(0.01, 0.4), draw.uniform(0.4, 2.0)])
    return found


def sample(task: str, span: tuple[float, float]) -> UserSample:
    return UserSample("s-1", "s-1", "s", task, False, [span], [{}])


def pairs(found: list[list[float]]) -> list[tuple[float, float]]:
    return [(start, end) for start, end in found]


def test_the_order_of_samples_changes_no_comparison() -> None:
    draw = random.Random(4)
    scored = [
        (
            HeardSample(Path(f"{system}-{name}"), system, 1, UserSample(name, name, "s", PAUSE, False, [(1, 2)], [{}])),
            {measure: [draw.random()] for measure in COMPARED},
        )
        for system in ("a", "b")
        for name in map(str, range(24))
    ]
    found = []
    for _ in range(3):
        found.append(comparisons_of(V1, sorted(scored, key=lambda each: each[0].system)))
        draw.shuffle(scored)
    assert found[1:] == found[:1] * 2


def test_a_thousand_random_logs_of_v1() -> None:
    draw = random.Random(1)
    taken = {task: 0 for task in (PAUSE, TURN_TAKING, INTERRUPTION, BACKCHANNEL)}
    for _ in range(LOGS):
        words, segments = spans(draw, 8, 0.5), spans(draw, 5, draw.choice([0.8, 1.5, 4.0]))
        span = (draw.uniform(0, 3), draw.uniform(3, 5))
        for task in taken:
            figures = of_words(V1, sample(task, span), pairs(words), pairs(segments))
            wanted = "unwanted" if task in (PAUSE, BACKCHANNEL) else "wanted"
            heard = oracle.after(words, span[1]) if task == INTERRUPTION else words
            flag = oracle.backchannel(segments, words)[0] if task == BACKCHANNEL else oracle.takeover(heard)
            assert figures[f"compat_takeover_{wanted}"] == [flag]
            taken[task] += flag
            if task == TURN_TAKING:
                expected = [oracle.turn_latency(heard, span[0])] if flag else []
                assert figures["compat_latency_s"] == pytest.approx(expected)
            if task == INTERRUPTION:
                expected = [heard[0][0] - span[1]] if flag else []
                assert figures["compat_latency_s"] == pytest.approx(expected)
    assert all(LOGS / 10 < n < LOGS * 9 / 10 for n in taken.values()), taken


def test_a_thousand_random_logs_of_backchannels() -> None:
    draw = random.Random(2)
    for _ in range(LOGS):
        segments = spans(draw, 6, draw.choice([0.8, 4.0]))
        length_s = max([end for _, end in segments], default=0.0) + draw.uniform(0.01, 5)
        human = [float(draw.randint(0, 6)) for _ in range(draw.randint(2, 60))]
        figures = of_segments(V1, sample(BACKCHANNEL, (0, 0)), [], pairs(segments), length_s, human)
        _, stored = oracle.backchannel(segments, [])
        assert figures["compat_backchannels_per_s"] == pytest.approx([len(stored) / length_s])
        assert figures["compat_jsd"] == pytest.approx([oracle.jsd(stored, length_s, human)], abs=1e-9)
        ours = figures.get("backchannel_distance")
        assert (ours is None) == (not stored or not any(human))
        if ours is not None:  # the same distance by logarithms to base 2, but for 1e-10 in each bin
            assert ours == pytest.approx([figures["compat_jsd"][0] / math.sqrt(math.log(2))], abs=1e-3)


def test_a_thousand_random_logs_of_v15() -> None:
    draw = random.Random(3)
    for _ in range(LOGS):
        user, system = spans(draw, 5, 2.0), spans(draw, 5, 2.0)
        figures: Figures = of_segments(V15, sample(INTERRUPTION, (0, 1)), pairs(user), pairs(system), 20.0, None)
        assert sorted(figures["compat_stop_s"]) == pytest.approx(oracle.stops(user, system))
        assert sorted(figures["compat_response_s"]) == pytest.approx(oracle.responses(user, system))


def test_a_thousand_random_tests_before_and_after() -> None:
    draw = random.Random(4)
    outliers = 0
    for _ in range(LOGS):
        words, end = spans(draw, 8, 0.5), draw.uniform(0, 5)
        assert split_s(pairs(words), end) == oracle.cut(words, end)
        assert words_per_minute(pairs(words)) == pytest.approx(oracle.rate(words))
        n = draw.randint(3, 30)
        before = [draw.gauss(0, 1) for _ in range(n)]
        after = [value + draw.gauss(0.3, 1) * draw.choice([1, 1, 1, 12]) for value in before]
        assert trimmed_mean(before) == pytest.approx(oracle.trimmed(before))
        found, expected = paired_test(before, after), oracle.paired(before, after)
        assert (found.n, found.outliers) == (expected["n"], n - expected["n"])
        if found.n > 1:
            assert (found.t, found.p, found.d_z) == pytest.approx([expected[name] for name in ("t", "p", "d_z")])
            assert found.interval == pytest.approx(expected["interval"])
        outliers += found.outliers
    assert outliers > LOGS


def test_the_distance_of_disjoint_histograms_and_of_none() -> None:
    """sqrt(ln 2) is the most; only a sample without a candidate has 1."""
    human = [0.0] * 50 + [1.0] * 50
    assert jsd([(0.0, 5.0)], 20.0, human) == pytest.approx(math.sqrt(math.log(2)), abs=1e-3)
    assert math.sqrt(math.log(2)) == pytest.approx(0.8326, abs=1e-4)
    assert jsd([], 20.0, human) == 1.0
    assert jsd([(10.0, 19.9)], 20.0, human) < 0.2


def test_equal_and_single_pairs_have_no_test() -> None:
    for values in ([], [1.0], [2.0, 2.0, 2.0]):
        found = paired_test([0.0] * len(values), values)
        assert (found.n, found.p, found.interval, found.d_z) == (len(values), None, None, None)
    assert trimmed_mean([]) is None
    assert trimmed_mean([1.0, 2.0]) is None, "both lie beyond the percentiles between them"
    assert trimmed_mean([1.0, 2.0, 4.0]) == 2.0


@pytest.mark.skipif(not REAL.is_dir(), reason=f"needs the examples of Full-Duplex-Bench v1 in {REAL}")
def test_the_released_samples_score_with_one_command(tmp_path: Path) -> None:
    arguments = ["score", "--suite", "fdb-v1", str(REAL), "--out", str(tmp_path / "out"), "--json"]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
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
    again = CliRunner().invoke(main, arguments)
    assert json.loads(again.stdout)["items"] == document["items"]
