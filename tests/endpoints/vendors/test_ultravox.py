"""Ultravox, over real sockets, against a server of ours with its REST interface and its WebSocket."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from fakes.far_end import Reply, Use
from fakes.parties import Caller
from fakes.planted_speech import find
from fakes.ultravox_server import Quirks, UltravoxServer
from fakes.worlds import Shop
from helpers.conformance import PROMPT_S, SECRET, Behaviour, BurstConformance
from helpers.live_calls import (
    DONE,
    assert_failed,
    assert_opening_fails,
    assert_replays,
    assert_system_turns,
    held,
    of_kind,
    open_and_close,
    said,
    speaks,
)

from fdbcore.endpoints.vendors.ultravox import Ultravox, ultravox
from fdbcore.protocols import Endpoint

pytestmark = pytest.mark.live

RATE_HZ = 48_000
QUIET = "firstSpeaker=FIRST_SPEAKER_USER"

BEHAVIOURS: Mapping[Behaviour, Quirks] = {
    "talks": Quirks(cues={30: "answer"}, deaf=True),
    "mute": Quirks(mute=True),
    "late": Quirks(cues={30: "answer"}, deaf=True, join_s=0.3),
    "hangs": Quirks(join_s=60),
    "refuses": Quirks(refuses=402),
    "closes": Quirks(cues={30: "answer", 1000: "abort"}, deaf=True),
    "takes back": Quirks([Reply(20)], cues={20: "answer", 300: "interrupt"}, think_s=0, deaf=True),
}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ULTRAVOX_TEST_KEY", UltravoxServer.KEY)


def at(server: UltravoxServer, settings: str = QUIET, model: str = "ultravox-v0.7", timeout_s: float = 10) -> Ultravox:
    base = f"base_url={server.url('http')}/api&key_variable=ULTRAVOX_TEST_KEY"
    return ultravox(f"ultravox:{model}?{base}&{settings}", timeout_s)


class TestUltravox(BurstConformance):
    @pytest.fixture(autouse=True)
    def secret(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(UltravoxServer, "KEY", SECRET)
        monkeypatch.setenv("ULTRAVOX_TEST_KEY", SECRET)

    @contextmanager
    def party(self, behaviour: Behaviour, timeout_s: float) -> Iterator[Endpoint]:
        with UltravoxServer(BEHAVIOURS[behaviour]) as server:
            yield at(server, timeout_s=timeout_s)


def test_a_call_with_an_interruption_lies_where_the_server_put_it(tmp_path: Path) -> None:
    quirks = Quirks(
        [Reply(3.0, "it is noon here in the office"), Reply(0.5, "very well")],
        cues={500: "answer", 1500: "interrupt", 1900: "answer"},
        think_s=0,
        deaf=True,
        late_chunks=2,
    )
    with UltravoxServer(quirks) as server:
        recording = held(tmp_path / "call", speaks((20, 40), ticks=280), at(server))
        (leg,) = server.parties
    assert recording.outcome == DONE
    audio = said(recording)
    begin, heard = find(audio, leg.said[0], RATE_HZ)
    arrived_ms = of_kind(recording, "arrivals")[0]["at_us"][0] / 1000
    assert 0 <= begin / 48 - arrived_ms <= 10.1, "it is heard in the tick after it came"
    assert begin / 48 == pytest.approx(500, abs=20), "a packet, and a tick"
    (cut,) = of_kind(recording, "interrupted")
    assert (begin + heard) / 48 == pytest.approx(1500, abs=20)
    assert (cut["item"], cut["said_ms"]) == ("turn_1", 3000)
    assert cut["heard_ms"] == pytest.approx(heard / 48, abs=10)
    again, heard_again = find(audio, leg.said[1], RATE_HZ)
    assert not audio[begin + 48 * cut["heard_ms"] : again].any()
    assert again / 48 == pytest.approx(1900, abs=20)
    assert heard_again == RATE_HZ // 2
    assert [event["item"] for event in of_kind(recording, "item")] == ["turn_2"]
    assert_replays(recording, tmp_path / "again")
    assert recording.measured("B")["late_samples"] == 2 * 960  # type: ignore[typeddict-item]
    assert recording.measured("B")["underruns"] == 0


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
    with UltravoxServer(Quirks(greeting=Reply(1.0, "hello there"))) as server:
        recording = held(tmp_path / "call", speaks(ticks=150), at(server, settings=""))
        (leg,) = server.parties
    begin, heard = find(said(recording), leg.said[0], RATE_HZ)
    assert begin <= 20 * RATE_HZ // 100
    assert heard == RATE_HZ


def test_calls_of_tools_go_out_and_their_results_come_back(tmp_path: Path) -> None:
    uses = (Use("add", {"item": "tea"}), Use("add", {"item": "milk", "count": 2}), Use("nothing"), Use("fail"))
    quirks = Quirks([Reply(0.5, uses=uses)], cues={300: "answer"}, think_s=0, deaf=True)
    with UltravoxServer(quirks) as server:
        recording = held(tmp_path / "call", speaks((20, 40), ticks=150), at(server), Shop([20, 40, 5, 10]))
        (leg,) = server.parties
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


@pytest.mark.parametrize(
    ("refuses", "expected", "transient"),
    [(402, "quota: ", False), (500, "server: ", True), (429, "busy: ", True)],
)
def test_what_keeps_a_call_from_beginning_has_a_name(refuses: int, expected: str, transient: bool) -> None:
    with UltravoxServer(Quirks(refuses=refuses)) as server:
        check_opening_fails(at(server), expected, transient)


def check_opening_fails(party: Endpoint, expected: str, transient: bool = False) -> None:
    assert_opening_fails(party, expected, transient, UltravoxServer.KEY, probes=True)


def test_a_request_without_an_answer_says_so_and_not_that_the_whole_time_is_over() -> None:
    with UltravoxServer(Quirks(slow_s=6)) as server:
        expected = f"{server.url('http')}/api gave no answer to POST /calls within 5 s"
        check_opening_fails(at(server, timeout_s=30), expected, transient=True)


def test_a_wait_that_is_too_long_for_the_time_out_keeps_its_reason() -> None:
    with UltravoxServer(Quirks(refuses=429, retry_after_s=5)) as server:
        began_s = time.monotonic()
        check_opening_fails(at(server, timeout_s=2), "busy: too many requests", transient=True)
        assert time.monotonic() - began_s < 2
        assert server.n_asked == 1


def test_the_last_refusal_is_told_when_the_time_is_over() -> None:
    with UltravoxServer(Quirks(refuses=429, refused=1, retry_after_s=0.1, join_s=60)) as server:
        expected = "no session within 1 s, and a refusal before: busy: too many requests"
        check_opening_fails(at(server, timeout_s=1), expected, transient=True)
        assert server.n_asked == 2


def test_wrong_keys_models_and_settings_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    with UltravoxServer() as server:
        check_opening_fails(at(server, model="ultravox-v9"), "model: there is no such model")
        check_opening_fails(at(server, f"{QUIET}&maxDuration=1s&voice=x", model="ultravox-v8"), "model: ")
        monkeypatch.setenv("ULTRAVOX_TEST_KEY", "some-other-key")
        check_opening_fails(at(server), "key: the key in ULTRAVOX_TEST_KEY is not taken")
        keyless = ultravox(f"ultravox:ultravox-v0.7?base_url={server.url('http')}/api")
        check_opening_fails(keyless, "key: a request without a key")


@pytest.mark.parametrize(
    ("cue", "expected"),
    [
        ("fail", "server: the server failed"),
        ("abort", "the connection was lost"),
        ("", "session limit: the session reached its longest duration"),
    ],
)
def test_what_ends_a_call_has_a_name(cue: str, expected: str, tmp_path: Path) -> None:
    cues = {200: "answer"} | ({700: cue} if cue else {})
    with UltravoxServer(Quirks([Reply(0.4)], cues=cues, think_s=0, deaf=True)) as server:
        party = at(server, f"{QUIET}&maxDuration=0.9s")
        recording = held(tmp_path / "call", speaks((10, 30), ticks=200), party)
    assert_failed(recording, expected, UltravoxServer.KEY)
    assert said(recording).any(), "what came before is heard"


def test_an_agent_that_hangs_up_has_finished(tmp_path: Path) -> None:
    with UltravoxServer(Quirks([Reply(0.4)], cues={200: "answer", 900: "hang_up"}, think_s=0, deaf=True)) as server:
        recording = held(tmp_path / "call", speaks((10, 30), ticks=200), at(server))
    assert recording.outcome == DONE


def test_we_hang_up() -> None:
    with UltravoxServer() as server:
        party = at(server)
        party.probe()
        party.close()
        (leg,) = server.parties
        deadline = time.monotonic() + PROMPT_S
        while not leg.received and time.monotonic() < deadline:
            time.sleep(0.01)  # the server has a thread of its own
        assert leg.received[-1].message == {"type": "hang_up"}
        assert server.calls[party.confirmed["callId"]].body["maxDuration"] == "10s", "a probe is short"


def test_garbage_harms_nothing(tmp_path: Path) -> None:
    cues = {200: "send_garbage", 300: "send_unknown", 400: "send_half_a_sample", 500: "answer"}
    with UltravoxServer(Quirks([Reply(0.5)], cues=cues, think_s=0, deaf=True)) as server:
        recording = held(tmp_path / "call", speaks((10, 30), ticks=200), at(server))
        (leg,) = server.parties
    assert recording.outcome == DONE
    find(said(recording), leg.said[0], RATE_HZ)
    assert {"not an event", "agent_mood"} <= {event["name"] for event in of_kind(recording, "event")}


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
    with UltravoxServer(Quirks(mute=True)) as server:
        held(tmp_path / "call", speaks((50, 60), ticks=100), at(server))
        (leg,) = server.parties
    heard = np.concatenate(leg.heard)
    expected = np.concatenate([Caller([True]).say(0)] * 10)
    assert np.array_equal(heard[50 * 480 : 60 * 480], expected)
    assert not heard[: 50 * 480].any()
    assert len(heard) == 100 * 480
