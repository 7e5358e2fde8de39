"""OpenAI's Realtime interface, over real sockets, against a server of ours that the vendor's own client checks too."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import soxr
from fakes.realtime_server import Call, Faults, Pace, Plan, RealtimeServer, Reply, place_of, tones
from fakes.worlds import Shop
from helpers.conformance import SECRET, Behaviour, BurstConformance, hold, silence
from helpers.live_calls import (
    DONE,
    assert_shopped,
    assert_system_turns,
    held,
    of_kind,
    open_and_close,
    opened,
    said,
    speaks,
)
from helpers.realtime_behaviours import FaultsConformance, behaving

from fdbcore.endpoints.vendors.openai_realtime import OpenAIRealtime, openai_realtime
from fdbcore.protocols import Endpoint
from fdbcore.types import FRAME_SAMPLES

pytestmark = pytest.mark.live

QUICK = "silence_duration_ms=200"


def at(server: RealtimeServer, settings: str = QUICK, timeout_s: float = 10) -> Endpoint:
    address = f"openai-realtime:{server.model}?base_url={server.base_url}&key_variable={server.variable}&{settings}"
    return openai_realtime(address, timeout_s)


class TestOpenAIRealtime(FaultsConformance, BurstConformance):
    at = staticmethod(at)
    refusals = (
        (Faults(http_status=401), "key: "),
        (Faults(http_status=429, retry_after_s=3600), "busy: "),
        (Faults(http_status=404), "model: "),
        (Faults(http_status=500), "server: "),
        (Faults(at_once="insufficient_quota"), "quota: "),
        (Faults(at_once="model_not_found"), "model: "),
        (Faults(at_once="beta_api_shape_disabled"), "version of the interface: "),
        (Faults(at_once="unsupported_country_region_territory"), "region: "),
        (Faults(mute=["greeting"]), "no session within 0.5 s"),
        (Faults(mute=["updates"]), "no session within 0.5 s"),
    )
    endings = (
        (Plan([Reply("a", ends="insufficient_quota")]), Faults(), "quota: "),
        (Plan([Reply("a b c", cut_at_ms=400, cut_by=1011)]), Faults(), "closed by the system: 1011"),
        (Plan([Reply("a b c", cut_at_ms=400)]), Faults(), "the connection was lost"),
        (Plan([Reply("a")]), Faults(cap_s=0.5), "session limit: "),
    )

    @contextmanager
    def party(self, behaviour: Behaviour, timeout_s: float) -> Iterator[Endpoint]:
        with behaving(behaviour) as server:
            yield at(server, timeout_s=timeout_s)


def test_an_interruption_is_heard_where_it_is_said_to_be(tmp_path: Path) -> None:
    first, second = tones(5, 1), tones(0.5, 2)
    plan = Plan(
        [Reply("a b c", pcm=first), Reply("d", pcm=second)], heard=["Book a table.", "Stop."], pace=Pace(speed=1.5)
    )
    with RealtimeServer(plan, faults=Faults(late_deltas=3)) as server:
        party = at(server, f"{QUICK}&transcription_model=whisper-1&voice=cedar")
        recording = held(tmp_path / "call", speaks((20, 60), (220, 260), ticks=420), party)
        session = server.sessions[0]
    assert recording.outcome == DONE
    audio = said(recording)
    (cut,) = of_kind(recording, "interrupted")
    heard = first[: cut["heard_ms"] * 24]
    place = place_of(soxr.resample(heard, 24_000, 48_000), audio)
    end = place + cut["heard_ms"] * 48
    assert place % FRAME_SAMPLES <= 1
    assert np.abs(audio[place:end]).max() > 5000
    assert not audio[end + 48 : end + 10 * FRAME_SAMPLES].any(), "nothing of it is heard after the cut"
    assert session.truncated == [{"item_id": cut["item"], "content_index": 0, "audio_end_ms": cut["heard_ms"]}]
    assert cut["said_ms"] >= cut["heard_ms"]
    assert recording.measured("B")["late_samples"] > 0  # type: ignore[typeddict-item]
    place_of_second = place_of(soxr.resample(second, 24_000, 48_000), audio)
    assert place_of_second > end
    (whole,) = of_kind(recording, "item")
    assert whole["said_samples"] == pytest.approx(len(second) * 2, abs=2)
    words = [(event["of"], event["text"].strip()) for event in of_kind(recording, "transcript")]
    assert words == [("partner", "Book a table."), ("self", "a b"), ("partner", "Stop."), ("self", "d")]


@pytest.mark.parametrize(("late_s", "heard_ms"), [(0.6, 0), (0.2, 400)])
def test_what_it_says_before_tick_0_is_not_told_as_heard(late_s: float, heard_ms: int) -> None:
    """The server speaks in real time from the moment it is ready; the call begins later."""
    plan = Plan([Reply("a", pcm=tones(0.6))], pace=Pace(speed=1, first_s=0))
    with RealtimeServer(plan, faults=Faults(speaks_first=True)) as server:
        party = at(server)
        with opened(party):
            time.sleep(late_s)
            found = hold(party, 100, speech=silence).happenings
    (cut,) = [each.fields for each in found if each.kind == "interrupted"]
    assert [each for each in found if each.kind == "item"] == []
    assert cut["said_ms"] == 600
    assert cut["heard_ms"] == pytest.approx(heard_ms, abs=0 if late_s > 0.5 else 130), "the server sends 100 ms at once"
    assert party.measured()["dropped_samples"] / 48 == pytest.approx(600 - cut["heard_ms"], abs=1)


def test_the_servers_turns_stand_on_our_clock(tmp_path: Path) -> None:
    with RealtimeServer(Plan([Reply("a")])) as server:
        party = at(server, "silence_duration_ms=300&prefix_padding_ms=150")
        recording = held(tmp_path / "call", speaks((50, 90), (200, 230), ticks=300), party)
        packets = server.sessions[0].events("input_audio_buffer.append")
        heard = server.sessions[0].heard
    truth = [("speech_started", 500), ("speech_stopped", 900), ("speech_started", 2000), ("speech_stopped", 2300)]
    assert_system_turns(recording, truth, 20)  # the fake decides each 20 ms
    onsets_ms = [event.start_tick * 10 for event in recording.turn_events if event.kind == "speech_start"]
    assert onsets_ms[0] == pytest.approx(500, abs=10)
    assert len(packets) == pytest.approx(150, abs=2)
    onset = np.flatnonzero(np.abs(heard) > 1000)[0]
    assert onset == pytest.approx(0.5 * 24_000 + recording.measured("B")["own_delay"]["look_ahead_ms"] * 24, abs=3)  # type: ignore[typeddict-item]


def test_settings_that_are_null_in_the_session_are_the_servers_own(tmp_path: Path) -> None:
    with RealtimeServer(Plan([Reply(pcm=tones(5))], pace=Pace(speed=1.5)), "hf") as server:
        party = openai_realtime(f"openai-realtime:local?base_url={server.base_url}&{QUICK}")
        recording = held(tmp_path / "call", speaks((20, 60), (220, 260), ticks=300), party)
    assert recording.outcome == DONE
    turns = of_kind(recording, "system_turn")
    assert [turn["name"] for turn in turns] == ["speech_started", "speech_stopped"] * 2
    assert turns[1]["at_ms"] == pytest.approx(turns[1]["claimed_ms"] - 200, abs=100)
    assert len(of_kind(recording, "interrupted")) == 1


def test_calls_of_tools_go_out_and_their_results_come_back(tmp_path: Path) -> None:
    parallel = [Call("add", {"item": "tea"}), Call("add", '{"item": "milk", "count": 2}'), Call("basket", "{,")]
    plan = Plan([Reply("", calls=parallel), Reply("done")])
    world = Shop([20, 40, 5])
    with RealtimeServer(plan) as server:
        recording = held(tmp_path / "call", speaks((20, 50), ticks=300), at(server), world)
        session = server.sessions[0]
        outputs = [event["item"] for event in session.events("conversation.item.create")]
        order = [logged.type for logged in session.received if logged.type != "input_audio_buffer.append"]
    declared = session.settings["tools"][0]
    assert (declared["type"], declared["name"]) == ("function", "add")
    assert {"name", "description", "parameters"} < set(declared)
    assert_shopped(recording, [json.loads(item["output"]) for item in outputs])
    assert order == ["session.update", *["conversation.item.create"] * 3, "response.create"]
    assert np.abs(said(recording)).max() > 5000, "it goes on with the results"


def test_a_call_that_is_interrupted_is_cancelled(tmp_path: Path) -> None:
    plan = Plan([Reply("", calls=[Call("add", {"item": "tea"})]), Reply("yes")], pace=Pace(arguments_s=3))
    with RealtimeServer(plan) as server:
        caller = speaks((20, 50), (100, 130), ticks=260)
        recording = held(tmp_path / "call", caller, at(server), Shop())
        assert not server.sessions[0].events("conversation.item.create")
    assert [event["stage"] for event in of_kind(recording, "tool_call")] == ["begun", "cancelled"]


def test_what_it_costs_is_counted(tmp_path: Path) -> None:
    with RealtimeServer(Plan([Reply("a b")])) as server:
        recording = held(tmp_path / "call", speaks((20, 50), ticks=200), at(server))
        (usage,) = [event["response"]["usage"] for event in server.sessions[0].told("response.done")]
    due, counted = of_kind(recording, "usage")
    assert due["due"]
    assert counted["audio_out_tokens"] == usage["output_token_details"]["audio_tokens"]
    cached = counted.get("cached_audio_in_tokens", 0)
    assert counted.get("audio_in_tokens", 0) + cached == usage["input_token_details"]["audio_tokens"]


def test_a_server_that_dies_is_gone_from_then_on_although_more_of_it_is_heard(tmp_path: Path) -> None:
    """It had sent 2 s ahead: they are heard, and the recording says that it was dead meanwhile."""
    reply = Reply("a", pcm=tones(4), cut_at_ms=2000)
    with RealtimeServer(Plan([reply], pace=Pace(first_s=0.05, speed=20))) as server:
        recording = held(tmp_path / "call", speaks((10, 30), ticks=500), at(server))
        first_ms = of_kind(recording, "arrivals")[0]["at_us"][0] / 1000
    outcome = recording.outcome
    assert outcome is not None
    assert (outcome["kind"], outcome["reason"]) == ("failed", "the connection was lost")
    assert outcome["gone_tick"] * 10 == pytest.approx(first_ms + 100, abs=50)
    assert recording.n_ticks - outcome["gone_tick"] == pytest.approx(190, abs=10)


@pytest.mark.parametrize(
    ("kind", "dialect"), [("grok", "grok"), ("azure-realtime", "azure"), ("openai-realtime", "hf")]
)
def test_other_servers_of_the_interface(kind: str, dialect: str, tmp_path: Path) -> None:
    with RealtimeServer(Plan([Reply("a", pcm=tones(5, 4))]), dialect=dialect) as server:
        key = f"&key_variable={server.variable}" if server.key else ""
        party = openai_realtime(f"{kind}:{server.model}?base_url={server.base_url}&{QUICK}{key}")
        recording = held(tmp_path / "call", speaks((20, 50), (150, 180), ticks=260), party)
        session = server.sessions[0]
    assert recording.outcome == DONE
    assert "differs" not in recording.parties["B"]
    assert of_kind(recording, "interrupted")
    assert len(session.truncated) == len(of_kind(recording, "interrupted"))
    assert recording.parties["B"]["kind"] == kind


def test_a_query_of_the_base_url_stands_behind_the_path() -> None:
    with RealtimeServer() as server:
        base_url = f"{server.base_url}/?api-version=2026-07-15"
        party = openai_realtime(f"openai-realtime:{server.model}?base_url={base_url}&key_variable={server.variable}")
        open_and_close(party)
    assert server.queries == [{"model": server.model, "api-version": "2026-07-15"}]


def test_a_server_that_speaks_the_beta_form_is_not_taken_for_a_silent_one() -> None:
    party = openai_realtime("openai-realtime:m?base_url=http://127.0.0.1:1")
    assert isinstance(party, OpenAIRealtime)
    party.take_event({"type": "response.audio.delta", "delta": "AAAA"})
    expected = (
        "the server speaks the beta form of the interface (response.audio.delta): it is not heard; realtime-beta:"
    )
    assert str(party.stream.left).startswith(expected)


def test_what_the_server_changes_is_said() -> None:
    with RealtimeServer() as server:
        party = at(server, "voice=marin&turn_detection=semantic_vad&eagerness=low&speed=1.2&instructions=Be brief.")
        before = party.describe()
        open_and_close(party)
        settings = server.sessions[0].settings
    assert settings["audio"]["input"]["turn_detection"]["eagerness"] == "low"
    assert settings["audio"]["output"]["voice"] == "marin"
    assert settings["instructions"] == "Be brief."
    assert "session" not in before
    assert party.describe()["session"] == settings
    assert "differs" not in party.describe()


def test_the_vendors_key_goes_only_to_the_vendor() -> None:
    with RealtimeServer(dialect="hf") as server:
        party = openai_realtime(f"openai-realtime:local?base_url={server.base_url}")
        open_and_close(party)
    assert all(SECRET not in str(asked.headers) for asked in server.asked)
