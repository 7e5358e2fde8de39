"""A server that speaks ElevenLabs' Agents WebSocket, around an agent of a few lines.

    with ElevenLabsServer(Quirks(cues={3000: "hang_up"})) as server:
        ... server.url("http"), ElevenLabsServer.KEY, server.parties[0].received

Message by message after the vendor's own clients: elevenlabs 2.78.0 (PyPI), with which tests hold a call, and
@elevenlabs/types 0.23.0 (npm). Close codes and their texts are those that users quote. A private agent is joined by a
signed URL, once.

Run alone, it prints where it is served and its key: `PYTHONPATH=tests python -m fakes.elevenlabs_server`.
"""

import asyncio
import base64
from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import web
from fakes.far_end import FarEnd, Use
from fakes.loopback import serve_alone
from fakes.voice_agent import Quirks, VoiceAgent

from fdbcore.audio.mulaw import mulaw
from fdbcore.types import Pcm

AGENTS = ("agent_1", "agent_strict")
"""The second lets nobody override its prompt."""
INITIATION = {
    "type", "conversation_config_override", "custom_llm_extra_body", "dynamic_variables", "user_id", "source_info",
    "branch_id", "environment", "tool_mock_config",
}  # fmt: skip
OVERRIDES: Mapping[str, set[str]] = {
    "agent": {"first_message", "language", "prompt", "native_mcp_server_ids"},
    "tts": {"voice_id", "stability", "speed", "similarity_boost"},
    "asr": {"keywords"},
    "conversation": {"text_only", "client_events"},
}
FROM_CLIENT = {"pong", "client_tool_result", "user_message", "user_activity", "contextual_update", "feedback"}
QUOTA = "This request exceeds your quota limit."


class ElevenLabsServer(FarEnd["Agent", Quirks]):
    """The server. tickets: signed URLs that were given out, and whether each was used."""

    usual = Quirks()

    def __init__(self, quirks: Quirks | None = None) -> None:
        super().__init__(quirks)
        self.tickets: dict[str, bool] = {}

    def routes(self) -> Sequence[web.RouteDef]:
        return [
            web.get("/v1/convai/conversation/get-signed-url", self._sign),
            web.get("/v1/convai/conversation", self._join),
        ]

    async def _sign(self, request: web.Request) -> web.Response:
        if self.quirks.refuses is not None:
            return _detail(*self.quirks.refuses)
        if request.headers.get("xi-api-key") != self.KEY:
            return _detail(401, "Invalid API key")
        agent = request.query.get("agent_id", "")
        if agent not in AGENTS:
            return _detail(404, f"Document with id {agent} not found.")
        signature = f"cvtkn_{len(self.tickets) + 1:024}"
        self.tickets[signature] = False
        url = f"{self.url('ws')}/v1/convai/conversation?agent_id={agent}&conversation_signature={signature}"
        return web.json_response({"signed_url": self.quirks.forms.get("url", url)})

    async def _join(self, request: web.Request) -> web.StreamResponse:
        return await self.serve(request, lambda ws: Agent(self, request, ws))


class Agent(VoiceAgent):
    """One conversation. pongs: the numbers of pings that were answered."""

    odd: Mapping[str, Sequence[str]] = {
        "audio": ("audio_event",),
        "interruption": ("interruption_event",),
        "user_transcript": ("user_transcription_event",),
        "agent_response": ("agent_response_event",),
        "client_tool_call": ("client_tool_call",),
    }

    def __init__(self, server: ElevenLabsServer, request: web.Request, ws: web.WebSocketResponse) -> None:
        super().__init__(server.quirks, request, ws)
        self._server = server
        self.initiation: Mapping[str, Any] | None = None
        self.pongs: list[int] = []
        self._n_events = 0
        forms = {"in": "pcm_16000", "out": "pcm_16000", **self.quirks.forms}
        self.form_in, self.form_out = forms["in"], forms["out"]
        self.in_hz, self.out_hz = (int(str(form).partition("_")[2] or 16_000) for form in (self.form_in, self.form_out))

    async def run(self) -> None:
        signature = self.request.query.get("conversation_signature", "")
        if self._server.tickets.get(signature, True):
            await self.ws.close(code=3000, message=b"Could not authorize the conversation.")
            return
        self._server.tickets[signature] = True
        await super().run()

    async def take(self, message: Mapping[str, Any]) -> None:
        if "user_audio_chunk" in message:
            await self.hear_bytes(base64.b64decode(message["user_audio_chunk"], validate=True))
            return
        match message:
            case {"type": "conversation_initiation_client_data"} if self.initiation is None:
                await self._initiate(message)
            case {"type": "pong", "event_id": int(number)}:
                self.pongs.append(number)
            case {"type": "client_tool_result", "tool_call_id": str(number), "result": str(), "is_error": bool()}:
                self.got_result(number, message)
            case {"type": str(kind)} if kind in FROM_CLIENT - {"pong", "client_tool_result"}:
                pass
            case _:
                self.unknown.append(message)
                await self.ws.close(code=1008, message=b"Invalid message received")

    async def _initiate(self, message: Mapping[str, Any]) -> None:
        self.initiation = message
        overrides = message.get("conversation_config_override", {})
        wrong = [name for name in message if name not in INITIATION]
        wrong += [name for part, given in overrides.items() for name in given if name not in OVERRIDES.get(part, ())]
        if wrong:
            self.unknown.append(message)
        if self.request.query.get("agent_id") == "agent_strict" and overrides.get("agent", {}).get("prompt"):
            reason = b"Override for field 'prompt' is not allowed by config."
            await self.ws.close(code=1008, message=reason)
            return
        await asyncio.sleep(self.quirks.ready_s)
        event = {
            "conversation_id": "conv_1",
            "agent_output_audio_format": self.form_out,
            "user_input_audio_format": self.form_in,
            **self.quirks.forms.get("echo", {}),
        }
        await self.tell({"type": "conversation_initiation_metadata", "conversation_initiation_metadata_event": event})
        await self.send_ping()
        await self.greet()

    # What goes out

    def _next_event(self) -> int:
        self._n_events += 1
        return self._n_events

    async def send_audio(self, pcm: Pcm) -> None:
        await self._send_audio(pcm, self._next_event())

    async def _send_audio(self, pcm: Pcm, number: int) -> None:
        data = mulaw(pcm) if str(self.form_out).startswith("ulaw") else pcm.astype("<i2").tobytes()
        event = {"audio_base_64": base64.b64encode(data).decode(), "event_id": number}
        await self.tell({"type": "audio", "audio_event": event})

    async def tell_words(self, role: str, text: str) -> None:
        if role == "agent":
            event = {"agent_response": text, "event_id": self._next_event()}
            await self.tell({"type": "agent_response", "agent_response_event": event})
            return
        event = {"user_transcript": text, "event_id": self._next_event()}
        await self.tell({"type": "user_transcript", "user_transcription_event": event})

    async def tell_call(self, number: str, use: Use) -> None:
        call = {"tool_name": use.name, "tool_call_id": number, "parameters": dict(use.arguments)}
        await self.tell({"type": "client_tool_call", "client_tool_call": {**call, "event_id": self._next_event()}})

    async def interrupted(self) -> None:
        number = self._n_events
        await self.tell({"type": "interruption", "interruption_event": {"event_id": number}})
        for _ in range(self.quirks.late_chunks):
            await self._send_audio(self.said[-1][-self.out_hz // 10 :], number)
        event = {"original_agent_response": "I can do that", "corrected_agent_response": "I can", "event_id": number}
        await self.tell({"type": "agent_response_correction", "agent_response_correction_event": event})

    # Cues

    async def send_ping(self) -> None:
        await self.tell({"type": "ping", "ping_event": {"event_id": self._next_event(), "ping_ms": 40}})

    async def interrupt_by_reason(self) -> None:
        """Interrupt as older servers do, without a number."""
        await self.tell({"type": "interruption", "interruption_event": {"reason": "user_interrupted"}})

    async def use_up(self) -> None:
        """End the call as a workspace without quota does."""
        await self.tell({"type": "error", "message": f"received 1002 (protocol error) {QUOTA}"})
        await self.ws.close(code=1002, message=QUOTA.encode())

    async def run_out(self) -> None:
        """End the call at its longest duration."""
        event = {"code": 1000, "error_type": "max_duration_exceeded", "message": "Conversation reached its limit."}
        await self.tell({"type": "error", "error_event": event})

    async def send_no_audio(self) -> None:
        """Send audio that is no base64, and a message without it."""
        await self.tell({"type": "audio", "audio_event": {"audio_base_64": "!!", "event_id": self._next_event()}})
        await self.tell({"type": "audio"})

    async def send_wav(self) -> None:
        """Send a WAV file in place of bare audio."""
        data = base64.b64encode(b"RIFF\x24\0\0\0WAVEfmt ").decode()
        await self.tell({"type": "audio", "audio_event": {"audio_base_64": data, "event_id": self._next_event()}})


def _detail(status: int, message: str) -> web.Response:
    return web.json_response({"detail": {"status": "error", "message": message}}, status=status)


if __name__ == "__main__":
    serve_alone(ElevenLabsServer())
