"""How the fake of Gemini Live speaks: the order of its messages in turns and tool calls, and its faults."""

import asyncio
import base64
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from aiohttp import web
from fakes import far_end
from fakes.far_end import Conversant, Reply, Use, at_pace, samples

from fdbcore.types import Pcm

RATE_HZ, CHUNK = 24_000, 5760  # 240 ms
TOKENS_PER_S = 25
INVALID = (1007, "Request contains an invalid argument.")
REFUSALS: Mapping[str, tuple[int, str]] = {
    "key expired": (1007, "API key expired. Please renew the API key."),
    "quota": (1011, "You exceeded your current quota, please check your plan and billing details."),
    "region": (1007, "User location is not supported for the API use."),
    "busy": (1011, "The service is currently unavailable."),
    "invalid": INVALID,
}


@dataclass(frozen=True)
class Model:
    """How a model of this interface differs. tools: how functions run that do not say it. others: whether they may say
    something else. thinks: it wants a thinking level, and says when it is idle."""

    tools: Literal["BLOCKING", "NON_BLOCKING"]
    others: bool = True
    thinks: bool = False


MODELS: Mapping[str, Model] = {
    "gemini-2.5-flash-native-audio-preview-12-2025": Model("BLOCKING"),
    "gemini-3.1-flash-live-preview": Model("BLOCKING", others=False),
    "gemini-3.8-live": Model("NON_BLOCKING"),
    "gemini-3.8-live-extended-thinking": Model("NON_BLOCKING", others=False, thinks=True),
}


@dataclass(frozen=True)
class Quirks(far_end.Quirks):
    """Beside those of all: resume_s: how much longer the set-up of a session takes that is resumed. refuses: why a
    session is not taken (one of REFUSALS, or an HTTP status in place of the WebSocket). faster: how much faster than
    real time audio comes. assumes_playback: turn_complete comes when the audio would have been played; otherwise at
    once, and an interruption may come after it. completes: turn_complete follows `interrupted`. ends:
    turn_complete_reason. signals_activity: voice_activity is sent.
    """

    resume_s: float = 0.0
    refuses: str | int | None = None
    faster: float = 8.0
    assumes_playback: bool = True
    completes: bool = True
    ends: str | None = None
    signals_activity: bool = True


class Voice(Conversant):
    """One connection, as far as it speaks. setup: what the session was set up with. handles: those of all sessions."""

    def __init__(
        self, quirks: Quirks, handles: dict[str, "Voice"], request: web.Request, ws: web.WebSocketResponse
    ) -> None:
        super().__init__(request, ws, quirks.replies, quirks.cues)
        self.quirks = quirks
        self.setup: dict[str, Any] = {}
        self.n_turns = 0
        self._handles = handles
        self._generation: asyncio.Task[None] | None = None
        self._results: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._asked: set[str] = set()
        self._plays_until = 0.0

    @property
    def model(self) -> Model:
        return MODELS[self.setup["model"].removeprefix("models/")]

    @property
    def functions(self) -> dict[str, Mapping[str, Any]]:
        """Those that were declared, by their name."""
        return {
            use["name"]: use for tool in self.setup.get("tools", ()) for use in tool.get("functionDeclarations", ())
        }

    async def turn_begins(self, at_ms: int) -> None:
        assert self.ear is not None
        self.ear.in_turn = True
        await self._signal("ACTIVITY_START", at_ms)
        handling = self.setup.get("realtimeInputConfig", {}).get("activityHandling")
        if handling != "NO_INTERRUPTION":
            await self.interrupt()

    async def turn_ends(self, at_ms: int) -> None:
        assert self.ear is not None
        self.ear.in_turn = False
        await self._signal("ACTIVITY_END", at_ms)
        words = self.quirks.words.split()
        self.n_turns += 1
        if "inputAudioTranscription" in self.setup:
            for number, word in enumerate(words, start=1):
                told = {"text": f" {word}"} | ({"finished": True} if number == len(words) else {})
                await self._content(inputTranscription=told)
        await self.answer()

    async def _signal(self, kind: str, at_ms: int) -> None:
        if self.quirks.signals_activity:
            await self.tell({"voiceActivity": {"type": kind, "audioOffset": _seconds(at_ms / 1000)}})

    async def answer(self) -> None:
        """Say the next reply, unless one is being said."""
        if not self.quirks.mute and (self._generation is None or self._generation.done()):
            self._generation = self.begin(self._generate(self.next_reply()))

    async def interrupt(self) -> None:
        """Stop what is being said: interrupted, and turn_complete where it has not come yet; no generation_complete."""
        if self._generation is not None and not self._generation.done():
            self._generation.cancel()
            await self._content(interrupted=True)
            for _ in range(self.quirks.late_chunks):
                await self._say_chunk(self.said[-1][-CHUNK:] if self.said else samples(bytes(2 * CHUNK)))
            await self.cancel_tools()
            if self.quirks.completes:
                await self._complete()
        elif time.monotonic() < self._plays_until:
            await self._content(interrupted=True)
        self._plays_until = 0.0

    async def cancel_tools(self) -> None:
        """Take back the tool calls that wait for their result."""
        waiting = [number for number, result in self._results.items() if not result.done()]
        if waiting:
            self._results.clear()
            await self.tell({"toolCallCancellation": {"ids": waiting}})

    async def _generate(self, reply: Reply) -> None:
        await asyncio.sleep(self.quirks.think_s)
        await self._update_handle(resumable=False)
        if not reply.uses:
            return await self._speak(reply, reply.seconds)
        calls = await self._call(reply.uses)
        if self._blocks(reply.uses):
            await asyncio.wait(calls)  # which leaves them as they are when it is cancelled
            return await self._speak(reply, reply.seconds)
        self.begin(self._speak_after(calls, reply))
        await self._speak(reply, 0.0, is_idle=False)

    async def _call(self, uses: Sequence[Use]) -> list[asyncio.Future[dict[str, Any]]]:
        told, calls = [], []
        for use in uses:
            number = f"function-call-{len(self._asked) + 1}"
            self._asked.add(number)
            self._results[number] = asyncio.get_running_loop().create_future()
            told.append({"id": number, "name": use.name, "args": dict(use.arguments)})
            calls.append(self._results[number])
        await self.tell({"toolCall": {"functionCalls": told}})
        return calls

    def _blocks(self, uses: Sequence[Use]) -> bool:
        return any(self.functions.get(use.name, {}).get("behavior", self.model.tools) == "BLOCKING" for use in uses)

    async def _speak_after(self, calls: Sequence[asyncio.Future[dict[str, Any]]], reply: Reply) -> None:
        """What is said once functions that stop nothing have ended."""
        await asyncio.gather(*calls)
        self._generation = self.begin(self._speak(reply, reply.seconds))

    async def _speak(self, reply: Reply, seconds: float, is_idle: bool = True) -> None:
        voice = self.next_voice(seconds, RATE_HZ)
        words = reply.words.split()
        n_chunks = -(-len(voice) // CHUNK)
        self._plays_until = time.monotonic() + seconds
        number = 0

        async def say(chunk: Pcm) -> None:
            nonlocal number
            await self._say_chunk(chunk)
            number += 1
            await self._transcribe(words, len(words) * (number - 1) // n_chunks, len(words) * number // n_chunks)

        await at_pace(voice, CHUNK, self.quirks.faster, RATE_HZ, say)
        await self._content(generationComplete=True)
        if self.quirks.assumes_playback:
            await asyncio.sleep(self._plays_until - time.monotonic())
        await self._complete(is_idle)
        await self._update_handle(resumable=True)

    async def _transcribe(self, words: Sequence[str], first: int, end: int) -> None:
        """The words from `first` to `end`, which share the time of the voice evenly."""
        if "outputAudioTranscription" not in self.setup or first == end:
            return
        told: dict[str, Any] = {"text": "".join(f" {word}" for word in words[first:end])}
        await self._content(outputTranscription=told | ({"finished": True} if end == len(words) else {}))

    # What goes out

    async def _say_chunk(self, chunk: Pcm) -> None:
        blob = {
            "mimeType": f"audio/pcm;rate={RATE_HZ}",
            "data": base64.b64encode(chunk.astype("<i2").tobytes()).decode(),
        }
        await self._content(modelTurn={"role": "model", "parts": [{"inlineData": blob}]})

    async def _complete(self, is_idle: bool = True) -> None:
        content: dict[str, Any] = {"turnComplete": True}
        if self.quirks.ends:
            content["turnCompleteReason"] = self.quirks.ends
        if self.model.thinks:
            content["interactionStatus"] = "IDLE" if is_idle else "IN_PROGRESS"
        await self.tell({"serverContent": content, "usageMetadata": self._usage()})

    def _usage(self) -> dict[str, Any]:
        heard = round(TOKENS_PER_S * self.ear.heard_ms / 1000) if self.ear else 0
        said = round(TOKENS_PER_S * sum(map(len, self.said)) / RATE_HZ)
        return {
            "promptTokenCount": heard,
            "responseTokenCount": said,
            "totalTokenCount": heard + said,
            "promptTokensDetails": [{"modality": "AUDIO", "tokenCount": heard}],
            "responseTokensDetails": [{"modality": "AUDIO", "tokenCount": said}],
        }

    async def _update_handle(self, resumable: bool) -> None:
        if "sessionResumption" not in self.setup:
            return
        if not resumable:
            return await self.tell({"sessionResumptionUpdate": {}})
        handle = f"handle-{len(self._handles) + 1}"
        self._handles[handle] = self
        await self.tell({"sessionResumptionUpdate": {"newHandle": handle, "resumable": True}})

    async def _content(self, **content: object) -> None:
        await self.tell({"serverContent": content})

    async def tell(self, message: Mapping[str, Any]) -> None:
        if self.ws.closed:
            return
        self.note(self.sent, message)
        await self.ws.send_bytes(json.dumps(message).encode())

    async def close(self, code: int, reason: str) -> None:
        for task in list(self._tasks):
            task.cancel()
        await self.ws.close(code=code, message=reason.encode()[:123])

    # Cues, beside `answer`, `interrupt`, `cancel_tools` and `abort`

    async def go_away(self) -> None:
        """Announce the end of the connection."""
        await self.tell({"goAway": {"timeLeft": "50s"}})

    async def deadline(self) -> None:
        """End it, as at the session's limit."""
        await self.close(1011, "Deadline expired before operation could complete.")

    async def fail(self) -> None:
        """End it, as when the server fails."""
        await self.close(1011, "Internal error encountered.")

    async def exhaust(self) -> None:
        """End it, as at the end of a quota."""
        await self.close(1011, "Resource has been exhausted (e.g. check quota).")

    async def overflow(self) -> None:
        """End it, as when the context is full."""
        await self.close(*INVALID)

    async def send_garbage(self) -> None:
        """Send what is no JSON."""
        await self.ws.send_bytes(b'\x00\xff{"serverCon')

    async def send_unknown(self) -> None:
        """Send fields that are not known yet."""
        await self.tell({"serverContent": {"modelMood": {"calm": 0.5}}, "weather": {"celsius": 21}})

    async def send_half_a_sample(self) -> None:
        """Send audio of three bytes."""
        blob = {"mimeType": f"audio/pcm;rate={RATE_HZ}", "data": "AAAA"}
        await self._content(modelTurn={"role": "model", "parts": [{"inlineData": blob}]})


def _seconds(seconds: float) -> str:
    """A duration as protobuf writes it."""
    return f"{seconds:.3f}s"
