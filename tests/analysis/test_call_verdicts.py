"""The verdict on each call: against counts by hand, and the binomial distribution of SciPy."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from scipy.stats import binom

from fdbcore.analysis.call_verdicts import CallVerdict, call_verdicts
from fdbcore.analysis.corpus import Call
from fdbcore.analysis.gate_file import Gates, parse
from fdbcore.analysis.gates import decide
from fdbcore.analysis.groups import CallGroup
from fdbcore.measures.quantities import Quantity, Ratio, Share, Values
from fdbcore.report.comparison.limits import of_call, sentence


def group(calls: Mapping[str, Mapping[str, Quantity]], **columns: str) -> CallGroup:
    named = [Call(name, Path(), columns=columns) for name in calls]
    return CallGroup("", named, list(calls.values()))


def verdicts(run: CallGroup, *lines: str, baseline: CallGroup | None = None, **where: str) -> dict[str, CallVerdict]:
    gates = Gates(tuple(parse(line, where, "gate") for line in lines))
    return call_verdicts(run, [each.result for each in decide(gates, run, baseline)], gates.level)


def cut(count: int, n: int) -> dict[str, Quantity]:
    return {"premature_per_turn": Share(count, n)}


def late(*latencies_s: float) -> dict[str, Quantity]:
    return {"response_latency_ms": Values("ms", [1000 * latency_s for latency_s in latencies_s])}


@pytest.mark.parametrize("limit", [0.02, 0.05, 0.2])
def test_a_share_beyond_its_limit_fails_the_calls_that_chance_hardly_makes(limit: float) -> None:
    calls = {f"{count} of {n}": cut(count, n) for n in (1, 2, 7, 20, 200) for count in range(min(n, 9) + 1)}
    found = verdicts(group(calls), f"premature_per_turn <= {limit}")
    for name, verdict in found.items():
        count, n = map(int, name.split(" of "))
        chance = binom.sf(count - 1, n, limit)
        beyond = "failed" if chance < 0.05 else "cannot tell"
        assert verdict.status == ("passed" if count / n <= limit else beyond), name
    assert {"passed", "cannot tell", "failed"} == {verdict.status for verdict in found.values()}


def test_a_share_that_must_be_large_is_judged_by_what_it_lacks() -> None:
    calls: dict[str, dict[str, Quantity]] = {
        name: {"answered_per_turn": Share(count, 20)} for name, count in (("kept", 18), ("near", 17), ("missed", 12))
    }
    found = verdicts(group(calls), "answered_per_turn >= 0.9")
    assert {name: verdict.status for name, verdict in found.items()} == {
        "kept": "passed",
        "near": "cannot tell",
        "missed": "failed",
    }


def test_a_median_is_judged_by_how_many_items_are_beyond() -> None:
    calls = {"five": late(*[2.0] * 5), "four": late(*[2.0] * 4), "half": late(1.0, 1.8), "slow": late(1.4, 1.9)}
    found = verdicts(group(calls), "response_latency_ms.median <= 1500")
    assert {name: verdict.status for name, verdict in found.items()} == {
        "five": "failed",  # all of five: 1 in 32
        "four": "cannot tell",  # all of four: 1 in 16
        "half": "passed",
        "slow": "cannot tell",
    }
    (gate,) = found["slow"].gates
    assert gate is not None
    assert (gate.value, gate.beyond, gate.n) == (1650.0, 1, 2)


def test_a_tail_is_judged_by_the_share_that_it_allows() -> None:
    calls = {"three": late(*[1.0] * 3, *[4.0] * 3), "two": late(*[1.0] * 4, *[4.0] * 2), "none": late(*[1.0] * 10)}
    found = verdicts(group(calls), "response_latency_ms.p90 <= 3500")
    assert [verdict.status for verdict in found.values()] == ["failed", "cannot tell", "passed"]
    assert binom.sf(2, 6, 0.1) < 0.05 < binom.sf(1, 6, 0.1)


@pytest.mark.parametrize(("statistic", "needed"), [("p90", 10), ("p10", 10), ("p75", 4), ("p95", 100), ("median", 1)])
def test_a_quantile_passes_only_with_enough_items(statistic: str, needed: int) -> None:
    calls = {"few": late(*[1.0] * (needed - 1)), "enough": late(*[1.0] * needed)}
    found = verdicts(group(calls), f"response_latency_ms.{statistic} <= 3500")
    assert {name: verdict.status for name, verdict in found.items()} == {"few": "not measured", "enough": "passed"}


def test_a_call_says_that_its_answers_are_not_enough() -> None:
    found = verdicts(group({"short": late(*[1.0] * 5) | cut(0, 5)}), "response_latency_ms.p90 <= 3500")["short"]
    assert sentence(found).text == "Not measured: response latency (p90), not enough: 5 of 10."
    (limit,) = of_call(found, ["response_latency_ms"])
    assert (limit.sign, limit.text) == ("–", "not measured: p90 at most 3.5 s, not enough: 5 of 10")


def test_of_a_mean_or_a_rate_one_call_never_fails() -> None:
    rates: dict[str, dict[str, Quantity]] = {
        "many": {"overlap_per_min": Ratio("1/min", 30.0, 1.0, 30)},
        "few": {"overlap_per_min": Ratio("1/min", 1.0, 1.0, 1)},
    }
    found = verdicts(group(rates), "overlap_per_min <= 5")
    assert [verdict.status for verdict in found.values()] == ["cannot tell", "passed"]
    means = verdicts(group({"slow": late(3.0, 9.0), "quick": late(0.5)}), "response_latency_ms.mean <= 900")
    assert [verdict.status for verdict in means.values()] == ["cannot tell", "passed"]


def test_the_worst_gate_says_what_a_call_is() -> None:
    nothing: dict[str, Quantity] = {}
    calls = {"slow": late(*[3.0] * 6) | cut(0, 9), "good": late(0.5) | cut(0, 9), "part": cut(0, 9), "none": nothing}
    found = verdicts(group(calls), "response_latency_ms <= 900", "premature_per_turn <= 0.05")
    assert {name: verdict.status for name, verdict in found.items()} == {
        "slow": "failed",
        "good": "passed",
        "part": "passed",
        "none": "not measured",
    }
    assert [gate.gate.text for gate in found["slow"].having("failed")] == ["response_latency_ms <= 900"]


def test_a_gate_for_some_calls_says_nothing_of_the_others() -> None:
    calls = [Call(name, Path(), columns={"lang": name}) for name in ("de", "ja")]
    run = CallGroup("", calls, [cut(9, 9), cut(9, 9)])
    found = verdicts(run, "premature_per_turn <= 0.05", lang="ja")
    assert {name: verdict.status for name, verdict in found.items()} == {"de": "not measured", "ja": "failed"}


def test_a_limit_from_a_baseline_is_that_of_all_its_calls() -> None:
    baseline = group({f"old{k}": cut(k % 2, 10) for k in range(40)})  # 5 % in all
    line = "premature_per_turn <= baseline + 0.05"
    found = verdicts(group({"a": cut(1, 10), "b": cut(5, 10)}), line, baseline=baseline)
    assert [verdict.status for verdict in found.values()] == ["passed", "failed"]
    (gate,) = found["a"].gates
    assert gate is not None
    assert gate.limit == pytest.approx(0.1)
    empty = group({"old": {}})
    unknown = verdicts(group({"a": cut(9, 10)}), line, baseline=empty)
    assert unknown["a"].status == "not measured"
