"""Judges of Full-Duplex-Bench v3, over real HTTP: what they read, and what becomes of their verdicts."""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from fakes.fake_openai import FakeOpenAI
from fakes.model_server import NEEDS_OPENAI, Answer, Asked, Fails, Says
from helpers.commands import command, done, refused
from helpers.released_folder import release, result
from helpers.v3_items import record_of

from fdbcore.models.account import Vendor
from fdbcore.registry import judge
from fdbcore.runs.judge_options import JudgeOptions
from fdbcore.suites.fdb_v3.card import judging_details
from fdbcore.suites.fdb_v3.cases import GivenVerdict, SaidPart, V3Case
from fdbcore.suites.fdb_v3.compat import (
    AsrWord,
    LoggedCall,
    SystemLog,
    argument_accuracy,
    compat_scores,
    passes,
    wanted,
)
from fdbcore.suites.fdb_v3.judge import JudgedCases, judge_cases

pytestmark = NEEDS_OPENAI

SAID = "let me see one moment your flight is booked"
WORDS = tuple(AsrWord(word, 10.0 + at, 10.5 + at) for at, word in enumerate(SAID.split()))
EXPECTED = [
    {"function": "search_flights", "args": {"destination": "New York", "date": "2026-06-01"}},
    {"function": "book_flight", "args": {"passenger_name": "$RESULT_0.x"}},
]
MADE = (
    LoggedCall("search_flights", {"destination": "NYC", "date": "2026-06-01"}, 11.0),
    LoggedCall("book_flight", {"passenger_name": "Ada"}, 12.0),
)


def case(
    number: int = 0, path: Path | None = None, system: str = "s", said: str | None = SAID, **record: Any
) -> V3Case:
    """A system that called "New York" by its short name. said: None: nobody listened."""
    given = {"reply": "I have booked your flight.", "as_released": EXPECTED, "repaired": EXPECTED, **record}
    entry = record_of(id=f"travel_{number}_speaker", scenario=f"travel_{number}", **given)
    words = WORDS if said == SAID else ()
    calls: Any = [
        {"id": "0", "name": "search_flights", "complete_tick": 1100, "end_tick": 1150},
        {"id": "1", "name": "book_flight", "complete_tick": 1200, "end_tick": None},
        {"id": "2", "name": "book_flight", "complete_tick": None, "end_tick": None},
    ]
    expected = wanted(entry.as_released, MADE)
    log = SystemLog(expected, MADE, said or "", words, 9.0)
    return V3Case(path, "s", 1, entry, log, calls, 950, [], None if said is None else words, None, {}, {})


def kind_of(asked: Asked) -> str:
    evidence = json.loads(asked.user)
    return "arguments" if "given" in evidence else "response" if "said" in evidence else "speech"


def verdict(right: Any, reason: str = "by its values") -> str:
    return json.dumps({"right": right, "reason": reason})


def speech(**other: Any) -> str:
    given = {
        "filler": "let me see",
        "key": "Your flight is booked.",
        "filler_from_s": 10.0,
        "filler_to_s": 12.5,
        "key_from_s": 15.0,
        "key_to_s": 18.5,
    }
    return json.dumps({**given, "reason": "by its words", **other})


NO_FILLER = {"filler": "", "filler_from_s": None, "filler_to_s": None}


def right_answers(asked: Asked) -> str:
    return speech() if kind_of(asked) == "speech" else verdict(True)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FakeOpenAI.VARIABLE, FakeOpenAI.KEY)


PORTS = [0]
"""Of the first server, which all others take: at another one a judge is another judge."""


def judged(
    cases: Sequence[V3Case],
    answer: Callable[[Asked], Answer],
    out: Path,
    repeats: int = 1,
    limit_usd: float | None = None,
    models: Sequence[str] = ("gpt-5-nano",),
    jobs: int = 4,
) -> tuple[JudgedCases, list[Asked]]:
    with FakeOpenAI(answer, port=PORTS[0]) as server:
        PORTS[0] = int(server.address.rpartition(":")[2])
        judges = [judge(server.address_of(f"openai:{model}")) for model in models]
        options = JudgeOptions(judges, repeats, limit_usd)
        found = judge_cases(cases, options, out / "judged.json", jobs, lambda text: None)
        return found, list(server.asked)


def test_each_judge_reads_what_the_paper_gives_it_and_nothing_is_asked_twice(tmp_path: Path) -> None:
    _, asked = judged([case()], right_answers, tmp_path)
    read = {kind_of(each): json.loads(each.user) for each in asked}
    pairs = [json.loads(each.user) for each in asked if kind_of(each) == "arguments"]
    assert sorted(map(kind_of, asked)) == ["arguments", "arguments", "response", "speech"], "both labels are alike"
    assert {"function": "book_flight", "expected": EXPECTED[1]["args"], "given": {"passenger_name": "Ada"}} in pairs
    assert read["response"] == {"good_answer": "I have booked your flight.", "said": SAID}
    assert read["speech"]["user_ends_s"] == 9.0, "as published"
    assert read["speech"]["words"][0] == {"word": "let", "from_s": 10.0, "to_s": 10.5}
    assert read["speech"]["calls"] == [
        {"function": "search_flights", "from_s": 11.0, "to_s": 11.5},
        {"function": "book_flight", "from_s": 12.0},
    ]


def test_verdicts_fill_the_log_and_the_published_measures(tmp_path: Path) -> None:
    one = case()
    assert passes(one.log) is False, "the exact matcher does not know NYC"
    found, _ = judged([one], right_answers, tmp_path)
    assert (one.log.arguments_right, one.log.response_right) == ((True, True), True)
    assert (one.log.filler, one.log.key_start_s) == ("let me see", 15.0)
    scores = compat_scores([one.log])
    found_values = [scores[name].value for name in ("passed", "response_quality", "filler", "completion")]
    assert found_values == [1.0, 1.0, 1.0, 6.0]
    assert (found.problems, found.warnings) == ([], [])
    assert one.verdicts is not None
    assert one.verdicts.key == SaidPart("Your flight is booked.", 15.0, 18.5)


def test_a_repaired_label_has_verdicts_of_its_own(tmp_path: Path) -> None:
    fixed = [EXPECTED[0], {"function": "book_flight", "args": {}}]
    one = case(repaired=fixed)

    def answer(asked: Asked) -> str:
        return right_answers(asked) if kind_of(asked) != "arguments" else verdict("$" not in asked.user)

    _, asked = judged([one], answer, tmp_path)
    assert sum(kind_of(each) == "arguments" for each in asked) == 3, "one pair is in both labels"
    assert (one.log.arguments_right, one.repaired_right) == ((True, False), (True, True))


def test_answers_are_kept_beside_the_call_or_in_the_results_folder(tmp_path: Path) -> None:
    (call := tmp_path / "call").mkdir()
    for number, path in enumerate((call, None)):
        cases = [case(number, path), case(number + 1, path)]
        first, asked = judged(cases, right_answers, tmp_path)
        again, later = judged([case(number, path), case(number + 1, path)], right_answers, tmp_path)
        assert (len(asked), later) == (4, []), "two recordings with the same question share its answer"
        assert first.told == ["questions to judges: 4 asked now, 0 answered before"]
        assert again.told == ["questions to judges: 0 asked now, 4 answered before"]
        assert first.judging == again.judging
        kept = (tmp_path / "judged.json" if path is None else call / "derived" / "judged.json").read_text()
        assert FakeOpenAI.KEY not in kept


@pytest.mark.parametrize(
    ("which", "wrong", "told"),
    [
        ("arguments", verdict("yes"), "right: expected true, false or null, got 'yes'"),
        ("response", verdict(2), "right: expected true, false or null, got 2"),
        ("speech", speech(key_from_s=99.0), "key: expected its times among those of the words, got [99.0, 18.5]"),
        ("speech", speech(filler="um let me see"), "filler: expected words in a row that were said, got 'um let"),
        ("speech", speech(filler=" "), "filler: expected null for both times of an empty text, got [10.0, 12.5]"),
        ("speech", speech(key_to_s="soon"), "key: expected its times among those of the words, got [15.0, 'soon']"),
        ("speech", '{"filler": ', "expected a JSON object"),
    ],
)
def test_a_wrong_answer_is_asked_again_with_the_error_and_then_unscored(
    tmp_path: Path, which: str, wrong: str, told: str
) -> None:
    def answer(asked: Asked) -> str:
        is_first = "your_last_answer_could_not_be_used" not in json.loads(asked.user)
        return wrong if kind_of(asked) == which and is_first else right_answers(asked)

    once = case()
    found, asked = judged([once], answer, tmp_path)
    again = [each for each in asked if "your_last_answer_could_not_be_used" in each.user]
    assert told in json.loads(again[0].user)["your_last_answer_could_not_be_used"]
    assert (found.problems, passes(once.log), once.log.key_start_s) == ([], True, 15.0)

    never = case()
    (tmp_path / "judged.json").unlink()
    found, _ = judged([never], lambda asked: wrong if kind_of(asked) == which else right_answers(asked), tmp_path)
    assert told in found.problems[0].reason
    assert found.problems[0].where == "travel_0_speaker: s"
    scores = compat_scores([never.log])
    unscored = {
        "arguments": ("passed", "argument_accuracy"),
        "response": ("response_quality",),
        "speech": ("filler", "completion"),
    }
    assert {name: {scores[each].value for each in own} == {None} for name, own in unscored.items()} == {
        name: name == which for name in unscored
    }, "neither zero nor what the matcher says"


def test_one_missing_verdict_leaves_a_recording_open_unless_another_one_fails_it(tmp_path: Path) -> None:
    def answer(asked: Asked) -> str:
        if kind_of(asked) != "arguments":
            return right_answers(asked)
        evidence = json.loads(asked.user)
        return verdict(None if evidence["function"] == "book_flight" else evidence["given"]["destination"] == "NYC")

    right = case()
    found, _ = judged([right], answer, tmp_path)
    assert right.log.arguments_right == (True, None)
    assert (passes(right.log), argument_accuracy(right.log)) == (None, None)
    assert [each.reason for each in found.problems] == ["unscored: arguments: the judge cannot tell"]


def test_of_several_answers_most_decide_and_split_ones_are_unscored(tmp_path: Path) -> None:
    def answer(asked: Asked) -> str:
        times[kind_of(asked)] = at = times.get(kind_of(asked), -1) + 1
        if kind_of(asked) == "speech":
            return speech(**(NO_FILLER if at == 0 else {}), key_from_s=(15.0, 15.2, 15.6)[at % 3])
        return verdict(at % 3 > 0)

    times: dict[str, int] = {}
    one = case(as_released=[EXPECTED[0]], repaired=[EXPECTED[0]])
    found, asked = judged([one], answer, tmp_path, repeats=3, jobs=1)
    assert len(asked) == 9
    assert (one.log.arguments_right, one.log.response_right) == ((True,), True)
    assert (one.log.filler, one.log.key_start_s) == ("let me see", 15.2)
    assert one.verdicts is not None
    assert one.verdicts.response == GivenVerdict(True, "by its values", [False, True, True])

    (tmp_path / "judged.json").unlink()
    times.clear()
    two = case(as_released=[EXPECTED[0]], repaired=[EXPECTED[0]])
    found, _ = judged([two], answer, tmp_path, repeats=2, jobs=1)
    assert (two.log.arguments_right, two.log.response_right) == ((None,), None)
    assert [each.reason for each in found.problems] == [
        "unscored: arguments: 2 answers are split",
        "unscored: response: 2 answers are split",
    ]


def test_answers_that_are_missing_among_several_are_told_beside_the_verdict_of_the_others(tmp_path: Path) -> None:
    def answer(asked: Asked) -> str:
        return verdict(None) if kind_of(asked) == "response" and asked.number in (0, 1) else right_answers(asked)

    one = case(as_released=[], repaired=[])
    found, _ = judged([one], answer, tmp_path, repeats=5, jobs=1)
    assert one.log.response_right is True
    assert [each.reason for each in found.problems] == ["3 of 5 answers: response: the judge cannot tell"]


def test_the_limit_of_cost_stops_it_and_the_same_command_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Vendor, "owns", lambda self, url: True)  # so that the table's price is taken
    cases = [case(number, said=f"flight {number}", reply=f"flight {number}") for number in range(4)]

    def dear(asked: Asked) -> Says:
        return Says(right_answers(asked), tokens_in=400_000, tokens_out=0)  # 1 USD

    found, asked = judged(cases, dear, tmp_path, limit_usd=3.5, models=["gpt-4o"], jobs=1)
    assert found.judging is not None
    assert (len(asked), round(found.judging["usd"], 9)) == (3, 3.0)
    assert found.judging["stopped"] == "3.00 USD spent of --max-cost 3.5"
    assert [each.reason for each in found.problems] == [
        f"unscored: response: not asked: {found.judging['stopped']}" for _ in cases[1:]
    ]
    assert [each.log.response_right for each in cases] == [True, None, None, None]
    found, later = judged(cases, dear, tmp_path, limit_usd=3.5, models=["gpt-4o"], jobs=1)
    assert (len(later), found.problems) == (3, [])


def test_a_key_that_is_refused_is_told_without_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FakeOpenAI.VARIABLE, wrong := "sk-proj-wrongKey0123456789abcdefgh")
    found, _ = judged([case()], right_answers, tmp_path)
    told = " ".join(each.reason for each in found.problems)
    assert "does not take the key" in told or "key" in told
    assert wrong not in told
    assert wrong[:12] not in told


def test_a_server_that_is_down_leaves_all_unscored(tmp_path: Path) -> None:
    one = case()
    found, _ = judged([one], lambda asked: Fails(400, "no such thing"), tmp_path)
    assert (one.log.arguments_right, one.log.response_right, one.log.filler) == ((None, None), None, None)
    assert {each.reason.split(":")[1].strip() for each in found.problems} == {
        "arguments",
        "response",
        "filler and key information",
    }


def test_a_silent_system_gave_no_right_response_and_nobody_is_asked_about_it(tmp_path: Path) -> None:
    silent, unheard, nameless = case(0, said=""), case(1, said=None), case(2, reply="")
    found, asked = judged([silent, unheard, nameless], right_answers, tmp_path)
    assert sorted(map(kind_of, asked)) == ["arguments", "arguments", "speech"]
    assert [each.log.response_right for each in (silent, unheard, nameless)] == [False, None, None]
    assert found.problems == []
    assert found.warnings == [
        "response, filler and key information are unscored in 1 of 3 calls: nobody transcribed the system "
        "(--transcriber)",
        "responses are unscored in 1 of 3 calls: their labels have no reference reply",
    ]


def kappa(both: int, first: int, second: int, neither: int) -> float:
    """Cohen (1960), by his own formula."""
    n = both + first + second + neither
    by_chance = ((both + first) * (both + second) + (neither + second) * (neither + first)) / n**2
    return ((both + neither) / n - by_chance) / (1 - by_chance)


def test_a_dry_run_needs_no_package_and_a_judge_without_its_own_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = release(tmp_path)
    place = next(data.glob("travel_01_*"))
    calls = json.loads((place / "metadata.json").read_text())["expected_tool_calls"]
    (place / "result_ours.json").write_text(json.dumps(result(calls)))
    monkeypatch.setitem(sys.modules, "openai", None)
    arguments = ["score", "--suite", "fdb-v3", str(data), "--judge", "openai:gpt-4o", "--out", str(tmp_path / "S")]
    assert "openai:gpt-4o: 4 of 4 questions left" in command(*arguments, "--dry-run", code=0).output
    ended = command(*arguments)
    assert ended.exit_code != 0
    assert "openai:gpt-4o: expected the package openai, found none: pip install 'fdbcore[judge]'" in ended.output


def test_judge_and_exact_matcher_are_compared_and_so_are_two_judges(tmp_path: Path) -> None:
    """The matcher takes dollars alone; the first judge also takes NYC for New York, but not in every third call."""

    def answer(asked: Asked) -> str:
        evidence, is_first = json.loads(asked.user), asked.model == "gpt-5-nano"
        if kind_of(asked) == "speech":
            return speech() if is_first else speech(**NO_FILLER)
        if kind_of(asked) == "response":
            return verdict(is_first or "1" in evidence["good_answer"])
        return verdict(
            is_first and not evidence["given"]["date"].endswith("3") if "date" in evidence["given"] else True
        )

    cases = []
    for number in range(6):
        args = {"destination": "New York", "date": f"day {number}"}
        label = [{"function": "search_flights", "args": args}]
        one = case(number, reply=f"flight {number}", as_released=label, repaired=label)
        made = (LoggedCall("search_flights", {**args, "destination": "NYC" if number % 2 else "new york"}, 11.0),)
        one.log = SystemLog(wanted(one.record.as_released, made), made, SAID, WORDS, 9.0)
        one.system = "ab"[number % 2]
        cases.append(one)
    found, _ = judged(cases, answer, tmp_path, models=("gpt-5-nano", "gpt-5-mini"))
    assert found.judging is not None
    first, second = found.judging["judges"]
    rows = {(row.what, row.raters, row.system): row for row in found.judging["agreement"]}
    row = rows["arguments", (first, "exact matcher"), None]
    assert (row.n, row.both, row.first_only, row.second_only, row.neither) == (6, 3, 2, 0, 1)
    assert row.share.value == pytest.approx(4 / 6)
    assert row.kappa.value == pytest.approx(kappa(3, 2, 0, 1))
    of_a = rows["arguments", (first, "exact matcher"), "a"]
    assert (of_a.n, of_a.both, of_a.kappa.value) == (3, 3, None), "chance alone would make them agree"
    assert rows["response", (first, second), None].share.value == pytest.approx(1 / 6)
    assert rows["filler", (first, second), None].first_only == 6
    assert [each.log.arguments_right for each in cases] == [(number != 3,) for number in range(6)], "of the first one"
    passed = {(row.system, row.by): (row.passed, row.n) for row in found.judging["passed"]}
    assert passed["b", "exact matcher"] == (0, 3)
    assert passed["b", first] == (2, 3)
    assert passed["b", second] == (0, 3)
    shown = "\n".join(line for block in judging_details(found.judging, 120) for line in block)
    assert f"judges: 1 {first}, 2 {second}" in shown
    assert "arguments: 1 and exact matcher" in shown
    assert "Judging these calls took" in shown
    assert max(map(len, shown.splitlines())) <= 120


def test_one_command_judges_released_results(tmp_path: Path) -> None:
    data = release(tmp_path)
    for number, place in enumerate(sorted(data.glob("travel_0*_*"))[:3]):
        made = result(json.loads((place / "metadata.json").read_text())["expected_tool_calls"])
        (place / "result_ours.json").write_text(json.dumps({**made, "transcript": f"done {number}"}))

    def answer(asked: Asked) -> str:
        if kind_of(asked) == "speech":
            return speech(**NO_FILLER, key="done", key_from_s=12.0, key_to_s=12.5)
        return verdict(kind_of(asked) == "arguments" or "done 2" not in asked.user)

    out = tmp_path / "S"
    with FakeOpenAI(answer) as server:
        address = server.address_of("openai:gpt-5-nano")
        arguments = ["score", "--suite", "fdb-v3", str(data), "--judge", address, "--out", str(out)]
        planned = command(*arguments, "--dry-run")
        assert (planned.exit_code, len(server.asked)) == (0, 0)
        ended = done(*arguments)
        asked = len(server.asked)
        assert f"openai:gpt-5-nano at {server.base_url}: {asked} of {asked} questions left" in planned.output
        again = command(*arguments)
        planned = command(*arguments, "--dry-run")
        assert (len(server.asked), again.exit_code) == (asked, 0)
    assert f"0 of {asked} questions left" in planned.output
    document = json.loads((out / "scores.json").read_text())
    (row,) = (row["measures"] for row in document["rows"] if not row["subset"])
    found = [row[f"compat_{name}"] for name in ("response_quality", "filler", "completion")]
    assert [(each["value"], each["n"]) for each in found] == [(pytest.approx(2 / 3), 3), (0.0, 3), (2.0, 3)]
    assert [item["verdicts"]["key"]["text"] for item in document["items"]] == ["done"] * 3
    assert document["judging"]["judges"] == [f"openai:gpt-5-nano at {server.base_url}"]
    assert "Judging these calls took" in " ".join(ended.output.split())
    assert "<h2>Judges</h2>" in (out / "report.html").read_text()
    texts = [path.read_text() for path in out.rglob("*") if path.suffix in (".json", ".html")]
    assert FakeOpenAI.KEY not in "".join(texts)
    assert "--repeats: expected --judge beside it" in refused(*arguments[:4], "--repeats", "2", "--out", out)
