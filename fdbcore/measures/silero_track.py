"""The probabilities of Silero's own model for both sides of a recording, as the published rules of v1.5 take them."""

from typing import Final

import numpy as np
import numpy.typing as npt

from fdbcore._ext.pcm import to_mono
from fdbcore._ext.resample import Resampler
from fdbcore._ext.silero import SileroStream
from fdbcore.errors import AudioError
from fdbcore.recording.reader import Recording
from fdbcore.session.silero_model import silero_weights
from fdbcore.sources.recorded import changed_source, plays_source, session_of, stereo_blocks
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, SIDES, Pcm, Side

RATE_HZ: Final = 16_000
EVIDENCE: Final = "silero_16khz_probability"

Probabilities = npt.NDArray[np.float32]


def silero_probabilities(recording: Recording) -> tuple[Probabilities, Probabilities]:
    """The speech probability of each window of 32 ms in the spans that were heard, float32 (n_windows,) of A and B.

    They are those that the detector kept; where it kept none, because it raised a soft side or is another one, the
    model at 16 kHz is asked now, about the audio as it was recorded. RecordingError or AudioError if that is gone or
    has changed.
    """
    kept = recording.evidence(EVIDENCE)
    if kept is not None:
        return kept
    if (changed := changed_source(recording)) is not None:
        raise AudioError(changed)
    spans = [(start * FRAME_SAMPLES, end * FRAME_SAMPLES) for start, end in recording.heard]
    tracks = [[_Track() for _ in spans] for _ in range(2)]
    first = 0
    for block in stereo_blocks(recording):
        for number, (start, end) in enumerate(spans):
            low, high = max(start - first, 0), min(end - first, len(block))
            if low < high:
                for side, own in enumerate(tracks):
                    own[number].push(np.ascontiguousarray(block[low:high, side]))
        first += len(block)
    a, b = (np.concatenate([np.zeros(0, np.float32), *(track.ended() for track in own)]) for own in tracks)
    return a, b


def probabilities_of_files(recording: Recording) -> tuple[Probabilities, Probabilities]:
    """The same, but the model hears a file of 16 kHz as it is, as the published scripts do.

    The calls of a recording are at 48 kHz; the way there and back moves the edges of some segments by a window or two.
    It is taken where a side is no whole file of 16 kHz. Errors as of `silero_probabilities`.
    """
    a, b = (
        probabilities_of(file_samples(recording, side)) if file_rate_hz(recording, side) == RATE_HZ else None
        for side in SIDES
    )
    if a is not None and b is not None:
        return a, b
    kept_a, kept_b = silero_probabilities(recording)
    return kept_a if a is None else a, kept_b if b is None else b


def file_rate_hz(recording: Recording, side: Side) -> int | None:
    """The rate of the file that a side is the whole of; None where there is no such file, or no longer."""
    files, source = recording.source_files, recording.meta.get("source") or {}
    if len(files) != len(SIDES) or recording.left_out or source["offset_ms"] or not plays_source(recording):
        return None
    rate_hz: int = files[source["sides"][side]["file"]]["rate_hz"]
    return None if changed_source(recording) is not None else rate_hz


def file_samples(recording: Recording, side: Side) -> Pcm:
    """The samples of that file as they are in it, int16 (n,), at its own rate."""
    with session_of(recording).open() as opened:
        return np.concatenate([np.zeros(0, np.int16), *map(to_mono, opened.sides[side].file.blocks())])


def probabilities_of(pcm: Pcm) -> Probabilities:
    """The probabilities of audio that the model takes for 16 kHz, int16 (n,)."""
    track = _Track(RATE_HZ)
    track.push(pcm)
    return track.ended()


class _Track:
    """One side in one span: the model hears it anew. rate_hz: of the audio that it gets."""

    def __init__(self, rate_hz: int = SAMPLE_RATE_HZ) -> None:
        self._resampler = Resampler(rate_hz, RATE_HZ, "best") if rate_hz != RATE_HZ else None
        self._model = SileroStream(silero_weights(RATE_HZ))
        self._rest: Pcm = np.zeros(0, np.int16)
        self._found: list[float] = []

    def push(self, pcm: Pcm) -> None:
        """Take the next audio of the side, int16 (n,)."""
        self._take(pcm if self._resampler is None else self._resampler.process(pcm))

    def _take(self, pcm: npt.NDArray[np.int16]) -> None:
        size = self._model.window_samples
        pcm = np.concatenate([self._rest, pcm])
        whole = len(pcm) - len(pcm) % size
        self._found += [self._model.process(window) for window in pcm[:whole].reshape(-1, size)]
        self._rest = pcm[whole:]

    def ended(self) -> Probabilities:
        """All probabilities; the last window is filled with silence."""
        if self._resampler is not None:
            self._take(self._resampler.flush())
        self._take(np.zeros(-len(self._rest) % self._model.window_samples, np.int16))
        return np.array(self._found, np.float32)
