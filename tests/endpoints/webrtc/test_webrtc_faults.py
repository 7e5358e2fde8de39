"""What peers do wrong over real sockets: the conversation goes on, or it ends for one clear reason; all is kept.

The peers that bear it are called at once, each in a conversation of its own on one port, as a hub has them.
"""

import asyncio
import os
import random
import re
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from fakes.bare_peer import FIRST_SEQUENCE, TONE_HZ, BarePeer, stereo_tone_packets
from fakes.loopback import free_port
from fakes.parties import Speaker
from helpers.patience import PATIENCE_S, wait_until

from fdbcore.analysis.score import score
from fdbcore.endpoints.webrtc.endpoint import Joined, WebRtcEndpoint
from fdbcore.endpoints.webrtc.leg import MAX_DELAY_CHANGES
from fdbcore.measures.reading import Reading
from fdbcore.recording.files import AUDIO
from fdbcore.recording.reader import Recording
from fdbcore.runtime.network import event_loop
from fdbcore.session.converse import LiveSettings, converse
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, Pcm

pytestmark = pytest.mark.live

LOOPBACK = "127.0.0.1"
WAV_HEADER_BYTES = 80
CALLS_AT_ONCE = 6
MOSTLY = 0.5
"""Of the ticks: a busy machine misses some."""
BEFORE_S = 1.0  # of packets, which come before tick 0
Script = Callable[[BarePeer], Awaitable[None]]


@dataclass
class Call:
    """A conversation of Speaker and the peer of `script`, held for `max_s` unless the peer ends it."""

    script: Script
    max_s: float = 1.6
    packet_ms: int = 20
    options: str = ""
    joins: bool = True
    party: WebRtcEndpoint = field(init=False)
    recording: Recording = field(init=False)

    def hold(self, folder: Path, port: int, session: str) -> "Call":
        address = f"{LOOPBACK}:{port}"
        party = Joined(f"webrtc://{address}?session={session}{self.options}")
        assert isinstance(party, WebRtcEndpoint)
        self.party = party
        peer = asyncio.run_coroutine_threadsafe(self._play(f"http://{address}/whip/b?session={session}"), event_loop())
        speaker = Speaker([tick % 50 < 25 for tick in range(1000)])
        settings = LiveSettings(vad="energy", max_s=self.max_s, spin_ns=0)
        self.recording = converse(speaker, party, folder / session, settings, {}, threading.Event())
        peer.result(PATIENCE_S)
        return self

    async def _play(self, url: str) -> None:
        async with BarePeer(url, self.packet_ms) as peer:
            if self.joins:
                await peer.join()
            await self.script(peer)
            await peer.hub_gone(self.max_s + 5)

    @property
    def left(self) -> str | None:
        return self.party.left

    @property
    def measured(self) -> Mapping[str, Any]:
        """Of the leg, with the packets that were not taken."""
        measured = self.party.measured()
        return {**measured, **measured["packets"]}

    @property
    def changes(self) -> list[str]:
        return [change["why"] for change in self.measured["delay_changes"]]

    @property
    def heard(self) -> Pcm:
        """What was recorded of the peer, int16 (ticks, 480)."""
        data = (self.recording.path / AUDIO).read_bytes()[WAV_HEADER_BYTES:]
        audio = np.frombuffer(data, dtype="<i2").reshape(-1, 2)
        assert len(audio) == self.recording.n_ticks * FRAME_SAMPLES
        return np.ascontiguousarray(audio[:, 1]).reshape(-1, FRAME_SAMPLES)

    @property
    def sounds(self) -> npt.NDArray[np.bool_]:
        """In which ticks the tone was heard."""
        loud: npt.NDArray[np.bool_] = np.abs(self.heard.astype(np.int32)).max(axis=1) > 2000
        return loud


async def keeps_lengths(peer: BarePeer) -> None:
    await peer.speak(BEFORE_S + 1.0)


async def speaks_stereo(peer: BarePeer) -> None:
    peer.packets = stereo_tone_packets()
    await peer.speak(BEFORE_S + 1.0)


async def loses_a_second(peer: BarePeer) -> None:
    await peer.speak(BEFORE_S + 0.7)
    async for packet in peer.paced(1.0):
        assert packet.payload
    await peer.speak(1.0)


async def is_cut_off(peer: BarePeer) -> None:
    await peer.speak(BEFORE_S + 0.7)
    await asyncio.sleep(9)


async def freezes_and_goes_on_where_it_was(peer: BarePeer) -> None:
    await peer.speak(BEFORE_S + 0.7)
    await asyncio.sleep(3)
    await peer.speak(1.5)


async def freezes_and_sends_all_at_once(peer: BarePeer) -> None:
    await peer.speak(BEFORE_S + 0.7)
    await asyncio.sleep(3)
    for _ in range(3000 // peer.packet_ms):
        peer.wire.send_packet(peer.next_packet())
    await peer.speak(1.5)


async def freezes_and_skips(peer: BarePeer) -> None:
    await peer.speak(BEFORE_S + 0.7)
    await asyncio.sleep(3)
    peer.timestamp += 3 * SAMPLE_RATE_HZ
    await peer.speak(1.5)


LOST, HELD_BACK, REPEATED = 17, 9, 13
"""Every so many packets one is."""


async def loses_repeats_and_reorders(peer: BarePeer) -> None:
    await peer.speak(BEFORE_S + 0.2)
    held_back = None
    async for packet in peer.paced(1.0):
        sealed = peer.wire.seal(packet)
        if packet.sequence % LOST == 0:
            continue
        if held_back is None and packet.sequence % HELD_BACK == 0:
            held_back = sealed
            continue
        peer.wire.send_bytes(sealed)
        if packet.sequence % REPEATED == 0:
            peer.wire.send_bytes(sealed)
        if held_back is not None:
            peer.wire.send_bytes(held_back)
            held_back = None


async def changes_ssrc(peer: BarePeer) -> None:
    await peer.speak(BEFORE_S + 0.5)
    peer.timestamp, peer.sequence = 77, peer.sequence + 1000
    await peer.speak(1.0, ssrc=99)


async def speaks_on_a_track_beside(peer: BarePeer) -> None:
    """As one that offers two tracks and heeds no answer: the second's packets between the first's, of its own times."""
    offer = (await peer.offer()).replace("BUNDLE 0", "BUNDLE 0 1")
    section = re.sub(r"a=ssrc:\d+", "a=ssrc:99", offer[offer.index("m=audio") :]).replace("a=mid:0", "a=mid:1")
    await peer.join(offer + section)
    await peer.speak(BEFORE_S)
    async for packet in peer.paced(1.5):
        peer.wire.send_packet(packet)
        peer.wire.send_packet(packet._replace(ssrc=99, timestamp=packet.timestamp + 7777))


async def restarts_timestamps(peer: BarePeer) -> None:
    await peer.speak(BEFORE_S + 0.5)
    peer.timestamp = 12_345
    await peer.speak(1.0)


async def is_killed(peer: BarePeer) -> None:
    await peer.speak(BEFORE_S + 0.5)
    peer.wire.die()


async def says_bye(peer: BarePeer) -> None:
    await peer.speak(BEFORE_S + 0.5)
    await peer.wire.say_bye()


async def says_bye_and_goes_on(peer: BarePeer) -> None:
    await peer.speak(BEFORE_S + 0.5)
    await peer.wire.say_bye()
    await peer.speak(0.5, ssrc=99)


async def closes(peer: BarePeer) -> None:
    await peer.speak(BEFORE_S + 0.5)
    await peer.close()


async def is_not_the_one_with_the_key(peer: BarePeer) -> None:
    await peer.speak(BEFORE_S + 0.3)
    async for packet in peer.paced(3):
        peer.wire.send_bytes(peer.wire.seal(packet)[:-1] + b"?")


DATAGRAMS: Mapping[bytes, str | None] = {
    b"": "malformed",
    b"\x01": None,
    b"\x80": "undecipherable",
    b"\xff" * 40: "malformed",
    b"\x10" * 40: "malformed",  # ZRTP
    bytes([150, 111]) + bytes(3000): "malformed",  # an RTP packet longer than libsrtp has room for
    bytes([150, 200]) + bytes(3000): "malformed",  # RTCP
    bytes.fromhex("000100082112a442") + bytes(12) + bytes.fromhex("0006000400000000"): None,  # STUN of nobody
    bytes.fromhex("010100042112a442") + bytes(12) + bytes.fromhex("00240000"): "malformed",  # with no priority in it
}
"""What each is counted as; None where it is aiortc's to ignore it."""


async def is_disturbed_by_a_stranger(peer: BarePeer) -> None:
    await peer.speak(BEFORE_S + 0.2)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        datagrams = iter(DATAGRAMS)
        async for packet in peer.paced(1.0):
            peer.wire.send_packet(packet)
            if (datagram := next(datagrams, None)) is not None:
                stranger.sendto(datagram, peer.wire.hub)


FREEZE_S = 6.0
SCRIPTS: Mapping[str, Call] = {
    "packets_of_10": Call(keeps_lengths, packet_ms=10),
    "packets_of_20": Call(keeps_lengths, packet_ms=20),
    "packets_of_40": Call(keeps_lengths, packet_ms=40),
    "packets_of_60": Call(keeps_lengths, packet_ms=60),
    "stereo": Call(speaks_stereo),
    "both_ways_20": Call(keeps_lengths, options="&ptime=20"),
    "freeze_on": Call(freezes_and_goes_on_where_it_was, max_s=FREEZE_S),
    "freeze_burst": Call(freezes_and_sends_all_at_once, max_s=FREEZE_S),
    "freeze_skip": Call(freezes_and_skips, max_s=FREEZE_S),
    "lossy": Call(loses_a_second, max_s=2.5),
    "cut_off": Call(is_cut_off, max_s=2.5),
    "mess": Call(loses_repeats_and_reorders),
    "new_ssrc": Call(changes_ssrc),
    "beside": Call(speaks_on_a_track_beside, joins=False),
    "restart": Call(restarts_timestamps),
    "killed": Call(is_killed, options="&silent_s=0.4", max_s=9),
    "bye": Call(says_bye, options="&silent_s=0.4", max_s=9),
    "bye_on": Call(says_bye_and_goes_on),
    "closed": Call(closes, max_s=9),
    "no_key": Call(is_not_the_one_with_the_key, options="&silent_s=0.4", max_s=9),
    "stranger": Call(is_disturbed_by_a_stranger),
}


@pytest.fixture(scope="module")
def port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def calls(port: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Future[Call]]]:
    folder = tmp_path_factory.mktemp("calls")
    longest_first = sorted(SCRIPTS, key=lambda name: -SCRIPTS[name].max_s)
    with ThreadPoolExecutor(CALLS_AT_ONCE) as pool:
        yield {name: pool.submit(SCRIPTS[name].hold, folder, port, name) for name in longest_first}


def call_of(calls: Mapping[str, Future[Call]], name: str) -> Call:
    return calls[name].result(PATIENCE_S)


def whole(calls: Mapping[str, Future[Call]], name: str) -> Call:
    """A call that nobody left before its end."""
    call = call_of(calls, name)
    assert call.left is None
    return call


@pytest.mark.parametrize("packet_ms", [10, 20, 40, 60])
def test_packets_of_any_length_are_heard(calls: Mapping[str, Future[Call]], packet_ms: int) -> None:
    call = whole(calls, f"packets_of_{packet_ms}")
    assert call.sounds[5:80].mean() > MOSTLY
    assert call.measured["lost"] == call.measured["invalid"] == 0
    arrivals = [event for event in call.recording.events if event["kind"] == "arrivals"]
    assert {samples for event in arrivals for samples in event["samples"]} == {packet_ms * SAMPLE_RATE_HZ // 1000}


def test_stereo_is_heard_as_the_mean_of_both(calls: Mapping[str, Future[Call]]) -> None:
    call = whole(calls, "stereo")
    heard = call.heard[20:60].reshape(-1)
    spectrum = np.abs(np.fft.rfft(heard.astype(float)))
    loudest = np.argsort(spectrum)[-2:] * SAMPLE_RATE_HZ / len(heard)
    assert sorted(np.round(loudest, -1)) == [TONE_HZ / 2, TONE_HZ]


def test_packets_of_20_ms_both_ways(calls: Mapping[str, Future[Call]]) -> None:
    call = whole(calls, "both_ways_20")
    assert 2 * call.measured["wire"]["n"] <= call.recording.n_ticks
    assert call.sounds[5:80].mean() > MOSTLY


@pytest.mark.parametrize("name", ["freeze_on", "freeze_burst", "freeze_skip"])
def test_a_peer_that_freezes_is_silent_and_then_heard_again(calls: Mapping[str, Future[Call]], name: str) -> None:
    call = whole(calls, name)
    silent = np.flatnonzero(~call.sounds)
    assert len(silent) >= 270  # of 300, for what comes early or is concealed
    begins = int(silent[0])
    assert call.sounds[:begins].all()
    again = call.sounds[begins + 350 : begins + 430]
    assert again.mean() > MOSTLY
    assert call.measured["untold_delay_changes"] == 0


def test_a_second_of_loss_stands_before_any_number(calls: Mapping[str, Future[Call]]) -> None:
    call = whole(calls, "lossy")
    lost_ms = call.measured["lost_samples"] * 1000 / SAMPLE_RATE_HZ
    assert 1000 <= lost_ms < 1500  # with what comes too late on a busy machine
    assert call.measured["longest_loss_samples"] >= SAMPLE_RATE_HZ
    (told,) = [text for text in score(Reading(call.recording.path))["warnings"] if "never" in text]
    assert " s of B's audio (" in told
    assert "s of it in one piece" in told


def test_a_network_that_dies_before_the_end_is_told(calls: Mapping[str, Future[Call]]) -> None:
    call = whole(calls, "cut_off")
    assert call.measured["unexplained_samples"] > 1.5 * SAMPLE_RATE_HZ
    assert any(text.startswith("nothing came from B for ") for text in score(Reading(call.recording.path))["warnings"])


def test_loss_repetition_and_reordering_are_counted_each(calls: Mapping[str, Future[Call]]) -> None:
    call = whole(calls, "mess")
    numbers = [n % (1 << 16) for n in range(FIRST_SEQUENCE + 60, FIRST_SEQUENCE + 110)]
    lost = [n for n in numbers if n % LOST == 0]
    held_back = [n for n in numbers if n % HELD_BACK == 0 and n not in lost]
    repeated = [n for n in numbers if n % REPEATED == 0 and n not in lost + held_back]
    assert [call.measured[kind] for kind in ("lost", "reordered", "repeated")] == list(
        map(len, (lost, held_back, repeated))
    )
    assert call.measured["undecipherable"] == call.measured["invalid"] == 0


def test_another_ssrc_goes_on_at_once(calls: Mapping[str, Future[Call]]) -> None:
    call = whole(calls, "new_ssrc")
    assert call.measured["new_ssrcs"] == 1
    assert call.changes.count("new_ssrc") == 1
    assert call.sounds[5:130].mean() > MOSTLY


def test_a_second_track_is_not_heard(calls: Mapping[str, Future[Call]]) -> None:
    call = whole(calls, "beside")
    assert call.measured["other_sources"] == 75
    assert call.measured["new_ssrcs"] == 0
    assert call.measured["late"] < 30
    assert call.sounds[5:100].mean() > MOSTLY


def test_timestamps_that_start_anew_are_followed(calls: Mapping[str, Future[Call]]) -> None:
    call = whole(calls, "restart")
    assert "reanchor" in call.changes
    assert call.sounds[5:40].mean() > MOSTLY
    assert call.sounds[80:130].mean() > MOSTLY


@pytest.mark.parametrize(("name", "reason"), [("killed", "sent nothing for 0.4 s"), ("closed", "finished")])
def test_a_peer_that_is_gone_ends_the_call(calls: Mapping[str, Future[Call]], name: str, reason: str) -> None:
    call = call_of(calls, name)
    assert call.left == reason
    assert call.recording.meta["status"] == "complete"
    assert 30 < call.recording.n_ticks < 800
    assert call.sounds[5:30].mean() > MOSTLY


def test_a_goodbye_of_a_source_is_not_the_peers(calls: Mapping[str, Future[Call]]) -> None:
    assert call_of(calls, "bye").left == "sent nothing for 0.4 s"
    goes_on = whole(calls, "bye_on")
    assert goes_on.sounds[60:90].mean() > MOSTLY


def test_a_peer_whose_packets_cannot_be_read_is_told_from_one_that_sends_none(
    calls: Mapping[str, Future[Call]],
) -> None:
    left = call_of(calls, "no_key").left
    assert left is not None
    head, _, count = left.partition("; packets not taken: ")
    assert head == "sent nothing for 0.4 s"
    assert count.endswith(" undecipherable")


def test_no_datagram_of_a_stranger_ends_the_call(calls: Mapping[str, Future[Call]]) -> None:
    call = whole(calls, "stranger")
    assert call.sounds[5:80].mean() > MOSTLY
    for kind in ("malformed", "undecipherable"):
        assert call.measured[kind] == list(DATAGRAMS.values()).count(kind)


class Flood:
    """Scripts that send a tone, or what passes for it, and 5,000 packets a second."""

    PER_TONE_PACKET = 100

    @staticmethod
    async def of_what_is_no_audio(peer: BarePeer) -> None:
        chance = random.Random(5)
        numbers = count()
        async for packet in peer.paced(BEFORE_S + 1.0):
            peer.wire.send_packet(packet)
            for n in islice(numbers, Flood.PER_TONE_PACKET // 5):
                garbage = chance.randbytes(1400)
                wrong = peer.wire.packet(garbage[:1300], n, 960 * n, ssrc=7, payload_type=13)
                for datagram in (
                    b"\xf0" + garbage,
                    b"\x80\x60" + garbage,
                    b"\x16\xfe\xfd" + garbage,
                    b"\x03" + garbage,
                ):
                    peer.wire.send_bytes(datagram)
                peer.wire.send_packet(wrong)

    @staticmethod
    async def of_garbage_as_opus(peer: BarePeer) -> None:
        chance = random.Random(6)
        async for _ in peer.paced(BEFORE_S + 1.0):
            for _ in range(Flood.PER_TONE_PACKET):
                garbage = peer.next_packet()._replace(payload=chance.randbytes(1300))
                peer.wire.send_packet(garbage)

    @staticmethod
    async def of_speech_faster_than_time(peer: BarePeer) -> None:
        async for packet in peer.paced(BEFORE_S + 1.0):
            peer.wire.send_packet(packet)
            for _ in range(Flood.PER_TONE_PACKET - 1):
                peer.wire.send_packet(peer.next_packet())

    @staticmethod
    async def of_sources(peer: BarePeer) -> None:
        async for packet in peer.paced(BEFORE_S + 1.0):
            peer.wire.send_packet(packet)
            for n in range(Flood.PER_TONE_PACKET - 1):
                ssrc = n % 8 if n % 2 else packet.timestamp + n & 0xFFFF_FFFF
                peer.wire.send_packet(peer.next_packet(ssrc=ssrc))


def held_in_memory_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@pytest.mark.parametrize(
    "script",
    [Flood.of_what_is_no_audio, Flood.of_garbage_as_opus, Flood.of_speech_faster_than_time, Flood.of_sources],
    ids=lambda script: script.__name__,
)
def test_a_flood_is_borne(port: int, tmp_path: Path, script: Script) -> None:
    before_mb = held_in_memory_mb()
    call = Call(script, max_s=1.3).hold(tmp_path, port, "flood")
    assert held_in_memory_mb() - before_mb < 64
    assert call.left is None
    assert call.recording.n_ticks == 130
    assert call.heard.shape == (130, FRAME_SAMPLES)
    assert len(call.changes) <= MAX_DELAY_CHANGES
    if script is Flood.of_what_is_no_audio:
        assert call.sounds[5:80].mean() > MOSTLY
        assert min(call.measured[kind] for kind in ("malformed", "undecipherable", "other_payload")) > 500
    if script is Flood.of_garbage_as_opus:
        assert call.measured["received"] > 2500
    if script is Flood.of_sources:
        assert call.measured["other_sources"] > 1000


class Door:
    """Scripts of peers that come to the door and do not get in, or not again."""

    OTHER_CODEC = (
        "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\nm={media} 9 UDP/TLS/RTP/SAVPF {number}\r\n"
        "c=IN IP4 0.0.0.0\r\na=rtpmap:{number} {codec}\r\na=mid:0\r\na=setup:actpass\r\na=ice-ufrag:user\r\n"
        "a=ice-pwd:0123456789012345678901\r\na=fingerprint:sha-256 00:11\r\na=rtcp-mux\r\na=sendrecv\r\n"
    )

    @staticmethod
    async def first_without_opus(peer: BarePeer) -> None:
        for media, number, codec in (
            ("audio", 0, "PCMU/8000"),
            ("video", 96, "VP8/90000"),
            ("audio", 11, "L16/44100/2"),
        ):
            status, line = await peer.post(Door.OTHER_CODEC.format(media=media, number=number, codec=codec))
            assert status == 422, line
            assert line.startswith("webrtc: expected an SDP offer with ")
            assert line.count("\n") == 1
        await peer.join()
        await peer.speak(BEFORE_S + 0.5)

    @staticmethod
    async def never_connects(peer: BarePeer) -> None:
        status, line = await peer.post(await peer.offer())
        assert status == 201, line

    @staticmethod
    async def comes_back(peer: BarePeer) -> None:
        await peer.join()
        await peer.speak(BEFORE_S + 0.3)
        assert await peer.post(await peer.offer()) == (409, "side B is taken\n")
        await peer.speak(0.3)
        await peer.hang_up()
        status, line = await peer.post(await peer.offer(), patience_s=0)
        assert (status, line) in (
            (0, "nobody there"),
            (404, "no conversation waits for side B\n"),
            (422, "side B: the conversation has begun; whoever left cannot come back\n"),
        )


def test_an_offer_without_opus_is_refused_and_another_taken(port: int, tmp_path: Path) -> None:
    call = Call(Door.first_without_opus, max_s=0.6, joins=False).hold(tmp_path, port, "door")
    assert call.left is None
    assert call.sounds[5:30].mean() > MOSTLY


def test_a_peer_that_never_connects_is_named(port: int, tmp_path: Path) -> None:
    call = Call(Door.never_connects, joins=False, options="&join_s=0.4").hold(tmp_path, port, "door")
    outcome = call.recording.meta["outcome"]
    assert str(outcome["reason"]).endswith(" in 0.4 s; a peer was still connecting")
    assert outcome == {"kind": "failed", "side": "B", "reason": outcome["reason"], "transient": False}
    assert call.recording.n_ticks == 0


def test_who_hung_up_cannot_come_back_and_what_was_said_is_kept(port: int, tmp_path: Path) -> None:
    call = Call(Door.comes_back, max_s=9, joins=False).hold(tmp_path, port, "door")
    assert call.left == "finished"
    assert call.recording.meta["status"] == "complete"
    assert call.sounds[5:40].mean() > MOSTLY


def test_nothing_is_left_running(calls: Mapping[str, Future[Call]]) -> None:
    for call in calls.values():
        call.result(PATIENCE_S)

    wait_until(lambda: not asyncio.all_tasks(event_loop()))
