"""The audio of a recording for a page: its address, or short clips."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

import numpy as np

from fdbcore.recording.files import AUDIO
from fdbcore.recording.reader import Recording
from fdbcore.sources.recorded import (
    Stereo,
    changed_source,
    is_playable,
    is_playable_in_step,
    plays_source,
    stereo_blocks,
)
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, SIDES

CLIP_BIT_RATE: Final = 32_000
CLIP_TYPE: Final = "audio/webm"


def audio_url(recording: Recording, folder: Path) -> str:
    """The address of the audio for a page in `folder`: a relative path if possible, otherwise an absolute one.

    Two source files have both their addresses, A's first, with a blank between them; `#lead=SECONDS` follows the
    address of a file that begins later than the call.
    """
    if not plays_source(recording):
        return _address(Path(os.path.abspath(recording.path), AUDIO), folder)
    source = recording.meta["source"]
    if len(source["files"]) == 1:
        return _address(recording.source_paths[0], folder)
    sides = [source["sides"][side] for side in SIDES]
    addresses = [_address(recording.source_paths[side["file"]], folder) for side in sides]
    leads_s = [side["lead_samples"] / SAMPLE_RATE_HZ for side in sides]
    return " ".join(f"{at}#lead={lead_s:g}" if lead_s else at for at, lead_s in zip(addresses, leads_s, strict=True))


def _address(target: Path, folder: Path) -> str:
    try:
        relative = os.path.relpath(target, os.path.abspath(folder))
    except ValueError:  # another drive
        return target.as_uri()
    return quote(os.fsencode(Path(relative).as_posix()))


class CallAudio(NamedTuple):
    """The audio of a call: its address, or both; or the codecs that no browser plays; or why there is none (silent)."""

    silent: str | None = None
    address: str | None = None
    codecs: str | None = None

    @property
    def unplayable(self) -> str | None:
        """The reason why a browser cannot play the audio that there is, and what helps; None if it can."""
        if self.codecs is None:
            return None
        return f"browsers cannot play its source ({self.codecs}); a page by `fdbcore report RUN --call NAME` can"


def call_audio(recording: Recording, folder: Path) -> CallAudio:
    """The audio of a call for a page in `folder`."""
    if (silent := changed_source(recording)) is not None:
        return CallAudio(silent)
    if is_playable(recording) or is_playable_in_step(recording):
        return CallAudio(address=audio_url(recording, folder))
    codecs = dict.fromkeys(file["codec"] for file in recording.source_files)
    return CallAudio(codecs=", ".join(codecs))


def clip(recording: Recording, start_tick: int, end_tick: int) -> bytes:
    """The audio between two ticks as a WebM file with Opus. Raises AudioError if the audio cannot be read.

    The caller must check that the source has not changed (`sources.recorded.changed_source`).
    """
    return _encoded(_between(recording, start_tick * FRAME_SAMPLES, end_tick * FRAME_SAMPLES), CLIP_BIT_RATE)


def webm(recording: Recording, bit_rate: int) -> bytes:
    """All of the audio as a WebM file with Opus; else as `clip`."""
    return _encoded(stereo_blocks(recording), bit_rate)


def _between(recording: Recording, start: int, end: int) -> Iterator[Stereo]:
    at = 0
    for block in stereo_blocks(recording):
        if at + len(block) > start:
            yield block[max(start - at, 0) : end - at]
        at += len(block)
        if at >= end:
            return


def _encoded(blocks: Iterable[Stereo], bit_rate: int) -> bytes:
    import av

    file, at = io.BytesIO(), 0
    with av.open(file, "w", format="webm") as container:
        stream = container.add_stream("libopus", rate=SAMPLE_RATE_HZ, layout="stereo", bit_rate=bit_rate)
        for block in blocks:
            frame = av.AudioFrame.from_ndarray(
                np.ascontiguousarray(block).reshape(1, -1), format="s16", layout="stereo"
            )
            frame.sample_rate, frame.pts = SAMPLE_RATE_HZ, at
            container.mux(stream.encode(frame))
            at += len(block)
        container.mux(stream.encode(None))
    return file.getvalue()
