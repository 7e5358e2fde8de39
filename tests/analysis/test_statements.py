"""Pooled measures by any unit, groups and their order, and what differences resample."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from helpers.made_runs import MadeCall, Manner, drawn_calls, made_run
from hypothesis import given
from hypothesis import strategies as st

from fdbcore.analysis.corpus import Call, Run
from fdbcore.analysis.differences import difference
from fdbcore.analysis.groups import MOST_GROUPS, CallGroup, Unit, groups, rescored, unit, units_text
from fdbcore.analysis.matching import are_few, group_differences, match, match_every_two, match_groups
from fdbcore.analysis.order import by_day, in_order, positions
from fdbcore.analysis.statements import statements
from fdbcore.analysis.summaries import pool, summarise
from fdbcore.errors import InputError
from fdbcore.measures.quantities import Quantity, Ratio, Share, Values
from fdbcore.recording.files import ACTIVITY, TURNS
from fdbcore.runtime.executor import ThisProcess, Workers

Session = dict[str, Quantity]

sessions = st.lists(
    st.tuples(
        st.integers(0, 4), st.tuples(st.lists(st.integers(0, 300), max_size=6), st.integers(0, 9), st.integers(0, 9))
    ),
    min_size=1,
    max_size=12,
)


def session(values: Sequence[int], count: int, more: int) -> Session:
    return {
        "wait_ms": Values("ms", [10.0 * v for v in values], {"late": count}),
        "hit": Share(count, count + more, {"odd": more}),
        "rate": Ratio("1/min", float(count), 1.0 + more, count),
    }


def merged(of: Sequence[Session]) -> Session:
    """What the sessions are as one."""
    waits, hits, rates = ([each[name] for each in of] for name in ("wait_ms", "hit", "rate"))
    return {
        "wait_ms": Values("ms", [v for q in waits if isinstance(q, Values) for v in q.values]),
        "hit": Share(
            sum(q.count for q in hits if isinstance(q, Share)), sum(q.n for q in hits if isinstance(q, Share))
        ),
        "rate": Ratio(
            "1/min",
            sum(q.total for q in rates if isinstance(q, Ratio)),
            sum(q.exposure for q in rates if isinstance(q, Ratio)),
            sum(q.n for q in rates if isinstance(q, Ratio)),
        ),
    }


@given(sessions)
def test_clusters_are_as_if_their_sessions_were_one(drawn: list[tuple[int, tuple[list[int], int, int]]]) -> None:
    of, clusters = [session(*rest) for _, rest in drawn], [str(cluster) for cluster, _ in drawn]
    names = sorted(set(clusters))
    whole = [merged([s for s, c in zip(of, clusters, strict=True) if c == name]) for name in names]
    found, expected = summarise(of, clusters), summarise(whole, names)
    for name, summary in found.items():
        assert summary["clusters"] == len(names)
        for key in ("n", "mean", "median"):
            assert summary[key] == pytest.approx(expected[name][key])
        assert summary["ci95"] == (expected[name]["ci95"] and pytest.approx(expected[name]["ci95"]))


def test_the_session_is_the_cluster_where_none_is_named() -> None:
    of = [session([k, k + 20], k % 3, 2) for k in range(12)]
    assert summarise(of) == summarise(of, [f"{k:02}" for k in range(12)])


def test_p95_is_given_from_100_items_and_its_interval_from_200() -> None:
    for n, value, interval in ((99, False, False), (100, True, False), (199, True, False), (200, True, True)):
        summary = summarise([{"x": Values("ms", [float(v)])} for v in range(n)])["x"]
        assert ((summary["p95"] is not None), (summary["p95_ci95"] is not None)) == (value, interval)


def test_nothing_of_one_cluster_has_an_interval() -> None:
    of = [session([1], 3, 7), session([2], 1, 9)]
    assert summarise(of, ["x", "x"])["hit"]["ci95"] is None
    assert summarise(of[:1], ["x"])["hit"]["ci95"] is None
    assert summarise(of[:1])["hit"]["ci95"] is None
    run = CallGroup("", [Call("call", Path())], of[:1])
    assert statements(run, Unit())["measures"]["hit"]["ci95"] is None


def of_columns(*columns: dict[str, str]) -> CallGroup:
    calls = [Call(f"call{k}", Path(f"call{k}"), columns=known) for k, known in enumerate(columns)]
    return CallGroup("", calls, [session([k], 1, 1) for k in range(len(calls))])


def test_groups_are_the_values_of_a_column() -> None:
    run = of_columns({"lang": "ja"}, {"lang": "en"}, {}, {"lang": "ja"})
    found = groups(run, "lang")
    assert [(group.name, [call.name for call in group.calls]) for group in found] == [
        ("en", ["call1"]),
        ("ja", ["call0", "call3"]),
        ("(none)", ["call2"]),
    ]
    assert found[1].quantities == [run.quantities[0], run.quantities[3]]


def test_a_column_that_is_not_there_is_named_with_those_that_are_alike() -> None:
    run = of_columns({"speaker": "x", "lang": "ja"})
    with pytest.raises(InputError, match=r"--by speeker: expected one of speaker, lang; perhaps speaker"):
        groups(run, "speeker")
    with pytest.raises(InputError, match=r"--cluster x: expected one of speaker, lang"):
        unit(run.calls, "x")
    with pytest.raises(InputError, match=r"--by x: expected columns \(replay --meta gives a run some\)"):
        groups(of_columns({}), "x")
    many = of_columns(*({"caller": str(k)} for k in range(MOST_GROUPS + 1)))
    with pytest.raises(InputError, match=rf"--by caller: expected a column of at most {MOST_GROUPS} values, got 21"):
        groups(many, "caller")


def test_calls_without_a_value_are_units_of_their_own() -> None:
    run = of_columns({"speaker": "x"}, {"speaker": "x"}, {}, {"speaker": ""}, {"speaker": "call2"})
    chosen = unit(run.calls, "speaker")
    assert chosen.own == ["call2", "call3"]
    assert len(set(run.clusters(chosen))) == 4  # nobody who is called like a call is taken for it
    assert len(set(run.clusters(Unit()))) == 5


def test_differences_are_paired_by_the_clips_of_a_live_run() -> None:
    both = [{"system": s, "clip": c} for s in ("one", "two") for c in "abcdef"]
    one, two = groups(of_columns(*both), "system")
    assert (match("", one, two, None).paired_by, match("", one, two, None).shared) == ("clip", 6)
    assert match("", one, two, "system").paired_by is None  # no system is on both sides
    one, two = groups(of_columns(*both[:5], *both[6:]), "system")
    assert match("", one, two, None).paired_by is None  # no test of five pairs could find a difference
    one, two = groups(of_columns(*both, {"system": "two", "clip": ""}), "system")
    assert match("", one, two, None).paired_by is None


def test_lines_are_compared_with_the_clean_one_of_the_same_system_paired_by_their_users() -> None:
    lines = ("clean", "loss:5", "noise:20")
    each = [{"system": s, "line": line, "clip": c, "trial": "1"} for s in "xy" for line in lines for c in "abc"]
    found = match_groups("line", groups(of_columns(*each), "line"), None)
    assert [(of.a.name, of.b.name, of.paired_by, of.shared) for of in found] == [
        (f"{system}, {line}", f"{system}, clean", "clip", 3) for system in "xy" for line in lines[1:]
    ]
    one_system = [of for of in each if of["system"] == "x"]
    found = match_groups("line", groups(of_columns(*one_system), "line"), None)
    assert [(of.a.name, of.b.name) for of in found] == [("loss:5", "clean"), ("noise:20", "clean")]
    of_trials = [{"system": "x", "line": line, "clip": "", "trial": n} for line in lines for n in "1234"]
    found = match_groups("line", groups(of_columns(*of_trials), "line"), None)
    assert {of.paired_by for of in found} == {"trial"}
    phones = [{"line": line, "clip": c} for line in ("hot", "land", "mobile") for c in "abcdef"]
    assert len(match_groups("line", groups(of_columns(*phones), "line"), None)) == 3, "a column of one's own"


def test_more_lines_than_other_groups_are_compared() -> None:
    each = [{"line": line, "clip": c} for line in ("clean", *"bcdefgh") for c in "ab"]
    by = groups(of_columns(*each), "line")
    assert are_few("line", by)
    assert not are_few("version", by)
    assert len(match_groups("line", by, None)) == 7


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    manners = {"fast": Manner(latency_s=0.5), "slow": Manner(latency_s=0.7)}
    calls = [
        MadeCall(call.name, call.activity, {"system": name, "scenario": f"s{k % 6}"})
        for seed, (name, manner) in enumerate(manners.items())
        for k, call in enumerate(drawn_calls(12, seed, lambda _, m=manner: m, prefix=name))  # type: ignore[misc]
    ]
    return Run(made_run(tmp_path_factory.mktemp("made") / "run", calls))


def test_a_run_is_told_with_its_groups_and_their_differences(run: Run) -> None:
    all_calls, unread = rescored(run, ThisProcess())
    assert unread == {}
    by = groups(all_calls, "system")
    chosen = unit(all_calls.calls, "scenario")
    content = statements(all_calls, chosen, by)
    assert (content["calls"], content["clusters"], content["paired_by"]) == (24, 6, "scenario")
    assert content["measures"] == summarise([call.quantities for call in run.calls], all_calls.clusters(chosen))
    assert [(group["name"], group["calls"], group["clusters"]) for group in content["groups"]] == [
        ("fast", 12, 6),
        ("slow", 12, 6),
    ]
    latency = next(each for each in content["differences"] if each["measure"] == "response_latency_ms")
    pools = [pool("response_latency_ms", group.quantities, group.clusters(chosen)) for group in by]
    expected = difference(*pools)
    assert (latency["a"], latency["b"], latency["shared"]) == ("fast", "slow", 6)
    assert {**latency, **expected, "p_holm": None} == {**latency, "p_holm": None}
    assert latency["value"] == pytest.approx(-200, abs=100)
    assert latency["p"] is not None
    assert latency["p_holm"] is not None
    assert latency["p_holm"] >= latency["p"]


def test_units_that_groups_have_not_in_common_pair_nothing() -> None:
    run = of_columns(*({"version": v, "spk": f"{v}{k % 2}"} for v in "12" for k in range(6)))
    content = statements(run, unit(run.calls, "spk"), groups(run, "version"))
    assert (content["unit"]["column"], content["clusters"], content["paired_by"]) == ("spk", 4, None)
    assert [units_text(*of) for of in (("spk", 10), ("spk", 1), (None, 10), (None, 1))] == [
        "values of spk",
        "value of spk",
        "calls",
        "call",
    ]


def test_three_groups_are_three_pairs(run: Run) -> None:
    all_calls, _ = rescored(run, ThisProcess())
    thirds = [CallGroup(str(k), all_calls.calls[k::3], all_calls.quantities[k::3]) for k in range(3)]
    pairs = {(each["a"], each["b"]) for each in group_differences(match_every_two(thirds, None))}
    assert pairs == {("1", "0"), ("2", "0"), ("2", "1")}  # as of versions: the later less the earlier


def test_processes_score_as_one_does(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    alone, _ = rescored(run, ThisProcess())
    monkeypatch.setattr("fdbcore.runtime.executor.FEW_ITEMS", 4)
    told: list[None] = []
    several, _ = rescored(run, Workers(2), lambda: told.append(None))
    assert several == alone
    assert len(told) == 24


def test_a_call_that_cannot_be_scored_is_named_and_left_out(tmp_path: Path) -> None:
    corpus = Run(made_run(tmp_path / "run", drawn_calls(3, 1)))
    (corpus.calls[1].path / TURNS).write_text("half")
    (corpus.calls[2].path / ACTIVITY).write_bytes(b"PK")
    found, unread = rescored(corpus, ThisProcess())
    assert [call.name for call in found.calls] == ["call0000"]
    assert list(unread) == ["call0001", "call0002"]
    assert "expected JSON" in unread["call0001"]
    assert statements(found, Unit())["measures"]["answered_per_turn"]["mean"] is not None


@pytest.mark.parametrize(
    ("names", "ordered"),
    [
        (["v10", "v2", "v1"], ["v1", "v2", "v10"]),
        (["1.10.0", "1.9", "2"], ["1.9", "1.10.0", "2"]),
        (["release-3", "release-20"], ["release-3", "release-20"]),
        (["2026-11-03", "2026-02-20", "2025-12-31"], ["2025-12-31", "2026-02-20", "2026-11-03"]),
    ],
)
def test_dates_and_versions_have_places(names: list[str], ordered: list[str]) -> None:
    assert in_order(names) == ordered
    at = positions(ordered)
    assert at is not None
    assert at == sorted(at)


@pytest.mark.parametrize("names", [["ja", "en"], ["gpt4", "gpt5"], ["v1", "w2"], ["v1", "main"], ["2026-13-40"], []])
def test_other_names_have_none(names: list[str]) -> None:
    assert positions(names) is None
    assert in_order(names) == sorted(names)


def test_dates_are_as_far_apart_as_they_are() -> None:
    assert positions(["2026-02-27", "2026-03-01", "2026-03-02"]) == pytest.approx([739674, 739676, 739677])


def test_times_are_grouped_by_day_and_by_month_if_there_are_too_many() -> None:
    times = [f"2026-0{1 + day // 28}-{1 + day % 28:02}T08:30:00Z" for day in range(56)]
    assert {*by_day(times, 60).values()} == {time[:10] for time in times}
    assert [*dict.fromkeys(by_day(times, 20).values())] == ["2026-01", "2026-02"]
    assert by_day(["2026-01-01", "soon"], 20) == {"2026-01-01": "2026-01-01", "soon": "soon"}
