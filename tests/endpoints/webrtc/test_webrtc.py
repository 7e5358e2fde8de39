"""Conversations over real WebRTC, with peers that are not ours."""

import asyncio
import re
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from aiortc import RTCSessionDescription
from fakes.aiortc_peer import AiortcPeer, PcmTrack
from fakes.loopback import free_port
from fakes.parties import Caller, Speaker
from helpers.patience import PATIENCE_S

from fdbcore.endpoints.webrtc.endpoint import Joined
from fdbcore.endpoints.webrtc.peer import Peer
from fdbcore.errors import PartyError
from fdbcore.protocols import Endpoint
from fdbcore.recording.files import AUDIO
from fdbcore.recording.meta import KnownMeta
from fdbcore.recording.reader import Recording
from fdbcore.registry import endpoint
from fdbcore.runs.replays import replay
from fdbcore.runtime.network import await_result
from fdbcore.session.converse import LiveSettings, converse
from fdbcore.types import SAMPLE_RATE_HZ, SIDES, Pcm

pytestmark = pytest.mark.live

RUN_S = 3.0
LOOPBACK = "127.0.0.1"


@pytest.fixture
def port() -> int:
    return free_port()


def bursts(seconds: float, hz: float, first_s: float) -> Pcm:
    """Half a second of a tone in each second, from `first_s` on."""
    n = np.arange(int(seconds * SAMPLE_RATE_HZ))
    sounds = ((n / SAMPLE_RATE_HZ - first_s) % 1.0 < 0.5) & (n >= first_s * SAMPLE_RATE_HZ)
    tone: Pcm = (9000 * np.sin(2 * np.pi * hz * n / SAMPLE_RATE_HZ) * sounds).astype(np.int16)
    return tone


def stored(recording: Recording) -> Pcm:
    data = (recording.path / AUDIO).read_bytes()
    return np.frombuffer(data[80:], dtype="<i2").reshape(-1, 2)


def loudest_hz(pcm: Pcm) -> float:
    spectrum = np.abs(np.fft.rfft(pcm.astype(np.float64)))
    return float(np.argmax(spectrum) * SAMPLE_RATE_HZ / len(pcm))


def hold(
    a: Endpoint,
    b: Endpoint,
    path: Path,
    peers: Coroutine[Any, Any, None] | None = None,
    max_s: float = RUN_S,
    meta: KnownMeta | None = None,
) -> Recording:
    """A conversation, while `peers` do their part on the loop."""
    playing: Any = None
    if peers is not None:
        from fdbcore.runtime.network import event_loop

        playing = asyncio.run_coroutine_threadsafe(peers, event_loop())
    settings = LiveSettings(vad="energy", max_s=max_s)
    recording = converse(a, b, path, settings, meta or {}, threading.Event())
    if playing is not None:
        playing.result(PATIENCE_S)
    return recording


async def stay(peers: Mapping[str, AiortcPeer], port: int, seconds: float, leave: Callable[[AiortcPeer], Any]) -> None:
    """Join, and leave once the hub has hung up on all, after `seconds` at the latest."""
    url = f"http://{LOOPBACK}:{port}"
    await asyncio.gather(*(peer.join(url, side) for side, peer in peers.items()))
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while any(  # noqa: ASYNC110
                peer.connection.connectionState not in ("closed", "failed") for peer in peers.values()
            ):
                await asyncio.sleep(0.02)
    await asyncio.gather(*(leave(peer) for peer in peers.values()))


async def listening(port: int) -> None:
    """Returns once somebody listens there."""
    while True:
        with suppress(ConnectionRefusedError):
            _, writer = await asyncio.open_connection(LOOPBACK, port)
            return writer.close()
        await asyncio.sleep(0.01)


async def made(pcm: Pcm | None) -> AiortcPeer:
    return AiortcPeer(pcm)


def test_two_peers_of_aiortc_hear_each_other_and_replay_to_the_same_events(tmp_path: Path, port: int) -> None:
    a = await_result(made(bursts(9, 440, 0.3)), PATIENCE_S)
    b = await_result(made(bursts(9, 1000, 0.8)), PATIENCE_S)
    address = f"webrtc://{LOOPBACK}:{port}"
    peers = stay({"a": a, "b": b}, port, RUN_S + 3.5, AiortcPeer.vanish)
    recording = hold(Joined(address), Joined(address), tmp_path / "live", peers)
    assert recording.meta["outcome"]["kind"] == "done"
    audio = stored(recording)
    assert len(audio) == recording.n_ticks * 480 == RUN_S * SAMPLE_RATE_HZ
    assert [round(loudest_hz(side), -1) for side in audio.T] == [440, 1000]
    assert [round(loudest_hz(peer.heard), -1) for peer in (a, b)] == [1000, 440]
    again = replay(recording.path, out=tmp_path / "again", vad="energy")
    assert again.turn_events == recording.turn_events
    assert any(event.kind == "speech_end" and event.side == "B" for event in again.turn_events)
    for side in SIDES:
        measured = recording.meta["timing"]["sides"][side]
        assert measured["wire"]["n"] == recording.n_ticks - recording.meta["timing"]["missed"]
        assert measured["lost"] == 0
        assert measured["received"] > 100


@pytest.mark.parametrize(("ptime", "packets"), [(10, 150), (20, 75)])
def test_packets_have_the_length_that_was_asked_for(tmp_path: Path, port: int, ptime: int, packets: int) -> None:
    b = await_result(made(bursts(5, 1000, 0.0)), PATIENCE_S)
    party = Joined(f"webrtc://{LOOPBACK}:{port}?ptime={ptime}")
    recording = hold(Speaker([True] * 150), party, tmp_path, stay({"b": b}, port, 4.0, AiortcPeer.vanish))
    wire, missed = party.measured()["wire"], recording.meta["timing"]["missed"]
    assert packets - 5 - missed <= wire["n"] <= packets


def test_of_two_tracks_the_first_is_heard(tmp_path: Path, port: int) -> None:
    async def made_with_two() -> AiortcPeer:
        peer = AiortcPeer(bursts(6, 440, 0.0))
        peer.connection.addTrack(PcmTrack(bursts(6, 1760, 0.0)))
        return peer

    b = await_result(made_with_two(), PATIENCE_S)
    party = Joined(f"webrtc://{LOOPBACK}:{port}")
    recording = hold(Speaker([True] * 200), party, tmp_path, stay({"b": b}, port, 4.0, AiortcPeer.vanish))
    spectrum = np.abs(np.fft.rfft(stored(recording)[:, 1].astype(np.float64)))
    first, second = (spectrum[round(hz * len(stored(recording)) / SAMPLE_RATE_HZ)] for hz in (440, 1760))
    assert first > 100 * second
    assert party.measured()["new_ssrcs"] == 0


async def come_and_go(port: int, hangs_up: bool) -> None:
    """As one who offers, and whose process is gone before it is connected; perhaps it says so."""
    visitor = AiortcPeer(bursts(1, 440, 0.0))
    await listening(port)
    await visitor.ask(f"http://{LOOPBACK}:{port}", "b", 10)
    await (visitor.hang_up() if hangs_up else visitor.vanish())


@pytest.mark.parametrize("hangs_up", [False, True])
def test_who_comes_and_goes_neither_takes_the_seat_nor_ends_the_wait(tmp_path: Path, port: int, hangs_up: bool) -> None:
    b = await_result(made(bursts(9, 1000, 0.0)), PATIENCE_S)
    party = Joined(f"webrtc://{LOOPBACK}:{port}?join_s=30")

    async def peers() -> None:
        for _ in range(2):
            await come_and_go(port, hangs_up)
        await stay({"b": b}, port, RUN_S + 3.5, AiortcPeer.vanish)

    recording = hold(Speaker([True] * 100), party, tmp_path, peers())
    assert recording.n_ticks == 100
    assert round(loudest_hz(stored(recording)[:, 1]), -1) == 1000


async def test_a_connection_whose_task_dies_fails_with_its_reason() -> None:
    """No certificate is named for the audio: aiortc notices once it has a path, in a task that nobody awaits."""
    ours, theirs = Peer(addresses=[LOOPBACK]), await made(None)
    theirs.connection.addTransceiver("video")
    await theirs.gather()
    session, audio, video = theirs.connection.localDescription.sdp.split("m=")
    audio = re.sub(r"a=fingerprint:.*\r\n", "", audio)
    answer = await ours.answer(f"{session}m={audio}m={video}")
    await theirs.connection.setRemoteDescription(RTCSessionDescription(answer, "answer"))
    with pytest.raises(PartyError, match=r"within 10 s, got: connection failed: AssertionError\(\)$"):
        await ours.transceiver(10)
    while theirs.connection.iceConnectionState == "checking":  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    await ours.close()
    await theirs.vanish()


def test_we_join_a_hub_as_others_join_us(tmp_path: Path, port: int) -> None:
    hub: list[Recording] = []
    speaks = [tick % 50 < 25 for tick in range(200)]

    def serve() -> None:
        hub.append(hold(Caller(speaks), Joined(f"webrtc://{LOOPBACK}:{port}"), tmp_path / "hub"))

    serving = threading.Thread(target=serve)
    serving.start()
    await_result(listening(port), PATIENCE_S)
    guest = hold(Speaker([False] * 150), endpoint(f"whip://{LOOPBACK}:{port}/whip/b"), tmp_path / "guest", max_s=1.5)
    serving.join()
    assert guest.activity[1].any()
    assert hub[0].meta["outcome"] == {"kind": "failed", "side": "B", "reason": "no speech found"}


def test_a_hub_that_is_not_there_is_named_in_one_plain_line(port: int) -> None:
    party = endpoint(f"whip://{LOOPBACK}:{port}/whip/b")
    try:
        with pytest.raises(
            PartyError, match=rf"^http://{LOOPBACK}:{port}/whip/b: expected a WHIP server, got: \[Errno"
        ):
            party.open("B")
    finally:
        party.close()


def test_a_side_waits_to_be_joined_once_its_port_answers(port: int) -> None:
    party = Joined(f"webrtc://{LOOPBACK}:{port}")
    with ThreadPoolExecutor(1) as pool:
        opening = pool.submit(party.open, "B")
        while not party.waits:
            assert not opening.done()
            time.sleep(0.01)
        socket.create_connection((LOOPBACK, port), timeout=10).close()
        party.close()
        assert isinstance(opening.exception(PATIENCE_S), PartyError)


def test_nobody_comes(tmp_path: Path, port: int) -> None:
    recording = hold(Speaker([True]), Joined(f"webrtc://{LOOPBACK}:{port}?join_s=0.2"), tmp_path)
    outcome = recording.meta["outcome"]
    assert (outcome["kind"], outcome["side"]) == ("failed", "B")
    assert "nobody joined side B" in str(outcome["reason"])
    assert recording.n_ticks == 0


def test_a_peer_that_sends_nothing_is_named(tmp_path: Path, port: int) -> None:
    b = await_result(made(None), PATIENCE_S)
    party = Joined(f"webrtc://{LOOPBACK}:{port}?silent_s=0.4")
    recording = hold(Speaker([True] * 300), party, tmp_path, stay({"b": b}, port, 4.0, AiortcPeer.vanish))
    assert recording.meta["outcome"] == {"kind": "failed", "side": "B", "reason": "sent nothing for 0.4 s"}
    assert 35 <= recording.n_ticks <= 100


@pytest.mark.parametrize("leave", [AiortcPeer.vanish, AiortcPeer.hang_up])
@pytest.mark.parametrize(("seconds", "kind"), [(9, "done"), (0, "failed")])
def test_who_has_spoken_may_hang_up_and_what_was_said_is_kept(
    tmp_path: Path, port: int, leave: Callable[[AiortcPeer], Any], seconds: int, kind: str
) -> None:
    b = await_result(made(bursts(seconds, 1000, 0.0)), PATIENCE_S)
    party = Joined(f"webrtc://{LOOPBACK}:{port}")
    caller = Caller([tick % 50 < 25 for tick in range(1000)])
    recording = hold(caller, party, tmp_path, stay({"b": b}, port, 2.0, leave), max_s=8)
    assert recording.meta["outcome"]["kind"] == kind
    assert 20 <= recording.n_ticks <= 700
    assert len(stored(recording)) == recording.n_ticks * 480


@pytest.mark.parametrize(
    "sdp",
    [
        "",
        "v=0\r\n",
        "garbage",
        "v=0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 0\r\na=mid:0\r\n",
        "v=0\r\nm=audio x\r\n",
        "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 0\r\nc=IN IP4 0.0.0.0\r\n"
        "a=rtpmap:0 PCMU/8000\r\na=mid:0\r\na=setup:actpass\r\n",
    ],
)
async def test_sdp_that_cannot_be_used_is_refused_in_one_line(sdp: str) -> None:
    peer = Peer(addresses=[LOOPBACK])
    with pytest.raises(PartyError, match=r"^webrtc: expected an SDP offer with [^\n]*$"):
        await peer.answer(sdp)
    await peer.close()


@pytest.mark.parametrize(
    ("stated", "packet_ms", "expected"),
    [("a=fmtp:96 minptime=20\r\n", 10, 20), ("a=maxptime:10\r\n", 20, 10), ("a=fmtp:96 minptime=10\r\n", 10, 10)],
)
async def test_what_the_peer_says_of_packet_lengths_is_honoured(stated: str, packet_ms: int, expected: int) -> None:
    ours, theirs = Peer(packet_ms, addresses=[LOOPBACK]), await made(None)
    await theirs.connection.setLocalDescription(await theirs.connection.createOffer())
    answer = await ours.answer(theirs.connection.localDescription.sdp + stated)
    await ours.close()
    await theirs.vanish()
    assert f"a=ptime:{expected}\r\n" in answer
