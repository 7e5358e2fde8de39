"""Gates: what a file may say, how intervals decide, how often they err, and how many calls they ask for."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from fakes.recordings import drawn_recording

from fdbcore.analysis.corpus import Call
from fdbcore.analysis.gate_file import Gate, Gates, parse, read_gates
from fdbcore.analysis.gate_moments import worst
from fdbcore.analysis.gate_results import GateResult, rounded
from fdbcore.analysis.gates import decide, exit_code
from fdbcore.analysis.groups import CallGroup
from fdbcore.errors import InputError
from fdbcore.measures.quantities import Quantity, Ratio, Share, Values
from fdbcore.report.comparison.phrases import gate_advice, gate_basis, gate_finding
from fdbcore.stats.bootstrap import ONE_CLUSTER, Quantile, mean

PREMATURE = "premature_per_turn <= baseline + 0.02"
LATENCY = "response_latency_ms"


def test_the_moments_of_long_silences_are_told_whoever_ends_them(tmp_path: Path) -> None:
    """4 s before an answer of B, 5 s within A's own speech, and 2 s, which is no long silence, in three calls."""
    drawings = {"slow": "A 0-2 8-9 | B 6-7", "paused": "A 0-2 7-8 | B 8.4-9", "quick": "A 0-2 | B 4-5"}
    recordings = [drawn_recording(tmp_path / name, drawing) for name, drawing in drawings.items()]
    calls = [Call(recording.name, recording.path) for recording in recordings]
    found = worst(CallGroup("", calls, [{} for _ in calls]), "lapse_s", at_most=True)
    assert [(each["call"], each["start_s"]) for each in found] == [("paused", 2.0), ("slow", 2.0)]


def gate(text: str, **where: str) -> Gates:
    return Gates((parse(text, where, "gates.toml: gate 1"),))


def group(quantities: Sequence[dict[str, Quantity]], prefix: str = "call", **columns: str) -> CallGroup:
    calls = [Call(f"{prefix}{k}", Path(), columns=columns) for k in range(len(quantities))]
    return CallGroup("", calls, quantities)


def shares(counts: npt.NDArray[np.int64], turns: int, prefix: str = "call") -> CallGroup:
    return group([{"premature_per_turn": Share(int(count), turns)} for count in counts], prefix)


def latencies(rng: np.random.Generator, calls: int, median_ms: float = 800.0, prefix: str = "call") -> CallGroup:
    """Ten answers a call, in ticks; calls differ, as calls do."""
    level = rng.normal(np.log(median_ms), 0.2, calls)
    drawn = np.exp(rng.normal(level[:, None], 0.35, (calls, 10))).round(-1)
    return group([{LATENCY: Values("ms", row.tolist())} for row in drawn], prefix)


def one(gates: Gates, run: CallGroup, baseline: CallGroup | None = None) -> GateResult:
    (decision,) = decide(gates, run, baseline)
    return decision.result


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("premature_per_turn <= baseline + 0.02", Gate("", "premature_per_turn", "", True, 1, 0.02)),
        ("premature_per_turn<=baseline-0.02", Gate("", "premature_per_turn", "", True, 1, -0.02)),
        ("response_latency_ms.median <= 900", Gate("", LATENCY, "median", True, 0, 900)),
        ("response_latency_ms.p99.5 <= 900", None),
        ("response_latency_ms.p90 <= baseline * 1.1", Gate("", LATENCY, "p90", True, 1.1, 0)),
        ("answered_per_turn >= baseline", Gate("", "answered_per_turn", "", False, 1, 0)),
        ("a_fto_after_b_ms >= -100", Gate("", "a_fto_after_b_ms", "", False, 0, -100)),
        ("x <= baseline * 1.1 + 5", Gate("", "x", "", True, 1.1, 5)),
        ("x < 3", None),
        ("x <= baseline * 0", None),
        ("x <= y", None),
        ("x.p0 <= 3", None),
        ("x.max <= 3", None),
        ("x <= baseline + -1", None),
    ],
)
def test_a_line_says_what_is_compared_with_what(text: str, expected: Gate | None) -> None:
    if expected is None:
        with pytest.raises(InputError, match=r"gates\.toml: gate 3: "):
            parse(text, {}, "gates.toml: gate 3")
    else:
        found = parse(text, {}, "")
        compared = ("measure", "statistic", "at_most", "times", "plus")
        assert [getattr(found, name) for name in compared] == [getattr(expected, name) for name in compared]


def test_a_statistic_is_a_function_of_the_items() -> None:
    assert [parse(f"x{of} <= 1", {}, "").function for of in ("", ".median", ".mean", ".p90")] == [
        None,
        None,
        mean,
        Quantile(0.9),
    ]


def test_a_file_holds_lines_and_tables(tmp_path: Path) -> None:
    path = tmp_path / "gates.toml"
    path.write_text(
        'cannot_tell = "pass"\nlevel = 0.9\ngates = ["x <= 1", {check = "y  <=  2", where = {language = "ja", n = 3}}]'
    )
    gates = read_gates(path)
    assert (gates.cannot_tell, gates.level) == ("pass", 0.9)
    assert gates.level_of_each == pytest.approx(0.95)
    assert [(each.text, dict(each.where)) for each in gates.gates] == [
        ("x <= 1", {}),
        ("y <= 2", {"language": "ja", "n": "3"}),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gates = [", "gates.toml: expected TOML: "),
        ("", "expected gates = "),
        ("gates = []", "expected gates = "),
        ('gate = ["x <= 1"]', "expected gates, level, cannot_tell, got gate; perhaps gates"),
        ("gates = [3]", "gate 1: expected a line or a table"),
        ('gates = [{chek = "x <= 1"}]', "gate 1: expected check, where, source, got chek; perhaps check"),
        ("gates = [{check = 3}]", "gate 1: expected check = "),
        ('gates = ["x <= 1", "y << 2"]', "gate 2: expected MEASURE"),
        ('level = 2\ngates = ["x <= 1"]', "level: expected a number from 0.5 to below 1, got 2"),
        ('cannot_tell = "skip"\ngates = ["x <= 1"]', "cannot_tell: expected one of pass, fail, error, got 'skip'"),
    ],
)
def test_a_file_that_is_none_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "gates.toml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_gates(path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_nowhere_is_named_with_what_is_alike() -> None:
    run = group([{"premature_per_turn": Share(0, 3), LATENCY: Values("ms", [1.0])}], language="ja")
    for text, where, message in [
        ("prematur_per_turn <= 1", {}, "got prematur_per_turn; perhaps premature_per_turn"),
        ("premature_per_turn <= 1", {"langage": "ja"}, "where langage: expected a column of the calls; perhaps"),
        (
            "premature_per_turn <= 1",
            {"language": "jp"},
            "where language = jp: expected a value of that column, one of ja",
        ),
        ("premature_per_turn.p90 <= 1", {}, "it is a share or a rate, and has no quantiles"),
        ("premature_per_turn <= baseline", {}, "expected --baseline"),
        ("premature_per_turn <= 5", {}, "expected a limit from 0 to 1, as shares are, got 5"),
        ("premature_per_turn >= -1", {}, "expected a limit from 0 to 1, as shares are, got -1"),
        ("premature_response <= 0.05", {}, "expected a measure, got premature_response; perhaps premature responses"),
        ("response_time.p90 <= 900", {}, "got response_time; perhaps response rate or response latency"),
        (f"{LATENCY}.median <= 0.9", {}, "expected milliseconds, 10 or more, got 0.9; 0.9 s are 900"),
        (f"{LATENCY}.p90 <= 9.99", {}, "expected milliseconds, 10 or more, got 9.99"),
        (f"{LATENCY} <= 0", {}, "expected milliseconds, 10 or more, got 0"),
    ]:
        with pytest.raises(InputError) as caught:
            decide(gate(text, **where), run, None)
        assert message in str(caught.value)


def test_an_allowance_beside_a_share_is_below_1() -> None:
    run = shares(np.array([0, 1]), 8)
    for text in ("premature_per_turn <= baseline + 2", "premature_per_turn >= baseline - 1"):
        with pytest.raises(InputError, match="expected to add less than 1 to the baseline: shares are from 0 to 1"):
            decide(gate(text), run, run)


def test_an_allowance_beside_a_latency_is_in_milliseconds_and_a_gap_may_be_none() -> None:
    run = group([{LATENCY: Values("ms", [500.0, 600.0]), "a_fto_after_b_ms": Values("ms", [-20.0, 40.0])}])
    with pytest.raises(InputError, match=r"expected milliseconds, 1 or more, got 0\.3; 0\.3 s are 300"):
        decide(gate(f"{LATENCY} <= baseline + 0.3"), run, run)
    for text in (f"{LATENCY} <= baseline", f"{LATENCY} <= baseline + 5", f"{LATENCY} <= 10", "a_fto_after_b_ms >= 0"):
        assert decide(gate(text), run, run)


def told(gate: GateResult) -> str:
    """What is shown of a gate."""
    return " | ".join(filter(None, (gate_finding(gate), gate_advice(gate))))


def test_a_gate_is_told_as_it_was_written_and_decided() -> None:
    calls = latencies(np.random.default_rng(1), 10)
    assert told(one(gate(f"{LATENCY} >= 300.5"), calls)).endswith("(95 % interval), limit 0.3005 s")
    assert re.fullmatch(
        r"0\.\d\d s, limit 2 s \| no interval: p9 needs 112 items, got 100",
        told(one(gate(f"{LATENCY}.p9 <= 2000"), calls)),
    )
    assert told(one(gate(f"{LATENCY}.p99 <= 2000"), calls)) == "p99 needs 500 items, got 100"
    assert told(one(gate("premature_per_turn <= 0.0525"), shares(np.array([0] * 40), 9))).endswith("limit 5.25 %")


def test_a_gate_of_few_calls_says_that_its_interval_may_be_too_narrow() -> None:
    for calls, few in ((5, True), (12, False)):
        decision = one(gate("premature_per_turn <= 0.9"), shares(np.arange(calls) % 3, 8))
        assert decision["status"] == "passed"
        assert gate_basis(decision).endswith("; with fewer than 10 an interval may be too narrow") == few


def test_a_gate_over_few_clusters_says_so_however_many_calls_they_have() -> None:
    many = shares(np.arange(12) % 3, 8)
    run = replace(many, calls=[replace(call, columns={"caller": str(k % 4)}) for k, call in enumerate(many.calls)])
    (decision,) = decide(gate("premature_per_turn <= 0.9"), run, None, cluster="caller")
    result = decision.result
    assert (result["run"]["calls"], result["run"]["clusters"]) == (12, 4)
    assert gate_basis(result).endswith("; only 4 clusters: with fewer than 10 an interval may be too narrow")


def test_clips_over_several_lines_are_as_many_as_clips() -> None:
    many = shares(np.arange(12) % 3, 8)
    columns = [{"clip": f"c{k % 6}", "line": ("clean", "babble:10")[k // 6]} for k in range(12)]
    run = replace(many, calls=[replace(call, columns=own) for call, own in zip(many.calls, columns, strict=True)])
    over_both = one(gate("premature_per_turn <= 0.9"), run)["run"]
    assert (over_both["calls"], over_both["clusters"]) == (12, 6)
    clean = one(gate("premature_per_turn <= 0.9", line="clean"), run)["run"]
    assert (clean["calls"], clean["clusters"]) == (6, 6)


def test_the_side_that_is_short_is_named() -> None:
    run, few = shares(np.tile([1, 2, 1, 1, 0], 180), 8), shares(np.array([0, 1, 0, 0, 1, 0]), 8, "old")
    advice = told(one(gate(PREMATURE), run, few))
    assert re.search(r"undecided with 900 calls against 6: likely \d+ calls or more of the baseline would", advice)


def test_a_share_is_decided_on_its_interval() -> None:
    rng = np.random.default_rng(1)
    old, new = shares(rng.binomial(8, 0.02, 1000), 8), shares(rng.binomial(8, 0.06, 1000), 8)
    failed = one(gate(PREMATURE), new, old)
    assert failed["status"] == "failed"
    assert failed["value"] is not None
    assert failed["interval"] is not None
    assert failed["interval"][0] < 0.04 < failed["interval"][1]
    assert failed["interval"] == pytest.approx(_resampled(new, old), abs=0.001)
    assert one(gate("premature_per_turn <= baseline + 0.06"), new, old)["status"] == "passed"
    assert one(gate("premature_per_turn <= baseline + 0.04"), new, old)["status"] == "cannot tell"
    assert one(gate("premature_per_turn >= baseline + 0.06"), new, old)["status"] == "failed"
    assert one(gate("premature_per_turn <= 0.04"), old)["status"] == "passed"
    assert one(gate("premature_per_turn <= 0.04"), new)["status"] == "failed"
    assert one(gate("premature_per_turn <= baseline * 2"), new, old)["status"] == "failed"
    assert one(gate("premature_per_turn <= baseline * 5"), new, old)["status"] == "passed"


def _resampled(new: CallGroup, old: CallGroup) -> tuple[float, float]:
    """The difference's interval by resampling calls, the same on both sides; shares of 8 turns."""
    counts = [np.array([q["premature_per_turn"].count for q in of.quantities]) for of in (new, old)]  # type: ignore[union-attr]
    difference = (counts[0] - counts[1]) / 8
    rng = np.random.default_rng(2)
    drawn = [difference[rng.integers(0, len(difference), len(difference))].mean() for _ in range(4000)]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(low), float(high)


def test_items_are_decided_by_their_statistic() -> None:
    rng = np.random.default_rng(3)
    old, new = latencies(rng, 300), latencies(rng, 300, 1000.0)
    assert one(gate(f"{LATENCY} <= 900"), old)["status"] == "passed"
    assert one(gate(f"{LATENCY}.median <= 900"), new)["status"] == "failed"
    assert one(gate(f"{LATENCY}.p90 <= baseline * 1.1"), new, old)["status"] == "failed"
    assert one(gate(f"{LATENCY}.p90 <= baseline * 1.5"), new, old)["status"] == "passed"
    decision = one(gate(f"{LATENCY}.mean <= baseline + 100"), new, old)
    items = [np.concatenate([q[LATENCY].values for q in of.quantities]) for of in (new, old)]  # type: ignore[union-attr]
    assert decision["value"] == pytest.approx(items[0].mean() - items[1].mean())
    assert decision["run"]["value"] == pytest.approx(items[0].mean())
    rates = group([{"overlap_per_min": Ratio("1/min", k % 3, 1.0, k % 3)} for k in range(60)])
    assert one(gate("overlap_per_min <= 2"), rates)["status"] == "passed"


def test_without_items_nothing_is_measured() -> None:
    empty, some = group([{LATENCY: Values("ms", [])}] * 5), latencies(np.random.default_rng(4), 20)
    assert one(gate(f"{LATENCY} <= 900"), empty)["status"] == "not measured"
    absent = one(gate("compat_v1_latency_ms <= baseline"), some, some)
    assert (absent["status"], absent["reason"]) == ("not measured", "no call of the run has this measure")
    few = one(gate(f"{LATENCY}.p99 <= 5000"), some)
    assert (few["status"], few["reason"]) == ("cannot tell", "p99 needs 500 items, got 200")
    fewer = one(
        gate(f"{LATENCY}.p9 <= 5000"),
        group([{LATENCY: Values("ms", list(map(float, range(30 * k, 30 * k + 30))))} for k in (0, 1)]),
    )
    assert (fewer["status"], fewer["reason"]) == ("cannot tell", "no interval: p9 needs 112 items, got 60")
    where = group([{LATENCY: Values("ms", [500.0])}] * 5, language="ja")
    assert (
        one(gate(f"{LATENCY} <= baseline", language="ja"), where, some)["reason"]
        == "no call of the baseline has this measure"
    )


def test_many_calls_that_agree_are_an_interval() -> None:
    same = group([{LATENCY: Values("ms", [800.0])}] * 200)
    assert one(gate(f"{LATENCY} <= 900"), same)["status"] == "passed"
    assert one(gate(f"{LATENCY} <= 700"), same)["status"] == "failed"
    few = one(gate(f"{LATENCY} <= 900"), group([{LATENCY: Values("ms", [800.0])}] * 20))
    assert few["status"] == "cannot tell"
    assert "have the same value" in few["reason"]


def test_one_cluster_passes_no_gate() -> None:
    one_call, calls = shares(np.array([0]), 400), shares(np.zeros(30, np.int64), 40, "old")
    for text, run in (("premature_per_turn <= 0.1", one_call), (PREMATURE, calls)):
        decision = one(gate(text), run, one_call)
        assert (decision["status"], decision["interval"]) == ("cannot tell", None)
        assert decision["reason"].startswith(ONE_CLUSTER)
    assert decision["reason"].endswith("(of the baseline)")
    assert one(gate("premature_per_turn <= 0.1"), calls)["status"] == "passed"


def test_several_gates_share_the_level() -> None:
    rng = np.random.default_rng(5)
    run = shares(rng.binomial(8, 0.05, 200), 8)
    both = Gates((parse("premature_per_turn <= 0.1", {}, ""),) * 2)
    wide, alone = decide(both, run, None)[0].result, one(gate("premature_per_turn <= 0.1"), run)
    assert wide["level"] == pytest.approx(0.975)
    assert wide["interval"] is not None
    assert alone["interval"] is not None
    assert wide["interval"][1] - wide["interval"][0] > alone["interval"][1] - alone["interval"][0]


def test_the_exit_code_says_what_became_of_all() -> None:
    rng = np.random.default_rng(6)
    new, old = shares(rng.binomial(8, 0.06, 400), 8), shares(rng.binomial(8, 0.02, 400), 8)

    def code(*texts: str, cannot_tell: str = "error") -> int:
        gates = Gates(tuple(parse(text, {}, "") for text in texts), cannot_tell=cannot_tell)  # type: ignore[arg-type]
        return exit_code(decide(gates, new, old), gates)

    passes, fails, cannot = "premature_per_turn <= 0.2", "premature_per_turn <= 0.01", "premature_per_turn <= 0.06"
    assert code(passes) == 0
    assert code(passes, fails, cannot) == 1
    assert [code(passes, cannot, cannot_tell=what) for what in ("pass", "fail", "error")] == [0, 1, 3]
    assert code(passes, "compat_v1_latency_ms <= 300", cannot_tell="pass") == 3


def test_few_calls_cannot_tell_and_say_how_many_could() -> None:
    """With the number asked for, four of five such studies decide; that is what the number is."""
    rng = np.random.default_rng(7)

    def drawn(calls: int, share: float) -> CallGroup:
        return shares(rng.binomial(8, share, calls), 8)

    def undecided(calls: int) -> list[GateResult]:
        found = [one(gate(PREMATURE), drawn(calls, 0.06), drawn(calls, 0.02)) for _ in range(60)]
        return [each for each in found if each["status"] == "cannot tell"]

    assert len(undecided(20)) > 50
    truth = [shares(rng.permutation(np.repeat([0, 1], [60 - cut, cut])), 8) for cut in (29, 10)]  # 6 and 2 per cent
    at_truth = one(gate(PREMATURE), *truth)
    assert at_truth["status"] == "cannot tell"
    assert at_truth["calls_needed"] is not None
    assert 0.05 < len(undecided(at_truth["calls_needed"])) / 60 < 0.4
    for calls in (20, 60):
        ranges = [each["calls_range"] or (0, None) for each in undecided(calls) if each["calls_needed"]]
        held = [least <= at_truth["calls_needed"] <= (most or np.inf) for least, most in ranges]
        assert np.mean(held) > 0.7
        assert len({each["calls_needed"] for each in undecided(calls)}) > 10  # the number by itself says too much
    assert " or more" in told(undecided(20)[0])
    assert at_truth["calls_range"] is not None
    assert at_truth["calls_range"][0] < at_truth["calls_needed"]


@pytest.mark.parametrize(("count", "expected"), [(7.2, 8), (88.0, 88), (261.0, 270), (5_611.0, 5_700), (99.5, 100)])
def test_needed_calls_are_rounded_upward(count: float, expected: int) -> None:
    assert rounded(count) == expected


def _beta_shares(rng: np.random.Generator, calls: int, share: float, prefix: str) -> CallGroup:
    """Turns of a call resemble each other: intraclass correlation 0.1."""
    return shares(rng.binomial(8, rng.beta(share * 9, (1 - share) * 9, calls)), 8, prefix)


@pytest.mark.parametrize("calls", [20, 200])
@pytest.mark.parametrize("paired", [True, False])
def test_no_difference_seldom_raises_an_alarm(calls: int, paired: bool) -> None:
    rng = np.random.default_rng(calls)
    gates, prefix = gate("premature_per_turn <= baseline"), "call" if paired else "old"
    studies = 200
    found = [
        one(gates, _beta_shares(rng, calls, 0.05, "call"), _beta_shares(rng, calls, 0.05, prefix))["status"]
        for _ in range(studies)
    ]
    assert found.count("failed") / studies <= 0.05
    assert found.count("passed") / studies <= 0.05  # there is nothing to pass by, either


def test_alarms_by_the_median_are_as_rare() -> None:
    rng, studies = np.random.default_rng(9), 100
    gates = gate(f"{LATENCY} <= baseline")
    found = [
        one(gates, latencies(rng, 40, prefix="a"), latencies(rng, 40, prefix="b"))["status"] for _ in range(studies)
    ]
    assert found.count("failed") / studies <= 0.05
