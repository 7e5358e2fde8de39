"""The audio to a party: the session's frames at the party's own rate, in packets of equal length, from tick 0 on."""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np

from fdbcore._ext.resample import Resampler
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, SILENT_FRAME, TICK_MS, Pcm

PACKET_MS: Final = 20

Encode: TypeAlias = Callable[[Pcm], bytes]
"""Turns a packet, int16 (n,) at the party's rate, into what is sent."""


def pcm16(packet: Pcm) -> bytes:
    """A packet as it is: 16 bits a sample, little endian."""
    return packet.astype("<i2", copy=False).tobytes()


class Uplink:
    """Resamples, packs and encodes what a party hears. Silence is sent too, so that its clock runs with the ticks.

    A party counts time in the audio that it was sent. Its clock is late by `lead_ms` against the session: the silence
    with which a resampler begins that must never wait.

    rate_hz: the party's rate: 8, 16, 24 or 48 kHz. packet_ms: the length of a packet, a multiple of 10.
    """

    def __init__(self, rate_hz: int, packet_ms: int = PACKET_MS, encode: Encode = pcm16) -> None:
        self.rate_hz, self.packet_ms = rate_hz, packet_ms
        self.sent_samples = 0
        self._encode = encode
        self._resampler = None if rate_hz == SAMPLE_RATE_HZ else Resampler(SAMPLE_RATE_HZ, rate_hz, "fast")
        self._packet_samples = packet_ms * rate_hz // 1000
        lead_samples = 0 if self._resampler is None else self._resampler.delay_samples
        self.lead_ms = lead_samples * 1000 / rate_hz
        self._waiting: list[Pcm] = [np.zeros(lead_samples, dtype=np.int16)]
        self._waiting_samples = lead_samples
        self._next_tick = 0

    @property
    def delay_samples(self) -> int:
        """The wait of a packet's first audio here before it can be sent, in samples of the session."""
        return round(self.lead_ms * SAMPLE_RATE_HZ / 1000) + (self.packet_ms - TICK_MS) * FRAME_SAMPLES // TICK_MS

    def hear(self, tick: int, frame: Pcm) -> list[bytes]:
        """The packets that are complete with the frame of `tick`; before it, each missed tick was silent."""
        for _ in range(self._next_tick, tick):
            self._take(SILENT_FRAME)
        self._take(frame)
        self._next_tick = tick + 1
        return self._complete()

    def session_ms(self, party_ms: float) -> float:
        """The time of the session that the party's clock shows as `party_ms`: how much audio it was sent."""
        return party_ms - self.lead_ms

    def describe(self) -> dict[str, Any]:
        """The rate and length of packets, as JSON values."""
        return {"rate_hz": self.rate_hz, "packet_ms": self.packet_ms}

    def measured(self) -> dict[str, Any]:
        """Samples sent, and our own delay, as JSON values for `Endpoint.measured`."""
        own_delay = {"look_ahead_ms": self.lead_ms, "packetisation_ms": float(self.packet_ms - TICK_MS)}
        sent_samples = self.sent_samples * SAMPLE_RATE_HZ // self.rate_hz
        return {"sent_samples": sent_samples, "out_delay_samples": self.delay_samples, "own_delay": own_delay}

    def _take(self, frame: Pcm) -> None:
        # The frame is valid only during the call.
        pcm = frame.copy() if self._resampler is None else self._resampler.process(frame)
        self._waiting.append(pcm)
        self._waiting_samples += len(pcm)

    def _complete(self) -> list[bytes]:
        if self._waiting_samples < self._packet_samples:
            return []
        waiting = np.concatenate(self._waiting)
        end = len(waiting) // self._packet_samples * self._packet_samples
        self._waiting, self._waiting_samples = [waiting[end:]], len(waiting) - end
        self.sent_samples += end
        return [self._encode(packet) for packet in waiting[:end].reshape(-1, self._packet_samples)]
