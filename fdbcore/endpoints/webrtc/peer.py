"""One WebRTC peer: negotiates, connects, and watches the connection, because aiortc fails silently."""

import asyncio
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final

from aiortc import RTCConfiguration, RTCIceServer, RTCRtpSender, RTCRtpTransceiver, RTCSessionDescription
from aiortc.exceptions import InvalidStateError
from aiortc.sdp import candidate_from_sdp

from fdbcore.endpoints.webrtc import HUNG_UP
from fdbcore.endpoints.webrtc.aiortc_seam import PeerConnection, SilentTrack, candidates_only_at
from fdbcore.endpoints.webrtc.description import RemoteDescription
from fdbcore.endpoints.webrtc.leg import Leg
from fdbcore.errors import PartyError

SHORT_PACKET_MS: Final = 10
LONG_PACKET_MS: Final = 20
PACKETS_S: Final = 1.0  # the clock map needs packets for this long ...
SILENCE_S: Final = 2.0  # ... but a peer that sends none holds up the start only this long
REMOTE_SDP_CHARS: Final = 60  # shown of a bad description in an error


class Peer:
    """The connection to one peer. Use it on the event loop only.

    packet_ms: 10 or 20; the peer's limits may change it (RFC 7587, section 6.1).
    ice_servers: STUN and TURN servers; none by default.
    addresses: where to listen; None for every address of the machine except loopback.
    left: why the peer is gone; None while it is there.
    """

    def __init__(
        self, packet_ms: int = SHORT_PACKET_MS, ice_servers: Sequence[str] = (), addresses: Sequence[str] | None = None
    ) -> None:
        self.left: str | None = None
        self._packet_ms = packet_ms
        self._addresses = addresses
        self._leg: Leg | None = None
        self._settled = asyncio.Event()  # set once the peer is connected, or never will be
        self._sources_beside: frozenset[int] = frozenset()
        servers = RTCConfiguration([RTCIceServer(url) for url in ice_servers])
        self._connection = PeerConnection(servers, self._on_fault)
        self._connection.on("connectionstatechange", self._on_state)
        self._transceiver = self._connection.addTransceiver(SilentTrack(), "sendrecv")
        opus = [codec for codec in RTCRtpSender.getCapabilities("audio").codecs if codec.mimeType == "audio/opus"]
        self._transceiver.setCodecPreferences(opus)

    def channel(
        self,
        label: str,
        on_text: Callable[[str | bytes], None],
        on_close: Callable[[], None],
        on_open: Callable[[], None] = lambda: None,
    ) -> Callable[[str], None]:
        """Open a data channel with the connection, and return what sends a text on it; make it before the offer.

        A text that is sent while the channel is not open is lost.
        """
        channel = self._connection.createDataChannel(label)
        channel.on("message", on_text)
        channel.on("close", on_close)
        channel.on("open", on_open)

        def send(text: str) -> None:
            if channel.readyState == "open":
                channel.send(text)

        return send

    async def answer(self, offer_sdp: str) -> str:
        """Our answer to an offer; only its first audio section is active. PartyError if the offer cannot be used."""
        offer = self._read(offer_sdp, "offer")
        with _usable("offer"), candidates_only_at(self._addresses):
            await self._connection.setRemoteDescription(RTCSessionDescription(str(offer), "offer"))
            for beside in self._connection.getTransceivers():
                if beside is not self._transceiver:
                    beside.direction = "inactive"
            await self._connection.setLocalDescription(await self._connection.createAnswer())
        self._heed(offer)
        return self._description(bundles=offer.bundles)

    async def offer(self) -> str:
        """Our own offer. `accept` takes the answer to it."""
        with candidates_only_at(self._addresses):
            await self._connection.setLocalDescription(await self._connection.createOffer())
        return self._description()

    async def accept(self, answer_sdp: str) -> None:
        """Take the peer's answer to `offer`. PartyError if it cannot be used."""
        answer = self._read(answer_sdp, "answer")
        with _usable("answer"):
            await self._connection.setRemoteDescription(RTCSessionDescription(str(answer), "answer"))
        self._heed(answer)

    async def add_candidate(self, candidate: str, mid: str | None, line_index: int | None) -> None:
        """Take one more ICE candidate of the peer, as in a line of SDP; "" means that there are no more."""
        if not candidate:
            await self._connection.addIceCandidate(None)
            return
        try:
            parsed = candidate_from_sdp(candidate.removeprefix("a=").removeprefix("candidate:"))
            parsed.sdpMid, parsed.sdpMLineIndex = mid, line_index or 0
            await self._connection.addIceCandidate(parsed)
        except (AssertionError, IndexError, ValueError, InvalidStateError) as error:
            raise PartyError(f"webrtc: expected an ICE candidate, got {candidate[:REMOTE_SDP_CHARS]!r}") from error

    def leave(self, reason: str) -> None:
        """Note that the peer has left. The first reason stays."""
        self.left = self.left or reason
        self._settled.set()

    async def connected(self, timeout_s: float) -> Leg:
        """The audio leg, once packets flow both ways and the clock map can be set. PartyError after `timeout_s`."""
        self._leg = Leg(await self.transceiver(timeout_s), self._packet_ms, self._sources_beside)
        with suppress(TimeoutError):
            async with asyncio.timeout(SILENCE_S):
                await self._leg.heard_from.wait()
        if self._leg.heard_from.is_set():
            await asyncio.sleep(PACKETS_S)
        return self._leg

    async def transceiver(self, timeout_s: float) -> RTCRtpTransceiver:
        """The transceiver of the audio, once the connection is encrypted. PartyError after `timeout_s`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._settled.wait()
        if self.left is not None or not self._settled.is_set():
            state = self.left or f"{self._connection.connectionState}, {self._stage()}"
            raise PartyError(f"webrtc: expected a connection within {timeout_s:g} s, got: {state}")
        return self._transceiver

    async def close(self) -> None:
        """Hang up. Nothing is left running."""
        self.leave("finished")
        await self._connection.close()
        if self._leg is not None:
            self._leg.close()

    def _on_state(self) -> None:
        state = self._connection.connectionState
        if state == "connected":
            self._settled.set()
        elif state in ("failed", "closed"):
            self.leave(f"connection failed, {self._stage()}" if state == "failed" else HUNG_UP)

    def _stage(self) -> str:
        """The stage that connecting reached, to help find what blocked it."""
        if self._connection.iceConnectionState == "completed":
            return "with a path by ICE, without encryption by DTLS"
        offered = f" (offered {', '.join(self._addresses)} alone; see `candidates`)" if self._addresses else ""
        return f"without a path by ICE{offered}"

    def _on_fault(self, fault: Exception) -> None:
        self.leave(f"connection failed: {fault!r}")

    def _read(self, sdp: str, kind: str) -> RemoteDescription:
        if not (sdp.startswith("v=0") and re.search(r"^m=audio ", sdp, re.MULTILINE)):
            raise PartyError(f"webrtc: expected an SDP {kind} with audio, got {sdp[:REMOTE_SDP_CHARS]!r}")
        description = RemoteDescription(sdp)
        if not description.is_certified:
            raise PartyError(f"webrtc: expected an SDP {kind} with a=fingerprint, got none: only DTLS is spoken")
        return description

    def _heed(self, description: RemoteDescription) -> None:
        """Apply the peer's packet lengths and other sources, which aiortc does not negotiate."""
        least_ms, most_ms = description.packet_ms()
        if least_ms > SHORT_PACKET_MS:
            self._packet_ms = LONG_PACKET_MS
        if most_ms < LONG_PACKET_MS:
            self._packet_ms = SHORT_PACKET_MS
        self._sources_beside = description.sources_beside(self._transceiver.mid)

    def _description(self, bundles: bool = True) -> str:
        """Our description, plus the length of our packets, which aiortc does not state (RFC 7587, section 7)."""
        opus = r"^(a=rtpmap:(\d+) opus/48000/2\r?\n)"
        stated = rf"\1a=fmtp:\2 minptime={SHORT_PACKET_MS}\r\na=ptime:{self._packet_ms}\r\n"
        sdp = re.sub(opus, stated, self._connection.localDescription.sdp, count=1, flags=re.MULTILINE)
        return sdp if bundles else re.sub(r"^a=group:BUNDLE.*\r\n", "", sdp, count=1, flags=re.MULTILINE)


@contextmanager
def _usable(kind: str) -> Iterator[None]:
    """Turn any error that a description causes in aiortc into PartyError: its parser has no error of its own."""
    try:
        yield
    except Exception as error:  # KeyError, IndexError, AssertionError, AttributeError ...
        raise PartyError(f"webrtc: expected an SDP {kind} with Opus, got one that fails: {error!r}") from error
