"""The realtime interface over WebRTC: calls, a track each way, and a channel for the events."""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import soxr
from aiohttp import BodyPartReader, web
from aiortc import MediaStreamTrack, RTCConfiguration, RTCDataChannel, RTCPeerConnection, RTCSessionDescription
from aiortc.mediastreams import MediaStreamError
from av.audio.frame import AudioFrame
from fakes.realtime.checks import Wrong, check
from fakes.realtime.dialects import Dialect
from fakes.realtime.parts import Speaker
from fakes.realtime.plan import RATE_HZ, Wave
from fakes.realtime.session import Session
from fakes.realtime.websocket import wrong_model
from fakes.vendor_server import VendorServer, failure
from openai.types.realtime import RealtimeSessionCreateRequest

from fdbcore.endpoints.webrtc.aiortc_seam import candidates_only_at

FRAME = RATE_HZ // 50
CHANNEL = "oai-events"


class Playout(MediaStreamTrack):
    """Plays what it is fed, 20 ms at a time, and silence else."""

    kind = "audio"

    def __init__(self) -> None:
        super().__init__()
        self._unplayed: Wave = np.zeros(0, np.int16)
        self._played = self._frames = 0
        self._start_s: float | None = None
        self._empty = asyncio.Event()
        self._empty.set()

    def feed(self, wave: Wave) -> None:
        self._unplayed = np.concatenate([self._unplayed, wave])
        self._empty.clear()

    def clear(self) -> float:
        played_ms = self._played * 1000 / RATE_HZ
        self._unplayed, self._played = self._unplayed[:0], 0
        self._empty.set()
        return played_ms

    async def drained(self) -> None:
        await self._empty.wait()

    async def recv(self) -> AudioFrame:
        loop = asyncio.get_running_loop()
        self._start_s = self._start_s or loop.time()
        await asyncio.sleep(max(0.0, self._start_s + self._frames / 50 - loop.time()))
        sounding, self._unplayed = self._unplayed[:FRAME], self._unplayed[FRAME:]
        self._played += len(sounding)
        if not len(self._unplayed):
            self._played = 0 if self._empty.is_set() else self._played
            self._empty.set()
        frame = AudioFrame.from_ndarray(np.pad(sounding, (0, FRAME - len(sounding)))[None, :], "s16", "mono")
        frame.sample_rate, frame.time_base, frame.pts = RATE_HZ, Fraction(1, RATE_HZ), self._frames * FRAME
        self._frames += 1
        return frame


class CallWire:
    """Events over the data channel, speech over the track."""

    def __init__(self, connection: RTCPeerConnection) -> None:
        self.playout = Playout()
        self.speaker: Speaker | None = self.playout
        self.channel: RTCDataChannel | None = None
        self._connection = connection

    async def send(self, text: str | bytes) -> None:
        if self.channel is None or self.channel.readyState != "open":
            raise ConnectionResetError
        self.channel.send(text)

    async def close(self, code: int, reason: str) -> None:
        # Others wait for the same end: they would be cancelled with the session that is.
        await asyncio.shield(self._connection.close())

    def abort(self) -> None:
        self._closing = asyncio.ensure_future(self._connection.close())


@dataclass
class CallDesk:
    """Takes calls. begin: makes a session of a wire and a model."""

    server: VendorServer
    dialect: Dialect
    begin: Callable[[CallWire, str], Session]
    connections: dict[str, RTCPeerConnection] = field(default_factory=dict)

    def routes(self) -> list[web.RouteDef]:
        path = self.dialect.path
        return [web.post(f"{path}/calls", self._call), web.post(f"{path}/calls/{{call_id}}/hangup", self._hang_up)]

    async def end(self) -> None:
        for connection in self.connections.values():
            await connection.close()

    async def _call(self, request: web.Request) -> web.Response:
        """The answer to an offer: a form with the session beside it."""
        if refused := self.server.keeps_out(request):
            return refused
        try:
            offer, given = await _parts(request)
            given = {"type": "realtime", **given}
            check(given, RealtimeSessionCreateRequest)
            if wrong := wrong_model(self.dialect, given.get("model", "")):
                raise wrong
        except Wrong as wrong:
            return failure(400, wrong)
        answer, call_id = await self._answer(offer, given)
        headers = {"Location": f"{self.dialect.path}/calls/{call_id}"}
        return web.Response(status=201, text=answer, content_type="application/sdp", headers=headers)

    async def _answer(self, offer: str, given: Mapping[str, Any]) -> tuple[str, str]:
        connection, call_id = RTCPeerConnection(RTCConfiguration(iceServers=[])), f"rtc_fake{len(self.connections):04d}"
        self.connections[call_id] = connection
        wire = CallWire(connection)
        session = self.begin(wire, given.get("model", ""))
        session.settings = self.dialect.updated(session.settings, given)

        @connection.on("datachannel")
        def open_channel(channel: RTCDataChannel) -> None:
            if channel.label == CHANNEL:
                wire.channel = channel
                channel.on("message", lambda text: session.start(session.take(text)))
                session.start(session.greet())

        @connection.on("track")
        def listen(track: MediaStreamTrack) -> None:
            session.start(_hear(track, session))

        @connection.on("connectionstatechange")
        def watch() -> None:
            if connection.connectionState in ("failed", "closed"):
                session.end()

        connection.addTrack(wire.playout)
        with candidates_only_at(["127.0.0.1"]):
            await connection.setRemoteDescription(RTCSessionDescription(offer, "offer"))
            await connection.setLocalDescription(await connection.createAnswer())
        return connection.localDescription.sdp, call_id

    async def _hang_up(self, request: web.Request) -> web.Response:
        if refused := self.server.keeps_out(request):
            return refused
        connection = self.connections.get(request.match_info["call_id"])
        if connection is None:
            return failure(404, Wrong("call_id_not_found", "No session found for the provided call_id."))
        await connection.close()
        return web.Response()


async def _parts(request: web.Request) -> tuple[str, dict[str, Any]]:
    """The offer and the session of a form."""
    parts = {}
    async for part in await request.multipart():
        if isinstance(part, BodyPartReader):
            parts[part.name] = await part.text()
    if "sdp" not in parts:
        raise Wrong("missing_required_parameter", "Missing required parameter: 'sdp'.", "sdp")
    return parts["sdp"], json.loads(parts.get("session", "{}"))


async def _hear(track: MediaStreamTrack, session: Session) -> None:
    """What comes in, at the rate of the session's input."""
    down = soxr.ResampleStream(48_000, RATE_HZ, 1, dtype="int16")
    while True:
        try:
            frame: Any = await track.recv()
        except MediaStreamError:
            return
        await session.hear(down.resample_chunk(frame.to_ndarray().reshape(-1, 2)[:, 0].copy()))
