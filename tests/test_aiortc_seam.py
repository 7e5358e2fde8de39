"""The private names of aiortc and aioice that `aiortc_seam` uses: when a version changes one, this says which."""

from __future__ import annotations

import inspect

import aioice.ice
import aiortc
import aiortc.clock
import pylibsrtp
import pytest
from aiortc.rtcdtlstransport import RTCDtlsTransport, SRTPProtectionProfile
from aiortc.rtcrtpreceiver import StreamStatistics
from fakes.aiortc_peer import AiortcPeer

from fdbcore.network import await_result
from fdbcore.rtc import aiortc_seam


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
def test_every_private_name_is_still_there() -> None:
    held = await_result(names_of_a_connection(), 10)
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
        "EXTRACTOR-dtls_srtp": "EXTRACTOR-dtls_srtp" in inspect.getsource(RTCDtlsTransport._setup_srtp),
    }
    missing = [name for name, is_there in held.items() if not is_there]
    assert not missing, f"aiortc {aiortc.__version__} has changed: {', '.join(missing)}"
