"""Pipecat bots: how we join them, and what becomes of what they tell in RTVI. (`test_pipecat_bot` calls real ones.)"""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakes.pipecat_server import ABOUT, PipecatServer, rtvi
from helpers.live_calls import probed
from helpers.patience import PATIENCE_S
from hypothesis import given
from hypothesis import strategies as st
from scipy.io import wavfile

from fdbcore.endpoints.vendors.pipecat import PipecatBot
from fdbcore.errors import PartyError, SettingsError
from fdbcore.measures.reading import Reading
from fdbcore.measures.tool_calls import tool_calls_in
from fdbcore.registry import endpoint
from fdbcore.runtime.network import await_result
from fdbcore.session.converse import LiveSettings, converse
from fdbcore.types import Happening


def told(*messages: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of a bot that tells these messages, but for the messages themselves."""
    party = endpoint("pipecat://127.0.0.1:1")
    assert isinstance(party, PipecatBot)
    party.stream.start(0)
    for message in messages:
        party.take_event(message)
    party.stream.say(0)
    happened: Sequence[Happening] = party.stream.log()
    return [{"kind": each.kind, **each.fields} for each in happened if each.kind != "event"]


def test_turns_transcripts_and_stages() -> None:
    heard = {"text": "A kayak.", "timestamp": "", "user_id": ""}
    found = told(
        rtvi("user-started-speaking"),
        rtvi("user-stopped-speaking"),
        rtvi("user-input", **heard, input_type="transcription", final=False),
        rtvi("user-input", **heard, input_type="transcription", final=True),
        rtvi("user-transcription", **heard, final=True),  # the same again, as clients before 2.2.0 want it
        rtvi("user-input", text="typed", input_type="chat", timestamp="", final=True),
        rtvi("bot-llm-started"),
        rtvi("metrics", ttfb=[{"processor": "OpenAISTTService#0", "value": 0.2}]),
        rtvi("metrics", ttfb=[{"processor": "OpenAILLMService#0", "model": "gpt-4.1", "value": 0.3}]),
        rtvi("bot-llm-text", text="It"),
        rtvi("metrics", ttfb=[{"processor": "OpenAITTSService#0", "value": 0.1}]),
        rtvi("bot-started-speaking"),
    )
    assert found == [
        {"kind": "system_turn", "name": "speech_started"},
        {"kind": "system_turn", "name": "speech_stopped"},
        {"kind": "transcript", "of": "partner", "text": "A kayak."},
        {"kind": "stage", "name": "transcribed"},
        {"kind": "stage", "name": "first token"},
        {"kind": "stage", "name": "first audio"},
    ]
    earlier = told(rtvi("user-transcription", **heard, final=True), rtvi("user-transcription", **heard, final=False))
    assert [each["kind"] for each in earlier] == ["transcript", "stage"], "a bot of an earlier version"
    idle = told(rtvi("metrics", ttfb=[{"processor": "OpenAILLMService#0", "value": 0.0}]), rtvi("bot-started-speaking"))
    assert idle == [], "as its pipeline starts; and what nobody asked a model for, such as a recorded greeting"


def said(status: str, text: str, accumulated: str, segment: int = 7, spoken: bool = True) -> dict[str, Any]:
    progress = {"accumulated_text": accumulated, "remaining_text": text[len(accumulated) :]}
    return rtvi(
        "bot-output",
        text=text,
        output_type="sentence",
        segment_id=segment,
        will_be_spoken=spoken,
        spoken_status=status,
        spoken_progress=progress,
    )


def test_what_it_says_is_told_once_it_was_said_or_cut_off() -> None:
    whole = told(said("new", "One moment.", ""), said("completed", "One moment.", "One moment."))
    assert whole == [{"kind": "transcript", "of": "self", "text": "One moment.", "item": "7"}]
    assert told(said("new", "# A list", "", spoken=False)) == [], "text for the eyes"
    cut = rtvi("bot-interrupted")
    by_words = told(said("new", "One moment.", ""), said("in-progress", "One moment.", "One"), cut, cut)
    assert by_words == [{"kind": "transcript", "of": "self", "text": "One", "item": "7"}]
    transcript, interrupted = told(said("completed", "Hi.", "Hi.", 6), said("new", "One moment.", ""), cut)[1:]
    assert transcript == {"kind": "transcript", "of": "self", "text": "One moment.", "item": "7"}
    assert interrupted.pop("heard_ms") >= 0
    assert interrupted == {"kind": "interrupted", "item": "7", "said_ms": None}


def test_calls_of_tools_that_the_bot_made() -> None:
    found = told(
        rtvi("llm-function-call-started", function_name="book"),
        rtvi("llm-function-call-in-progress", tool_call_id="c1", function_name="book", arguments={"day": "Friday"}),
        rtvi("llm-function-call-stopped", tool_call_id="c1", cancelled=False, function_name="book", result={"ok": 1}),
        rtvi("llm-function-call-in-progress", tool_call_id="c2"),  # its author withholds the rest, as by default
        rtvi("llm-function-call-stopped", tool_call_id="c2", cancelled=True),
    )
    first, second = tool_calls_in([{"tick": tick, "side": "B", **each} for tick, each in enumerate(found)])
    assert (first["name"], first["status"], first["arguments"], first["result"]) == (
        "book",
        "ok",
        {"day": "Friday"},
        {"ok": 1},
    )
    assert (second["name"], second["status"], second["arguments"]) == ("", "cancelled", None)


def test_what_its_models_count() -> None:
    found = told(
        rtvi("metrics", ttfb=[{"processor": "OpenAILLMService#0", "model": "gpt-4.1", "value": 0.3}]),
        rtvi("metrics", tokens=[{"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}]),
        rtvi("metrics", characters=[{"processor": "OpenAITTSService#0", "model": "gpt-4o-mini-tts", "value": 29}]),
    )
    assert found == [
        {"kind": "usage", "vendor": "", "model": "gpt-4.1", "text_in_tokens": 100, "text_out_tokens": 20},
        {"kind": "usage", "vendor": "", "model": "gpt-4o-mini-tts", "characters": 29},
    ]


NAMES = [
    *("bot-ready", "user-input", "user-transcription", "bot-output", "bot-interrupted", "metrics", "error"),
    *("llm-function-call-in-progress", "llm-function-call-stopped", "bot-llm-started", "user-started-speaking"),
]
KEYS = ["text", "final", "ttfb", "tokens", "characters", "value", "processor", "spoken_progress", "tool_call_id"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.sampled_from(["", "LLM#0", "new"]),
    lambda of: st.lists(of, max_size=3) | st.dictionaries(st.sampled_from(KEYS), of, max_size=4),
)


@given(st.lists(st.tuples(st.sampled_from(NAMES), JSON), max_size=6))
def test_no_message_ends_the_call(messages: list[tuple[str, Any]]) -> None:
    told(*({"label": "rtvi-ai", "type": name, "data": data} for name, data in messages))


def test_a_wrong_body_is_refused() -> None:
    for body in ("[1]", "{", "1"):
        with pytest.raises(SettingsError, match="pipecat: expected body to be a JSON object, got "):
            endpoint(f"pipecat://127.0.0.1:1?body={body}")


def with_server(server: PipecatServer, test: Callable[[PipecatServer], Any]) -> Any:
    async def run() -> Any:
        async with server:
            return await asyncio.to_thread(test, server)

    running: Coroutine[Any, Any, Any] = run()
    return await_result(running, PATIENCE_S)


@pytest.mark.live
def test_the_client_is_ready_at_tick_0_and_pings(tmp_path: Path) -> None:
    wavfile.write(tmp_path / "caller.wav", 48_000, np.zeros(5 * 48_000, np.int16))
    body = '{"request_data":{"who":"us"},"webrtc_id":"w1"}'

    def call(server: PipecatServer) -> Reading:
        system = endpoint(f"pipecat://127.0.0.1:{server.port}?body={body}")
        caller = endpoint(f"clip:{tmp_path / 'caller.wav'}")
        made = converse(caller, system, tmp_path / "call", LiveSettings(), {}, threading.Event())
        return Reading(made.path)

    server = PipecatServer([rtvi("user-started-speaking"), rtvi("server-message", any=1)])
    recording = with_server(server, call)
    (offer,) = server.offers
    assert (offer["type"], offer["request_data"], offer["webrtc_id"]) == ("offer", {"who": "us"}, "w1")
    ((ready_s, ready),) = server.told
    assert (ready["label"], ready["type"], ready["data"]["version"]) == ("rtvi-ai", "client-ready", "2.2.0")
    assert server.pings[0] < ready_s, "the clock map takes a second before the call begins"
    assert max(np.diff(server.pings)) < 2
    assert len(server.pings) >= 5
    party = recording.parties["B"]
    assert party["session"] == {"version": "2.2.0", "about": ABOUT}
    assert party["asked"] == {"request_data": {"who": "us"}, "webrtc_id": "w1"}
    (turn,) = [each for each in recording.events if each["kind"] == "system_turn"]
    assert (turn["side"], turn["name"]) == ("B", "speech_started")
    assert turn["tick"] < 30
    assert [each["name"] for each in recording.events if each.get("name") == "server-message"]


@pytest.mark.live
def test_a_session_that_was_begun_first_takes_the_offer() -> None:
    server, body = PipecatServer(), "%7B%22request_data%22:%7B%22x%22:1%7D%7D"
    with_server(server, lambda server: probed(endpoint(f"pipecat://127.0.0.1:{server.port}/start?body={body}")))
    assert server.starts == [{"transport": "webrtc", "body": {"x": 1}}]
    assert server.offers[0]["session"] == "s 1"


@pytest.mark.live
def test_a_bot_whose_pipeline_does_not_run_is_not_ready() -> None:
    def probe(server: PipecatServer, more: str = "") -> None:
        probed(endpoint(f"pipecat://127.0.0.1:{server.port}{more}"))

    with pytest.raises(PartyError, match="joined, but no bot-ready came within 5 s: does the bot's log"):
        with_server(PipecatServer(is_broken=True), probe)
    silent = PipecatServer(is_broken=True)
    with_server(silent, lambda server: probe(server, "?rtvi=false"))
    assert (silent.told, silent.pings) == ([], [])


@pytest.mark.live
@pytest.mark.parametrize(
    ("last", "reason"),
    [
        ({"type": "signalling", "message": {"type": "peerLeft"}}, "the bot hung up"),
        (rtvi("error", error="no key", fatal=True), "the bot failed: no key"),
    ],
)
def test_a_bot_that_leaves_says_why(last: dict[str, Any], reason: str, tmp_path: Path) -> None:
    wavfile.write(tmp_path / "caller.wav", 48_000, np.zeros(5 * 48_000, np.int16))

    def call(server: PipecatServer) -> Any:
        caller = endpoint(f"clip:{tmp_path / 'caller.wav'}")
        system = endpoint(f"pipecat://127.0.0.1:{server.port}")
        return converse(caller, system, tmp_path / "call", LiveSettings(), {}, threading.Event()).outcome

    outcome = with_server(PipecatServer([rtvi("error", error="slow", fatal=False), last]), call)
    assert (outcome["kind"], outcome["side"], outcome["reason"]) == ("failed", "B", reason)
