"""Brings speech to the rate of the session, as synthesisers speak it, and from it, as transcribers take it."""

from typing import Final

import numpy as np
import numpy.typing as npt

from fdbcore._ext.resample import Resampler
from fdbcore.audio.decode import resampler_to_48k
from fdbcore.audio.level import within_range
from fdbcore.audio.wav import wav_bytes
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, Pcm

TRANSCRIBER_RATE_HZ: Final = 16_000
"""Transcribers work at this rate, so more would only take longer to send."""


def without_edges(pcm: npt.NDArray[np.int16], rate_hz: int) -> Pcm:
    """Speech as int16 (n,) at 48 kHz, without the silence before and after its words.

    Silent are the ticks before the first and after the last tick within RANGE_DB of the loudest. pcm: int16 (n,) at
    `rate_hz`, with sound in it.
    """
    resampler = resampler_to_48k(rate_hz)
    speech = np.concatenate((resampler.process(pcm), resampler.flush()))
    ticks = np.flatnonzero(within_range(speech))
    return speech[ticks[0] * FRAME_SAMPLES : (ticks[-1] + 1) * FRAME_SAMPLES]


def without_long_pauses(speech: Pcm, most_ticks: int) -> Pcm:
    """Speech with every silence inside it cut to at most `most_ticks`, out of its middle. speech: int16 (n,) at 48 kHz.

    Silent are ticks that are not within RANGE_DB of the loudest.
    """
    n_ticks = len(speech) // FRAME_SAMPLES
    loud = within_range(speech)[:n_ticks]
    edges = np.flatnonzero(np.diff(np.concatenate(([True], loud, [True])).astype(np.int8)))
    kept = np.ones(len(speech), dtype=bool)
    for start, end in edges.reshape(-1, 2).tolist():
        if end - start > most_ticks:
            first = start + most_ticks // 2
            kept[first * FRAME_SAMPLES : (first + end - start - most_ticks) * FRAME_SAMPLES] = False
    return speech[kept]


def at_transcriber_rate(pcm: Pcm) -> Pcm:
    """Speech, int16 (n,) at 48 kHz, at TRANSCRIBER_RATE_HZ; its times are the same."""
    resampler = Resampler(SAMPLE_RATE_HZ, TRANSCRIBER_RATE_HZ)
    return np.concatenate((resampler.process(pcm), resampler.flush()))


def wav_to_recognise(pcm: Pcm) -> bytes:
    """Speech, int16 (n,) at 48 kHz, as a WAV file for a transcriber; its times are the same."""
    return wav_bytes(at_transcriber_rate(pcm), TRANSCRIBER_RATE_HZ)
