"""The private names of aiortc and aioice that `aiortc_seam` uses: when a version changes one, this says which."""

import asyncio
import inspect
from typing import Any

import aioice.ice
import aiortc
import aiortc.clock
import numpy as np
import pylibsrtp
import pytest
from aiortc.rtcdtlstransport import RTCCertificate, RTCDtlsTransport, SRTPProtectionProfile
from aiortc.rtcrtpreceiver import StreamStatistics
from fakes.aiortc_peer import AiortcPeer
from helpers.patience import PATIENCE_S

from fdbcore.audio.opus import OpusEncoder
from fdbcore.clock import now_ns
from fdbcore.endpoints.webrtc import aiortc_seam
from fdbcore.endpoints.webrtc.peer import Peer
from fdbcore.endpoints.webrtc.rtp import RtpPacket


async def names_of_a_connection() -> dict[str, bool]:
    peer = AiortcPeer(None)
    transceiver = peer.connection.getTransceivers()[0]
    with aiortc_seam.candidates_only_at(["127.0.0.1"]):
        await peer.connection.setLocalDescription(await peer.connection.createOffer())
    dtls = transceiver.sender.transport
    ice = dtls.transport._connection
    protocol = ice._protocols[0]
    held = {
        "RTCRtpTransceiver._codecs": hasattr(transceiver, "_codecs"),
        "RTCRtpReceiver.__remote_streams": hasattr(transceiver.receiver, "_RTCRtpReceiver__remote_streams"),
        "RTCDtlsTransport._rx_srtp": hasattr(dtls, "_rx_srtp"),
        "RTCDtlsTransport._tx_srtp": hasattr(dtls, "_tx_srtp"),
        "RTCDtlsTransport._ssl": hasattr(dtls, "_ssl"),
        "RTCDtlsTransport._role": hasattr(dtls, "_role"),
        "RTCDtlsTransport._srtp_profiles": hasattr(dtls, "_srtp_profiles"),
        "Connection._nominated": hasattr(ice, "_nominated"),
        "Connection._protocols": ice._protocols == [protocol],
        "StunProtocol.transport": hasattr(protocol, "transport"),
        "the socket of a transport": protocol.transport.get_extra_info("socket") is not None,
        "candidates only where told": [candidate.host for candidate in ice.local_candidates] == ["127.0.0.1"],
    } | {
        f"RTCRtpSender.__{name}": hasattr(transceiver.sender, f"_RTCRtpSender__{name}")
        for name in ("packet_count", "octet_count", "rtp_timestamp", "ntp_timestamp")
    }
    held["RTCRtpSender._ssrc"] = hasattr(transceiver.sender, "_ssrc")
    await peer.vanish()
    return held


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_every_private_name_is_still_there() -> None:
    held = await names_of_a_connection()
    held |= {
        "StunProtocol.datagram_received": hasattr(aioice.ice.StunProtocol, "datagram_received"),
        "StunProtocol has a __dict__": hasattr(aioice.ice.StunProtocol, "__dict__"),
        "clock.current_ntp_time": callable(aiortc.clock.current_ntp_time),
        "SRTPProtectionProfile.get_key_and_salt": hasattr(SRTPProtectionProfile, "get_key_and_salt"),
        "StreamStatistics.add": list(inspect.signature(StreamStatistics.add).parameters) == ["self", "packet"],
        "get_host_addresses is a global of aioice.ice": "get_host_addresses("
        in inspect.getsource(aioice.ice.Connection.gather_candidates),
        "the library of pylibsrtp": hasattr(aiortc_seam._libsrtp, "srtp_protect"),
        "pylibsrtp.Session._srtp": "_srtp" in vars(pylibsrtp.Session()),
        "libsrtp's numbers": [pylibsrtp.ERRORS[status].partition(" (")[0] for status in aiortc_seam.REPLAYED]
        == ["replay check failed"] * 2,
        "RTCPeerConnection.__connect": inspect.iscoroutinefunction(
            getattr(aiortc.RTCPeerConnection, "_RTCPeerConnection__connect", None)
        ),
        "RTCPeerConnection.__certificates": "self.__certificates)"
        in inspect.getsource(getattr(aiortc.RTCPeerConnection, "_RTCPeerConnection__createDtlsTransport", object)),
        "RTCCertificate._create_ssl_context": list(inspect.signature(RTCCertificate._create_ssl_context).parameters)
        == ["self", "srtp_profiles"],
        "EXTRACTOR-dtls_srtp": "EXTRACTOR-dtls_srtp" in inspect.getsource(RTCDtlsTransport._setup_srtp),
    }
    missing = [name for name, is_there in held.items() if not is_there]
    assert not missing, f"aiortc {aiortc.__version__} has changed: {', '.join(missing)}"


class End:
    """One of two connected peers of ours, at two addresses, by its wire; `came` is what it heard."""

    def __init__(self, *addresses: str) -> None:
        self.peer = Peer(addresses=addresses)
        self.came: asyncio.Queue[RtpPacket] = asyncio.Queue()

    async def open(self) -> None:
        transceiver = await self.peer.transceiver(10)
        self.wire = aiortc_seam.AudioWire(transceiver, lambda packet, _: self.came.put_nowait(packet))
        dtls: Any = transceiver.sender.transport
        self.ice = dtls.transport._connection

    async def close(self) -> None:
        self.wire.close()
        await self.peer.close()

    async def nominate_another(self) -> tuple[str, int]:
        """Move to the other of its addresses and the other of its partner's, and leave the first; where to."""
        before = self.ice._nominated[1]
        protocol = next(p for p in self.ice._protocols if p is not before.protocol)
        candidates = [c for c in self.ice.remote_candidates if c.host != before.remote_candidate.host]
        remote = next(c for c in self.ice._remote_candidates if c.host == candidates[0].host)
        pair = aioice.ice.CandidatePair(protocol, remote)
        request = self.ice.build_request(pair, nominate=True)
        await protocol.request(request, pair.remote_addr, integrity_key=self.ice.remote_password.encode())
        self.ice._nominated[1] = pair
        before.protocol.transport.close()
        return pair.local_addr


async def test_a_connection_that_is_closed_while_it_connects_leaves_nothing_running() -> None:
    """Each is hung up a little later."""
    before = asyncio.all_tasks()
    for attempt in range(60):
        ours, theirs = Peer(addresses=["127.0.0.1"]), Peer(addresses=["127.0.0.1"])
        await ours.accept(await theirs.answer(await ours.offer()))
        await asyncio.sleep(attempt * 0.0005)
        await asyncio.gather(ours.close(), theirs.close())
    await asyncio.sleep(0.2)
    assert {repr(task.get_coro()) for task in asyncio.all_tasks() - before} == set()


async def test_a_pair_that_is_nominated_later_is_sent_to_and_heard() -> None:
    """The controlling peer moves to other addresses, at both ends, and is no longer at the first."""
    hub, guest = End("127.0.0.1", "127.0.0.3"), End("127.0.0.2", "127.0.0.4")
    await guest.peer.accept(await hub.peer.answer(await guest.peer.offer()))
    await asyncio.gather(hub.open(), guest.open())
    payload = OpusEncoder(10).encode(np.zeros(480, np.int16))
    heard = []
    for number in range(2):
        for speaker, listener in ((hub, guest), (guest, hub)):
            speaker.wire.send(payload, number, 480 * number, now_ns())
            async with asyncio.timeout(PATIENCE_S):
                assert (await listener.came.get()).sequence == number
        heard.append((hub.ice._nominated[1].local_addr[0], hub.ice._nominated[1].remote_addr[0]))
        if number == 0:
            moved_to = await guest.nominate_another()
            async with asyncio.timeout(PATIENCE_S):
                while hub.ice._nominated[1].remote_addr != moved_to:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
    await asyncio.gather(hub.close(), guest.close())
    before, after = heard
    assert before[0] != after[0]
    assert before[1] != after[1]
