"""A server that speaks Deepgram's Voice Agent WebSocket, around an agent of a few lines.

    with DeepgramServer(Quirks(cues={3000: "abort"})) as server:
        ... server.url("http"), DeepgramServer.KEY, server.parties[0].settings

Message by message after the vendor's own client, deepgram-sdk 7.17.0 (PyPI), with which tests hold a call, and its
pages on the message flow and on errors. Audio is linear16 in binary messages both ways.

Run alone, it prints where it is served and its key: `PYTHONPATH=tests python -m fakes.deepgram_server`.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import web
from fakes.far_end import FarEnd, Use
from fakes.loopback import serve_alone
from fakes.voice_agent import Quirks, VoiceAgent

from fdbcore.types import Pcm

SETTINGS = {"type", "tags", "experimental", "flags", "mip_opt_out", "audio", "agent"}
AGENT = {"language", "context", "listen", "think", "think_live", "speak", "greeting"}
THINK = {"provider", "endpoint", "functions", "prompt", "context_length"}
MODELS = {"open_ai": ("gpt-4o-mini", "gpt-5-nano"), "anthropic": ("claude-haiku-4-5",)}
RATES_HZ = (8_000, 16_000, 24_000, 32_000, 48_000)


class DeepgramServer(FarEnd["Agent", Quirks]):
    """The server."""

    usual = Quirks()

    def routes(self) -> Sequence[web.RouteDef]:
        return [web.get("/v1/agent/converse", self._join)]

    async def _join(self, request: web.Request) -> web.StreamResponse:
        if self.quirks.refuses is not None:
            status, message = self.quirks.refuses
            return web.json_response({"err_code": "REFUSED", "err_msg": message}, status=status)
        if request.headers.get("Authorization") != f"Token {self.KEY}":
            return web.json_response({"err_code": "INVALID_AUTH", "err_msg": "Invalid credentials."}, status=401)
        return await self.serve(request, lambda ws: Agent(self.quirks, request, ws))


class Agent(VoiceAgent):
    """One session. settings: as they came."""

    in_hz = out_hz = 24_000
    odd: Mapping[str, Sequence[str]] = {
        "ConversationText": ("role", "content"),
        "FunctionCallRequest": ("functions",),
        "FunctionCallCancelled": ("functions",),
        "AgentAudioDone": (),
    }

    def __init__(self, quirks: Quirks, request: web.Request, ws: web.WebSocketResponse) -> None:
        super().__init__(quirks, request, ws)
        self.settings: Mapping[str, Any] | None = None
        self.n_kept_alive = 0

    async def run(self) -> None:
        await self.tell({"type": "Welcome", "request_id": "00000000-0000-4000-8000-000000000001"})
        await super().run()

    async def take(self, message: Mapping[str, Any]) -> None:
        match message:
            case {"type": "Settings"} if self.settings is None:
                await self._apply(message)
            case {"type": "Settings"}:
                await self._fail("SETTINGS_ALREADY_APPLIED", "Settings were applied before.")
            case _ if self.settings is None:
                await self._fail("NON_SETTINGS_MESSAGE_BEFORE_SETTINGS", "Settings come first.")
            case {"type": "KeepAlive"}:
                self.n_kept_alive += 1
            case {"type": "FunctionCallResponse", "id": str(number), "name": str(), "content": str()}:
                self.got_result(number, message)
            case {"type": "InjectUserMessage" | "InjectAgentMessage" | "UpdatePrompt" | "UpdateSpeak"}:
                pass
            case _:
                self.unknown.append(message)
                await self._fail("UNPARSABLE_CLIENT_MESSAGE", "The message is not of the schema.")

    async def _apply(self, message: Mapping[str, Any]) -> None:
        self.settings = message
        agent = message.get("agent", {})
        think = agent.get("think", {})
        unknown = {*message} - SETTINGS | {*agent} - AGENT | {*think} - THINK
        provider = think.get("provider", {})
        if unknown or not all("model" in agent[part]["provider"] for part in ("speak",) if part in agent):
            await self._fail("UNPARSABLE_CLIENT_MESSAGE", f"The message is not of the schema: {sorted(unknown)}")
            return
        if provider.get("model") not in MODELS.get(provider.get("type"), ()):
            await self._fail("INVALID_SETTINGS", f"The model {provider.get('model')} is not offered.")
            return
        audio = message["audio"]
        if any(audio[way]["sample_rate"] not in RATES_HZ for way in ("input", "output")):
            await self._fail("INVALID_SETTINGS", "The sample rate is not offered.")
            return
        self.in_hz, self.out_hz = audio["input"]["sample_rate"], audio["output"]["sample_rate"]
        await asyncio.sleep(self.quirks.ready_s)
        await self.tell({"type": "SettingsApplied"})
        if self.quirks.greeting is not None and "greeting" in agent:
            await self.greet()

    async def _fail(self, code: str, description: str) -> None:
        await self.tell({"type": "Error", "description": description, "code": code})
        await self.ws.close(code=1011)

    # What goes out

    async def send_audio(self, pcm: Pcm) -> None:
        if not self.ws.closed:
            self.note(self.sent, pcm)
            await self.ws.send_bytes(pcm.astype("<i2").tobytes())

    async def audio_ended(self) -> None:
        await self.tell({"type": "AgentAudioDone"})

    async def tell_words(self, role: str, text: str) -> None:
        role = "assistant" if role == "agent" else role
        await self.tell(
            {"type": "ConversationText", "role": role, "content": text, "conversational_behavior": "default"}
        )

    async def tell_call(self, number: str, use: Use) -> None:
        call = {"id": number, "name": use.name, "arguments": json.dumps(use.arguments), "client_side": True}
        await self.tell({"type": "FunctionCallRequest", "functions": [call]})

    async def speech_began(self) -> None:
        await self.tell({"type": "UserStartedSpeaking"})

    async def interrupted(self) -> None:
        await self.send_late()

    # Cues

    async def break_in(self) -> None:
        """The caller is taken to begin to speak."""
        await self.turn_begins(0)

    async def take_back_a_call(self) -> None:
        """The turn went on, so the calls of before are void."""
        functions = [{"id": number, "name": "add"} for number in self._waiting]
        await self.tell({"type": "FunctionCallCancelled", "functions": functions})

    async def fail(self) -> None:
        """End it, as when the transcriber fails."""
        await self._fail("ASR_CONNECTION_CLOSED", "The speech-to-text connection closed.")

    async def warn(self) -> None:
        """Tell of something that ends nothing."""
        await self.tell({"type": "Warning", "description": "The prompt was cut.", "code": "PROMPT_TOO_LONG"})

    async def send_wav(self) -> None:
        """Send a WAV file in place of bare audio."""
        await self.ws.send_bytes(b"RIFF\x24\0\0\0WAVEfmt ")


if __name__ == "__main__":
    serve_alone(DeepgramServer())
