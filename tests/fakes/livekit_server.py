"""A LiveKit server with one agent in its room, as far as LiveKit's SDK can see.

It speaks protobuf over a WebSocket, and has two peer connections of aiortc's, one each way.

    with LiveKitServer(Plan(says=speech)) as server:
        ... f"livekit://{server.place}/{ROOM}", server.visits[0].heard

The order of messages is that of LiveKit's protocol 16: `join` with who is there; our `offer` for what the client hears,
its `answer`; for each of its tracks `add_track`, `track_published`, its `offer` and our `answer`; `leave`.
"""

import asyncio
import json
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from aiohttp import web
from aiortc import (
    MediaStreamTrack,
    RTCConfiguration,
    RTCDataChannel,
    RTCIceCandidate,
    RTCPeerConnection,
    RTCSessionDescription,
)
from aiortc.mediastreams import MediaStreamError
from aiortc.sdp import candidate_from_sdp
from fakes.loopback import Loopback, serve_alone
from fakes.realtime.plan import Wave, tones
from fakes.realtime.webrtc import Playout
from helpers.patience import PATIENCE_S
from livekit import api
from livekit.api.access_token import Claims
from livekit.protocol import models, rtc

from fdbcore.endpoints.webrtc.aiortc_seam import candidates_only_at

ROOM: Final = "lobby"
KEY: Final = "APIfake0123456789"
SECRET: Final = "fake-secret-0123456789abcdef-0123456789abcdef"
LOUD: Final = 1000


@dataclass(frozen=True)
class Plan:
    """What the agent does.

    says: at 24 kHz, each time it hears sound after silence, the last one again. kind: of the participant. joins_s: so
    long after the client. let_in_s: how late the server answers the client; None: never. breaks_off_s: so long after it
    has begun to speak, all connections are gone.
    """

    says: Sequence[Wave] = ()
    kind: Any = models.ParticipantInfo.AGENT
    joins_s: float = 0.0
    let_in_s: float | None = 0.0
    breaks_off_s: float | None = None


class LiveKitServer(Loopback):
    """visits: of the clients that were let in."""

    def __init__(self, plan: Plan | None = None, secret: str = SECRET) -> None:
        super().__init__()
        self.plan, self.visits, self._secret = plan or Plan(), list[Visit](), secret
        self.sessions = self.visits
        self._closings: list[asyncio.Future[None]] = []

    @property
    def place(self) -> str:
        return self.url("http").removeprefix("http://")

    def introduction(self) -> str:
        return f"livekit://{self.place}/{ROOM} {KEY} {self._secret}"

    def routes(self) -> Sequence[web.RouteDef]:
        return [web.get("/rtc", self._join), web.get("/rtc/validate", self._validate)]

    async def stop(self) -> None:
        await super().stop()
        await asyncio.gather(*self._closings)

    def do(self, cue: Coroutine[Any, Any, None]) -> None:
        """Have a visit do something, and wait until it is done."""
        asyncio.run_coroutine_threadsafe(cue, self._loop).result(PATIENCE_S)

    def _claims(self, request: web.Request) -> Claims | str:
        """Who asks to be let in, or why nobody is."""
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        try:
            claims = api.TokenVerifier(KEY, self._secret).verify(token)
        except Exception as error:
            return f"invalid token: {token}, error: {error}"
        allowed = claims.video is not None and claims.video.room_join and claims.video.room
        return claims if allowed else "permissions denied"

    async def _validate(self, request: web.Request) -> web.Response:
        claims = self._claims(request)
        return web.Response(status=401, text=claims) if isinstance(claims, str) else web.Response(text="success")

    async def _join(self, request: web.Request) -> web.StreamResponse:
        claims = self._claims(request)
        if isinstance(claims, str):
            return web.Response(status=401, text=claims)
        ws = web.WebSocketResponse()
        await ws.prepare(request)
        if self.plan.let_in_s is None:
            await asyncio.sleep(3600)
        await asyncio.sleep(self.plan.let_in_s or 0)
        assert claims.video is not None
        visit = Visit(self.plan, ws, claims.identity, claims.video.room)
        self.visits.append(visit)
        try:
            await visit.hold()
        finally:  # on its own, as this task is cancelled when the client has gone
            self._closings.append(asyncio.ensure_future(visit.close()))
        return ws


@dataclass
class Visit:
    """One client in the room. heard: what it said, int16 at 48 kHz, from its first packet on. asked: its requests."""

    plan: Plan
    ws: web.WebSocketResponse
    identity: str
    room: str
    heard: Wave = field(default_factory=lambda: np.zeros(0, np.int16))
    asked: list[str] = field(default_factory=list)
    errors: list[BaseException] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.down = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        self.up = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        self.playout = Playout()
        self._channel: RTCDataChannel | None = None
        self._replies = 0
        self._early: list[tuple[RTCPeerConnection, RTCIceCandidate]] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def hold(self) -> None:
        me = models.ParticipantInfo(sid="PA_client", identity=self.identity, state=models.ParticipantInfo.JOINED)
        me.permission.CopyFrom(
            models.ParticipantPermission(can_subscribe=True, can_publish=True, can_publish_data=True)
        )
        await self.send(
            join=rtc.JoinResponse(
                room=models.Room(sid="RM_fake", name=self.room),
                participant=me,
                other_participants=[] if self.plan.joins_s else [self.agent()],
                server_version="1.9.0",
                subscriber_primary=True,
                ping_timeout=15,
                ping_interval=5,
            )
        )
        self._channel = self.down.createDataChannel("_reliable")
        self.down.createDataChannel("_lossy", ordered=False, maxRetransmits=0)
        if not self.plan.joins_s:
            self._add_track()
        await self._offer()
        if self.plan.joins_s:
            self.start(self._join_late())
        async for message in self.ws:
            await self._take(rtc.SignalRequest.FromString(message.data))

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._note_end)

    def _note_end(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.errors.append(error)

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await self.up.close()
        await self.down.close()

    async def send(self, **response: Any) -> None:
        await self.ws.send_bytes(rtc.SignalResponse(**response).SerializeToString())

    def agent(self, **changed: Any) -> models.ParticipantInfo:
        track = models.TrackInfo(sid="TR_agent", type=models.TrackType.AUDIO, name="roomio_audio")
        track.source, track.mime_type = models.TrackSource.MICROPHONE, "audio/opus"
        state = {"state": models.ParticipantInfo.ACTIVE, "tracks": [track], **changed}
        return models.ParticipantInfo(
            sid="PA_agent", identity="agent-1", kind=self.plan.kind, is_publisher=True, **state
        )

    async def _join_late(self) -> None:
        await asyncio.sleep(self.plan.joins_s)
        await self.send(update=rtc.ParticipantUpdate(participants=[self.agent()]))
        self._add_track()
        await self._offer()

    def _add_track(self) -> None:
        sender = self.down.addTrack(self.playout)
        # The client learns by these whose track it is.
        sender._stream_id, sender._track_id = "PA_agent|TR_agent", "TR_agent"

    async def _offer(self) -> None:
        with candidates_only_at(["127.0.0.1"]):
            await self.down.setLocalDescription(await self.down.createOffer())
        await self.send(offer=rtc.SessionDescription(type="offer", sdp=self.down.localDescription.sdp))

    async def _take(self, request: rtc.SignalRequest) -> None:
        kind = request.WhichOneof("message")
        self.asked.append(str(kind))
        if kind == "answer":
            await self.down.setRemoteDescription(RTCSessionDescription(request.answer.sdp, "answer"))
            await self._take_early(self.down)
        elif kind == "offer":
            await self._answer(request.offer.sdp)
        elif kind == "trickle":
            await self._trickle(request.trickle)
        elif kind == "add_track":
            asked = request.add_track
            track = models.TrackInfo(sid="TR_client", type=asked.type, name=asked.name, source=asked.source)
            await self.send(track_published=rtc.TrackPublishedResponse(cid=asked.cid, track=track))
        elif kind == "ping_req":
            now_ms = int(time.time() * 1000)
            await self.send(pong_resp=rtc.Pong(last_ping_timestamp=request.ping_req.timestamp, timestamp=now_ms))

    async def _answer(self, offer: str) -> None:
        self.up.on("track", lambda track: self.start(self._listen(track)))
        with candidates_only_at(["127.0.0.1"]):
            await self.up.setRemoteDescription(RTCSessionDescription(offer, "offer"))
            await self.up.setLocalDescription(await self.up.createAnswer())
        await self._take_early(self.up)
        await self.send(answer=rtc.SessionDescription(type="answer", sdp=self.up.localDescription.sdp))

    async def _trickle(self, trickle: rtc.TrickleRequest) -> None:
        told = json.loads(trickle.candidateInit)
        candidate = candidate_from_sdp(told["candidate"].removeprefix("candidate:"))
        candidate.sdpMid, candidate.sdpMLineIndex = told["sdpMid"], told["sdpMLineIndex"]
        connection = self.up if trickle.target == rtc.SignalTarget.PUBLISHER else self.down
        if connection.remoteDescription is None:
            self._early.append((connection, candidate))
        else:
            await connection.addIceCandidate(candidate)

    async def _take_early(self, connection: RTCPeerConnection) -> None:
        """Add the candidates that came before the description that they belong to."""
        for each, candidate in self._early:
            if each is connection:
                await connection.addIceCandidate(candidate)

    async def _listen(self, track: MediaStreamTrack) -> None:
        was_loud = False
        while True:
            try:
                frame: Any = await track.recv()
            except MediaStreamError:
                return
            pcm = frame.to_ndarray().reshape(-1, 2)[:, 0]
            self.heard = np.concatenate([self.heard, pcm])
            is_loud = bool(np.abs(self.heard[-9600:]).max() > LOUD)  # within the last 0.2 s
            if is_loud and not was_loud:
                self._reply()
            was_loud = is_loud

    def _reply(self) -> None:
        if self.plan.says:
            self.playout.feed(self.plan.says[min(self._replies, len(self.plan.says) - 1)])
            self._replies += 1
            if self.plan.breaks_off_s is not None:
                self.start(self._later(self.plan.breaks_off_s, self.abort))

    async def _later(self, seconds: float, act: Callable[[], Coroutine[Any, Any, None]]) -> None:
        await asyncio.sleep(seconds)
        await act()

    # Cues

    async def abort(self) -> None:
        """All connections are gone."""
        assert self.ws._req is not None
        transport = self.ws._req.transport
        assert isinstance(transport, asyncio.Transport)
        transport.abort()

    async def depart(self, reason: Any = models.DisconnectReason.CLIENT_INITIATED) -> None:
        """The agent leaves the room."""
        gone = self.agent(state=models.ParticipantInfo.DISCONNECTED, tracks=[], disconnect_reason=reason)
        await self.send(update=rtc.ParticipantUpdate(participants=[gone]))

    async def unpublish(self) -> None:
        """The agent takes its track away, and stays."""
        await self.send(update=rtc.ParticipantUpdate(participants=[self.agent(tracks=[])]))

    async def dismiss(self, reason: Any) -> None:
        """The server ends the client's connection."""
        await self.send(leave=rtc.LeaveRequest(reason=reason, action=rtc.LeaveRequest.DISCONNECT))

    async def change(self, attributes: dict[str, str]) -> None:
        """The agent's attributes change, as its state does."""
        await self.send(update=rtc.ParticipantUpdate(participants=[self.agent(attributes=attributes, version=2)]))

    async def transcribe(self, identity: str, text: str, number: int = 0) -> None:
        """A transcript as agents publish it: as a text stream, and as the packet before there were any."""
        stream, final = f"ST_{number}", {"lk.transcription_final": "true"}
        header = models.DataStream.Header(stream_id=stream, topic="lk.transcription", mime_type="text/plain")
        header.timestamp, header.attributes["lk.transcription_final"] = int(time.time() * 1000), "false"
        header.text_header.CopyFrom(models.DataStream.TextHeader())
        half = len(text) // 2
        self.publish(identity, stream_header=header)
        for index, part in enumerate((text[:half], text[half:])):
            chunk = models.DataStream.Chunk(stream_id=stream, chunk_index=index, content=part.encode())
            self.publish(identity, stream_chunk=chunk)
        self.publish(identity, stream_trailer=models.DataStream.Trailer(stream_id=stream, attributes=final))
        self.transcribe_by_packet(identity, text)

    def transcribe_by_packet(self, identity: str, text: str) -> None:
        segment = models.TranscriptionSegment(id="SG", text=text, final=True)
        words = models.Transcription(transcribed_participant_identity=identity, track_id="TR_agent", segments=[segment])
        self.publish("agent-1", transcription=words)

    def publish(self, identity: str, **packet: Any) -> None:
        """Send a packet in the name of a participant."""
        assert self._channel is not None
        data = models.DataPacket(kind=models.DataPacket.RELIABLE, participant_identity=identity, **packet)
        self._channel.send(data.SerializeToString())


if __name__ == "__main__":
    serve_alone(LiveKitServer(Plan(says=[tones(2, 1)])))
