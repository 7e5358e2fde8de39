"""Deepgram's Voice Agent by its table, over real sockets, against a server of ours that its own client can call."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from fakes.deepgram_server import DeepgramServer
from fakes.far_end import Reply, Use
from fakes.planted_speech import find
from fakes.voice_agent import Quirks
from fakes.worlds import Shop
from helpers.conformance import SECRET, Behaviour, BurstConformance
from helpers.live_calls import DONE, held, of_kind, said, speaks

from fdbcore.cli.main import main
from fdbcore.endpoints.vendors import json_ws as module
from fdbcore.endpoints.vendors.json_ws import JsonWs, json_ws
from fdbcore.errors import PartyError
from fdbcore.measures.reading import Reading
from fdbcore.measures.transcript import transcript
from fdbcore.protocols import Endpoint

pytestmark = pytest.mark.live

RATE_HZ = 24_000

BEHAVIOURS: Mapping[Behaviour, Quirks] = {
    "talks": Quirks(cues={30: "answer"}, deaf=True),
    "mute": Quirks(mute=True),
    "late": Quirks(cues={30: "answer"}, deaf=True, ready_s=0.3),
    "hangs": Quirks(ready_s=60),
    "refuses": Quirks(refuses=(402, "no credits")),
    "closes": Quirks(cues={30: "answer", 1000: "abort"}, deaf=True),
    "takes back": Quirks([Reply(20)], cues={20: "answer", 300: "break_in"}, think_s=0, deaf=True),
}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEP_TEST_KEY", DeepgramServer.KEY)


def address(server: DeepgramServer, settings: str = "", model: str = "gpt-4o-mini") -> str:
    return f"deepgram:{model}?base_url={server.url('http')}&key_variable=DEEP_TEST_KEY{settings}"


def at(server: DeepgramServer, settings: str = "", model: str = "gpt-4o-mini", timeout_s: float = 10) -> JsonWs:
    return json_ws(address(server, settings, model), timeout_s)


class TestDeepgram(BurstConformance):
    @pytest.fixture(autouse=True)
    def secret(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(DeepgramServer, "KEY", SECRET)
        monkeypatch.setenv("DEEP_TEST_KEY", SECRET)

    @contextmanager
    def party(self, behaviour: Behaviour, timeout_s: float) -> Iterator[Endpoint]:
        with DeepgramServer(BEHAVIOURS[behaviour]) as server:
            yield at(server, timeout_s=timeout_s)


def test_what_the_caller_interrupts_is_dropped_and_so_is_what_still_comes_of_it(tmp_path: Path) -> None:
    quirks = Quirks(
        [Reply(3.0, "it is noon here in the office"), Reply(0.5, "very well")],
        cues={500: "answer", 1500: "break_in", 1900: "answer"},
        think_s=0,
        deaf=True,
        late_chunks=2,
        faster=2.0,
    )
    with DeepgramServer(quirks) as server:
        recording = held(tmp_path / "call", speaks((20, 40), ticks=300), at(server))
        (agent,) = server.parties
    assert recording.outcome == DONE
    begin, heard = find(said(recording), agent.said[0], RATE_HZ)
    assert begin / 48 == pytest.approx(500, abs=25)
    (cut,) = of_kind(recording, "interrupted")
    assert cut["item"] == "turn_1"
    assert cut["said_ms"] == pytest.approx(2000, abs=150)
    assert cut["heard_ms"] == pytest.approx(heard / 48, abs=15)
    again, heard_again = find(said(recording), agent.said[1], RATE_HZ)
    assert again / 48 == pytest.approx(1900, abs=25)
    assert heard_again == pytest.approx(24_000, abs=100)
    assert recording.measured("B")["late_samples"] == 2 * 4800  # type: ignore[typeddict-item]
    assert [event["item"] for event in of_kind(recording, "item")] == ["turn_2"]
    (turn,) = of_kind(recording, "system_turn")
    assert (turn["name"], turn["tick"]) == ("speech_started", pytest.approx(150, abs=3))


def test_audio_that_comes_long_after_a_cut_is_of_another_turn(tmp_path: Path) -> None:
    quirks = Quirks([Reply(3.0)], cues={200: "answer", 600: "break_in", 1500: "send_late"}, deaf=True, faster=2.0)
    quirks = Quirks(**{**vars(quirks), "late_chunks": 1})
    with DeepgramServer(quirks) as server:
        recording = held(tmp_path / "call", speaks((20, 40), ticks=200), at(server))
    assert said(recording)[48 * 1490 :].any(), "that of the cue is heard"
    assert recording.measured("B")["late_samples"] == 4800  # type: ignore[typeddict-item]


def test_words_and_turns_of_both_sides_are_told(tmp_path: Path) -> None:
    quirks = Quirks([Reply(0.5, "it is noon")], greeting=Reply(0.4, "hello there"))
    with DeepgramServer(quirks) as server:
        recording = held(tmp_path / "call", speaks((80, 110), ticks=280), at(server, "&greeting=hello"))
        (agent,) = server.parties
    lines = [(line["side"], line["text"]) for line in transcript(Reading(recording.path))]
    assert lines == [("B", "hello there"), ("A", "what is the time"), ("B", "it is noon")]
    assert [event["item"] for event in of_kind(recording, "item")] == ["turn_1", "turn_2"]
    assert [event["name"] for event in of_kind(recording, "system_turn")] == ["speech_started"]
    begin, _ = find(said(recording), agent.said[0], RATE_HZ)
    assert begin <= 20 * 480, "a greeting before tick 0 is heard"
    assert recording.measured("B")["underruns"] == 0


def test_calls_of_tools_go_out_and_their_results_come_back(tmp_path: Path) -> None:
    uses = (Use("add", {"item": "tea"}), Use("nothing"), Use("fail"))
    with DeepgramServer(Quirks([Reply(0.5, uses=uses)], cues={300: "answer"}, deaf=True)) as server:
        recording = held(tmp_path / "call", speaks((20, 40), ticks=150), at(server), Shop([20, 5, 10]))
        (agent,) = server.parties
    assert agent.settings is not None
    (add, *_) = agent.settings["agent"]["think"]["functions"]
    assert add["name"] == "add"
    assert add["parameters"]["properties"]["item"] == {"type": "string"}
    assert [event["status"] for event in of_kind(recording, "tool_result")] == ["unknown", "error", "ok"]
    results = {result["id"]: result for result in agent.results}
    assert results["call-1"]["content"] == '{"items": [{"name": "tea", "count": 1}]}'
    assert results["call-1"]["name"] == "add"
    assert agent.unknown == []


def test_a_call_that_is_taken_back_gets_no_result(tmp_path: Path) -> None:
    quirks = Quirks(
        [Reply(0.5, uses=[Use("add", {"item": "tea"})])], cues={200: "answer", 400: "take_back_a_call"}, deaf=True
    )
    with DeepgramServer(quirks) as server:
        recording = held(tmp_path / "call", speaks((20, 40), ticks=150), at(server), Shop([80]))
        (agent,) = server.parties
    assert [call["stage"] for call in of_kind(recording, "tool_call")] == ["begun", "complete", "cancelled"]
    assert agent.results == []


def test_the_settings_are_what_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / "prompt.txt").write_text("Be brief.\n")
    settings = (
        f"&instructions=@{tmp_path}/prompt.txt&listen=nova-3&speak=aura-2-thalia-en&think_provider=anthropic"
        "&temperature=0.2&greeting=Hello&mip_opt_out=true"
    )
    with DeepgramServer() as server:
        party = at(server, settings, "claude-haiku-4-5")
        party.probe()
        party.close()
        (agent,) = server.parties
    linear = {"encoding": "linear16", "sample_rate": 24_000}
    assert agent.settings == {
        "type": "Settings",
        "mip_opt_out": True,
        "audio": {"input": linear, "output": {**linear, "container": "none"}},
        "agent": {
            "listen": {"provider": {"type": "deepgram", "model": "nova-3"}},
            "think": {
                "provider": {"type": "anthropic", "model": "claude-haiku-4-5", "temperature": 0.2},
                "prompt": "Be brief.",
            },
            "speak": {"provider": {"type": "deepgram", "model": "aura-2-thalia-en"}},
            "greeting": "Hello",
        },
    }
    assert party.describe()["asked"]["think"] == "claude-haiku-4-5"


def test_what_is_not_asked_for_is_not_sent() -> None:
    with DeepgramServer() as server:
        party = at(server)
        party.probe()
        party.close()
        (agent,) = server.parties
    assert agent.settings is not None
    assert agent.settings["agent"] == {"think": {"provider": {"type": "open_ai", "model": "gpt-4o-mini"}}}


def test_it_hears_the_session_as_it_is(tmp_path: Path) -> None:
    with DeepgramServer(Quirks(mute=True)) as server:
        held(tmp_path / "call", speaks((50, 60), ticks=100), at(server))
        (agent,) = server.parties
    heard = np.concatenate(agent.heard)
    assert len(heard) == pytest.approx(RATE_HZ, abs=480)
    loud = np.flatnonzero(np.abs(heard) > 300)
    assert (loud[0], loud[-1]) == (pytest.approx(RATE_HZ * 0.5, abs=120), pytest.approx(RATE_HZ * 0.6, abs=120))


def test_a_server_is_told_that_we_are_there_until_the_call_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ALIVE_S", 0.05)
    with DeepgramServer() as server:
        party = at(server)
        party.open("B")
        time.sleep(0.4)
        party.close()
        (agent,) = server.parties
    assert agent.n_kept_alive >= 3


@pytest.mark.parametrize(
    ("quirks", "model", "settings", "expected"),
    [
        (
            Quirks(),
            "gpt-1",
            "",
            "setting: the server does not take a setting or message (The model gpt-1 is not offered.",
        ),
        (Quirks(refuses=(402, "")), "gpt-4o-mini", "", "quota: the account has used up"),
        (Quirks(refuses=(403, "")), "gpt-4o-mini", "", "key: the key in DEEP_TEST_KEY is not taken"),
        (Quirks(refuses=(500, "")), "gpt-4o-mini", "", "server: the server failed"),
    ],
)
def test_what_keeps_a_call_from_beginning_has_a_name(quirks: Quirks, model: str, settings: str, expected: str) -> None:
    with DeepgramServer(quirks) as server:
        assert expected in refused(at(server, settings, model))


def refused(party: JsonWs) -> str:
    try:
        with pytest.raises(PartyError) as error:
            party.probe()
    finally:
        party.close()
    told = str(error.value)
    assert told.startswith(f"{party.name}: ")
    assert "\n" not in told
    assert DeepgramServer.KEY not in told
    return told


def test_a_wrong_key_and_none_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with DeepgramServer() as server:
        party = at(server)
        monkeypatch.setattr(DeepgramServer, "KEY", "quite-another-key")
        assert "key: the key in DEEP_TEST_KEY is not taken" in refused(party)
        assert "key: a request without a key" in refused(json_ws(f"deepgram:m?base_url={server.url('http')}"))


@pytest.mark.parametrize(
    ("cue", "expected"),
    [
        ("fail", "server: the server failed: try again (The speech-to-text connection closed. ASR_CONNECTION_CLOSED)"),
        ("send_wav", "sent a WAV file as audio, expected pcm_24000 without a header"),
        ("abort", "the connection was lost"),
        ("hang_up", "closed by the system: 1000"),
    ],
)
def test_what_ends_a_call_has_a_name(cue: str, expected: str, tmp_path: Path) -> None:
    cues = {400: "warn", 700: cue} | ({} if cue == "send_wav" else {100: "answer"})
    with DeepgramServer(Quirks([Reply(0.4)], cues=cues, think_s=0, deaf=True)) as server:
        recording = held(tmp_path / "call", speaks((10, 30), ticks=150), at(server))
    outcome: Any = recording.outcome
    assert (outcome["kind"], outcome["side"]) == ("failed", "B")
    assert expected in str(outcome["reason"])
    assert said(recording).any() == (100 in cues), "what came before is heard"
    assert "Warning" in {event["name"] for event in of_kind(recording, "event")}


def test_strange_messages_are_recorded_and_harm_nothing(tmp_path: Path) -> None:
    with DeepgramServer(
        Quirks([Reply(0.5)], cues={200: "send_garbage", 300: "send_unknown", 500: "answer"}, deaf=True)
    ) as server:
        recording = held(tmp_path / "call", speaks((10, 30), ticks=200), at(server))
        (agent,) = server.parties
    assert recording.outcome == DONE
    find(said(recording), agent.said[0], RATE_HZ)
    assert {"not an event", "agent_mood"} <= {event["name"] for event in of_kind(recording, "event")}


def test_doctor_waits_until_the_settings_are_applied() -> None:
    with DeepgramServer() as server:
        told = CliRunner().invoke(main, ["doctor", address(server)])
    assert re.search(r"deepgram:gpt-4o-mini.*: ready in", told.output)
    assert "untried: Deepgram's own server" in told.output
    with DeepgramServer() as server:
        told = CliRunner().invoke(main, ["doctor", address(server, model="gpt-1")])
    assert told.exit_code == 1
    assert "ready in" not in told.output


def test_messages_with_values_of_other_kinds_are_recorded_as_odd(tmp_path: Path) -> None:
    cues = {200: "send_odd", 300: "answer"}
    with DeepgramServer(Quirks([Reply(0.5)], cues=cues, deaf=True)) as server:
        recording = held(tmp_path / "call", speaks((10, 30), ticks=150), at(server), Shop([]))
        (agent,) = server.parties
    assert recording.outcome == DONE
    assert "cannot be read" in {event["name"] for event in of_kind(recording, "event")}
    assert of_kind(recording, "tool_call") == []
    find(said(recording), agent.said[0], RATE_HZ)
