"""Two servers for tables of a user's own: after AssemblyAI's Voice Agent, and after Cartesia's Line, from their pages.

Nothing of these vendors has been held against them.
"""

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from aiohttp import web
from fakes.far_end import FarEnd, Use
from fakes.voice_agent import Quirks, VoiceAgent

from fdbcore.audio.mulaw import from_mulaw, mulaw
from fdbcore.types import Pcm


class DeclaredServer(FarEnd["VoiceAgent", Quirks]):
    """Serves one kind of agent at /v1/ws."""

    usual = Quirks()

    def __init__(self, made: Callable[..., VoiceAgent], quirks: Quirks | None = None) -> None:
        super().__init__(quirks)
        self._made = made

    def routes(self) -> Sequence[web.RouteDef]:
        return [web.get("/v1/ws", self._join)]

    async def _join(self, request: web.Request) -> web.StreamResponse:
        if request.headers.get("Authorization") != f"Bearer {self.KEY}":
            raise web.HTTPUnauthorized(text="Unauthorized")
        return await self.serve(request, lambda ws: self._made(self.quirks, request, ws))


class AssemblyAgent(VoiceAgent):
    """pcm16 at 24 kHz in base64; an interruption is told by the end of the reply."""

    in_hz = out_hz = 24_000
    session: Mapping[str, Any] | None = None

    async def take(self, message: Mapping[str, Any]) -> None:
        match message:
            case {"type": "session.update", "session": session} if self.session is None:
                self.session = session
                await self.tell({"type": "session.ready", "session_id": "s-1"})
                await self.greet()
            case {"type": "input.audio", "audio": audio} if self.session is not None:
                pcm = base64.b64decode(audio, validate=True)
                assert len(pcm) == self.in_hz // 20 * 2, "50 ms, as it asks for"
                await self.hear_bytes(pcm)
            case {"type": "session.end"}:
                await self.tell({"type": "session.ended", "session_duration_seconds": 1})
                await self.ws.close(code=1000)
            case _:
                self.unknown.append(message)

    async def send_audio(self, pcm: Pcm) -> None:
        await self.tell({"type": "reply.audio", "data": base64.b64encode(pcm.astype("<i2").tobytes()).decode()})

    async def tell_words(self, role: str, text: str) -> None:
        if role == "user":
            await self.tell({"type": "input.speech.stopped"})
        else:
            await self.tell({"type": "reply.started", "reply_id": f"r-{self.n_replies}"})
        await self.tell({"type": f"transcript.{role}", "text": text, "item_id": "i"})

    async def tell_call(self, number: str, use: Use) -> None:
        raise NotImplementedError

    async def speech_began(self) -> None:
        await self.tell({"type": "input.speech.started"})

    async def audio_ended(self) -> None:
        await self.tell({"type": "reply.done", "status": "completed"})

    async def interrupted(self) -> None:
        await self.tell({"type": "reply.done", "status": "interrupted"})

    async def end(self) -> None:
        """A cue: the agent ends the session."""
        await self.tell({"type": "session.ended", "session_duration_seconds": 1})

    async def fail(self) -> None:
        """A cue: too many sessions."""
        await self.tell({"type": "session.error", "code": "concurrency", "message": "Too many concurrent sessions"})


class LineAgent(VoiceAgent):
    """Mu-law at 8 kHz in base64, and the names of messages in `event`; words with times, as Hume's EVI tells them."""

    in_hz = out_hz = 8_000

    async def take(self, message: Mapping[str, Any]) -> None:
        match message:
            case {"event": "start", "stream_id": stream, "config": config}:
                await self.tell({"event": "ack", "stream_id": stream, "config": {**config, **self.quirks.forms}})
            case {"event": "media_input", "stream_id": "fdbcore", "media": {"payload": payload}}:
                await self.hear(from_mulaw(base64.b64decode(payload, validate=True)))
            case _:
                self.unknown.append(message)

    async def send_audio(self, pcm: Pcm) -> None:
        payload = base64.b64encode(mulaw(pcm)).decode()
        await self.tell({"event": "media_output", "stream_id": "fdbcore", "media": {"payload": payload}})

    async def tell_words(self, role: str, text: str) -> None:
        if role == "user":
            await self.tell({"event": "user", "text": text, "time": {"begin": 300, "end": 600}})

    async def tell_call(self, number: str, use: Use) -> None:
        raise NotImplementedError

    async def interrupted(self) -> None:
        await self.tell({"event": "clear", "stream_id": "fdbcore"})
