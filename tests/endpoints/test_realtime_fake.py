"""The fake of OpenAI's realtime interface: held against the vendor's own types, by the vendor's own client."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import numpy as np
import pytest
from fakes.realtime.checks import check
from fakes.realtime.dialects import GrokSession
from fakes.realtime_server import RATE_HZ, Call, Faults, Pace, Plan, RealtimeServer, Reply, place_of, tones
from helpers.realtime_talk import QUICK, SLOW, SOUND, TYPES, Talk, hold, silence, talking
from openai import AsyncOpenAI

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
def test_a_turn_and_its_reply_come_in_the_documented_order(dialect: str) -> None:
    async def script(talk: Talk) -> None:
        await talk.set(audio={"input": {"transcription": {"model": "gpt-4o-transcribe"}}})
        await talk.turn()
        await talk.until("response.done")

    plan = Plan(
        [Reply("Good day to you.")],
        heard=["A table, please."],
        pace=Pace(first_s=0.3, delta_ms=300, transcription_s=0.0),
    )
    server = RealtimeServer(plan, dialect)
    talk = hold(server, script)
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
def test_turns_lie_where_the_audio_has_them(ms: int) -> None:
    async def script(talk: Talk) -> None:
        detection = {"type": "server_vad", "prefix_padding_ms": 200, "silence_duration_ms": 400}
        await talk.set(audio={"input": {"turn_detection": detection | {"create_response": False}}})
        await talk.say(silence(1.0), tones(0.5, 1), silence(1.0), tones(1.2, 2), silence(1.0), ms=ms)
        for _ in range(2):
            await talk.until("conversation.item.done")

    server = RealtimeServer()
    talk = hold(server, script)
    starts = talk.all("input_audio_buffer.speech_started")
    stops = talk.all("input_audio_buffer.speech_stopped")
    assert [event["audio_start_ms"] for event in starts] == [1000 - 200, 2500 - 200]
    assert [event["audio_end_ms"] for event in stops] == [1500 + 400, 3700 + 400]
    assert [event["item_id"] for event in starts] == [
        event["item"]["id"] for event in talk.all("conversation.item.done")
    ]
    assert server.sessions[0].appended_ms == 4700
    assert "response.created" not in talk.types


def test_speech_is_sent_in_bursts_and_is_found_to_the_sample() -> None:
    said = tones(2.0, 5)

    async def script(talk: Talk) -> None:
        await talk.until("session.created")
        begun = asyncio.get_running_loop().time()
        await talk.client.response.create()
        await talk.until("response.done")
        assert asyncio.get_running_loop().time() - begun < 1.0

    server = RealtimeServer(Plan([Reply("Two seconds.", said)], pace=Pace(first_s=0.0, delta_ms=250)))
    talk = hold(server, script)
    heard = talk.heard(talk.all(SOUND)[0]["item_id"])
    assert len(talk.all(SOUND)) == 8
    np.testing.assert_array_equal(heard, said)
    recording = np.random.default_rng(0).normal(0, 300, 5 * RATE_HZ).astype(np.int16)
    recording[31_234 : 31_234 + len(said)] += said
    assert place_of(said, recording) == 31_234


def test_speech_over_a_reply_cancels_it() -> None:
    async def script(talk: Talk) -> None:
        await talk.until("session.created")
        await talk.client.response.create()
        for _ in range(3):
            await talk.until(SOUND)
        await talk.say(tones(0.2, 3))
        await talk.until("response.done")
        for _ in range(2):
            await talk.until(SOUND)

    talk = hold(
        RealtimeServer(Plan([Reply("one two three four five")], pace=SLOW), faults=Faults(late_deltas=2)), script
    )
    done = talk.all("response.done")[0]["response"]
    assert done["status"] == "cancelled"
    assert done["status_details"] == {"type": "cancelled", "reason": "turn_detected"}
    assert done["output"][0]["status"] == "incomplete"
    at = talk.types.index("input_audio_buffer.speech_started")
    assert talk.types[at + 1 :] == [*ENDING, SOUND, SOUND]


def test_a_reply_that_may_not_be_interrupted_goes_on() -> None:
    async def script(talk: Talk) -> None:
        await talk.set(audio={"input": {"turn_detection": {"type": "server_vad", "interrupt_response": False}}})
        await talk.client.response.create()
        await talk.until(SOUND)
        await talk.turn()
        await talk.until("response.done")

    talk = hold(RealtimeServer(Plan([Reply("one two three")], pace=SLOW)), script)
    assert talk.all("response.done")[0]["response"]["status"] == "completed"
    assert [event["error"]["code"] for event in talk.all("error")] == ["conversation_already_has_active_response"]


def test_what_was_not_heard_is_truncated() -> None:
    async def script(talk: Talk) -> None:
        await talk.until("session.created")
        await talk.client.response.create()
        item_id = (await talk.until("response.done"))["response"]["output"][0]["id"]
        for number, (name, ms) in enumerate([(item_id, 600), (item_id, 601), ("item_nope", 1), (item_id, 250)]):
            event_id = f"mine{number}"
            truncate = talk.client.conversation.item.truncate
            await truncate(item_id=name, content_index=0, audio_end_ms=ms, event_id=event_id)
            await talk.until("conversation.item.truncated", "error")
        await talk.client.conversation.item.retrieve(item_id=item_id)
        assert (await talk.until("conversation.item.retrieved"))["item"]["content"] == [{"type": "output_audio"}]

    server = RealtimeServer(Plan([Reply("two words")], pace=QUICK))
    talk = hold(server, script)
    assert [event["audio_end_ms"] for event in talk.all("conversation.item.truncated")] == [600, 250]
    assert [event["audio_end_ms"] for event in server.sessions[0].truncated] == [600, 250]
    errors = [event["error"] for event in talk.all("error")]
    assert [error["event_id"] for error in errors] == ["mine1", "mine2"]
    assert errors[0]["message"] == "Audio content of 600ms is already shorter than 601ms"
    assert errors[1]["code"] == "item_truncate_invalid_item_id"


def test_tools_are_called_in_parallel_and_their_results_are_waited_for() -> None:
    async def script(talk: Talk) -> None:
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

    calls = [Call("book", {"name": "Ada", "people": 4}), Call("look_up", '{"broken', "call_mine")]
    talk = hold(RealtimeServer(Plan([Reply("One moment.", calls=calls), Reply("Done.")], pace=QUICK)), script)
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


def test_speech_cancels_a_call_whose_arguments_are_still_coming() -> None:
    async def script(talk: Talk) -> None:
        await talk.until("session.created")
        await talk.client.response.create()
        await talk.until("response.function_call_arguments.delta")
        await talk.say(tones(0.2, 3))
        await talk.until("response.done")

    plan = Plan([Reply("", calls=[Call("book", {"name": "a long name" * 5})])], pace=Pace(first_s=0.0, arguments_s=5.0))
    talk = hold(RealtimeServer(plan), script)
    done = talk.all("response.done")[0]["response"]
    assert (done["status"], done["output"][0]["status"]) == ("cancelled", "incomplete")
    with pytest.raises(ValueError, match=r"Unterminated|Expecting"):
        json.loads(talk.all("response.function_call_arguments.done")[0]["arguments"])


def test_the_client_may_cancel_and_write_and_delete() -> None:
    async def script(talk: Talk) -> None:
        await talk.set(output_modalities=["text"], instructions="Be brief.")
        message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello?"}]}
        await talk.client.conversation.item.create(item={**message, "id": "item_mine"})
        await talk.client.conversation.item.create(item={**message, "id": "item_mine"})
        await talk.until("error")
        await talk.client.response.create(response={"metadata": {"topic": "greeting"}})
        await talk.until("response.done")
        await talk.client.conversation.item.delete(item_id="item_mine")
        await talk.client.response.cancel()
        await talk.until("error")
        await talk.client.response.create(response={"output_modalities": ["audio"]})
        await talk.until(SOUND)
        await talk.client.response.cancel()
        await talk.until("response.done")

    pace = Pace(first_s=0.0, speed=1.0)
    talk = hold(RealtimeServer(Plan([Reply("Text alone."), Reply("one two three four")], pace=pace)), script)
    text, sound = (event["response"] for event in talk.all("response.done"))
    assert text["output"][0]["content"] == [{"type": "output_text", "text": "Text alone."}]
    assert text["metadata"] == {"topic": "greeting"}
    assert sound["status_details"]["reason"] == "client_cancelled"
    codes = [event["error"]["code"] for event in talk.all("error")]
    assert codes == ["item_create_duplicate_item_id", "response_cancel_not_active"]
    assert "conversation.item.deleted" in talk.types


def test_a_response_apart_from_the_conversation_goes_beside_it() -> None:
    async def script(talk: Talk) -> None:
        await talk.set(audio={"input": {"transcription": {"model": "whisper-1"}}})
        await talk.turn()
        await talk.until("response.content_part.added")
        await talk.client.response.create(response={"conversation": "none", "output_modalities": ["text"]})
        await talk.until("response.done")
        await talk.until("response.done")

    plan = Plan([Reply("one two three four"), Reply("Apart.")], heard=[None], pace=SLOW)
    server = RealtimeServer(plan)
    talk = hold(server, script)
    apart, ours = (event["response"] for event in talk.all("response.done"))
    assert (apart["conversation_id"], ours["conversation_id"]) == (None, "conv_fake")
    assert apart["output"][0]["id"] not in server.sessions[0].items
    assert ours["output"][0]["id"] in server.sessions[0].items
    assert "conversation.item.input_audio_transcription.failed" in talk.types


def test_turns_by_hand() -> None:
    async def script(talk: Talk) -> None:
        await talk.set(audio={"input": {"turn_detection": None}})
        await talk.client.input_audio_buffer.commit()
        await talk.until("error")
        await talk.say(tones(0.5, 1), silence(2.0))
        await talk.client.input_audio_buffer.clear()
        await talk.say(tones(0.09, 1))
        await talk.client.input_audio_buffer.commit()
        await talk.until("error")
        await talk.say(tones(0.5, 1), silence(2.0))
        await talk.client.input_audio_buffer.commit()
        await talk.until("input_audio_buffer.committed")
        await talk.client.response.create()
        await talk.until("response.done")

    talk = hold(RealtimeServer(Plan(pace=QUICK)), script)
    assert [event["error"]["code"] for event in talk.all("error")] == ["input_audio_buffer_commit_empty"] * 2
    assert "90.00ms" in talk.all("error")[1]["error"]["message"]
    assert not any("speech" in kind for kind in talk.types)


@pytest.mark.parametrize(("eagerness", "wait_ms"), [("low", 8000), ("auto", 4000), ("high", 2000)])
def test_a_semantic_detector_waits_by_its_eagerness(eagerness: str, wait_ms: int) -> None:
    async def script(talk: Talk) -> None:
        await talk.set(audio={"input": {"turn_detection": {"type": "semantic_vad", "eagerness": eagerness}}})
        for _ in range(2):
            await talk.say(tones(0.5, 1), silence(9.5))
            await talk.until("response.done")

    talk = hold(RealtimeServer(Plan(pace=QUICK, unfinished={0})), script)
    stops = [event["audio_end_ms"] for event in talk.all("input_audio_buffer.speech_stopped")]
    assert stops == [500 + wait_ms, 10_500 + 400]


def test_a_long_silence_makes_it_speak() -> None:
    async def script(talk: Talk) -> None:
        await talk.set(audio={"input": {"turn_detection": {"type": "server_vad", "idle_timeout_ms": 5000}}})
        await talk.turn()
        await talk.until("response.done")
        await talk.say(silence(5.4))
        assert "input_audio_buffer.timeout_triggered" not in talk.types
        await talk.say(silence(0.4))
        await talk.until("response.done")

    talk = hold(RealtimeServer(Plan([Reply("two words")], pace=QUICK)), script)
    lies = talk.all("input_audio_buffer.timeout_triggered")[0]
    assert (lies["audio_start_ms"], lies["audio_end_ms"]) == (1000 + 600, 6600)  # its reply was 600 ms long


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
def test_settings_that_it_does_not_know_are_refused(session: dict[str, Any], code: str, param: str) -> None:
    async def script(talk: Talk) -> None:
        await talk.client.send(
            {"type": "session.update", "event_id": "mine", "session": {"type": "realtime"} | session}
        )
        error = (await talk.until("error", "session.updated"))["error"]
        assert (error["code"], error["event_id"]) == (code, "mine")
        assert error["param"].endswith(param)
        await talk.set(instructions="The session lives on.")

    talk = hold(RealtimeServer(), script)
    assert talk.all("session.updated")[0]["session"]["instructions"] == "The session lives on."


def test_settings_that_are_absent_stay_and_the_voice_is_fixed_once_it_was_heard() -> None:
    async def script(talk: Talk) -> None:
        await talk.set(audio={"output": {"voice": "cedar", "format": {"type": "audio/pcmu"}}})
        after = (await talk.set(audio={"input": {"turn_detection": {"type": "semantic_vad"}}}))["session"]
        assert after["audio"]["output"]["voice"] == "cedar"
        assert after["audio"]["input"]["turn_detection"]["eagerness"] == "auto"
        await talk.client.response.create()
        await talk.until("response.done")
        assert (await talk.set(audio={"output": {"voice": "marin"}}))["error"]["code"] == "cannot_update_voice"

    server = RealtimeServer(Plan([Reply("mu law")], pace=QUICK))
    talk = hold(server, script)
    sent = b"".join(base64.b64decode(event["delta"]) for event in talk.all(SOUND))
    assert len(sent) == 4800  # 0.6 s of a byte a sample
    assert set(talk.all("session.created")[0]["session"]["audio"]["input"]["turn_detection"]) >= {"threshold"}


def test_g711_is_what_the_standard_says() -> None:
    """Against FFmpeg's own coder."""
    import av
    from fakes.realtime.sound import decoded, encoded

    wave = tones(0.5, 3)
    for name, codec in (("audio/pcmu", "pcm_mulaw"), ("audio/pcma", "pcm_alaw")):
        data = encoded(wave, {"type": name})
        context: Any = av.CodecContext.create(codec, "r")
        context.sample_rate, context.layout = 8000, "mono"
        frames = context.decode(av.Packet(data))
        theirs = np.concatenate([frame.to_ndarray().reshape(-1) for frame in frames])
        np.testing.assert_array_equal(decoded(data, {"type": name}), theirs)


def test_grok_differs_where_it_is_known_to() -> None:
    async def run() -> Talk:
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
        return talk

    server = RealtimeServer(Plan([Reply("two words")], heard=["a b c"], pace=QUICK), "grok")
    with server:
        talk = asyncio.run(run())
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


def test_its_models_are_listed() -> None:
    with RealtimeServer() as server:

        async def names() -> list[str]:
            async with AsyncOpenAI(api_key=server.key, base_url=server.base_url) as client:
                return [model.id async for model in client.models.list()]

        assert server.model in asyncio.run(names())


def test_hugging_face_serves_one_at_a_time_and_speaks_some_beta() -> None:
    async def script(talk: Talk) -> None:
        await talk.set(audio={"input": {"transcription": {"model": "whisper-1"}}})
        async with talking(server) as second:
            end = await second.ended()
            assert end.rcvd is not None
            assert (second.events[0]["error"]["code"], end.rcvd.code) == ("session_limit_reached", 1008)
        await talk.turn()
        await talk.until("response.done")

    server = RealtimeServer(Plan(pace=QUICK), "hf")
    talk = hold(server, script)
    assert "conversation.item.created" in talk.types
    assert not {"conversation.item.added", "conversation.item.done", "rate_limits.updated"} & {*talk.types}
