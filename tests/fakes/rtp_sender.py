"""A synthetic RTP sender and the path to its receiver: every fault is known, and no time passes.

The codec is a fake: a packet is a true TOC byte, a level, and the index of its first sample in the sender's stream;
decoded, it is constant at that level but for the sender's clicks. The value of a click tells which one it is.
"""

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Concatenate, ParamSpec

import numpy as np

from fdbcore.types import SAMPLE_RATE_HZ, Pcm

CLICK_SAMPLES = 9_613  # between two clicks, about 200 ms: they fall on every phase of a packet and of a tick
FIRST_CLICK = 1000  # its value; the next ones count on
TOCS = {2.5: 28 << 3, 5: 29 << 3, 10: 30 << 3, 20: 31 << 3, 40: 2 << 3, 60: 3 << 3}  # RFC 6716, table 2
TOC_SAMPLES = {toc: int(ms * 48) for ms, toc in TOCS.items()}
LEVEL_STEP = 4  # a level is a byte
LOUD = 240  # -31 dBFS: above what is taken for noise
NOISE = 25  # -50 dBFS
CONCEALMENT = 900  # the value of all concealed samples: no silence


@dataclass(frozen=True)
class Packet:
    """A packet on its way: `content` is the index of its first sample in the sender's stream."""

    content: int
    payload: bytes
    ssrc: int
    sequence: int
    timestamp: int
    sent_ns: float
    arrival_ns: float

    @property
    def samples(self) -> int:
        return TOC_SAMPLES[self.payload[0]]


@dataclass
class RtpSender:
    """Sends its stream in packets of `packet_ms`, by a clock that is slow by `ppm`: sample c leaves at `sent_ns(c)`."""

    packet_ms: float = 10
    ppm: float = 0
    ssrc: int = 1
    sequence: int = 65_500  # it wraps soon, and so does the timestamp
    timestamp: int = 2**32 - 10_000
    first_ns: float = 7_123_456_789_012
    content: int = 0
    level: int = 0

    def sent_ns(self, content: int) -> float:
        return self.first_ns + content * 1e9 / SAMPLE_RATE_HZ * (1 + self.ppm / 1e6)

    def packet(self) -> Packet:
        toc = TOCS[self.packet_ms]
        sent_ns = self.sent_ns(self.content)
        payload = bytes([toc, self.level]) + self.content.to_bytes(8, "little")
        packet = Packet(
            self.content, payload, self.ssrc, self.sequence % 2**16, self.timestamp % 2**32, sent_ns, sent_ns
        )
        self.content += packet.samples
        self.timestamp += packet.samples
        self.sequence += 1
        return packet

    def send(self, seconds: float) -> list[Packet]:
        end = self.content + round(seconds * SAMPLE_RATE_HZ)
        packets = []
        while self.content < end:
            packets.append(self.packet())
        return packets

    def send_without_timestamps(self, seconds: float) -> list[Packet]:
        """Packets whose timestamp stands still; afterwards it goes on from there."""
        stopped = self.timestamp
        packets = [replace(packet, timestamp=stopped % 2**32) for packet in self.send(seconds)]
        self.timestamp = stopped
        return packets

    def restart(self, ssrc: int) -> None:
        """Another source, by the same clock: its numbers and timestamps are unrelated to those before."""
        self.ssrc = ssrc
        self.sequence = 7919 * ssrc
        self.timestamp = 104_729_000 * ssrc

    def pause(self, seconds: float) -> None:
        """Discontinuous transmission: the timestamp goes on, the sequence does not."""
        samples = round(seconds * 1000 / self.packet_ms) * TOC_SAMPLES[TOCS[self.packet_ms]]
        self.content += samples
        self.timestamp += samples


def fake_decode(packet: bytes) -> Pcm:
    samples = TOC_SAMPLES[packet[0]]
    if len(packet) == 1:
        return np.full(samples, CONCEALMENT, dtype=np.int16)
    pcm = np.full(samples, LEVEL_STEP * packet[1], dtype=np.int16)
    content = int.from_bytes(packet[2:10], "little")
    for click in range(-(-content // CLICK_SAMPLES), -(-(content + samples) // CLICK_SAMPLES)):
        pcm[click * CLICK_SAMPLES - content] = FIRST_CLICK + click
    return pcm


Path = Callable[[Iterable[Packet]], Iterator[Packet]]
P = ParamSpec("P")


def made_by(over: Callable[Concatenate[Iterable[Packet], P], Iterator[Packet]]) -> Callable[P, Path]:
    """What makes a path of all that `over` takes beside the packets."""
    return lambda *args, **kwargs: lambda packets: over(packets, *args, **kwargs)


@made_by
def delayed(
    packets: Iterable[Packet], base_ms: float, jitter_ms: Callable[[Packet], float] = lambda packet: 0.0
) -> Iterator[Packet]:
    """The path takes `base_ms` at its quickest; jitter only adds to it."""
    for packet in packets:
        yield replace(packet, arrival_ns=packet.arrival_ns + (base_ms + jitter_ms(packet)) * 1e6)


@made_by
def lossy(packets: Iterable[Packet], chance: float, seed: int) -> Iterator[Packet]:
    """Each packet is lost with this chance."""
    draw = random.Random(seed)
    yield from (packet for packet in packets if draw.random() >= chance)


@made_by
def lossy_in_bursts(packets: Iterable[Packet], chance: float, burst_packets: float, seed: int) -> Iterator[Packet]:
    """Gilbert-Elliott: in the bad state all is lost; bursts have this mean length, and `chance` of all is lost."""
    draw = random.Random(seed)
    bad = False
    to_good = 1 / burst_packets
    to_bad = to_good * chance / (1 - chance)
    for packet in packets:
        bad = draw.random() >= to_good if bad else draw.random() < to_bad
        if not bad:
            yield packet


@made_by
def doubled(packets: Iterable[Packet], chance: float, later_ms: float, seed: int) -> Iterator[Packet]:
    """Some packets come a second time."""
    draw = random.Random(seed)
    for packet in packets:
        yield packet
        if draw.random() < chance:
            yield replace(packet, arrival_ns=packet.arrival_ns + later_ms * 1e6)


@made_by
def held(packets: Iterable[Packet], from_content: int, seconds: float) -> Iterator[Packet]:
    """The path freezes when this sample is sent, and delivers all that it held at once."""
    end_ns: float | None = None
    for packet in packets:
        if end_ns is None and packet.content >= from_content:
            end_ns = packet.arrival_ns + seconds * 1e9
        yield packet if end_ns is None else replace(packet, arrival_ns=max(packet.arrival_ns, end_ns))


def uniform_jitter(most_ms: float, seed: int) -> Callable[[Packet], float]:
    draw = random.Random(seed)
    return lambda packet: draw.uniform(0, most_ms)


def arrived(packets: Iterable[Packet], *paths: Path) -> list[Packet]:
    """The packets as they come out of all paths, in order of arrival."""
    for path in paths:
        packets = path(packets)
    return sorted(packets, key=lambda packet: packet.arrival_ns)
