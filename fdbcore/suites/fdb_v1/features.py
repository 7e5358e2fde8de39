"""How the system sounds before and after an overlap: speaking rate, pitch, intensity, and a quality of the user's own.

Pitch and intensity are Praat's (Boersma and Weenink; by `parselmouth`, the extra `prosody`), every 10 ms of speech at
16 kHz: pitch of 50 to 600 Hz, intensity by Praat's own window (100 Hz). The speech of each side is what Silero finds in
that side alone. The quality is whatever a command of the user prints about a WAV file, such as UTMOS.

As published, a side without speech is measured whole, and what is not found is 0, which stays in the means. Ours cut at
the end of the overlap, leave out what has less than LEAST_S of speech, and of intensity what is softer than SILENCE_DB.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from fdbcore._ext.resample import Resampler
from fdbcore.audio import wav_bytes
from fdbcore.errors import InputError
from fdbcore.measures import RATE_HZ, Reading, Segment, file_rate_hz, file_samples, probabilities_of, segments
from fdbcore.recording import read_json, write_json
from fdbcore.runtime import number_of
from fdbcore.sources import audio_state, stereo_blocks
from fdbcore.suites.fdb_v1.calls import compared_s
from fdbcore.suites.fdb_v1.figures import Floats
from fdbcore.suites.fdb_v1.measures import SPAN
from fdbcore.types import SAMPLE_RATE_HZ, Pcm

KEPT: Final = "derived/before_after.json"
PITCH_HZ: Final = (50.0, 600.0)
STEP_S: Final = 0.01
MIN_SPEECH_S, MIN_SILENCE_S = 0.06, 0.05
SILENCE_DB: Final = 20.0
"""Ours: softer is no voice, -74 dBFS, as Praat takes full scale for 1 Pa. Zeros have -300 dB, which would decide any
mean."""
PUBLISHED_SILENCE_DB: Final = -200.0
"""As published: not softer than that, and a side that is has it."""
LEAST_S: Final = 0.2
"""Ours: of shorter speech nothing is told."""
PRAAT_S: Final = 0.064
"""Praat measures no intensity of what is shorter."""
COMMAND_S: Final = 600.0

Features: TypeAlias = dict[str, float]
"""By their ids in `measures.FEATURES`; what is not known is missing."""


class Sound(NamedTuple):
    """The features of a system in a sample; of a clean one cut where the overlap would be. As published: before and
    after the cut, and of all of it. Ours: before and after the end of the overlap.
    """

    before: Features
    after: Features
    whole: Features
    ours_before: Features
    ours_after: Features

    def with_more(self, more: Sound) -> Sound:
        """These, and what another has."""
        return Sound(*(own | other for own, other in zip(self, more, strict=True)))

    def figures(self, is_clean: bool) -> dict[str, list[float]]:
        """The items of the measures. A clean sample has those of all of it, and no two published sides."""
        sides = {"whole": self.whole} if is_clean else {"before": self.before, "after": self.after}
        published = {f"compat_{name}_{when}": [value] for when, own in sides.items() for name, value in own.items()}
        known = [name for name in self.ours_before if name in self.ours_after]
        return published | {f"{name}_change": [self.ours_after[name] - self.ours_before[name]] for name in known}


NO_SOUND: Final = Sound({}, {}, {}, {}, {})


def lacking() -> str:
    """Why pitch and intensity cannot be measured here; "" if they can."""
    return "" if find_spec("parselmouth") else "pitch and intensity need Praat: pip install 'fdbcore[prosody]'"


def sound_of(reading: Reading, words: Sequence[Segment] | None, overlap_end_s: float, command: str | None) -> Sound:
    """The features of the system's sound; kept with the recording.

    words: in s; None if they are not known. command: the quality alone, as it prints it, see `quality`; None: pitch and
    intensity, if nothing is `lacking`. InputError if the command fails.
    """
    cuts = [split_s(words or (), overlap_end_s, compared_s(reading)), overlap_end_s]
    asked = json.dumps([audio_state(reading), cuts, command or "praat"])
    key = hashlib.sha256(asked.encode()).hexdigest()[:32]
    file = reading.path / KEPT
    kept = read_json(file) if file.is_file() else {}
    if key not in kept:
        pcm = _system(reading)
        at, ours_at = (round(cut_s * RATE_HZ) for cut_s in cuts)
        published = [_as_published(side, command) for side in (pcm[:at], pcm[at:], pcm)]
        kept[key] = [*published, *(_ours(side, command) for side in (pcm[:ours_at], pcm[ours_at:]))]
        write_json(file, kept, in_one_line=True)
    return Sound(*kept[key])


def rates(words: Sequence[Segment], overlap_end_s: float, length_s: float) -> Sound:
    """The speaking rates, by the start and end of each word in s. Published: a word across the cut is after it; ours:
    before it.

    length_s: of the system's audio; as published, a side without any of it has nothing.
    """
    cut_s = split_s(words, overlap_end_s, length_s)
    before, after = [word for word in words if word[1] <= cut_s], [word for word in words if word[1] > cut_s]
    published = [
        {"words_per_minute": words_per_minute(own), SPAN: span_s(own)} if side_s > 0 else {}
        for own, side_s in ((before, cut_s), (after, length_s - cut_s), (words, length_s))
    ]
    ours = [[word for word in words if (word[0] < overlap_end_s) == is_before] for is_before in (True, False)]
    return Sound(*published, *({"words_per_minute": words_per_minute(own)} if span_s(own) else {} for own in ours))


def split_s(words: Sequence[Segment], overlap_end_s: float, length_s: float) -> float:
    """v1.5: where before ends and after begins: the start of the word that the end of the overlap lies in, or else of
    the first one after it; where all words end before, the end of the last; without words the end of the overlap.

    length_s: of the system's audio, which the cut lies in.
    """
    in_order = sorted(words, key=lambda word: word[0])
    last_end_s = in_order[-1][1] if in_order else overlap_end_s
    cut_s = next((start for start, end in in_order if overlap_end_s < max(start, end)), last_end_s)
    return max(0.0, min(length_s, cut_s))


def span_s(words: Sequence[Segment]) -> float:
    """From the start of the first word to the end of the last; 0 without any such time."""
    return max(words[-1][1] - words[0][0], 0.0) if words else 0.0


def words_per_minute(words: Sequence[Segment]) -> float:
    """v1.5: words by the time from the first start to the last end; 0 without any such time."""
    return 60 * len(words) / spoken_s if (spoken_s := span_s(words)) else 0.0


def _system(reading: Reading) -> Pcm:
    """The system's side as far as the rules read it, int16 (n,) at 16 kHz: a file of that rate as it is."""
    if file_rate_hz(reading, "B") == RATE_HZ:
        return file_samples(reading, "B")
    resampler = Resampler(SAMPLE_RATE_HZ, RATE_HZ, "best")
    blocks = [resampler.process(np.ascontiguousarray(block[:, 1])) for block in stereo_blocks(reading)]
    return np.concatenate([*blocks, resampler.flush()])[: round(compared_s(reading) * RATE_HZ)]


def _speech(pcm: Pcm) -> Pcm:
    """The speech in audio at 16 kHz, joined; nothing if there is none."""
    found = segments(probabilities_of(pcm), len(pcm) / RATE_HZ, MIN_SPEECH_S, MIN_SILENCE_S)
    return np.concatenate([pcm[:0], *(pcm[round(a * RATE_HZ) : round(b * RATE_HZ)] for a, b in found)])


def _as_published(side: Pcm, command: str | None) -> Features:
    speech = _speech(side)
    return _features(speech if len(speech) else side, command, PUBLISHED_SILENCE_DB)


def _ours(side: Pcm, command: str | None) -> Features:
    speech = _speech(side)
    if len(speech) < LEAST_S * RATE_HZ or not speech.any():
        return {}
    return _features(speech, command, SILENCE_DB)


def _features(pcm: Pcm, command: str | None, silence_db: float) -> Features:
    """What is measured of audio at 16 kHz; where Praat finds no voice, 0, and nothing but silence, `silence_db`."""
    if command is not None:
        return {"utmos": quality(pcm, command)} if len(pcm) else {}
    if len(pcm) < PRAAT_S * RATE_HZ:
        return {}
    import parselmouth

    sound = parselmouth.Sound(pcm / 32768.0, RATE_HZ)
    hz = sound.to_pitch(time_step=STEP_S, pitch_floor=PITCH_HZ[0], pitch_ceiling=PITCH_HZ[1])
    voiced = hz.selected_array["frequency"]
    level = sound.to_intensity(time_step=STEP_S).values[0]
    found = _mean_and_sd("pitch", "hz", voiced[voiced > 0], 0.0)
    return found | _mean_and_sd("intensity", "db", level[level > silence_db], silence_db)


def _mean_and_sd(name: str, unit: str, values: Floats, otherwise: float) -> Features:
    mean = float(values.mean()) if len(values) else otherwise
    return {f"{name}_mean_{unit}": mean, f"{name}_sd_{unit}": float(values.std(ddof=1)) if len(values) > 1 else 0.0}


def quality(pcm: Pcm, command: str) -> float:
    """The number that a command prints last about a WAV file, whose path is its last argument.

    pcm: int16 (n,) at 16 kHz. InputError if it fails, or prints none.
    """
    with tempfile.TemporaryDirectory(prefix="fdbcore-") as folder:
        path = Path(folder) / "speech.wav"
        path.write_bytes(wav_bytes(pcm, RATE_HZ))
        try:
            done = subprocess.run(
                [*shlex.split(command), str(path)], capture_output=True, text=True, timeout=COMMAND_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise InputError(f"--utmos {command}: expected a command that prints a number, got: {error}") from error
    if done.returncode:
        told = done.stderr.strip().splitlines()[-1:] or ["nothing"]
        raise InputError(f"--utmos {command}: expected exit code 0, got {done.returncode}: {told[0]}")
    try:
        return number_of(done.stdout.split()[-1])
    except (IndexError, ValueError):
        raise InputError(f"--utmos {command}: expected a number as the last word, got {done.stdout[-80:]!r}") from None
