"""The audio of a recording for a page: its address, or short clips."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Final
from urllib.parse import quote

import numpy as np

from fdbcore.recording.files import AUDIO
from fdbcore.recording.reader import Recording
from fdbcore.sources.recorded import Stereo, plays_source, stereo_blocks
from fdbcore.sources.sessions import BLOCK_SAMPLES
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ

CLIP_BIT_RATE: Final = 32_000
CLIP_TYPE: Final = "audio/webm"


def audio_url(recording: Recording, folder: Path) -> str:
    """The address of the audio for a page in `folder`: a relative path if possible, otherwise an absolute one."""
    playable = recording.meta["source"]["files"][0]["path"] if plays_source(recording) else AUDIO
    start, target = os.path.abspath(folder), os.path.join(os.path.abspath(recording.path), playable)
    try:
        relative = os.path.relpath(target, start)
    except ValueError:  # another drive
        return Path(target).as_uri()
    return quote(os.fsencode(Path(relative).as_posix()))


def clip(recording: Recording, start_tick: int, end_tick: int) -> bytes:
    """The audio between two ticks as a WebM file with Opus. Raises AudioError if the audio cannot be read.

    The caller must check that the source has not changed (`sources.recorded.changed_source`).
    """
    start, end = start_tick * FRAME_SAMPLES, end_tick * FRAME_SAMPLES
    parts, at = [], 0
    for block in stereo_blocks(recording):
        if at + len(block) > start:
            parts.append(block[max(start - at, 0) : end - at])
        at += len(block)
        if at >= end:
            break
    return _webm(np.concatenate(parts) if parts else np.zeros((0, 2), np.int16))


def _webm(pcm: Stereo) -> bytes:
    import av

    file = io.BytesIO()
    with av.open(file, "w", format="webm") as container:
        stream = container.add_stream("libopus", rate=SAMPLE_RATE_HZ, layout="stereo", bit_rate=CLIP_BIT_RATE)
        for start in range(0, len(pcm), BLOCK_SAMPLES):
            block = np.ascontiguousarray(pcm[start : start + BLOCK_SAMPLES]).reshape(1, -1)
            frame = av.AudioFrame.from_ndarray(block, format="s16", layout="stereo")
            frame.sample_rate, frame.pts = SAMPLE_RATE_HZ, start
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return file.getvalue()
