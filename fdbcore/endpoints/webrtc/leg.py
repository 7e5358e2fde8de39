"""The audio of one connected peer on the media clock: 10 ms frames in and out, Opus packets on the wire."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

import numpy as np
from aiortc import RTCRtpTransceiver

from fdbcore._ext.jitter import DelayChange, JitterBuffer
from fdbcore._ext.pacer import LatenessHistogram
from fdbcore.audio.opus import OpusDecoder, OpusEncoder
from fdbcore.endpoints.webrtc.aiortc_seam import AudioWire
from fdbcore.endpoints.webrtc.rtp import RtpPacket
from fdbcore.types import FRAME_SAMPLES, TICK_MS, TICK_NS, Happening, Pcm

ARRIVALS_EVERY_TICKS: Final = 100
MAX_DELAY_CHANGES: Final = 1000
"""Listed with the timing of a call; its events have them all, at most a hundred a second."""

MOST_STALE_SAMPLES: Final = 48  # 1 ms


class DelayLog:
    """The delay of a jitter buffer as happenings, which hold to within 1 ms; the first 1000 changes also as a list."""

    def __init__(self) -> None:
        self.listed: list[dict[str, Any]] = []
        self.untold = 0  # in the list
        self._told_samples = 0

    def tell(self, tick: int, changes: Sequence[DelayChange], delay_samples: int) -> list[Happening]:
        """A happening for each tick with changes, of which the last holds from then on, or for a delay (now, in `tick`)
        that has moved without one, since more is known of the path or the clocks drift apart: why "path"."""
        last = [list(of_tick)[-1] for _, of_tick in groupby(changes, attrgetter("tick"))]
        told = [Happening(of.tick, "delay", {"why": of.kind, "delay_samples": of.delay_samples}) for of in last]
        listed = told[: MAX_DELAY_CHANGES - len(self.listed)]
        self.listed += [{"tick": change.tick, **change.fields} for change in listed]
        self.untold += len(told) - len(listed)
        if not told and abs(delay_samples - self._told_samples) > MOST_STALE_SAMPLES:
            told = [Happening(tick, "delay", {"why": "path", "delay_samples": delay_samples})]
        if told:
            self._told_samples = told[-1].fields["delay_samples"]
        return told


class Leg:
    """Made on the event loop once the peer is connected; then `start`, `send` and `play_into` on the tick thread.

    packet_ms: 10, or 20, of which a packet leaves with its second frame. sources_beside: SSRCs not to be heard.
    """

    def __init__(
        self, transceiver: RTCRtpTransceiver, packet_ms: int, sources_beside: frozenset[int] = frozenset()
    ) -> None:
        self.packet_ms = packet_ms
        self.heard_from = asyncio.Event()
        self.last_arrival_ns: int | None = None
        self._jitter = JitterBuffer()
        self._wire_lateness = LatenessHistogram()
        self._encoder = OpusEncoder(packet_ms)
        self._decoder = OpusDecoder()
        self._packet_pcm = np.zeros((packet_ms // TICK_MS, FRAME_SAMPLES), dtype=np.int16)
        self._frame: Pcm = np.zeros(FRAME_SAMPLES, dtype=np.int16)
        self._sequence = random.randrange(1 << 15)  # not near its wrap, which some receivers take badly at the start
        self._timestamp_origin = random.randrange(1 << 32)
        self._origin_ns = self._tick = 0
        self._logged_tick = -1
        self._delay_log = DelayLog()
        self._wire = AudioWire(transceiver, self._on_packet, sources_beside)

    def start(self, origin_ns: int) -> None:
        """Tick 0 is at this monotonic time."""
        self._origin_ns = origin_ns
        self._jitter.start(origin_ns)

    def play(self, tick: int) -> Pcm:
        """What the peer said in `tick`: int16 (480,), valid until the next call."""
        self._tick = tick
        self._jitter.play_into(self._frame, tick, self._decoder.decode)
        return self._frame

    def send(self, tick: int, frame: Pcm) -> None:
        """Send the frame of `tick`. Ticks that are left out are not sent, and the timestamps show it."""
        filled = tick % len(self._packet_pcm)
        self._packet_pcm[filled] = frame
        if filled < len(self._packet_pcm) - 1:
            return
        payload = self._encoder.encode(self._packet_pcm.reshape(-1))
        self._packet_pcm[:] = 0
        timestamp = self._timestamp_origin + (tick - filled) * FRAME_SAMPLES
        due_ns = self._origin_ns + tick * TICK_NS
        self._wire_lateness.record(self._wire.send(payload, self._sequence, timestamp % (1 << 32), due_ns))
        self._sequence = (self._sequence + 1) % (1 << 16)

    def log(self) -> Sequence[Happening]:
        """What happened since the last tick: delay changes, and every second, and at the end, the arrivals.

        Nothing was played since the last call at the end only.
        """
        changes = self._delay_log.tell(self._tick, self._jitter.drain(), self._jitter.delay_samples)
        if self._tick % ARRIVALS_EVERY_TICKS == ARRIVALS_EVERY_TICKS - 1 or self._tick == self._logged_tick:
            changes.append(Happening(self._tick, "arrivals", self._arrivals()))
        self._logged_tick = self._tick
        return changes

    def _arrivals(self) -> dict[str, Any]:
        """Each packet's arrival, place and length, and what the buffer adds now, which drifts between its changes."""
        arrival_ns, start_sample, samples = self._jitter.arrivals().T
        at_us = (arrival_ns - self._origin_ns) // 1000
        packets = {"at_us": at_us.tolist(), "start_sample": start_sample.tolist(), "samples": samples.tolist()}
        return packets | {"delay_samples": self._jitter.delay_samples}

    def measured(self) -> dict[str, Any]:
        """Lateness on the wire, the counts of the receiver, and the delays of this harness's own legs (samples)."""
        counts = self._jitter.stats()._asdict()
        return {
            "wire": self._wire_lateness.summary(),
            **counts,
            "delay_samples": self._jitter.delay_samples,
            "out_delay_samples": self.out_delay_samples,
            "delay_changes": self._delay_log.listed,
            "untold_delay_changes": self._delay_log.untold,
            "packets": vars(self._wire.counts),
        }

    def not_taken(self) -> str:
        """What came and could not be played: "12 undecipherable, 3 malformed"; "" if nothing did."""
        counts = {kind: n for kind, n in vars(self._wire.counts).items() if n and kind != "unsent"}
        return ", ".join(f"{n} {kind.replace('_', ' ')}" for kind, n in counts.items())

    @property
    def out_delay_samples(self) -> int:
        """By which what is said in a tick leaves later than that tick begins: packetisation and the encoder."""
        return self._packet_pcm.size - FRAME_SAMPLES + self._encoder.look_ahead_samples

    def close(self) -> None:
        """Give the socket back."""
        self._wire.close()

    def _on_packet(self, packet: RtpPacket, arrival_ns: int) -> None:
        self.last_arrival_ns = arrival_ns
        self.heard_from.set()
        self._jitter.add(packet.payload, packet.ssrc, packet.sequence, packet.timestamp, arrival_ns)
