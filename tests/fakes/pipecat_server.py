"""A Pipecat bot as its clients see it: the offer endpoint of the SmallWebRTC transport, and RTVI on the data channel.

    async with PipecatServer() as server:
        endpoint(f"pipecat://127.0.0.1:{server.port}")
        server.offers[0], server.told, server.pings

Like Pipecat 1.14: it takes a client that pinged once, and then not for 3 s, for gone; it answers `client-ready` with
`bot-ready`, and then tells `tells`. Nothing is told to a client that never says that it is ready.
"""

import json
import time
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from aiohttp import web
from aiortc import RTCConfiguration, RTCDataChannel, RTCPeerConnection, RTCSessionDescription
from fakes.aiortc_peer import PcmTrack

from fdbcore.endpoints.webrtc.aiortc_seam import candidates_only_at

ABOUT = {"library": "pipecat-ai", "library_version": "1.14.0"}


def rtvi(kind: str, **data: object) -> dict[str, Any]:
    """A message of RTVI; without data it has none."""
    return {"label": "rtvi-ai", "type": kind, **({"data": data} if data else {})}


class PipecatServer:
    """See the module. tells: messages after `bot-ready`. is_broken: its pipeline does not run."""

    def __init__(self, tells: Sequence[dict[str, Any]] = (), is_broken: bool = False) -> None:
        self.tells, self.is_broken = tells, is_broken
        self.offers: list[dict[str, Any]] = []
        self.starts: list[dict[str, Any]] = []
        self.told: list[tuple[float, dict[str, Any]]] = []
        self.pings: list[float] = []
        self.port = 0
        self._peers: list[RTCPeerConnection] = []

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_post("/api/offer", self._offer)
        app.router.add_post("/start", self._start)
        app.router.add_post("/sessions/{session}/api/offer", self._offer)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *error: object) -> None:
        for peer in self._peers:
            await peer.close()
        await self._runner.cleanup()

    async def _start(self, request: web.Request) -> web.Response:
        self.starts.append(await request.json())
        return web.json_response({"sessionId": f"s {len(self.starts)}"})

    async def _offer(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.offers.append({**body, "session": request.match_info.get("session")})
        peer = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        self._peers.append(peer)
        peer.addTrack(PcmTrack(np.zeros(0, np.int16)))
        peer.on("datachannel", self._talk)
        with candidates_only_at(["127.0.0.1"]):
            await peer.setRemoteDescription(RTCSessionDescription(body["sdp"], "offer"))
            await peer.setLocalDescription(await peer.createAnswer())
        return web.json_response({"sdp": peer.localDescription.sdp, "type": "answer", "pc_id": "SmallWebRTC#0"})

    def _talk(self, channel: RTCDataChannel) -> None:
        @channel.on("message")  # type: ignore[untyped-decorator,unused-ignore]
        def take(message: str) -> None:
            if message.startswith("ping"):
                self.pings.append(time.monotonic())
                return
            event = json.loads(message)
            self.told.append((time.monotonic(), event))
            if event["type"] == "client-ready" and not self.is_broken:
                for each in ({**rtvi("bot-ready", version="2.2.0", about=ABOUT), "id": event["id"]}, *self.tells):
                    channel.send(json.dumps(each))
