"""The fake of OpenAI's realtime interface: held against the vendor's own types, by the vendor's own client."""

import asyncio
import base64
import json
from typing import Any

import numpy as np
import pytest
from fakes.realtime.checks import check
from fakes.realtime.dialects import GrokSession
from fakes.realtime_server import RATE_HZ, Call, Faults, Pace, Plan, RealtimeServer, Reply, place_of, tones
from helpers.realtime_talk import QUICK, SLOW, SOUND, TYPES, conversing, silence, talking
from websockets.exceptions import InvalidStatus

TURN = [
    "input_audio_buffer.speech_started",
    "input_audio_buffer.speech_stopped",
    "input_audio_buffer.committed",
    "conversation.item.added",
    "conversation.item.done",
]
TRANSCRIPT = ["conversation.item.input_audio_transcription.delta"] * 3 + [
    "conversation.item.input_audio_transcription.completed"
]
BEGINNING = [
    "response.created",
    "rate_limits.updated",
    "response.output_item.added",
    "conversation.item.added",
    "response.content_part.added",
]
ENDING = [
    "response.output_audio.done",
    "response.output_audio_transcript.done",
    "response.content_part.done",
    "conversation.item.done",
    "response.output_item.done",
    "response.done",
]
WORD = "response.output_audio_transcript.delta"


@pytest.mark.parametrize("dialect", ["openai", "azure"])
async def test_a_turn_and_its_reply_come_in_the_documented_order(dialect: str) -> None:
    plan = Plan(
        [Reply("Good day to you.")],
        heard=["A table, please."],
        pace=Pace(first_s=0.3, delta_ms=300, transcription_s=0.0),
    )
    server = RealtimeServer(plan, dialect)
    async with conversing(server) as talk:
        await talk.set(audio={"input": {"transcription": {"model": "gpt-4o-transcribe"}}})
        await talk.turn()
        await talk.until("response.done")
    assert talk.types == [
        *("session.created", "session.updated", *TURN, *BEGINNING[:2], *TRANSCRIPT, *BEGINNING[2:]),
        *[WORD, SOUND] * 4,
        *ENDING,
    ]
    assert [event["delta"] for event in talk.all(WORD)] == ["Good ", "day ", "to ", "you."]
    done = talk.all("response.done")[0]["response"]
    assert (done["status"], done["output"][0]["content"][0]["transcript"]) == ("completed", "Good day to you.")
    assert done["usage"]["output_token_details"] == {"text_tokens": 4, "audio_tokens": 24}
    assert done["usage"]["input_token_details"]["audio_tokens"] == 10


@pytest.mark.parametrize("ms", [10, 37, 1000])
async def test_turns_lie_where_the_audio_has_them(ms: int) -> None:
    server = RealtimeServer()
    async with conversing(server) as talk:
        detection = {"type": "server_vad", "prefix_padding_ms": 200, "silence_duration_ms": 400}
        await talk.set(audio={"input": {"turn_detection": detection | {"create_response": False}}})
        await talk.say(silence(1.0), tones(0.5, 1), silence(1.0), tones(1.2, 2), silence(1.0), ms=ms)
        for _ in range(2):
            await talk.until("conversation.item.done")
    starts = talk.all("input_audio_buffer.speech_started")
    stops = talk.all("input_audio_buffer.speech_stopped")
    assert [event["audio_start_ms"] for event in starts] == [1000 - 200, 2500 - 200]
    assert [event["audio_end_ms"] for event in stops] == [1500 + 400, 3700 + 400]
    assert [event["item_id"] for event in starts] == [
        event["item"]["id"] for event in talk.all("conversation.item.done")
    ]
    assert server.sessions[0].appended_ms == 4700
    assert "response.created" not in talk.types


async def test_speech_is_sent_in_bursts_and_is_found_to_the_sample() -> None:
    said = tones(2.0, 5)
    server = RealtimeServer(Plan([Reply("Two seconds.", said)], pace=Pace(first_s=0.0, delta_ms=250)))
    async with conversing(server) as talk:
        await talk.until("session.created")
        begun = asyncio.get_running_loop().time()
        await talk.client.response.create()
        await talk.until("response.done")
        assert asyncio.get_running_loop().time() - begun < 1.0
    heard = talk.heard(talk.all(SOUND)[0]["item_id"])
    assert len(talk.all(SOUND)) == 8
    np.testing.assert_array_equal(heard, said)
    recording = np.random.default_rng(0).normal(0, 300, 5 * RATE_HZ).astype(np.int16)
    recording[31_234 : 31_234 + len(said)] += said
    assert place_of(said, recording) == 31_234


async def test_speech_over_a_reply_cancels_it() -> None:
    async with conversing(
        RealtimeServer(Plan([Reply("one two three four five")], pace=SLOW), faults=Faults(late_deltas=2))
    ) as talk:
        await talk.until("session.created")
        await talk.client.response.create()
        for _ in range(3):
            await talk.until(SOUND)
        await talk.say(tones(0.2, 3))
        await talk.until("response.done")
        for _ in range(2):
            await talk.until(SOUND)
    done = talk.all("response.done")[0]["response"]
    assert done["status"] == "cancelled"
    assert done["status_details"] == {"type": "cancelled", "reason": "turn_detected"}
    assert done["output"][0]["status"] == "incomplete"
    at = talk.types.index("input_audio_buffer.speech_started")
    assert talk.types[at + 1 :] == [*ENDING, SOUND, SOUND]


async def test_a_reply_that_may_not_be_interrupted_goes_on() -> None:
    async with conversing(RealtimeServer(Plan([Reply("one two three")], pace=SLOW))) as talk:
        await talk.set(audio={"input": {"turn_detection": {"type": "server_vad", "interrupt_response": False}}})
        await talk.client.response.create()
        await talk.until(SOUND)
        await talk.turn()
        await talk.until("response.done")
    assert talk.all("response.done")[0]["response"]["status"] == "completed"
    assert [event["error"]["code"] for event in talk.all("error")] == ["conversation_already_has_active_response"]


async def test_what_was_not_heard_is_truncated() -> None:
    server = RealtimeServer(Plan([Reply("two words")], pace=QUICK))
    async with conversing(server) as talk:
        await talk.until("session.created")
        await talk.client.response.create()
        item_id = (await talk.until("response.done"))["response"]["output"][0]["id"]
        for number, (name, ms) in enumerate([(item_id, 600), (item_id, 601), ("item_nope", 1), (item_id, 250)]):
            event_id = f"mine{number}"
            truncate = talk.client.conversation.item.truncate
            await truncate(item_id=name, content_index=0, audio_end_ms=ms, event_id=event_id)
            await talk.until("conversation.item.truncated", "error")
    assert [event["audio_end_ms"] for event in talk.all("conversation.item.truncated")] == [600, 250]
    assert [event["audio_end_ms"] for event in server.sessions[0].truncated] == [600, 250]
    errors = [event["error"] for event in talk.all("error")]
    assert [error["event_id"] for error in errors] == ["mine1", "mine2"]
    assert errors[0]["message"] == "Audio content of 600ms is already shorter than 601ms"
    assert errors[1]["code"] == "item_truncate_invalid_item_id"


async def test_tools_are_called_in_parallel_and_their_results_are_waited_for() -> None:
    calls = [Call("book", {"name": "Ada", "people": 4}), Call("look_up", '{"broken', "call_mine")]
    async with conversing(
        RealtimeServer(Plan([Reply("One moment.", calls=calls), Reply("Done.")], pace=QUICK))
    ) as talk:
        await talk.set(tools=[{"type": "function", "name": "book", "parameters": {"type": "object"}}])
        await talk.turn()
        calls = (await talk.until("response.done"))["response"]["output"][1:]
        await asyncio.sleep(0.1)
        assert talk.types[-1] == "response.done"  # it waits
        for call_id in (calls[0]["call_id"], calls[1]["call_id"], "call_nope"):
            item = {"type": "function_call_output", "call_id": call_id, "output": '{"ok":true}'}
            await talk.client.conversation.item.create(item=item)
            await talk.until("conversation.item.done", "error")
        await talk.client.response.create()
        await talk.until("response.done")
    arguments = talk.all("response.function_call_arguments.done")
    assert [event["name"] for event in arguments] == ["book", "look_up"]
    assert json.loads(arguments[0]["arguments"]) == {"name": "Ada", "people": 4}
    assert (arguments[1]["arguments"], arguments[1]["call_id"]) == ('{"broken', "call_mine")
    deltas = talk.all("response.function_call_arguments.delta")
    assert len(deltas) > 4
    assert "".join(delta["delta"] for delta in deltas if delta["call_id"] == "call_mine") == '{"broken'
    assert [event["error"]["code"] for event in talk.all("error")] == ["invalid_tool_call_id"]
    first, second = (event["response"] for event in talk.all("response.done"))
    assert [item["type"] for item in first["output"]] == ["message", "function_call", "function_call"]
    assert [item["type"] for item in second["output"]] == ["message"]
    at = talk.types.index("response.function_call_arguments.done")
    ending = ["conversation.item.done", "response.output_item.done", "response.output_item.added"]
    assert talk.types[at + 1 : at + 4] == ending


async def test_speech_cancels_a_call_whose_arguments_are_still_coming() -> None:
    plan = Plan([Reply("", calls=[Call("book", {"name": "a long name" * 5})])], pace=Pace(first_s=0.0, arguments_s=5.0))
    async with conversing(RealtimeServer(plan)) as talk:
        await talk.until("session.created")
        await talk.client.response.create()
        await talk.until("response.function_call_arguments.delta")
        await talk.say(tones(0.2, 3))
        await talk.until("response.done")
    done = talk.all("response.done")[0]["response"]
    assert (done["status"], done["output"][0]["status"]) == ("cancelled", "incomplete")
    with pytest.raises(ValueError, match=r"Unterminated|Expecting"):
        json.loads(talk.all("response.function_call_arguments.done")[0]["arguments"])


SETTINGS = [
    ({"voice": "marin"}, "unknown_parameter", "session.voice"),
    ({"turn_detection": None}, "unknown_parameter", "session.turn_detection"),
    ({"modalities": ["audio"]}, "unknown_parameter", "session.modalities"),
    ({"audio": {"input": {"format": {"type": "audio/pcm", "rate": 16000}}}}, "invalid_value", ".format.rate"),
    ({"audio": {"input": {"turn_detection": {"type": "vad"}}}}, "invalid_value", ".turn_detection.type"),
    (
        {"audio": {"input": {"turn_detection": {"type": "semantic_vad", "threshold": 0.5}}}},
        "unknown_parameter",
        ".turn_detection.threshold",
    ),
    ({"max_output_tokens": "many"}, "invalid_type", "session.max_output_tokens"),
    ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "unknown_parameter", "session.tools[0].function"),
    ({"model": "gpt-realtime-1.5"}, "cannot_update_model", "session.model"),
    ({"type": "transcription"}, "invalid_value", "session.type"),
]


@pytest.mark.parametrize(("session", "code", "param"), SETTINGS)
async def test_settings_that_it_does_not_know_are_refused(session: dict[str, Any], code: str, param: str) -> None:
    async with conversing(RealtimeServer()) as talk:
        await talk.client.send(
            {"type": "session.update", "event_id": "mine", "session": {"type": "realtime"} | session}
        )
        error = (await talk.until("error", "session.updated"))["error"]
        assert (error["code"], error["event_id"]) == (code, "mine")
        assert error["param"].endswith(param)
        await talk.set(instructions="The session lives on.")
    assert talk.all("session.updated")[0]["session"]["instructions"] == "The session lives on."


async def test_settings_that_are_absent_stay_and_the_voice_is_fixed_once_it_was_heard() -> None:
    server = RealtimeServer(Plan([Reply("mu law")], pace=QUICK))
    async with conversing(server) as talk:
        await talk.set(audio={"output": {"voice": "cedar", "format": {"type": "audio/pcmu"}}})
        after = (await talk.set(audio={"input": {"turn_detection": {"type": "semantic_vad"}}}))["session"]
        assert after["audio"]["output"]["voice"] == "cedar"
        assert after["audio"]["input"]["turn_detection"]["eagerness"] == "auto"
        await talk.client.response.create()
        await talk.until("response.done")
        assert (await talk.set(audio={"output": {"voice": "marin"}}))["error"]["code"] == "cannot_update_voice"
    sent = b"".join(base64.b64decode(event["delta"]) for event in talk.all(SOUND))
    assert len(sent) == 4800  # 0.6 s of a byte a sample
    assert set(talk.all("session.created")[0]["session"]["audio"]["input"]["turn_detection"]) >= {"threshold"}


def test_g711_is_what_the_standard_says() -> None:
    """Against FFmpeg's own coder."""
    import av
    from fakes.realtime.sound import decoded, encoded

    data = encoded(tones(0.5, 3), {"type": "audio/pcmu"})
    context: Any = av.CodecContext.create("pcm_mulaw", "r")
    context.sample_rate, context.layout = 8000, "mono"
    theirs = np.concatenate([frame.to_ndarray().reshape(-1) for frame in context.decode(av.Packet(data))])
    np.testing.assert_array_equal(decoded(data, {"type": "audio/pcmu"}), theirs)


async def test_grok_differs_where_it_is_known_to() -> None:
    server = RealtimeServer(Plan([Reply("two words")], heard=["a b c"], pace=QUICK), "grok")
    with server:
        async with talking(server) as talk:
            nested = {"audio": {"input": {"turn_detection": None}}}
            await talk.client.send({"type": "session.update", "session": nested})
            error = (await talk.until("error"))["error"]
            assert (error["param"], error["code"]) == ("session.audio.input.turn_detection", None)
            session = {
                "voice": "ara",
                "turn_detection": {"type": "server_vad", "silence_duration_ms": 200},
                "audio": {
                    "input": {"transcription": {"model": "grok-transcribe"}},
                    "output": {"format": {"type": "audio/pcm", "rate": 16000}},
                },
            }
            await talk.client.send({"type": "session.update", "session": session})
            await talk.turn()
            await talk.until("response.done")
            content = [{"type": "output_text", "text": "Exactly."}]
            item = {"type": "force_message", "role": "assistant", "content": content}
            await talk.client.send({"type": "conversation.item.create", "item": item})
            await talk.until("response.done")
    assert talk.types[:3] == ["session.created", "conversation.created", "ping"]
    differ = {"session.created", "session.updated", "response.created", "response.done", *TURN[:2]}
    for event in talk.events:
        if event["type"] in TYPES.keys() - differ:
            check(event, TYPES[event["type"]])
    check(
        {k: v for k, v in talk.all("session.updated")[0]["session"].items() if k not in ("id", "object")}, GrokSession
    )
    assert "audio_start_ms" not in talk.all("input_audio_buffer.speech_started")[0]
    assert "rate_limits.updated" not in talk.types
    updates = talk.all("conversation.item.input_audio_transcription.updated")
    assert [event["transcript"] for event in updates] == ["a", "a b", "a b c"]
    completed = talk.all("conversation.item.input_audio_transcription.completed")
    assert [event["transcript"] for event in completed] == ["a", "a b c"]
    assert talk.all("response.done")[0]["usage"]["output_tokens"] == 14
    first = talk.all(SOUND)[0]["item_id"]
    assert len(talk.heard(first)) == pytest.approx(0.6 * 16_000, abs=2)
    last = talk.all("response.done")[1]["response"]["output"][0]
    assert last["content"][0]["transcript"] == "Exactly."


async def test_hugging_face_serves_one_at_a_time_and_speaks_some_beta() -> None:
    server = RealtimeServer(Plan(pace=QUICK), "hf")
    async with conversing(server) as talk:
        await talk.set(audio={"input": {"transcription": {"model": "whisper-1"}}})
        async with talking(server) as second:
            end = await second.ended()
            assert end.rcvd is not None
            assert (second.events[0]["error"]["code"], end.rcvd.code) == ("session_limit_reached", 1008)
        await talk.turn()
        await talk.until("response.done")
    assert "conversation.item.created" in talk.types
    assert not {"conversation.item.added", "conversation.item.done", "rate_limits.updated"} & {*talk.types}


@pytest.mark.parametrize("dialect", ["openai", "grok", "azure"])
async def test_a_wrong_key_is_refused(dialect: str) -> None:
    with RealtimeServer(dialect=dialect) as server:
        with pytest.raises(InvalidStatus) as raised:
            async with talking(server, key="sk-another-key-000000", headers={}):
                pass
        assert raised.value.response.status_code == 401
        assert json.loads(raised.value.response.body or b"")["error"]["code"] == "invalid_api_key"
        assert server.sessions == []
