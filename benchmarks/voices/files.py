"""Writes the audio of a line as the file that such a line gives: WAV of several kinds, Opus, MP3."""

from __future__ import annotations

import io
from fractions import Fraction
from pathlib import Path
from typing import Final, cast

import av
import numpy as np
import soundfile
import soxr

from benchmarks.voices.lines import Encoding
from benchmarks.voices.speech import RATE_HZ, Floats

TELEPHONE_HZ: Final = 8_000
OPUS_HZ: Final = 48_000
_WAVS: Final = {"s16": "PCM_16", "s24": "PCM_24", "float": "FLOAT"}
_TELEPHONE: Final = {"mulaw": "ULAW", "alaw": "ALAW"}
_SUFFIXES: Final = {"opus24": ".opus", "mp3": ".mp3"}


def suffix(encoding: Encoding) -> str:
    """How the name of such a file ends."""
    return _SUFFIXES.get(encoding, ".wav")


def write(path: Path, pcm: Floats, encoding: Encoding) -> None:
    """pcm: float (n, 2) at RATE_HZ, full scale 1; what lies beyond is clipped (not in float)."""
    if encoding in _WAVS:
        soundfile.write(path, pcm, RATE_HZ, subtype=_WAVS[encoding])
    elif encoding in _TELEPHONE:
        soundfile.write(path, _at(pcm, TELEPHONE_HZ), TELEPHONE_HZ, subtype=_TELEPHONE[encoding])
    elif encoding == "gsm":
        sides = [_through_gsm(side) for side in _at(pcm, TELEPHONE_HZ).T]
        soundfile.write(path, np.stack(sides, axis=1), TELEPHONE_HZ, subtype="PCM_16")
    elif encoding == "opus24":
        _encode(path, _at(pcm, OPUS_HZ), OPUS_HZ, "libopus", 24_000)
    else:
        _encode(path, pcm, RATE_HZ, "libmp3lame", 48_000)


def _at(pcm: Floats, rate_hz: int) -> Floats:
    resampled: Floats = soxr.resample(pcm.astype(np.float32), RATE_HZ, rate_hz)
    return np.clip(resampled, -1, 1)


def _through_gsm(side: Floats) -> Floats:
    """One side through GSM 06.10; libsndfile adds no delay, but fills the last block."""
    coded = io.BytesIO()
    soundfile.write(coded, side, TELEPHONE_HZ, subtype="GSM610", format="WAV")
    coded.seek(0)
    decoded: Floats = soundfile.read(coded, dtype="float32")[0][: len(side)]
    return decoded


def _encode(path: Path, pcm: Floats, rate_hz: int, codec: str, bit_rate: int) -> None:
    with av.open(str(path), "w") as container:
        stream = cast("av.AudioStream", container.add_stream(codec, rate=rate_hz))
        stream.bit_rate = bit_rate
        stream.layout = "stereo"
        samples = np.clip(np.rint(pcm * 32768), -32768, 32767).astype(np.int16)
        frame = av.AudioFrame.from_ndarray(samples.reshape(1, -1), format="s16", layout="stereo")
        frame.sample_rate, frame.time_base, frame.pts = rate_hz, Fraction(1, rate_hz), 0
        resampler = av.AudioResampler(
            format=stream.format.name, layout="stereo", rate=rate_hz, frame_size=stream.frame_size or 0
        )
        for part in [*resampler.resample(frame), *resampler.resample(None), None]:
            container.mux(stream.encode(part))
