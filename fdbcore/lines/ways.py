"""The ways of a line, each from a side that speaks to the side that hears it, and what they do to the voice."""

import math
import zlib
from abc import abstractmethod
from collections import deque
from collections.abc import Mapping
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from fdbcore._ext.resample import Resampler
from fdbcore.audio.level import FULL_SCALE
from fdbcore.audio.mulaw import from_mulaw, mulaw
from fdbcore.audio.noise import WhiteNoise, mixed
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, SILENT_FRAME, TICK_MS, Pcm

PACKET_MS: Final = 20
BUFFERED_JITTERS: Final = 3

RATE_HZ: Final = 8_000
BAND_HZ: Final = (300, 3_400)
"""Of a telephone."""
TAPS: Final = 101
"""Of its filter: from -6 dB at the edges of the band it falls to -50 dB within 130 Hz."""

ASSUMED_DBOV: Final = -26.0
"""The speech level of a side whose level is not known before it speaks: the nominal one of ITU-T P.56."""
ECHO_MS: Final = 100


class Way(Protocol):
    """Carries the frames of one side to the other. delay_samples: how much later they arrive, always the same."""

    delay_samples: int = 0

    def open(self, speech_dbov: float | None) -> None:
        """Get ready, before tick 0. speech_dbov: the active speech level of who speaks; None if it is not known."""
        return

    @abstractmethod
    def carry(self, frame: Pcm, other: Pcm) -> Pcm:
        """The frame that is heard in this tick, int16 (480,). Called once a tick.

        frame, other: what the side says, and what the side that hears says, int16 (480,). Neither is changed.
        """

    def describe(self) -> Mapping[str, Any]:
        """The way's effect, as JSON values; what depends on the speaker stands here once it is open."""
        return {}


def generator(seed: str) -> np.random.Generator:
    """Random numbers that the seed alone decides."""
    return np.random.default_rng(zlib.crc32(seed.encode()))


class Packets(Way):
    """Each packet of 20 ms is lost by chance, independently of the others; silence is heard in its place.

    lost_share: the chance, from 0 to 1. delay_ticks: how long the receiver holds what it plays.
    """

    def __init__(self, lost_share: float, delay_ticks: int, seed: str) -> None:
        self.delay_samples = delay_ticks * FRAME_SAMPLES
        self._lost_share = lost_share
        self._random = generator(seed)
        self._held = deque([SILENT_FRAME] * delay_ticks)
        self._left_of_packet = 0
        self._is_lost = False

    def carry(self, frame: Pcm, other: Pcm) -> Pcm:
        """The frame that the receiver plays."""
        if not self._left_of_packet:
            self._is_lost = self._random.random() < self._lost_share
            self._left_of_packet = PACKET_MS // TICK_MS
        self._left_of_packet -= 1
        self._held.append(SILENT_FRAME if self._is_lost else frame.copy())
        return self._held.popleft()

    def describe(self) -> Mapping[str, Any]:
        """The length of a packet, and the chance that it is lost."""
        return {"packet_ms": PACKET_MS, "lost_share": self._lost_share}


def lossy(percent: float, seed: str) -> Packets:
    """Loses so many of the packets, and delays none."""
    return Packets(percent / 100, 0, seed)


def jittered(jitter_ms: int, seed: str) -> Packets:
    """Packets whose transit times vary, played from a buffer of constant length, three times the jitter.

    The variable part of a transit time is exponential and independent. Its mean is then the expected difference of two
    of them, the interarrival jitter of RFC 3550 (6.4.1). A packet that comes after its time is not played: of an
    exponential one the share exp(-buffer / mean), so at most 5 %.
    """
    delay_ticks = math.ceil(BUFFERED_JITTERS * jitter_ms / TICK_MS)
    return Packets(math.exp(-delay_ticks * TICK_MS / jitter_ms), delay_ticks, seed)


class Telephone(Way):
    """A telephone line: 300 to 3,400 Hz at 8 kHz, in mu-law (ITU-T G.711).

    It takes the band out of the voice by a linear-phase filter, and codes it: all frequencies are equally late.
    """

    def __init__(self) -> None:
        self._down, self._up = Resampler(SAMPLE_RATE_HZ, RATE_HZ, "fast"), Resampler(RATE_HZ, SAMPLE_RATE_HZ, "fast")
        resamplers = self._down.delay_samples * SAMPLE_RATE_HZ // RATE_HZ + self._up.delay_samples
        self.delay_samples = resamplers + TAPS // 2 * SAMPLE_RATE_HZ // RATE_HZ
        self._filter = _band_pass()
        self._heard = np.zeros(TAPS - 1)  # earlier samples that the filter still needs
        self._ready = np.zeros(resamplers, np.int16)

    def carry(self, frame: Pcm, other: Pcm) -> Pcm:
        """The voice at the other end."""
        heard = np.concatenate((self._heard, self._down.process(frame).astype(np.float64)))
        self._heard = heard[len(heard) - TAPS + 1 :]
        band = np.convolve(heard, self._filter, mode="valid")
        sent = np.clip(np.rint(band), -FULL_SCALE, FULL_SCALE - 1).astype(np.int16)
        ready = np.concatenate((self._ready, self._up.process(from_mulaw(mulaw(sent)))))
        self._ready = ready[FRAME_SAMPLES:]
        return ready[:FRAME_SAMPLES]

    def describe(self) -> Mapping[str, Any]:
        """Band, rate and code."""
        return {"band_hz": list(BAND_HZ), "rate_hz": RATE_HZ, "code": "mu-law"}


def _band_pass() -> npt.NDArray[np.float64]:
    """The filter's coefficients, (TAPS,): the ideal band's response to an impulse, under a Hamming window."""
    times = np.arange(TAPS) - TAPS // 2
    low, high = (2 * edge_hz / RATE_HZ * np.sinc(2 * edge_hz / RATE_HZ * times) for edge_hz in BAND_HZ)
    coefficients: npt.NDArray[np.float64] = (high - low) * np.hamming(TAPS)
    return coefficients


class _Under(Way):
    """Something at a ratio below the active speech level (ITU-T P.56) of who speaks, all the time."""

    def __init__(self, ratio_db: float, seed: str) -> None:
        self._ratio_db, self._seed = ratio_db, seed
        self._level: dict[str, Any] = {}

    def open(self, speech_dbov: float | None) -> None:
        """Get it ready at its level."""
        speech = ASSUMED_DBOV if speech_dbov is None else speech_dbov
        self._level = {
            "speech_dbov": round(speech, 2),
            "speech_is_assumed": speech_dbov is None,
            "level_dbov": round(speech - self._ratio_db, 2),
        }
        self._begin(FULL_SCALE * 10 ** ((speech - self._ratio_db) / 20))

    @abstractmethod
    def _begin(self, rms: float) -> None:
        """Get ready to be heard at this RMS, in steps of int16."""

    def describe(self) -> Mapping[str, Any]:
        """The ratio in dB; once open the levels, in dBov."""
        return {"ratio_db": self._ratio_db, **self._level}


class White(_Under):
    """White Gaussian noise."""

    def _begin(self, rms: float) -> None:
        self._noise = WhiteNoise(rms, generator(self._seed))

    def carry(self, frame: Pcm, other: Pcm) -> Pcm:
        """The voice with the noise."""
        return self._noise.under(frame)


class Babble(_Under):
    """Six talkers who never pause, spoken by espeak-ng; see `fdbcore.lines.talkers`."""

    def _begin(self, rms: float) -> None:
        from fdbcore.lines.talkers import talkers

        self._talkers = talkers()
        self._at = [int(generator(f"{self._seed}/{n}").integers(len(pcm))) for n, pcm in enumerate(self._talkers)]
        self._gain = rms / np.sqrt(len(self._talkers))

    def carry(self, frame: Pcm, other: Pcm) -> Pcm:
        """The voice with the talkers."""
        said = np.zeros(FRAME_SAMPLES)
        for number, pcm in enumerate(self._talkers):
            said += pcm.take(np.arange(FRAME_SAMPLES) + self._at[number], mode="wrap")
            self._at[number] = (self._at[number] + FRAME_SAMPLES) % len(pcm)
        return mixed(frame, self._gain * said)

    def describe(self) -> Mapping[str, Any]:
        """The voices, too."""
        from fdbcore.lines.talkers import VOICES

        return {**super().describe(), "voices": list(VOICES)}


class Echo(Way):
    """The voice of who hears comes back, as from a loudspeaker beside the other's microphone."""

    def __init__(self, level_db: float, seed: str) -> None:
        self._level_db = level_db
        self._gain = 10 ** (level_db / 20)
        self._under_way: deque[npt.NDArray[np.int16]] = deque([SILENT_FRAME] * (ECHO_MS // TICK_MS))

    def carry(self, frame: Pcm, other: Pcm) -> Pcm:
        """The voice with the echo of `other`, of ECHO_MS before."""
        self._under_way.append(other.copy())
        return mixed(frame, self._gain * self._under_way.popleft())

    def describe(self) -> Mapping[str, Any]:
        """The level of the echo, and its delay."""
        return {"echo_db": self._level_db, "echo_ms": ECHO_MS}
