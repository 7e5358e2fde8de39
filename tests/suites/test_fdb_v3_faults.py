"""Systems with one planted fault each, over 7 of the 40 of the smoke set: each fault moves what names it, and no more.

Over all 40 the same holds, which takes three minutes.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest
from fakes.fake_chat import KEY
from fakes.fake_openai import FakeOpenAI
from fakes.model_server import NEEDS_OPENAI, Asked
from fakes.pcm_server import PcmServer
from fakes.rehearsed_server import rehearsed_over
from fakes.smoke_chat import cascade, smoke_chat
from helpers.commands import command
from helpers.smoke import run, some
from helpers.v3_items import row_of, value_of

from fdbcore.suites.fdb_v3.compat import PUBLISHED
from fdbcore.suites.fdb_v3.rehearsed import FAULTS, FILLER, smoke_records

pytestmark = [NEEDS_OPENAI, pytest.mark.slow]

CORRECTED: Final = ("travel_09", "shop_10", "finance_10")
RECORDS: Final = (*CORRECTED, "finance_04", "housing_02", "shop_01", "finance_02")
"""One, two and three calls, chained ones, a pause of 2.4 s that misleads the published end of the user, corrections
before some of the calls or all."""
APART: Final = ("stale", "early")
"""Faults that are planted in a system behind a socket, too."""

PASSES: Final = {"passed", "compat_passed", "compat_passed_repaired"}
ARGUMENTS: Final = {"argument_accuracy", "argument_accuracy_all"}
VALUES: Final = PASSES | {"arguments", "final_state", "corrected"} | {f"compat_{name}" for name in ARGUMENTS}
RESPONSE: Final = {"response_quality", "response_quality_all"}
"""What a wrong value moves."""
WORDS: Final = {
    *("compat_turn_take", "compat_tool_selection", "compat_argument_accuracy", "compat_first_response"),
    *("compat_filler", "compat_completion"),
}
"""What is published of recordings in which the system said something."""
KEY_TIMES: Final = {"key_ms", "own_ms", "result_to_key_ms", "compat_completion"}
MOVES: Final[Mapping[str, set[str]]] = {
    "wrong-tool": VALUES
    | {"tool_selection", "compat_tool_selection", "compat_tool_selection_all", "in_order", "needs_met"},
    "wrong-argument": VALUES,
    "stale": VALUES | {"recovered"},
    "early": VALUES
    | {"recovered", "preemptive", "preemptive_right", "preemptive_wrong"}
    # what was called ahead has its result when the reply comes, as late as ever
    | {"first_call_ms", "compat_tool_call", "result_to_speech_ms", "result_to_key_ms"}
    # calls that the correction does not concern still come after the user's end
    | {"calls_ms", "between_calls_ms"},
    "silent": {"passed", "answered", "first_sound_ms", "result_to_speech_ms", "response"}
    | {f"compat_{name}" for name in RESPONSE}
    | {"filler_words", "filler_time"}
    | KEY_TIMES
    | WORDS,
    "filler": {"response", "filler_words", "filler_time", "compat_filler"}
    | {f"compat_{name}" for name in RESPONSE}
    | KEY_TIMES,
    "late": {"first_call_ms", "compat_tool_call", "first_sound_ms", "compat_first_response", "key_ms", "own_ms"}
    | {"compat_completion"},
    # whoever cuts in falls out of what is published of filler and latencies
    "talks-over": {"interrupted", "first_sound_ms", "result_to_speech_ms", "compat_first_response", "compat_filler"}
    | KEY_TIMES,
}
"""What each fault moves of the measures of one recording: all of these in one recording or more, and nothing else."""
RATES: Final[Mapping[str, set[str]]] = {
    "wrong-tool": {"tool_selection", "tool_selection_all", "passed"} | ARGUMENTS,
    "wrong-argument": {"passed"} | ARGUMENTS,
    "stale": {"passed"} | ARGUMENTS,
    "early": {"passed", "preemptive", "tool_call"} | ARGUMENTS,
    "silent": {"turn_take", "tool_selection", "argument_accuracy", "interruption", "filler"}
    | RESPONSE
    | {"first_response", "tool_call", "completion"},
    "filler": {"filler", "completion"} | RESPONSE,
    "late": {"first_response", "tool_call", "completion"},
    "talks-over": {"interruption", "first_response", "tool_call", "completion"},
}
"""The same of the published rates and mean latencies of a system."""
FAILURES: Final[Mapping[str, tuple[str, int]]] = {
    "wrong-tool": ("wrong_tool", len(RECORDS)),
    "wrong-argument": ("wrong_argument", len(RECORDS)),
    "stale": ("stale_value", len(CORRECTED)),
    "early": ("stale_value", len(CORRECTED)),
    "silent": ("silent", len(RECORDS)),
}
"""Why recordings do not pass, and how many; the other faults let all pass."""
SLACK_MS: Final = 50
_SECONDS: Final = ("compat_first_response", "compat_tool_call", "compat_completion")


def judged(asked: Asked) -> str:
    """A judge that goes by the letter."""
    evidence = json.loads(asked.user)
    reason = {"reason": "by the letter"}
    if "given" in evidence:
        expected, given = evidence["expected"], evidence["given"]
        right = all(str(value).startswith("$") or given.get(name) == value for name, value in expected.items())
        return json.dumps({"right": right, **reason})
    if "said" in evidence:
        return json.dumps({"right": evidence["said"] == evidence["good_answer"], **reason})
    words = evidence["words"]
    text = " ".join(each["word"] for each in words)
    said = {"": text, "from_s": words[0]["from_s"], "to_s": words[-1]["to_s"]}
    kind, other = ("filler", "key") if text == FILLER else ("key", "filler")
    parts = {f"{kind}_{name}".rstrip("_"): value for name, value in said.items()}
    return json.dumps({**parts, other: "", f"{other}_from_s": None, f"{other}_to_s": None, **reason})


def held(folder: Path, systems: Mapping[str, str]) -> dict[str, Any]:
    """Let these systems, by their names, play the recordings, and score them with a judge."""
    named = [part for name, address in systems.items() for part in ("--system", f"{name}={address}")]
    how = ("--clock", "virtual", "--vad", "energy", "--no-score", "--quiet", "--out", f"{folder}/run")
    command("run", "--suite", "fdb-v3", "--data", f"{some(folder / 'some.json', RECORDS)}?quiet_s=2", *named, *how)
    with pytest.MonkeyPatch.context() as patch, FakeOpenAI(judged) as server:
        patch.setenv(FakeOpenAI.VARIABLE, FakeOpenAI.KEY)
        judge = ("--judge", server.address_of("openai:gpt-5-nano"), "--transcriber", "self-reported")
        done = command("score", "--suite", "fdb-v3", f"{folder}/run", *judge, "--json", "--out", f"{folder}/scores")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """The scores of a right system and of one for each fault, some of them behind a socket too."""
    systems = {"right": "rehearsed:"} | {fault: f"rehearsed:?fault={fault}" for fault in FAULTS}
    with ExitStack() as stack:
        apart = {f"{fault}-apart": stack.enter_context(PcmServer(rehearsed_over(fault))) for fault in APART}
        systems |= {name: server.address for name, server in apart.items()}
        yield held(tmp_path_factory.mktemp("faults"), systems)


def items(scores: Mapping[str, Any], system: str) -> dict[str, dict[str, Any]]:
    return {each["record"]: each for each in scores["items"] if each["system"] == system}


def moved(bad: Mapping[str, float | None], good: Mapping[str, float | None]) -> set[str]:
    """The measures that differ, also by being there at all; times differ by more than SLACK_MS."""
    names = {*bad, *good}
    return {name for name in names if _differ(name, bad.get(name), good.get(name))}


def _differ(name: str, bad: float | None, good: float | None) -> bool:
    if bad is None or good is None:
        return bad is not good
    slack = SLACK_MS if name.endswith("_ms") else SLACK_MS / 1000 if name in _SECONDS else 0.0
    return abs(bad - good) > slack + 1e-9


def test_a_right_system_is_right_by_all_measures(scores: dict[str, Any]) -> None:
    found = items(scores, "right")
    assert sorted(found) == sorted(RECORDS)
    for item in found.values():
        values = item["values"]
        assert item["failure"] is None
        for name in ("passed", "tool_selection", "arguments", "final_state", "answered", "response", *PASSES):
            assert values[name] == 1, name
        assert (values["interrupted"], values["preemptive"], values["filler_words"]) == (0, 0, 0)
        assert values["first_call_ms"] == 500


def test_each_fault_moves_what_names_it_and_nothing_else(scores: dict[str, Any]) -> None:
    right = items(scores, "right")
    found = {
        fault: {name: moved(bad["values"], right[name]["values"]) for name, bad in items(scores, fault).items()}
        for fault in FAULTS
    }
    assert {fault: set().union(*by_record.values()) for fault, by_record in found.items()} == MOVES
    for fault, by_record in found.items():
        touched = {name for name, measures in by_record.items() if measures}
        assert touched == set(CORRECTED if fault in ("stale", "early") else RECORDS)
        why = Counter(item["failure"] for item in items(scores, fault).values() if item["failure"])
        assert why == Counter(dict([FAILURES[fault]] if fault in FAILURES else []))


def test_each_fault_moves_its_published_figures_and_no_others(scores: dict[str, Any]) -> None:
    good = published(scores, "right")
    found = {}
    for fault in FAULTS:
        bad = published(scores, fault)
        found[fault] = {name for name in good if _differ(f"compat_{name}", bad[name], good[name])}
    assert found == RATES


def published(scores: Mapping[str, Any], system: str) -> dict[str, float | None]:
    """The rates and the mean latencies, by the label as released."""
    return {name: value_of(row_of(scores, system), f"compat_{name}") for name in PUBLISHED}


def test_figures_of_a_fault_are_what_it_does(scores: dict[str, Any]) -> None:
    right = items(scores, "right")
    for name, item in items(scores, "late").items():
        assert item["values"]["first_sound_ms"] - right[name]["values"]["first_sound_ms"] == 4000
    for item in items(scores, "talks-over").values():
        assert (item["values"]["interrupted"], item["values"]["first_sound_ms"]) == (1, -1000)
    for item in items(scores, "filler").values():
        assert (item["values"]["filler_words"], item["values"]["filler_time"]) == (1, 1)
    for name in CORRECTED:
        assert items(scores, "early")[name]["values"]["first_call_ms"] < 0
        assert (items(scores, "early")[name]["values"]["preemptive_wrong"]) == 1


def test_a_system_behind_a_socket_has_the_same_figures(scores: dict[str, Any]) -> None:
    """Those of its words, too, which it tells without times."""
    for fault in APART:
        beside, apart = items(scores, fault), items(scores, f"{fault}-apart")
        for name in RECORDS:
            assert moved(apart[name]["values"], beside[name]["values"]) == set()
            assert apart[name]["failure"] == beside[name]["failure"]


def test_a_cascaded_system_over_http_is_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with smoke_chat() as server:
        found = held(tmp_path, {"cascade": cascade(tmp_path, server)})
    assert sorted(items(found, "cascade")) == sorted(RECORDS)
    for name, item in items(found, "cascade").items():
        assert (item["failure"], item["compat_failure"]) == (None, None), name
        assert item["values"]["response"] == 1
        assert [call["name"] for call in item["calls"]] == [each.function for each in smoke_records()[name].as_released]
    calls = [message for body in server.asked for message in body["messages"] if message["role"] == "tool"]
    assert calls, "the results of the tools reached the model"


def test_the_servers_of_the_cascaded_system_run_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = [sys.executable, "-m", "fakes.smoke_chat", str(tmp_path)]
    tests = str(Path(__file__).parents[1])
    with subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": tests}, text=True) as alone:
        try:
            assert alone.stdout is not None
            name, _, key = alone.stdout.readline().strip().partition("=")
            monkeypatch.setenv(name, key)
            system = {"cascade": alone.stdout.readline().strip()}
            done = run(f"{some(tmp_path / 'one.json', ['shop_01'])}?quiet_s=2", tmp_path / "RUN", system)
        finally:
            alone.terminate()
    assert done.exit_code == 0, done.output
    assert "cascade passes 1 of 1 recordings." in done.output
