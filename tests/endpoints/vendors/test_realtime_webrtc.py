"""OpenAI's Realtime interface over WebRTC, over real sockets, against a server of ours with a stack of its own."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import soxr
from fakes.realtime_server import Call, Faults, Plan, RealtimeServer, Reply, place_of, tones
from fakes.worlds import Shop
from helpers.conformance import SECRET, Behaviour
from helpers.live_calls import (
    DONE,
    assert_opening_fails,
    assert_system_turns,
    held,
    of_kind,
    open_and_close,
    said,
    speaks,
)
from helpers.patience import wait_until
from helpers.realtime_behaviours import FaultsConformance, behaving

from fdbcore.endpoints.vendors.openai_realtime import openai_realtime
from fdbcore.protocols import Endpoint

pytestmark = pytest.mark.slow


def at(server: RealtimeServer, settings: str = "silence_duration_ms=200", timeout_s: float = 10) -> Endpoint:
    address = f"openai-realtime:{server.model}?transport=webrtc&base_url={server.base_url}"
    return openai_realtime(f"{address}&key_variable={server.variable}&{settings}", timeout_s)


class TestOverWebRtc(FaultsConformance):
    at = staticmethod(at)
    refusals = (
        (Faults(http_status=401), "key: "),
        (Faults(http_status=403), "region: "),
        (Faults(http_status=404), "model: "),
        (Faults(http_status=429), "quota: "),
        (Faults(http_status=429, retry_after_s=3600), "busy: "),
        (Faults(http_status=500), "server: "),
        (Faults(mute=["updates"]), "no session within 0.5 s"),
    )
    endings = (
        (Plan([Reply("a", ends="insufficient_quota")]), Faults(), "quota: "),
        (Plan([Reply("a")]), Faults(cap_s=2.5), "session limit: "),
        (Plan([Reply("a b c", cut_at_ms=400)]), Faults(), "the server hung up"),
    )

    @contextmanager
    def party(self, behaviour: Behaviour, timeout_s: float) -> Iterator[Endpoint]:
        speed = 1.0 if behaviour == "closes" else 10.0  # what is not yet played when it breaks off is lost
        with behaving(behaviour, speed=speed) as server:
            yield at(server, timeout_s=timeout_s)


@pytest.mark.live
def test_the_server_itself_falls_silent_when_it_is_interrupted(tmp_path: Path) -> None:
    first, second = tones(8, 1), tones(0.5, 2)
    plan = Plan([Reply("a b c", pcm=first), Reply("d", pcm=second)], heard=["Book a table.", "Stop."])
    with RealtimeServer(plan) as server:
        party = at(server, "silence_duration_ms=200&prefix_padding_ms=150&transcription_model=whisper-1&voice=cedar")
        recording = held(tmp_path / "call", speaks((50, 90), (250, 290), ticks=480), party)
        session = server.sessions[0]
        wait_until(lambda: server.asked[-1].path.endswith("/hangup"))
    assert recording.outcome == DONE
    assert not session.events("conversation.item.truncate"), "that is the server's"
    (truncated,) = session.truncated
    audio = said(recording)
    heard = soxr.resample(first[: truncated["audio_end_ms"] * 24], 24_000, 48_000)
    place_ms = place_of(heard[: len(heard) // 2], audio) / 48
    started, _ = of_kind(recording, "event", "output_audio_buffer.started")
    (cleared,) = of_kind(recording, "event", "output_audio_buffer.cleared")
    assert place_ms - 10 * started["tick"] == pytest.approx(100, abs=120), "80 ms in the jitter buffer, and one tick"
    assert 10 * (cleared["tick"] - started["tick"]) == pytest.approx(truncated["audio_end_ms"], abs=60)
    fell_silent_ms = np.flatnonzero(np.abs(audio[: (cleared["tick"] + 50) * 480]) > 1000)[-1] / 48
    assert fell_silent_ms - 10 * cleared["tick"] == pytest.approx(60, abs=120)
    assert not of_kind(recording, "interrupted")
    truth = [("speech_started", 500), ("speech_stopped", 900), ("speech_started", 2500), ("speech_stopped", 2900)]
    assert_system_turns(recording, truth, 40)  # packets of 20 ms, and the fake decides each 20 ms
    words = {(event["of"], event["text"].strip()) for event in of_kind(recording, "transcript")}
    assert {("partner", "Book a table."), ("partner", "Stop."), ("self", "d")} < words
    assert of_kind(recording, "usage")
    described = recording.parties["B"]
    assert (described["kind"], described["transport"]) == ("openai-realtime", "webrtc")
    assert described["session"]["audio"]["output"]["voice"] == "cedar"
    assert "differs" not in described


def test_a_model_that_is_not_there_has_a_name() -> None:
    with RealtimeServer() as server:
        server.model = "gpt-realtime-9"
        assert_opening_fails(at(server), "model: ", None, SECRET)


@pytest.mark.live
def test_calls_of_tools_go_over_the_channel(tmp_path: Path) -> None:
    calls = [Call("add", {"item": "tea"}), Call("basket", "{,")]
    with RealtimeServer(Plan([Reply("", calls=calls), Reply("done")])) as server:
        recording = held(tmp_path / "call", speaks((20, 50), ticks=300), at(server), Shop([20, 40]))
        session = server.sessions[0]
    outputs = [json.loads(event["item"]["output"]) for event in session.events("conversation.item.create")]
    assert {"items": [{"name": "tea", "count": 1}]} in outputs
    assert [event["name"] for event in of_kind(recording, "tool_call") if event["stage"] == "complete"] == [
        "add",
        "basket",
    ]
    assert sorted(event["status"] for event in of_kind(recording, "tool_result")) == ["malformed", "ok"]
    assert len(session.events("response.create")) == 1
    assert np.abs(said(recording)).max() > 5000, "it goes on with the results"


def test_only_the_vendors_server_gets_the_key() -> None:
    with RealtimeServer(dialect="hf") as server:
        party = openai_realtime(f"openai-realtime:local?transport=webrtc&base_url={server.base_url}")
        open_and_close(party)
    assert [asked.path.rpartition("/")[2] for asked in server.asked] == ["calls", "hangup"]
    assert all(SECRET not in str(asked.headers) for asked in server.asked)
