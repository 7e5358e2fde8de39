"""Servers in the beta form of the Realtime interface, over real sockets, against a server of ours in their dialects."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import soxr
from fakes.realtime_server import Call, Faults, Pace, Plan, RealtimeServer, Reply, place_of, tones
from fakes.worlds import Shop
from helpers.conformance import Behaviour, BurstConformance, asks_twice
from helpers.live_calls import DONE, held, of_kind, open_and_close, said, speaks
from helpers.realtime_behaviours import behaving

from fdbcore.endpoints.vendors.openai_realtime import openai_realtime
from fdbcore.errors import PartyError
from fdbcore.protocols import Endpoint
from fdbcore.registry import endpoint

pytestmark = pytest.mark.live

KINDS = {"voice-live": "azure-voice-live", "qwen": "qwen-omni", "stepfun": "stepfun"}


def at(server: RealtimeServer, settings: str = "", timeout_s: float = 10) -> Endpoint:
    at_server = f"base_url={server.base_url}&key_variable={server.variable}&silence_duration_ms=200"
    return openai_realtime(f"{KINDS[server.dialect.name]}:{server.model}?{at_server}&{settings}", timeout_s)


class TestRealtimeBeta(BurstConformance):
    speech = staticmethod(asks_twice)

    @contextmanager
    def party(self, behaviour: Behaviour, timeout_s: float) -> Iterator[Endpoint]:
        with behaving(behaviour, "qwen") as server:
            yield at(server, timeout_s=timeout_s)


@pytest.mark.parametrize("dialect", KINDS)
def test_a_call_is_heard_and_an_interruption_is_told_to_whom_it_may_be(tmp_path: Path, dialect: str) -> None:
    first, second = tones(5, 1), tones(0.5, 2)
    plan = Plan([Reply("a b c", pcm=first), Reply("d", pcm=second)], heard=["Book it.", "Stop."], pace=Pace(speed=1.5))
    with RealtimeServer(plan, dialect, Faults(late_deltas=3)) as server:
        party = at(server, "transcription_model=whisper-1&voice=Cherry&instructions=Be brief.&max_output_tokens=90")
        recording = held(tmp_path / "call", speaks((50, 90), (250, 290), ticks=450), party)
        session = server.sessions[0]
    assert recording.outcome == DONE
    audio = said(recording)
    (cut,) = of_kind(recording, "interrupted")
    place = place_of(soxr.resample(first[: cut["heard_ms"] * 24], 24_000, 48_000), audio)
    assert not audio[place + cut["heard_ms"] * 48 + 48 : place + cut["heard_ms"] * 48 + 4_800].any()
    assert place_of(soxr.resample(second, 24_000, 48_000), audio) > place
    told = [{"item_id": cut["item"], "content_index": 0, "audio_end_ms": cut["heard_ms"]}]
    assert session.truncated == ([] if dialect == "qwen" else told)
    assert session.told("error") == []
    words = [(event["of"], event["text"].strip()) for event in of_kind(recording, "transcript")]
    assert words == [("partner", "Book it."), ("self", "a b"), ("partner", "Stop."), ("self", "d")]
    assert [turn["name"] for turn in of_kind(recording, "system_turn")] == ["speech_started", "speech_stopped"] * 2
    (update,) = session.events("session.update")
    assert update["session"]["max_response_output_tokens"] == 90
    assert session.settings["instructions"] == "Be brief."
    rate_hz = 16_000 if dialect == "qwen" else 24_000
    onset = np.flatnonzero(np.abs(session.heard) > 1000)[0]
    assert onset / rate_hz == pytest.approx(0.5, abs=0.002)
    first_turn = of_kind(recording, "system_turn")[0]
    assert first_turn["at_ms"] == pytest.approx(500, abs=20)


@pytest.mark.parametrize("dialect", KINDS)
def test_tools_are_called_and_the_model_goes_on(tmp_path: Path, dialect: str) -> None:
    plan = Plan([Reply("", calls=[Call("look_up", {"name": "tea"})]), Reply("It is 3.", pcm=tones(0.5))])
    with RealtimeServer(plan, dialect) as server:
        recording = held(tmp_path / "call", speaks((20, 60), ticks=300), at(server), world=Shop())
        outputs = server.sessions[0].events("conversation.item.create")
    assert recording.outcome == DONE
    assert {event["name"] for event in of_kind(recording, "tool_call")} == {"look_up"}
    assert outputs[0]["item"]["type"] == "function_call_output"
    assert np.abs(said(recording)).max() > 5000


def test_any_server_of_the_form_is_heard_at_the_rate_that_is_asked_for(tmp_path: Path) -> None:
    with RealtimeServer(Plan([Reply("a", pcm=tones(0.5))]), "qwen") as server:
        server.key = ""
        party = endpoint(f"realtime-beta:{server.model}?base_url={server.base_url}&input_rate_hz=16000")
        recording = held(tmp_path / "call", speaks((20, 60), ticks=250), party)
        heard = server.sessions[0].heard
    assert recording.outcome == DONE
    assert np.flatnonzero(np.abs(heard) > 1000)[0] / 16_000 == pytest.approx(0.2, abs=0.002)


def test_a_session_at_another_rate_is_refused_before_the_call() -> None:
    with RealtimeServer(dialect="qwen") as server:
        server.key = ""
        party = endpoint(f"realtime-beta:{server.model}?base_url={server.base_url}")
        with pytest.raises(PartyError, match=r"expected a session that hears 24000 Hz, got one of 16000 Hz"):
            party.open("B")
        party.close()


def test_a_server_without_a_detector_is_asked_for_none() -> None:
    with RealtimeServer(dialect="voice-live") as server:
        party = endpoint(
            f"azure-voice-live:{server.model}?base_url={server.base_url}&key_variable={server.variable}&turn_detection=none"
        )
        open_and_close(party)
        (update,) = server.sessions[0].events("session.update")
    assert update["session"]["turn_detection"] is None
