"""Deepgram's Voice Agent by its table, over real sockets, against a server of ours that its own client can call."""

import re
import time
from pathlib import Path

import numpy as np
import pytest
from fakes.deepgram_server import DeepgramServer
from fakes.far_end import Reply, Use
from fakes.planted_speech import find
from fakes.voice_agent import Quirks
from fakes.worlds import Shop
from helpers.commands import command
from helpers.live_calls import DONE, assert_opening_fails, called, of_kind, probed, said
from helpers.vendor_conformance import KEYED, VARIABLE, KeyedConformance

from fdbcore.endpoints.vendors import json_ws as module
from fdbcore.endpoints.vendors.json_ws import JsonWs, json_ws
from fdbcore.measures.reading import Reading
from fdbcore.measures.transcript import transcript

pytestmark = pytest.mark.live

RATE_HZ = 24_000


def address(server: DeepgramServer, settings: str = "", model: str = "gpt-4o-mini", key: str = KEYED) -> str:
    return f"deepgram:{model}?base_url={server.url('http')}&{key}{settings}"


def at(
    server: DeepgramServer, settings: str = "", model: str = "gpt-4o-mini", timeout_s: float = 10, key: str = KEYED
) -> JsonWs:
    return json_ws(address(server, settings, model, key), timeout_s)


class TestDeepgram(KeyedConformance):
    server, quirks, at = DeepgramServer, Quirks, staticmethod(at)
    rate_hz, refuses, interrupts = RATE_HZ, (402, "no credits"), "break_in"
    refusals = (
        (Quirks(refuses=(402, "")), "quota: the account has used up", False),
        (Quirks(refuses=(403, "")), f"key: the key in {VARIABLE} is not taken", False),
        (Quirks(refuses=(500, "")), "server: the server failed", True),
    )
    endings = (
        (
            {100: "answer", 700: "fail"},
            "server: the server failed: try again (The speech-to-text connection closed. ASR_CONNECTION_CLOSED)",
        ),
        ({700: "send_wav"}, "sent a WAV file as audio, expected pcm_24000 without a header"),
        ({100: "answer", 700: "abort"}, "the connection was lost"),
        ({100: "answer", 700: "hang_up"}, "closed by the system: 1000"),
    )
    strange = (
        (
            {200: "send_garbage", 300: "send_unknown", 400: "warn", 500: "answer"},
            {"not an event", "agent_mood", "Warning"},
        ),
        ({200: "send_odd", 300: "answer"}, {"cannot be read"}),
    )


def test_a_model_that_is_not_offered_is_no_session() -> None:
    with DeepgramServer() as server:
        expected = "setting: the server does not take a setting or message (The model gpt-1 is not offered."
        assert_opening_fails(at(server, model="gpt-1"), expected, probes=True)


def test_what_the_caller_interrupts_is_dropped_and_so_is_what_still_comes_of_it(tmp_path: Path) -> None:
    quirks = Quirks(
        [Reply(3.0, "it is noon here in the office"), Reply(0.5, "very well")],
        cues={500: "answer", 1500: "break_in", 1900: "answer"},
        think_s=0,
        deaf=True,
        late_chunks=2,
        faster=2.0,
    )
    recording, agent = called(tmp_path, DeepgramServer(quirks), at, (20, 40), ticks=300)
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
    recording, _ = called(tmp_path, DeepgramServer(quirks), at, (20, 40), ticks=200)
    assert said(recording)[48 * 1490 :].any(), "that of the cue is heard"
    assert recording.measured("B")["late_samples"] == 4800  # type: ignore[typeddict-item]


def test_words_and_turns_of_both_sides_are_told(tmp_path: Path) -> None:
    quirks = Quirks([Reply(0.5, "it is noon")], greeting=Reply(0.4, "hello there"))
    recording, agent = called(tmp_path, DeepgramServer(quirks), at, (80, 110), ticks=280, settings="&greeting=hello")
    lines = [(line["side"], line["text"]) for line in transcript(Reading(recording.path))]
    assert lines == [("B", "hello there"), ("A", "what is the time"), ("B", "it is noon")]
    assert [event["item"] for event in of_kind(recording, "item")] == ["turn_1", "turn_2"]
    assert [event["name"] for event in of_kind(recording, "system_turn")] == ["speech_started"]
    begin, _ = find(said(recording), agent.said[0], RATE_HZ)
    assert begin <= 20 * 480, "a greeting before tick 0 is heard"
    assert recording.measured("B")["underruns"] == 0


def test_calls_of_tools_go_out_and_their_results_come_back(tmp_path: Path) -> None:
    uses = (Use("add", {"item": "tea"}), Use("nothing"), Use("fail"))
    quirks = Quirks([Reply(0.5, uses=uses)], cues={300: "answer"}, deaf=True)
    recording, agent = called(tmp_path, DeepgramServer(quirks), at, (20, 40), ticks=150, world=Shop([20, 5, 10]))
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
    recording, agent = called(tmp_path, DeepgramServer(quirks), at, (20, 40), ticks=150, world=Shop([80]))
    assert [call["stage"] for call in of_kind(recording, "tool_call")] == ["begun", "complete", "cancelled"]
    assert agent.results == []


def test_the_settings_are_what_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / "prompt.txt").write_text("Be brief.\n")
    settings = (
        f"&instructions=@{tmp_path}/prompt.txt&listen=nova-3&speak=aura-2-thalia-en&think_provider=anthropic"
        "&temperature=0.2&greeting=Hello&mip_opt_out=true"
    )
    with DeepgramServer() as server:
        party = probed(at(server, settings, "claude-haiku-4-5"))
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
        probed(at(server))
        (agent,) = server.parties
    assert agent.settings is not None
    assert agent.settings["agent"] == {"think": {"provider": {"type": "open_ai", "model": "gpt-4o-mini"}}}


def test_it_hears_the_session_as_it_is(tmp_path: Path) -> None:
    _, agent = called(tmp_path, DeepgramServer(Quirks(mute=True)), at, (50, 60), ticks=100)
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


def test_doctor_waits_until_the_settings_are_applied() -> None:
    with DeepgramServer() as server:
        told = command("doctor", address(server))
    assert re.search(r"deepgram:gpt-4o-mini.*: ready in", told.output)
    assert "untried: Deepgram's own server" in told.output
    with DeepgramServer() as server:
        assert "ready in" not in command("doctor", address(server, model="gpt-1"), code=1).output
