"""Audio files for tests, written by PyAV with the timestamps that a test asks for."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import numpy.typing as npt
import pytest

Int16 = npt.NDArray[np.int16]


def noise(samples: int, channels: int = 1, seed: int = 0) -> Int16:
    """Loud noise, int16 (samples, channels)."""
    return np.random.default_rng(seed).integers(-32768, 32768, (samples, channels)).astype(np.int16)


def beeps(samples: int, at: list[int], rate_hz: int = 48_000) -> Int16:
    """Silence with a beep of 20 ms at each position, int16 (samples, 1); it survives any codec."""
    pcm = np.zeros((samples, 1), np.int16)
    beep = 16_000 * np.sin(2 * np.pi * 1000 * np.arange(rate_hz // 50) / rate_hz)
    for start in at:
        pcm[start : start + len(beep), 0] = beep
    return pcm


def onsets(pcm: Int16, rate_hz: int = 48_000) -> list[int]:
    """Where beeps begin: the first loud sample after 100 ms without one."""
    loud = np.flatnonzero(np.abs(pcm.astype(np.int32)).max(axis=1) > 5000)
    return [int(at) for at, gap in zip(loud, np.diff(loud, prepend=-rate_hz), strict=True) if gap > rate_hz // 10]


def _frame(pcm: Int16, sample_format: str, layout: str) -> av.AudioFrame:
    wide = pcm.astype(np.int64)
    converted: dict[str, npt.NDArray[Any]] = {
        "s16": pcm,
        "s32": (wide << 16).astype(np.int32),
        "u8": ((wide >> 8) + 128).astype(np.uint8),
        "flt": (pcm / np.float32(32768)).astype(np.float32),
        "dbl": pcm / 32768.0,
    }
    samples = converted[sample_format.removesuffix("p")]
    planes = samples.T if sample_format.endswith("p") else samples.reshape(1, -1)
    return av.AudioFrame.from_ndarray(np.ascontiguousarray(planes), format=sample_format, layout=layout)


def encode(
    path: Path,
    codec: str,
    pcm: Int16,
    rate_hz: int = 48_000,
    pts: Callable[[int], int] = lambda start: start,
    frame_samples: int = 1024,
    video: bool = False,
    options: dict[str, str] | None = None,
    bit_rate: int | None = None,
    variable: bool = False,
) -> Path:
    """Write `pcm`, int16 (n, channels); the frame that begins at sample n gets the timestamp pts(n) / rate_hz.

    frame_samples is for codecs without a frame size of their own. video: a second stream, from 0 to the end. options:
    of the container. bit_rate: in bit/s; None is the codec's own. variable: as much as each frame needs, for LAME.
    The test is skipped where PyAV has no such encoder: 19 brings none of AMR.
    """
    if codec not in av.codecs_available:
        pytest.skip(f"PyAV {av.__version__} has no {codec}")
    layout = {1: "mono", 2: "stereo", 3: "2.1"}[pcm.shape[1]]
    with av.open(str(path), "w", options=options or {}) as container:
        stream: Any = container.add_stream(codec, rate=rate_hz, layout=layout)
        if bit_rate:
            stream.codec_context.bit_rate = bit_rate
        if variable:
            stream.codec_context.flags |= 2  # AV_CODEC_FLAG_QSCALE
            stream.codec_context.global_quality = 4 * 118
        stream.codec_context.open()
        if video:
            add_video(container, seconds=len(pcm) // rate_hz + 1)
        size = stream.codec_context.frame_size or frame_samples
        for start in range(0, len(pcm), size):
            frame = _frame(pcm[start : start + size], stream.codec_context.format.name, layout)
            frame.sample_rate, frame.time_base, frame.pts = rate_hz, Fraction(1, rate_hz), pts(start)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def add_video(container: av.container.OutputContainer, seconds: int) -> None:
    """Add a black film of 25 frames/s."""
    stream = container.add_stream("mpeg4", rate=25, width=64, height=64, pix_fmt="yuv420p")
    for number in range(25 * seconds):
        frame = av.VideoFrame(64, 64, "yuv420p")
        frame.time_base, frame.pts = Fraction(1, 25), number
        container.mux(stream.encode(frame))
    container.mux(stream.encode(None))
