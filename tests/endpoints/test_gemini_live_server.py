"""The fake of Gemini Live, against the vendor's own SDK: its types, and its client."""

import asyncio
import base64
import json
import ssl
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np
import pytest
from fakes.far_end import Reply, Use
from fakes.gemini_live_server import SETUP, GeminiLiveServer
from fakes.gemini_live_voice import Quirks
from fakes.model_server import NEEDS_GEMINI
from fakes.realtime.plan import tones
from helpers.patience import PATIENCE_S

from fdbcore.types import Pcm

pytestmark = NEEDS_GEMINI

FLASH_25 = "gemini-2.5-flash-native-audio-preview-12-2025"
FLASH_31 = "gemini-3.1-flash-live-preview"
LIVE_38 = "gemini-3.8-live"
THINKS_38 = "gemini-3.8-live-extended-thinking"
PATH = "/ws/google.ai.generativelanguage.v1.GenerativeService.BidiGenerateContent"

TIME = {"functionDeclarations": [{"name": "get_time", "description": "The time"}]}
TOLD: dict[str, Any] = {"inputAudioTranscription": {}, "outputAudioTranscription": {}}


def quick(replies: Sequence[Reply], **more: Any) -> Quirks:
    return Quirks(replies, think_s=0.01, faster=50, **more)


def spoken(seconds: float, rate_hz: int = 16_000) -> Pcm:
    return tones(seconds, 99, rate_hz)


def audio(pcm: Pcm, rate_hz: int = 16_000) -> dict[str, Any]:
    data = base64.b64encode(pcm.astype("<i2").tobytes()).decode()
    return {"realtime_input": {"audio": {"mime_type": f"audio/pcm;rate={rate_hz}", "data": data}}}


TURN = [audio(np.concatenate([spoken(0.4), np.zeros(9600, np.int16)]))]
"""A turn of 0.4 s, and silence enough to end it."""


class Talk:
    """A connection without an SDK: sends what it is told, and gathers what comes until the server closes or is done."""

    def __init__(self, model: str = LIVE_38, key: str | None = GeminiLiveServer.KEY, **setup: Any) -> None:
        self._setup = {"setup": {"model": f"models/{model}", **setup}}
        self._headers = {} if key is None else {"x-goog-api-key": key}
        self.got: list[dict[str, Any]] = []
        self.close_code: int | None = None

    async def hold(
        self,
        server: GeminiLiveServer,
        says: Iterable[Mapping[str, Any]],
        until: Callable[[dict[str, Any]], bool] = lambda message: False,
        answers: Callable[[dict[str, Any]], Iterable[Mapping[str, Any]]] = lambda message: (),
    ) -> "Talk":
        async with (
            asyncio.timeout(PATIENCE_S),
            aiohttp.ClientSession() as session,
            session.ws_connect(server.url("ws") + PATH, headers=self._headers) as ws,
        ):
            with suppress(ConnectionError):  # the server may close before it has heard all
                for message in (self._setup, *says):
                    await ws.send_str(json.dumps(message))
            async for received in ws:
                self.got.append(json.loads(received.data))
                for message in answers(self.got[-1]):
                    await ws.send_str(json.dumps(message))
                if until(self.got[-1]):
                    break
            self.close_code = ws.close_code
        return self

    @property
    def kinds(self) -> list[str]:
        """What came, in its order; runs of the same are named once."""
        names = [name for message in self.got for name in kinds_of(message)]
        return [name for at, name in enumerate(names) if at == 0 or names[at - 1] != name]


def kinds_of(message: Mapping[str, Any]) -> list[str]:
    content = [name for name in message.get("serverContent", {}) if name != "interactionStatus"]
    return [*(name for name in message if name not in ("serverContent", "usageMetadata")), *content]


def is_complete(message: Mapping[str, Any]) -> bool:
    return "turnComplete" in message.get("serverContent", {})


def sent_audio(messages: Iterable[Mapping[str, Any]]) -> Pcm:
    parts = [part for each in messages for part in each.get("serverContent", {}).get("modelTurn", {}).get("parts", ())]
    return np.concatenate([np.frombuffer(base64.b64decode(part["inlineData"]["data"]), "<i2") for part in parts])


def check_against_the_sdk(messages: Iterable[Mapping[str, Any]]) -> None:
    """Each message is one that the SDK's types know, down to its last field: unknown ones are forbidden there."""
    from google.genai import types
    from google.genai._live_converters import _LiveServerMessage_from_mldev

    assert types.LiveServerMessage.model_config["extra"] == "forbid"
    for message in messages:
        parsed = types.LiveServerMessage.model_validate(_LiveServerMessage_from_mldev(message))
        assert len(parsed.model_fields_set) == len(message)


def test_fields_are_those_of_the_sdk(record_property: Callable[[str, object], None]) -> None:
    from google import genai
    from google.genai import types
    from pydantic.alias_generators import to_camel

    record_property("google-genai", genai.__version__)
    print(f"checked against google-genai {genai.__version__}")
    setup = {to_camel(name) for name in types.LiveClientSetup.model_fields}
    config = {to_camel(name) for name in types.LiveConnectConfig.model_fields}
    assert setup <= SETUP <= setup | config


async def test_a_turn() -> None:
    quirks = quick([Reply(0.5, "it is noon here")])
    with GeminiLiveServer(quirks) as server:
        talk = await Talk(**TOLD, sessionResumption={}).hold(server, TURN, until=lambda m: "newHandle" in str(m))
        party = server.parties[0]
    check_against_the_sdk(talk.got)
    assert talk.kinds == [
        "setupComplete",
        "voiceActivity",
        "inputTranscription",
        "sessionResumptionUpdate",
        "modelTurn",
        "outputTranscription",
        "modelTurn",
        "outputTranscription",
        "modelTurn",
        "outputTranscription",
        "generationComplete",
        "turnComplete",
        "sessionResumptionUpdate",
    ]
    assert np.array_equal(sent_audio(talk.got), tones(0.5, 0, 24_000))
    assert np.array_equal(np.concatenate(party.heard)[:6400], spoken(0.4))
    offsets = [m["voiceActivity"]["audioOffset"] for m in talk.got if "voiceActivity" in m]
    assert offsets == ["0.000s", "0.400s"]
    at_ns = {kind: note.at_ns for note in party.sent for kind in kinds_of(note.message)}
    took_s = (at_ns["turnComplete"] - next(n.at_ns for n in party.sent if "modelTurn" in kinds_of(n.message))) / 1e9
    assert 0.45 < took_s < 1.5, "turn_complete comes when the audio would have been played"
    heard = [m["serverContent"]["inputTranscription"]["text"] for m in talk.got if "inputTranscription" in str(m)]
    assert "".join(heard) == " what is the time"
    words = [m["serverContent"]["outputTranscription"]["text"] for m in talk.got if "outputTranscription" in str(m)]
    assert "".join(words) == " it is noon here"
    (usage,) = (m["usageMetadata"] for m in talk.got if "usageMetadata" in m)
    assert (usage["promptTokenCount"], usage["responseTokenCount"]) == (25, 12)


@pytest.mark.parametrize(
    ("quirks", "order"),
    [
        # Within the generation, which takes 5 s; after it, within the playback; after it is over for the server.
        (Quirks([Reply(5)], think_s=0, faster=1), ["modelTurn", "interrupted", "turnComplete"]),
        (
            Quirks([Reply(5)], think_s=0, faster=1, late_chunks=2),
            ["modelTurn", "interrupted", "modelTurn", "turnComplete"],
        ),
        (Quirks([Reply(5)], think_s=0, faster=500), ["modelTurn", "generationComplete", "interrupted", "turnComplete"]),
        (
            Quirks([Reply(5)], think_s=0, faster=500, assumes_playback=False),
            ["modelTurn", "generationComplete", "turnComplete", "interrupted"],
        ),
        (Quirks(think_s=5), ["interrupted", "turnComplete"]),
    ],
)
async def test_an_interruption(quirks: Quirks, order: list[str]) -> None:
    def barge_in(message: dict[str, Any]) -> Iterable[Mapping[str, Any]]:
        before = "setupComplete" if quirks.think_s else order[order.index("interrupted") - 1]
        return [*(TURN if quirks.think_s else ()), audio(spoken(0.2))] if before in kinds_of(message) else ()

    barged: list[int] = []

    def once(message: dict[str, Any]) -> Iterable[Mapping[str, Any]]:
        said = [] if barged else list(barge_in(message))
        barged.extend([1] * len(said))
        return said

    with GeminiLiveServer(quirks) as server:
        last = order[-1]
        talk = await Talk().hold(
            server, () if quirks.think_s else TURN, until=lambda m: bool(barged) and last in kinds_of(m), answers=once
        )
    check_against_the_sdk(talk.got)
    assert [kind for kind in talk.kinds if kind not in ("setupComplete", "voiceActivity")] == order


async def test_a_model_that_is_not_to_be_interrupted() -> None:
    setup: dict[str, Any] = {"realtimeInputConfig": {"activityHandling": "NO_INTERRUPTION"}}
    with GeminiLiveServer(quick([Reply(0.3)])) as server:
        talk = await Talk(**setup).hold(server, [*TURN, audio(spoken(0.2))], until=is_complete)
    assert "interrupted" not in talk.kinds


def results(message: dict[str, Any]) -> list[Mapping[str, Any]]:
    calls = message.get("toolCall", {}).get("functionCalls", ())
    told = [{"id": call["id"], "name": call["name"], "response": {"output": "12:00"}} for call in calls]
    return [{"toolResponse": {"functionResponses": told}}] if told else []


@pytest.mark.parametrize(
    ("model", "behavior", "blocks"),
    [
        (FLASH_25, None, True),
        (FLASH_25, "NON_BLOCKING", False),
        (FLASH_31, "BLOCKING", True),
        (LIVE_38, None, False),
        (LIVE_38, "BLOCKING", True),
        (THINKS_38, None, False),
    ],
)
async def test_tools_stop_the_conversation_or_not(model: str, behavior: str | None, blocks: bool) -> None:
    declared = {**TIME["functionDeclarations"][0]} | ({"behavior": behavior} if behavior else {})
    reply = Reply(0.2, uses=[Use("get_time", {"city_name": "Oslo"})])
    setup: dict[str, Any] = {"tools": [{"functionDeclarations": [declared]}], "sessionResumption": {}}
    if model == THINKS_38:
        setup["generationConfig"] = {"thinkingConfig": {"thinkingLevel": "LOW"}}
    complete: list[dict[str, Any]] = []

    def answers(message: dict[str, Any]) -> Iterable[Mapping[str, Any]]:
        complete.extend([message] if is_complete(message) else ())
        return results(message)

    with GeminiLiveServer(quick([reply])) as server:
        talk = await Talk(model, **setup).hold(
            server, TURN, until=lambda m: len(complete) == (1 if blocks else 2), answers=answers
        )
    check_against_the_sdk(talk.got)
    call = next(m for m in talk.got if "toolCall" in m)["toolCall"]["functionCalls"][0]
    assert call["args"] == {"city_name": "Oslo"}
    spoke = sent_audio(talk.got)
    if blocks:
        assert np.array_equal(spoke, tones(0.2, 0, 24_000))
    else:
        assert np.array_equal(spoke, tones(0.2, 1, 24_000)), "beside it, at first without a word"
    statuses = [m["serverContent"].get("interactionStatus") for m in complete]
    assert statuses == (["IN_PROGRESS", "IDLE"] if model == THINKS_38 else [None] * len(complete))


async def test_a_barge_in_cancels_the_tools_that_run() -> None:
    reply = Reply(0.2, uses=[Use("get_time"), Use("get_time")])
    with GeminiLiveServer(quick([reply])) as server:
        talk = await Talk(FLASH_31, tools=[TIME]).hold(
            server, TURN, until=is_complete, answers=lambda m: [audio(spoken(0.2))] if "toolCall" in m else ()
        )
    check_against_the_sdk(talk.got)
    assert talk.kinds[-4:] == ["voiceActivity", "interrupted", "toolCallCancellation", "turnComplete"]
    ids = [call["id"] for m in talk.got if "toolCall" in m for call in m["toolCall"]["functionCalls"]]
    assert next(m for m in talk.got if "toolCallCancellation" in m) == {"toolCallCancellation": {"ids": ids}}


async def test_going_away_and_coming_back() -> None:
    """The session that goes on is the same: its next voice is another one. A handle works only once it is free."""
    with GeminiLiveServer(quick([Reply(0.2)], cues={1500: "go_away", 1600: "deadline"})) as server:
        more = [audio(np.zeros(16_000, np.int16))]
        first = await Talk(sessionResumption={}).hold(
            server, TURN, answers=lambda m: more if "newHandle" in str(m) else ()
        )
        (handle,) = (m["sessionResumptionUpdate"]["newHandle"] for m in first.got if "newHandle" in str(m))
        again = await Talk(sessionResumption={"handle": handle}).hold(server, TURN, until=is_complete)
        lost = await Talk(sessionResumption={"handle": "no such"}).hold(server, ())
    check_against_the_sdk(first.got)
    assert first.got[-1] == {"goAway": {"timeLeft": "50s"}}
    assert first.close_code == 1011
    assert np.array_equal(sent_audio(again.got), tones(0.2, 1, 24_000))
    assert lost.close_code == 1008


@pytest.mark.parametrize(
    ("talk", "says", "code"),
    [
        (Talk(key=None), (), 1008),
        (Talk(key="AIzaWrong"), (), 1007),
        (Talk("gemini-1.0-live"), (), 1008),
        (Talk(modalities=["AUDIO"]), (), 1007),
        (Talk(generationConfig={"responseModalities": ["TEXT"]}), (), 1007),
        (Talk(generationConfig={"voice": "Puck"}), (), 1007),
        (Talk(THINKS_38), (), 1007),
        (Talk(FLASH_31, tools=[{"functionDeclarations": [{"name": "f", "behavior": "NON_BLOCKING"}]}]), (), 1007),
        (Talk(), [{"setup": {"model": f"models/{LIVE_38}"}}], 1007),
        (Talk(), [{"session.update": {}}], 1007),
        (Talk(), [{"realtimeInput": {"sound": {}}}], 1007),
        (Talk(), [{"realtimeInput": {"audio": {"mimeType": "audio/ogg", "data": ""}}}], 1007),
        (Talk(), [{"realtimeInput": {"audio": {"mimeType": "audio/pcm;rate=16000", "data": "AAAA"}}}], 1007),
        (Talk(), [{"toolResponse": {"functionResponses": [{"name": "f", "response": {}}]}}], 1007),
        (Talk(), [{"toolResponse": {"functionResponses": [{"id": "x", "name": "f", "response": {}}]}}], 1008),
    ],
)
async def test_what_the_vendor_refuses(talk: Talk, says: Iterable[Mapping[str, Any]], code: int) -> None:
    with GeminiLiveServer() as server:
        await talk.hold(server, says)
    assert talk.close_code == code


def client(server: GeminiLiveServer, certificate: Path) -> Any:
    from google import genai
    from google.genai.types import HttpOptions

    trusted = ssl.create_default_context(cafile=certificate)
    options = HttpOptions(base_url=server.url("http"), async_client_args={"ssl": trusted})
    return genai.Client(api_key=GeminiLiveServer.KEY, http_options=options)


def test_the_client_of_the_vendor_talks_to_it(certificate: Path, tls: ssl.SSLContext) -> None:
    """Two turns, the second one with a tool, over TLS as this client insists."""
    from google.genai import types

    replies = [Reply(0.3, "hello to you"), Reply(0.2, "it is noon", uses=[Use("get_time", {"zone": "UTC"})])]
    said: list[list[types.LiveServerMessage]] = []

    async def converse(server: GeminiLiveServer) -> None:
        behavior = types.Behavior.BLOCKING
        function = types.FunctionDeclaration(name="get_time", description="The time", behavior=behavior)
        config = types.LiveConnectConfig(
            response_modalities=[types.Modality.AUDIO],
            system_instruction="Be short.",
            tools=[types.Tool(function_declarations=[function])],
            speech_config=types.SpeechConfig(
                voice_config=types.VoiceConfig(prebuilt_voice_config=types.PrebuiltVoiceConfig(voice_name="Puck"))
            ),
            realtime_input_config=types.RealtimeInputConfig(
                automatic_activity_detection=types.AutomaticActivityDetection(silence_duration_ms=300)
            ),
            input_audio_transcription=types.AudioTranscriptionConfig(),
            output_audio_transcription=types.AudioTranscriptionConfig(),
            session_resumption=types.SessionResumptionConfig(),
        )
        async with client(server, certificate).aio.live.connect(model=LIVE_38, config=config) as session:
            assert session.session_id == "session-1"
            for _ in replies:
                for pcm in (spoken(0.4), np.zeros(6400, np.int16)):
                    blob = types.Blob(data=pcm.astype("<i2").tobytes(), mime_type="audio/pcm;rate=16000")
                    await session.send_realtime_input(audio=blob)
                said.append([])
                async for message in session.receive():
                    said[-1].append(message)
                    if message.tool_call:
                        call = message.tool_call.function_calls[0]
                        result = types.FunctionResponse(id=call.id, name=call.name, response={"output": "12:00"})
                        await session.send_tool_response(function_responses=[result])

    with GeminiLiveServer(quick(replies), tls) as server:
        asyncio.run(asyncio.wait_for(converse(server), PATIENCE_S))
        party = server.parties[0]
    for number, (messages, reply) in enumerate(zip(said, replies, strict=True)):
        data = b"".join(message.data for message in messages if message.data)
        assert data == tones(reply.seconds, number, 24_000).tobytes()
        texts = [m.server_content.output_transcription for m in messages if m.server_content]
        assert "".join(str(text.text) for text in texts if text) == f" {reply.words}"
    assert party.setup["generationConfig"]["speechConfig"]["voiceConfig"]["prebuiltVoiceConfig"]["voiceName"] == "Puck"
    (told,) = (n.message["toolResponse"] for n in party.received if "toolResponse" in n.message)
    assert told["functionResponses"][0]["response"] == {"output": "12:00"}


@pytest.mark.parametrize(
    ("quirks", "model", "code"),
    [
        (Quirks(refuses="quota"), LIVE_38, 1011),
        (Quirks(), "gemini-0-live", 1008),
        (Quirks(refuses="region"), LIVE_38, 1007),
    ],
)
def test_the_client_of_the_vendor_names_its_refusals(
    certificate: Path, tls: ssl.SSLContext, quirks: Quirks, model: str, code: int
) -> None:
    from google.genai.errors import APIError

    async def connect(server: GeminiLiveServer) -> None:
        async with client(server, certificate).aio.live.connect(model=model):
            pass

    with GeminiLiveServer(quirks, tls) as server, pytest.raises(APIError) as caught:
        asyncio.run(asyncio.wait_for(connect(server), PATIENCE_S))
    assert caught.value.code == code
