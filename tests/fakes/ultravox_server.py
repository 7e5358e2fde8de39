"""A server that speaks Ultravox's REST interface and its serverWebSocket, around a model of a few lines.

    with UltravoxServer(Quirks(cues={3000: "hang_up"})) as server:
        ... server.url("http"), UltravoxServer.KEY, server.calls, server.parties[0].received

Audio is s16le in binary messages both ways, at the rates that were asked for; all else is JSON, as the vendor documents
it. The types of `user_started_speaking` and `user_stopped_speaking` are documented nowhere: they follow the others.

Run alone, it prints where it is served and its key: `PYTHONPATH=tests python -m fakes.ultravox_server`.
"""

import asyncio
import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSMsgType, web
from fakes import far_end
from fakes.ear import Ear
from fakes.far_end import Conversant, FarEnd, Reply, Use, samples
from fakes.loopback import serve_alone

from fdbcore.types import Pcm

MODELS = ("ultravox-v0.7", "ultravox-v0.6", "fixie-ai/ultravox")
RATES_HZ = range(8_000, 48_001)
CHUNK_MS = 20
TOOL_TIMEOUT_S = 2.5
CALL = {
    "systemPrompt", "temperature", "model", "voice", "externalVoice", "voiceOverrides", "languageHint",
    "initialMessages", "joinTimeout", "maxDuration", "timeExceededMessage", "inactivityMessages", "selectedTools",
    "medium", "recordingEnabled", "firstSpeaker", "transcriptOptional", "initialOutputMedium", "vadSettings",
    "firstSpeakerSettings", "experimentalSettings", "metadata", "initialState", "dataConnection", "callbacks",
}  # fmt: skip
MEDIUM = {"inputSampleRate", "outputSampleRate", "clientBufferSizeMs", "dataMessages", "mediaIdleTimeout"}
OFF_BY_DEFAULT = {"userStartedSpeaking", "userStoppedSpeaking", "callEvent", "toolUsed", "debug"}
REFUSALS = {
    402: "Your account has no remaining minutes.",
    429: "Too many requests. Try again later.",
    500: "Internal server error.",
    503: "Service unavailable.",
}


@dataclass(frozen=True)
class Quirks(far_end.Quirks):
    """Beside those of all: changes: what the call has in place of what was asked for. refuses: the HTTP status of
    requests for a call, of the first `refused` ones; with a 429 it asks to wait retry_after_s. slow_s: how long such a
    request takes. silence_ms: what ends a turn, unless the call says it.
    """

    changes: Mapping[str, Any] = field(default_factory=dict)
    refuses: int | None = None
    refused: int = 1_000_000
    retry_after_s: float = 3600
    slow_s: float = 0.0
    silence_ms: int = 500


@dataclass
class Call:
    """A call as the REST interface has it. end_reason: None while it goes on."""

    body: Mapping[str, Any]
    joined: bool = False
    end_reason: str | None = None


class UltravoxServer(FarEnd["Leg", Quirks]):
    """The server. calls: those that were created, by their id. refused: why the others were not. n_asked: all."""

    usual = Quirks()

    def __init__(self, quirks: Quirks | None = None) -> None:
        super().__init__(quirks)
        self.calls: dict[str, Call] = {}
        self.refused: list[Mapping[str, Any]] = []
        self.n_asked = 0

    def routes(self) -> Sequence[web.RouteDef]:
        return [
            web.post("/api/calls", self._create),
            web.get("/api/calls/{id}", self._show),
            web.get("/calls/{id}/server_web_socket", self._join),
        ]

    async def _create(self, request: web.Request) -> web.Response:
        self._check_key(request)
        body = await request.json()
        self.n_asked += 1
        await asyncio.sleep(self.quirks.slow_s)
        if self.quirks.refuses is not None and self.n_asked <= self.quirks.refused:
            after = {"Retry-After": f"{self.quirks.retry_after_s:g}"} if self.quirks.refuses == 429 else None
            told: dict[str, Any] = {"detail": REFUSALS[self.quirks.refuses]}
            return web.json_response(told, status=self.quirks.refuses, headers=after)
        if mistakes := _mistakes(body):
            self.refused.append(mistakes)
            return web.json_response(mistakes, status=400)
        number = f"00000000-0000-4000-8000-{len(self.calls) + 1:012}"
        self.calls[number] = Call(body)
        join_url = f"{self.url('ws')}/calls/{number}/server_web_socket?token=once"
        told = {"callId": number, "joinUrl": join_url, "ended": None, "endReason": None, **body}
        return web.json_response({**told, **self.quirks.changes}, status=201)

    async def _show(self, request: web.Request) -> web.Response:
        self._check_key(request)
        call = self._call(request)
        told: dict[str, Any] = {"callId": request.match_info["id"], "endReason": call.end_reason, **call.body}
        return web.json_response(told)

    async def _join(self, request: web.Request) -> web.StreamResponse:
        call = self._call(request)
        if call.joined or request.query.get("token") != "once" or request.query.get("apiVersion", "1") != "1":
            raise web.HTTPForbidden(text="This call cannot be joined (again).")
        call.joined = True
        return await self.serve(request, lambda ws: Leg(self.quirks, call, request, ws))

    def _check_key(self, request: web.Request) -> None:
        key = request.headers.get("X-API-Key")
        if key is None:
            raise _error(web.HTTPForbidden, "Authentication credentials were not provided.")
        if key != self.KEY:
            raise _error(web.HTTPUnauthorized, "Invalid API key.")

    def _call(self, request: web.Request) -> Call:
        call = self.calls.get(request.match_info["id"])
        if call is None:
            raise _error(web.HTTPNotFound, "Not found.")
        return call


class Leg(Conversant):
    """One joined call. results: those of client tools, as they came. unknown: messages that the vendor lacks."""

    def __init__(self, quirks: Quirks, call: Call, request: web.Request, ws: web.WebSocketResponse) -> None:
        super().__init__(request, ws, quirks.replies, quirks.cues)
        self.quirks, self.call = quirks, call
        self.results: list[Mapping[str, Any]] = []
        self.unknown: list[Mapping[str, Any]] = []
        self._medium: Mapping[str, Any] = call.body["medium"]["serverWebSocket"]
        self._in_hz: int = self._medium["inputSampleRate"]
        self._out_hz: int = self._medium.get("outputSampleRate", self._in_hz)
        self._buffer_s = self._medium.get("clientBufferSizeMs", 60) / 1000
        never = 10**9 if quirks.deaf else 0
        self.ear = Ear(self._in_hz, self._vad_ms("minimumTurnDuration", 60) + never, self._silence_ms)
        self._speech: asyncio.Task[None] | None = None
        self._waiting: dict[str, asyncio.Future[Mapping[str, Any]]] = {}
        self._is_protected = False
        self._rest = b""
        self._ordinal = 0
        self._words: list[str] = []
        self.state = "idle"

    @property
    def _silence_ms(self) -> int:
        return self._vad_ms("turnEndpointDelay", self.quirks.silence_ms)

    def _vad_ms(self, name: str, default: int) -> int:
        told = self.call.body.get("vadSettings", {}).get(name)
        return default if told is None else round(1000 * _duration_s(told))

    async def run(self) -> None:
        await asyncio.sleep(self.quirks.ready_s)
        await self._tell("call_started", callId=self.request.match_info["id"])
        if "maxDuration" in self.call.body:
            self.begin(self._end_after(_duration_s(self.call.body["maxDuration"])))
        if self._agent_is_first:
            self._speech = self.begin(self._speak(self.quirks.greeting or Reply(1.0, "hello there")))
        else:
            await self._state("listening")
        try:
            async for received in self.ws:
                if received.type is WSMsgType.BINARY:
                    await self._take_audio(received.data)
                elif received.type is WSMsgType.TEXT:
                    await self.take(json.loads(received.data))
        finally:
            reason = "hangup" if self.ws.close_code in (1000, 1001, 1005) else "connection_error"
            self.call.end_reason = self.call.end_reason or reason

    async def _take_audio(self, data: bytes) -> None:
        self.note(self.received, len(data))
        data = self._rest + data
        self._rest = data[len(data) & ~1 :]
        await self.hear(samples(data[: len(data) & ~1]))

    @property
    def _agent_is_first(self) -> bool:
        body = self.call.body
        return body.get("firstSpeaker") != "FIRST_SPEAKER_USER" and "user" not in body.get("firstSpeakerSettings", {})

    async def take(self, message: Mapping[str, Any]) -> None:
        """A data message."""
        self.note(self.received, message)
        match message:
            case {"type": "user_text_message", "text": str()}:
                await self.answer()
            case {"type": "forced_agent_message", "content": str(content)}:
                await self.interrupt()
                self._is_protected = bool(message.get("uninterruptible"))
                self._speech = self.begin(self._speak(Reply(1.0, content)))
            case {"type": "client_tool_result", "invocationId": str(number)}:
                self.results.append(message)
                waiting = self._waiting.pop(number, None)
                if waiting is not None and not waiting.done():
                    waiting.set_result(message)
            case {"type": "hang_up"}:
                await self.hang_up()
            case _:
                self.unknown.append(message)

    # Turns

    async def turn_begins(self, at_ms: int) -> None:
        if self._waiting:
            return  # nothing is heard while a tool runs
        await self._tell("user_started_speaking")
        await self.interrupt()

    async def turn_ends(self, at_ms: int) -> None:
        if self._waiting:
            return
        await self._tell("user_stopped_speaking")
        await self._transcribe("user", self.quirks.words)
        await self.answer()

    async def answer(self) -> None:
        """Say the next reply, unless something is being said."""
        if not self.quirks.mute and (self._speech is None or self._speech.done()):
            self._speech = self.begin(self._generate(self.next_reply()))

    async def interrupt(self) -> None:
        """Stop what is being said, and have the client forget what it has not yet played."""
        if self._speech is None or self._speech.done() or self._is_protected:
            return
        self._speech.cancel()
        if self.state == "speaking":
            await self._tell("playback_clear_buffer")
            for _ in range(self.quirks.late_chunks):
                await self._send_audio(self.said[-1][-self._out_hz * CHUNK_MS // 1000 :])
            await self._transcribe("agent", " ".join(self._words))
        await self._state("listening")

    async def _generate(self, reply: Reply) -> None:
        await self._state("thinking")
        await asyncio.sleep(self.quirks.think_s)
        if reply.uses:
            await self._use(reply.uses)
        await self._speak(reply)

    async def _use(self, uses: Sequence[Use]) -> None:
        """Have the client run tools, all at once, and wait for their results."""
        for use in uses:
            number = f"invocation-{self.n_replies}-{len(self._waiting) + 1}"
            self._waiting[number] = asyncio.get_running_loop().create_future()
            await self._tell(
                "client_tool_invocation", toolName=use.name, invocationId=number, parameters=dict(use.arguments)
            )
        await asyncio.wait(list(self._waiting.values()), timeout=max(self._timeout_s(use) for use in uses))
        self._waiting.clear()
        for use in uses:
            await self._tell("tool_used", toolName=use.name)

    def _timeout_s(self, use: Use) -> float:
        tools = [tool.get("temporaryTool", {}) for tool in self.call.body.get("selectedTools", ())]
        told = [tool["timeout"] for tool in tools if tool.get("modelToolName") == use.name and "timeout" in tool]
        return _duration_s(told[0]) if told else TOOL_TIMEOUT_S

    async def _speak(self, reply: Reply) -> None:
        await self._state("speaking")
        voice = self.next_voice(reply.seconds, self._out_hz)
        chunk = self._out_hz * CHUNK_MS // 1000
        words = reply.words.split()
        self._words = []
        began = time.monotonic()
        for at in range(0, len(voice), chunk):
            # No more lies at the client than its buffer is said to hold.
            await asyncio.sleep(began + at / self._out_hz - self._buffer_s - time.monotonic())
            await self._send_audio(voice[at : at + chunk])
            due = words[len(self._words) : -(-len(words) * (at + chunk) // len(voice))]
            if due:
                await self._tell_words(" ".join(due) + " " * (len(self._words) + len(due) < len(words)))
                self._words += due
        await asyncio.sleep(began + reply.seconds - time.monotonic())
        await self._transcribe("agent", reply.words)
        self._is_protected = False
        await self._state("listening")

    # What goes out

    async def _tell_words(self, delta: str) -> None:
        told = {"role": "agent", "medium": "voice", "delta": delta, "final": False, "ordinal": self._ordinal}
        await self._tell("transcript", **told)

    async def _transcribe(self, role: str, text: str) -> None:
        await self._tell("transcript", role=role, medium="voice", text=text, final=True, ordinal=self._ordinal)
        self._ordinal += 1

    async def _state(self, state: str) -> None:
        self.state = state
        await self._tell("state", state=state)

    async def _tell(self, kind: str, **fields: object) -> None:
        name = re.sub(r"_(.)", lambda found: found[1].upper(), kind)
        if self.ws.closed or not self._medium.get("dataMessages", {}).get(name, name not in OFF_BY_DEFAULT):
            return
        message = {"type": kind, **fields}
        self.note(self.sent, message)
        await self.ws.send_json(message)

    async def _send_audio(self, pcm: Pcm) -> None:
        if not self.ws.closed:
            self.note(self.sent, pcm)
            await self.ws.send_bytes(pcm.astype("<i2").tobytes())

    async def _end(self, code: int, reason: str) -> None:
        self.call.end_reason = reason
        await self.ws.close(code=code)

    async def _end_after(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await self._end(1000, "timeout")

    # Cues, beside `answer`, `interrupt` and `abort`

    async def hang_up(self) -> None:
        """End the call, as the agent does."""
        await self._end(1000, "agent_hangup")

    async def fail(self) -> None:
        """End it, as when the server fails."""
        await self._end(1011, "system_error")

    async def send_garbage(self) -> None:
        """Send text that is no JSON."""
        await self.ws.send_str('{"type": "sta')

    async def send_unknown(self) -> None:
        """Send a message that nobody knows."""
        await self._tell("agent_mood", calm=0.5)

    async def send_half_a_sample(self) -> None:
        """Send audio of three bytes."""
        await self.ws.send_bytes(bytes(3))


def _mistakes(body: Mapping[str, Any]) -> dict[str, Any]:
    """What is wrong with the request for a call, by its field."""
    wrong: dict[str, Any] = {name: ["Unexpected property."] for name in sorted(body.keys() - CALL)}
    if body.get("model", MODELS[0]) not in MODELS:
        wrong["model"] = [f"Model {body['model']} not found."]
    for name in ("maxDuration", "joinTimeout"):
        if name in body and not re.fullmatch(r"[\d.]+s", body[name]):
            wrong[name] = ["Not a duration."]
    medium = body.get("medium", {}).get("serverWebSocket")
    if medium is None:
        return wrong | {"medium": ["This fake has serverWebSocket alone."]}
    wrong |= {f"medium.{name}": ["Unexpected property."] for name in sorted(medium.keys() - MEDIUM)}
    if medium.get("inputSampleRate") not in RATES_HZ:
        wrong["medium.inputSampleRate"] = ["This field is required: a rate from 8000 to 48000."]
    if medium.get("outputSampleRate", 8000) not in RATES_HZ:
        wrong["medium.outputSampleRate"] = ["A rate from 8000 to 48000."]
    return wrong


def _duration_s(text: str) -> float:
    """A duration as protobuf writes it."""
    return float(text.removesuffix("s"))


def _error(kind: type[web.HTTPError], detail: str) -> web.HTTPError:
    return kind(text=json.dumps({"detail": detail}), content_type="application/json")


if __name__ == "__main__":
    serve_alone(UltravoxServer())
