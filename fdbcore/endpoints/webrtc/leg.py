"""The audio of one connected peer on the media clock: frames of 10 ms inside, Opus packets on the wire."""

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
from fdbcore.endpoints.playout import WaitLog
from fdbcore.endpoints.webrtc.aiortc_seam import AudioWire
from fdbcore.endpoints.webrtc.rtp import RtpPacket
from fdbcore.types import FRAME_SAMPLES, TICK_MS, TICK_NS, Happening, Pcm

ARRIVALS_EVERY_TICKS: Final = 100
MAX_DELAY_CHANGES: Final = 1000
"""Changes of the delay that the timing certificate lists. The events have all of them, at most 100 a second."""

OPUS_COMPLEXITY: Final = 5
"""The greater ones take a third more of a call's encoding, and speech at this bit rate does not come out better."""


class DelayLog:
    """Logs changes of a jitter buffer's delay as happenings, and lists the first MAX_DELAY_CHANGES.

    waits: how long what was heard had waited, to within 1 ms.
    """

    def __init__(self) -> None:
        self.listed: list[dict[str, Any]] = []
        self.unlisted = 0
        self.waits = WaitLog()

    def log(self, tick: int, changes: Sequence[DelayChange], waited_samples: int) -> list[Happening]:
        """A happening for each tick with changes, with the last of them, which holds from then on.

        waited_samples: how long what is heard in `tick` had waited. How late its packet came is no delay of ours.
        """
        last_of_ticks = [list(of_tick)[-1] for _, of_tick in groupby(changes, attrgetter("tick"))]
        happenings = [
            Happening(each.tick, "delay", {"why": each.kind, "delay_samples": min(each.delay_samples, waited_samples)})
            for each in last_of_ticks
        ]
        listed = happenings[: MAX_DELAY_CHANGES - len(self.listed)]
        self.listed += [{"tick": happening.tick, **happening.fields} for happening in listed]
        self.unlisted += len(happenings) - len(listed)
        self.waits.note(tick, waited_samples)
        if happenings:
            self.waits.told_samples = happenings[-1].fields["delay_samples"]
        return happenings


class Leg:
    """The audio of one peer in both directions.

    Make it on the event loop once the peer is connected, then call `start`, `send` and `play` on the thread of the
    ticks. packet_ms: 10 or 20; a packet of 20 ms is sent with its second frame. sources_beside: SSRCs to ignore.
    first_sent_tick: of the first frame in the first packet; None before it.
    """

    def __init__(
        self, transceiver: RTCRtpTransceiver, packet_ms: int, sources_beside: frozenset[int] = frozenset()
    ) -> None:
        self.packet_ms = packet_ms
        self.heard_from = asyncio.Event()
        self.last_arrival_ns: int | None = None
        self.first_sent_tick: int | None = None
        self._jitter = JitterBuffer()
        self._wire_lateness = LatenessHistogram()
        self._encoder = OpusEncoder(packet_ms, complexity=OPUS_COMPLEXITY)
        self._decoder = OpusDecoder()
        self._packet_pcm = np.zeros((packet_ms // TICK_MS, FRAME_SAMPLES), dtype=np.int16)
        self._frame: Pcm = np.zeros(FRAME_SAMPLES, dtype=np.int16)
        self._sequence = random.randrange(1 << 15)  # far from its wrap, which some receivers mishandle at the start
        self._timestamp_origin = random.randrange(1 << 32)
        self._origin_ns = self._tick = 0
        self._logged_tick = -1
        self._delay_log = DelayLog()
        self._wire = AudioWire(transceiver, self._on_packet, sources_beside)

    def start(self, origin_ns: int) -> None:
        """Tick 0 is at `origin_ns` of time.monotonic_ns."""
        self._origin_ns = origin_ns
        self._jitter.start(origin_ns)

    def play(self, tick: int) -> Pcm:
        """The peer's frame of `tick`: int16 (480,), valid until the next call."""
        self._tick = tick
        self._jitter.play_into(self._frame, tick, self._decoder.decode)
        return self._frame

    def send(self, tick: int, frame: Pcm) -> None:
        """Send the frame of `tick`, int16 (480,). Ticks may be skipped; the timestamps then show the gap."""
        filled = tick % len(self._packet_pcm)
        self._packet_pcm[filled] = frame
        if filled < len(self._packet_pcm) - 1:
            return
        if self.first_sent_tick is None:
            self.first_sent_tick = tick - filled
        payload = self._encoder.encode(self._packet_pcm.reshape(-1))
        self._packet_pcm[:] = 0
        timestamp = self._timestamp_origin + (tick - filled) * FRAME_SAMPLES
        due_ns = self._origin_ns + tick * TICK_NS
        self._wire_lateness.record(self._wire.send(payload, self._sequence, timestamp % (1 << 32), due_ns))
        self._sequence = (self._sequence + 1) % (1 << 16)

    def log(self) -> Sequence[Happening]:
        """Events since the last tick: changes of the delay and, every second and at the end, the arrivals.

        "arrivals" has each packet's arrival, place and length, and how long what was heard had waited.
        """
        happenings = self._delay_log.log(self._tick, self._jitter.drain(), self._jitter.waited_samples)
        is_end = self._tick == self._logged_tick  # only the last call comes without a new tick
        if self._tick % ARRIVALS_EVERY_TICKS == ARRIVALS_EVERY_TICKS - 1 or is_end:
            arrival_ns, start_sample, samples = self._jitter.arrivals().T
            at_us = (arrival_ns - self._origin_ns) // 1000
            packets = {"at_us": at_us.tolist(), "start_sample": start_sample.tolist(), "samples": samples.tolist()}
            fields = packets | self._delay_log.waits.take() | {"delay_samples": self._jitter.waited_samples}
            happenings.append(Happening(self._tick, "arrivals", fields))
        self._logged_tick = self._tick
        return happenings

    def measured(self) -> dict[str, Any]:
        """Lateness on the wire, counts of the receiver, and the delays of both directions in samples; JSON values."""
        counts = self._jitter.stats()._asdict()
        return {
            "wire": self._wire_lateness.summary(),
            **counts,
            "delay_samples": self._jitter.waited_samples,
            "out_delay_samples": self.out_delay_samples,
            "delay_changes": self._delay_log.listed,
            "untold_delay_changes": self._delay_log.unlisted,
            "packets": vars(self._wire.counts),
        }

    def not_taken(self) -> str:
        """The packets that came but could not be played, in words: "12 undecipherable, 3 malformed"; "" if none."""
        counts = {kind: n for kind, n in vars(self._wire.counts).items() if n and kind != "unsent"}
        return ", ".join(f"{n} {kind.replace('_', ' ')}" for kind, n in counts.items())

    @property
    def out_delay_samples(self) -> int:
        """The delay from the start of its tick until audio leaves: packetisation and the encoder's look-ahead."""
        return self._packet_pcm.size - FRAME_SAMPLES + self._encoder.look_ahead_samples

    def session_ms(self, heard_ms: float) -> float:
        """The time of the session at which the peer had heard so much audio, from the first packet on."""
        first_ms = (self.first_sent_tick or 0) * TICK_MS
        return first_ms + heard_ms - self._encoder.look_ahead_samples * TICK_MS / FRAME_SAMPLES

    def close(self) -> None:
        """Give the socket back."""
        self._wire.close()

    def _on_packet(self, packet: RtpPacket, arrival_ns: int) -> None:
        self.last_arrival_ns = arrival_ns
        self.heard_from.set()
        self._jitter.add(packet.payload, packet.ssrc, packet.sequence, packet.timestamp, arrival_ns)
