"""The audio of a recording for a page: its address, a copy that browsers can play, or short clips."""

import io
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

import numpy as np

from fdbcore.errors import AudioError, RecordingError
from fdbcore.recording.files import AUDIO, SOUND, write_bytes
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
    address of a file that begins later than the call. What browsers cannot play has the address of its copy.
    """
    if not plays_source(recording):
        return _address(Path(os.path.abspath(recording.path), AUDIO), folder)
    if _needs_copy(recording):
        return _address(Path(os.path.abspath(recording.path), SOUND), folder)
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
    """The audio of a call: its address, or both; or why there is none (silent)."""

    silent: str | None = None
    address: str | None = None


def call_audio(recording: Recording, folder: Path) -> CallAudio:
    """The audio of a call for a page in `folder`. If browsers cannot play its source, a copy is made once.

    The copy is of what was measured, whatever becomes of the source.
    """
    needs_copy = _needs_copy(recording)
    if not (needs_copy and is_audible(recording)):
        if (silent := changed_source(recording)) is not None:
            return CallAudio(silent)
        try:
            if needs_copy:
                write_bytes(recording.path / SOUND, webm(recording, CLIP_BIT_RATE))
        except (AudioError, RecordingError) as error:
            return CallAudio(str(error))
    return CallAudio(address=audio_url(recording, folder))


def is_audible(recording: Recording) -> bool:
    """True if browsers can play the audio of a call, or the copy that they need is there."""
    return not _needs_copy(recording) or (recording.path / SOUND).is_file()


def _needs_copy(recording: Recording) -> bool:
    return not (is_playable(recording) or is_playable_in_step(recording))


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
