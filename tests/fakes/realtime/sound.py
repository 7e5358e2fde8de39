"""Audio as it travels (PCM16, mu-law), and a detector of its turns by energy."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import soxr
from fakes.realtime.plan import RATE_HZ, Wave

LOUD = 300.0
"""RMS from which on 20 ms are taken for speech."""
FRAME_MS = 20
ONSET_FRAMES = 3


def rate_of(sound: Mapping[str, Any]) -> int:
    """Samples per second of a session's format."""
    return int(sound.get("rate") or RATE_HZ) if sound["type"] == "audio/pcm" else 8000


def decoded(data: bytes, sound: Mapping[str, Any]) -> Wave:
    """The samples, at the rate of the format."""
    if sound["type"] == "audio/pcm":
        return np.frombuffer(data[: len(data) // 2 * 2], "<i2").astype(np.int16)
    return _mu_law()[np.frombuffer(data, np.uint8)]


def encoded(wave: Wave, sound: Mapping[str, Any]) -> bytes:
    """The bytes of speech at RATE_HZ."""
    rate_hz = rate_of(sound)
    if rate_hz != RATE_HZ:
        smooth = soxr.resample(wave.astype(np.float32), RATE_HZ, rate_hz)  # of integers it would dither the silence
        wave = np.rint(smooth).clip(-32_768, 32_767).astype(np.int16)
    if sound["type"] == "audio/pcm":
        return wave.astype("<i2").tobytes()
    return companded(wave)


def companded(wave: Wave) -> bytes:
    """The bytes of samples at 8 kHz, each the one whose value is nearest; of zeros, the usual ones of silence."""
    table = _mu_law()
    order = np.argsort(table, kind="stable")
    values = table[order].astype(np.int32)
    at = np.searchsorted((values[1:] + values[:-1]) / 2, wave, side="right")
    return order[at].astype(np.uint8).tobytes()


def _mu_law() -> Wave:
    """The value of each byte, G.711."""
    code = ~np.arange(256, dtype=np.int32) & 0xFF
    value = (((code & 15) << 3) + 132 << (code >> 4 & 7)) - 132
    return np.where(code & 128, -value, value).astype(np.int16)


@dataclass(frozen=True)
class Turn:
    """What the detector found; at_ms: where speech begins or ends, in ms of all audio that was ever appended."""

    kind: Literal["started", "stopped"]
    at_ms: int


class Ear:
    """Finds where speech begins and ends in what is appended, whatever the length of the pieces.

    position_ms: of what has been looked at, in whole frames.
    """

    def __init__(self) -> None:
        self.position_ms = 0
        self.speaking = False
        self._rest: Wave = np.zeros(0, np.int16)
        self._loud = 0
        self._end_ms = 0

    def hear(self, wave: Wave, rate_hz: int, silence_ms: int) -> Iterator[Turn]:
        """The turns that begin or end in this piece; a turn ends after so much silence."""
        self._rest = np.concatenate([self._rest, wave])
        while len(self._rest) >= (size := self._next_samples(rate_hz)):
            frame, self._rest = self._rest[:size], self._rest[size:]
            self.position_ms += FRAME_MS
            loud = float(np.sqrt(np.mean(frame.astype(np.float64) ** 2))) >= LOUD
            self._loud = self._loud + 1 if loud else 0
            self._end_ms = self.position_ms if loud else self._end_ms
            if not self.speaking and self._loud == ONSET_FRAMES:
                self.speaking = True
                yield Turn("started", self.position_ms - ONSET_FRAMES * FRAME_MS)
            elif self.speaking and self.position_ms - self._end_ms >= silence_ms:
                self.speaking = False
                yield Turn("stopped", self._end_ms)

    def _next_samples(self, rate_hz: int) -> int:
        """Of the next frame, which at 11,025 Hz is not always as long as the last one."""
        return rate_hz * (self.position_ms + FRAME_MS) // 1000 - rate_hz * self.position_ms // 1000
