"""The audio of a recording for a page: found where it is, made where no browser plays it, or cut to short clips."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final
from urllib.parse import quote

import numpy as np
import numpy.typing as npt

from fdbcore.errors import AudioError
from fdbcore.held import changed_source, session_of
from fdbcore.recording import AUDIO, Recording
from fdbcore.report.words import plays_source
from fdbcore.sources import BLOCK_SAMPLES
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, Pcm
from fdbcore.wav import WavWriter
from fdbcore.whole import whole_file

CLIP_BIT_RATE: Final = 32_000
CLIP_TYPE: Final = "audio/webm"

Stereo = npt.NDArray[np.int16]
"""int16 (n, 2) at 48 kHz: A left, B right."""


def audio_url(recording: Recording, folder: Path) -> str:
    """Where a page in `folder` finds the audio: a relative path, and an absolute one only if there is no other."""
    playable = recording.meta["source"]["files"][0]["path"] if plays_source(recording) else AUDIO
    start, target = os.path.abspath(folder), os.path.join(os.path.abspath(recording.path), playable)
    try:
        relative = os.path.relpath(target, start)
    except ValueError:  # another drive
        return Path(target).as_uri()
    return quote(os.fsencode(Path(relative).as_posix()))


def is_playable(recording: Recording) -> bool:
    """Whether there is something that a browser plays as the session: its own audio, or the source itself."""
    return not plays_source(recording) or bool((recording.meta.get("source") or {}).get("playable_in_browser"))


def make_playable(recording: Recording) -> None:
    """Write session.wav where no browser plays the source. AudioError if the source is gone, another or damaged."""
    if (changed := changed_source(recording)) is not None:
        raise AudioError(changed)
    if is_playable(recording):
        return
    with whole_file(recording.path / AUDIO) as part, closing(WavWriter(Path(part.name), channels=2)) as wav:
        for block in _blocks(recording):
            wav.write(block)


def clip(recording: Recording, start_tick: int, end_tick: int) -> bytes:
    """The session from one tick to another as a WebM file with Opus. AudioError if its audio cannot be read.

    Whether the source is still what it was (`held.changed_source`) is for the caller to know.
    """
    start, end = start_tick * FRAME_SAMPLES, end_tick * FRAME_SAMPLES
    parts, at = [], 0
    for block in _blocks(recording):
        if at + len(block) > start:
            parts.append(block[max(start - at, 0) : end - at])
        at += len(block)
        if at >= end:
            break
    return _webm(np.concatenate(parts) if parts else np.zeros((0, 2), np.int16))


def _blocks(recording: Recording) -> Iterator[Stereo]:
    """The audio of both sides, a second at a time; what one side lacks at its end is silent."""
    with session_of(recording).open() as source:
        for a, b in source.blocks():
            block = np.zeros((max(len(side) for side in (a, b) if side is not None), 2), np.int16)
            _fill(block, 0, a)
            _fill(block, 1, b)
            yield block


def _fill(block: Stereo, column: int, side: Pcm | None) -> None:
    if side is not None:
        block[: len(side), column] = side


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
