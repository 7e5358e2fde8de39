"""Calls with faults put into them: noise of a room, echo, tones."""

from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

import av
import numpy as np
import numpy.typing as npt
from fakes.recordings import SAMPLE
from scipy.signal import fftconvolve

from benchmarks.speech import int16, make_dialogue
from fdbcore.audio.wav import WavWriter
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ

Stereo: TypeAlias = npt.NDArray[np.int16]
"""int16 (n, 2) at 48 kHz."""


ROOM_DBOV: Final = -65.0


@cache
def sample() -> Stereo:
    """The shipped session: two people in their rooms."""
    resampler = av.AudioResampler(format="s16", layout="stereo", rate=SAMPLE_RATE_HZ)
    with av.open(str(SAMPLE / "sample.flac")) as container:
        frames = [out for frame in container.decode(audio=0) for out in resampler.resample(frame)]
    pcm = np.concatenate([frame.to_ndarray() for frame in frames], axis=1).reshape(-1, 2)
    whole: Stereo = pcm[: len(pcm) // FRAME_SAMPLES * FRAME_SAMPLES]
    whole.flags.writeable = False  # all tests share it
    return whole


@cache
def synthetic(seed: int = 3, seconds: int = 45) -> Stereo:
    """Another dialogue, digitally silent between words."""
    return int16(make_dialogue(seed, seconds).pcm)


def clipped16(pcm: npt.NDArray[Any]) -> Stereo:
    rounded = np.rint(pcm)
    stereo: Stereo = np.clip(rounded, -32768, 32767, out=rounded).astype(np.int16)
    return stereo


def in_rooms(pcm: Stereo, dbov: float = ROOM_DBOV) -> Stereo:
    noise = np.random.default_rng(5).standard_normal(pcm.shape, np.float32)
    return clipped16(pcm + noise * np.float32(32768 * 10 ** (dbov / 20)))


@cache
def synthetic_in_rooms() -> Stereo:
    return in_rooms(synthetic())


def room_response() -> npt.NDArray[np.float64]:
    """60 ms of decaying reflections behind a direct ray, of power 1."""
    samples = SAMPLE_RATE_HZ * 60 // 1000
    response = np.random.default_rng(1).normal(size=samples) * np.exp(-np.arange(samples) / (0.008 * SAMPLE_RATE_HZ))
    response[0] = 2
    unit: npt.NDArray[np.float64] = response / np.sqrt(np.sum(response**2))
    return unit


def with_echo(pcm: Stereo, source: int, level_db: float, delay_ms: float, in_room: bool = False) -> Stereo:
    """The channel `source` again on the other one."""
    heard = pcm[:, source].astype(np.float64)
    if in_room:
        heard = fftconvolve(heard, room_response())[: len(heard)]
    delay = round(delay_ms * SAMPLE_RATE_HZ / 1000)
    echoing = pcm.copy()
    echo = heard[: len(heard) - delay] * 10 ** (level_db / 20)
    echoing[delay:, 1 - source] = clipped16(echoing[delay:, 1 - source] + echo)
    return echoing


def sine(hz: tuple[float, ...], seconds: float, peak: float = 3000) -> npt.NDArray[np.float64]:
    at = np.arange(round(seconds * SAMPLE_RATE_HZ)) / SAMPLE_RATE_HZ
    wave: npt.NDArray[np.float64] = np.sum([peak * np.sin(2 * np.pi * f * at) for f in hz], axis=0)
    return wave


def write(path: Path, pcm: Any) -> None:
    with WavWriter(path, channels=2) as wav:
        wav.write(np.ascontiguousarray(pcm))
