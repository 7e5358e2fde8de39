"""Ultravox, over real sockets, against a server of ours with its REST interface and its WebSocket."""

import time
from pathlib import Path

import numpy as np
import pytest
from fakes.far_end import Reply, Use
from fakes.parties import Caller
from fakes.planted_speech import find
from fakes.ultravox_server import Quirks, UltravoxServer
from fakes.worlds import Shop
from helpers.live_calls import (
    assert_failed,
    assert_opening_fails,
    assert_system_turns,
    called,
    held,
    of_kind,
    open_and_close,
    said,
    speaks,
)
from helpers.patience import wait_until
from helpers.vendor_conformance import KEYED, TurnsConformance

from fdbcore.endpoints.vendors.ultravox import Ultravox, ultravox

pytestmark = pytest.mark.live

RATE_HZ = 48_000
QUIET = "firstSpeaker=FIRST_SPEAKER_USER"


def at(
    server: UltravoxServer, settings: str = QUIET, model: str = "ultravox-v0.7", timeout_s: float = 10, key: str = KEYED
) -> Ultravox:
    return ultravox(f"ultravox:{model}?base_url={server.url('http')}/api&{key}&{settings}", timeout_s)


class TestUltravox(TurnsConformance):
    server, quirks, at = UltravoxServer, Quirks, staticmethod(at)
    rate_hz, late_samples, refuses = RATE_HZ, 960, 402
    refusals = (
        (Quirks(refuses=402), "quota: ", False),
        (Quirks(refuses=500), "server: ", True),
        (Quirks(refuses=429), "busy: ", True),
    )
    endings = (
        ({200: "answer", 700: "fail"}, "server: the server failed"),
        ({200: "answer", 700: "abort"}, "the connection was lost"),
        ({200: "answer", 900: "hang_up"}, ""),
    )
    strange = (
        (
            {200: "send_garbage", 300: "send_unknown", 400: "send_half_a_sample", 500: "answer"},
            {"not an event", "agent_mood"},
        ),
    )


def test_a_call_at_its_longest_has_a_name(tmp_path: Path) -> None:
    with UltravoxServer(Quirks([Reply(0.4)], cues={200: "answer"}, think_s=0, deaf=True)) as server:
        party = at(server, f"{QUIET}&maxDuration=0.9s")
        recording = held(tmp_path / "call", speaks((10, 30), ticks=200), party)
    assert_failed(recording, "session limit: the session reached its longest duration")
    assert said(recording).any(), "what came before is heard"


def test_turns_and_words_are_told(tmp_path: Path) -> None:
    with UltravoxServer(Quirks([Reply(0.5, "it is noon")], think_s=0.1)) as server:
        recording = held(tmp_path / "call", speaks((30, 60), (190, 210), ticks=330), at(server))
    truth = [("speech_started", 36), ("speech_stopped", 110), ("speech_started", 196), ("speech_stopped", 260)]
    assert_system_turns(recording, truth, 5, by="tick")
    words = [(event["of"], event["text"], event["item"]) for event in of_kind(recording, "transcript")]
    assert words == [
        ("partner", "what is the time", "input_1"),
        ("self", "it is noon", "turn_1"),
        ("partner", "what is the time", "input_2"),
        ("self", "it is noon", "turn_2"),
    ]
    assert [event["item"] for event in of_kind(recording, "item")] == ["turn_1", "turn_2"]
    assert sum(event["seconds"] for event in of_kind(recording, "usage")) == 3


def test_a_greeting_before_tick_0_is_heard(tmp_path: Path) -> None:
    server = UltravoxServer(Quirks(greeting=Reply(1.0, "hello there")))
    recording, leg = called(tmp_path, server, at, ticks=150, settings="")
    begin, heard = find(said(recording), leg.said[0], RATE_HZ)
    assert begin <= 20 * RATE_HZ // 100
    assert heard == RATE_HZ


def test_calls_of_tools_go_out_and_their_results_come_back(tmp_path: Path) -> None:
    uses = (Use("add", {"item": "tea"}), Use("add", {"item": "milk", "count": 2}), Use("nothing"), Use("fail"))
    quirks = Quirks([Reply(0.5, uses=uses)], cues={300: "answer"}, think_s=0, deaf=True)
    recording, leg = called(tmp_path, UltravoxServer(quirks), at, (20, 40), ticks=150, world=Shop([20, 40, 5, 10]))
    tools = [each["temporaryTool"] for each in leg.call.body["selectedTools"]]
    assert tools[0]["dynamicParameters"][0] == {
        "name": "item",
        "location": "PARAMETER_LOCATION_BODY",
        "schema": {"type": "string"},
        "required": True,
    }
    assert [result["invocationId"][-1] for result in leg.results] == ["3", "4", "1", "2"]
    assert leg.results[0]["errorType"] == "undefined"
    assert leg.results[1]["errorType"] == "implementation-error"
    assert leg.results[2]["result"] == '{"items": [{"name": "tea", "count": 1}]}'
    assert [event["status"] for event in of_kind(recording, "tool_result")] == ["unknown", "error", "ok", "ok"]
    begin, _ = find(said(recording), leg.said[-1], RATE_HZ)
    assert begin / 480 >= of_kind(recording, "tool_result")[-1]["tick"], "it was frozen until the last result"
    assert leg.unknown == []


def test_a_request_without_an_answer_says_so_and_not_that_the_whole_time_is_over() -> None:
    with UltravoxServer(Quirks(slow_s=6)) as server:
        expected = f"{server.url('http')}/api gave no answer to POST /calls within 5 s"
        assert_opening_fails(at(server, timeout_s=30), expected, True, probes=True)


def test_a_wait_that_is_too_long_for_the_time_out_keeps_its_reason() -> None:
    with UltravoxServer(Quirks(refuses=429, retry_after_s=500)) as server:
        began_s = time.monotonic()
        assert_opening_fails(at(server, timeout_s=60), "busy: too many requests", True, probes=True)
        assert time.monotonic() - began_s < 60
        assert server.n_asked == 1


def test_the_last_refusal_is_told_when_the_time_is_over() -> None:
    with UltravoxServer(Quirks(refuses=429, refused=1, retry_after_s=0.1, ready_s=60)) as server:
        expected = "no session within 1 s, and a refusal before: busy: too many requests"
        assert_opening_fails(at(server, timeout_s=1), expected, True, probes=True)
        assert server.n_asked == 2


def test_a_wrong_model_is_told_whatever_else_is_asked_for() -> None:
    with UltravoxServer() as server:
        assert_opening_fails(at(server, model="ultravox-v9"), "model: there is no such model", probes=True)
        assert_opening_fails(at(server, f"{QUIET}&maxDuration=1s&voice=x", "ultravox-v8"), "model: ", probes=True)


def test_we_hang_up() -> None:
    with UltravoxServer() as server:
        party = at(server)
        party.probe()
        party.close()
        (leg,) = server.parties
        wait_until(lambda: leg.received)  # the server has a thread of its own
        assert leg.received[-1].message == {"type": "hang_up"}
        assert server.calls[party.confirmed["callId"]].body["maxDuration"] == "10s", "a probe is short"


def test_the_call_is_what_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / "prompt.txt").write_text("Be brief.\n")
    asked = (
        f"voice=Mark&instructions=@{tmp_path}/prompt.txt&temperature=0.2&languageHint=en&maxDuration=600s&"
        "turnEndpointDelay=0.4s&minimumInterruptionDuration=0.1s&frameActivationThreshold=0.3&recordingEnabled=false"
    )
    with UltravoxServer() as server:
        party = at(server, asked)
        before = party.describe()
        open_and_close(party)
        (leg,) = server.parties
    assert leg.call.body == before["asked"]
    assert {name: leg.call.body[name] for name in leg.call.body if name != "medium"} == {
        "model": "ultravox-v0.7",
        "systemPrompt": "Be brief.",
        "voice": "Mark",
        "temperature": 0.2,
        "languageHint": "en",
        "maxDuration": "600s",
        "recordingEnabled": False,
        "vadSettings": {
            "turnEndpointDelay": "0.4s",
            "minimumInterruptionDuration": "0.1s",
            "frameActivationThreshold": 0.3,
        },
    }
    shown = party.describe()
    assert "differs" not in shown
    assert shown["session"]["voice"] == "Mark"
    assert "joinUrl" not in shown["session"]
    assert "token" not in str(shown)


def test_what_the_server_changes_is_said() -> None:
    with UltravoxServer(Quirks(changes={"voice": "Jessica"})) as server:
        party = at(server, f"{QUIET}&voice=Mark")
        open_and_close(party)
    assert party.describe()["differs"] == [{"setting": "voice", "asked": "Mark", "confirmed": "Jessica"}]


def test_it_hears_the_session_as_it_is(tmp_path: Path) -> None:
    _, leg = called(tmp_path, UltravoxServer(Quirks(mute=True)), at, (50, 60), ticks=100)
    heard = np.concatenate(leg.heard)
    expected = np.concatenate([Caller([True]).say(0)] * 10)
    assert np.array_equal(heard[50 * 480 : 60 * 480], expected)
    assert not heard[: 50 * 480].any()
    assert len(heard) == 100 * 480
