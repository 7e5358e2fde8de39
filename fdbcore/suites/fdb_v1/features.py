"""How the system sounds before and after an overlap: speaking rate, pitch, intensity, and a quality of the user's own;
and tests of each against before it and against the clean sample, as published, and ours.

Pitch and intensity are Praat's (Boersma and Weenink; by `parselmouth`, the extra `prosody`): 50 to 600 Hz, every 10 ms,
over speech alone; of intensity without what is softer than SILENCE_DB. The quality is whatever a command of the user
prints about a WAV file, such as UTMOS.
"""

from __future__ import annotations

import hashlib
import json
import math
import shlex
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np

from fdbcore.audio.wav import WavWriter
from fdbcore.errors import InputError, MissingExtraError
from fdbcore.measures.compat import Segment
from fdbcore.measures.reading import Reading
from fdbcore.recording.files import read_json, write_json
from fdbcore.runtime.numbers import number_of
from fdbcore.sources.recorded import audio_state, stereo_blocks
from fdbcore.stats.bootstrap import bootstrap_columns
from fdbcore.stats.significance import holm, sign_flip_p
from fdbcore.suites.fdb_v1.calls import HeardSample, by_clean
from fdbcore.suites.fdb_v1.measures import FEATURES
from fdbcore.suites.fdb_v1.rules import paired_test, words_per_minute
from fdbcore.types import SAMPLE_RATE_HZ, Pcm

if TYPE_CHECKING:
    from fdbcore.suites.fdb_v1.document_types import V1PairedTest

KEPT: Final = "derived/before_after.json"
PITCH_HZ: Final = (50.0, 600.0)
STEP_S: Final = 0.01
SILENCE_DB: Final = 20.0
"""Softer is no voice: -74 dBFS, as Praat takes full scale for 1 Pa. Zeros have -300 dB, which would decide any mean."""
LEAST_S: Final = 0.2
"""Of shorter speech nothing is told."""
COMMAND_S: Final = 600.0

Features: TypeAlias = dict[str, float]
"""By their ids in `measures.FEATURES`; what is not known is missing."""
Sound: TypeAlias = Mapping[Path, tuple[Features, Features]]
"""The features before and after the overlap, by recording; of a clean one around where it would be."""


def lacking() -> str:
    """Why pitch and intensity cannot be measured here; "" if they can."""
    try:
        import parselmouth  # noqa: F401
    except ImportError:
        return "pitch and intensity need Praat: pip install 'fdbcore[prosody]'"
    return ""


def before_and_after(
    reading: Reading, segments: Sequence[Segment], split_s: float, command: str | None
) -> tuple[Features, Features]:
    """The features of sound before and after a cut, in the system's segments of speech; kept with the recording.

    command: the quality alone, as it prints it, see `quality`; None: pitch and intensity. MissingExtraError for these
    without Praat, InputError if the command fails.
    """
    if command is None and (why := lacking()):
        raise MissingExtraError(why)
    asked = json.dumps([audio_state(reading), [*segments], split_s, command or "praat"])
    key = hashlib.sha256(asked.encode()).hexdigest()[:32]
    file = reading.path / KEPT
    kept = read_json(file) if file.is_file() else {}
    if key not in kept:
        speech = _sides(reading, segments, split_s)
        kept[key] = [_features(pcm, command) for pcm in speech]
        write_json(file, kept, in_one_line=True)
    before, after = kept[key]
    return before, after


def rates(words: Sequence[Segment], split_s: float) -> tuple[Features, Features]:
    """The speaking rate before and after a cut, by the start and end of each word; a word across it is after it."""
    sides = [word for word in words if word[1] <= split_s], [word for word in words if word[1] > split_s]
    before, after = ({} if rate is None else {"words_per_minute": rate} for rate in map(words_per_minute, sides))
    return before, after


def _sides(reading: Reading, segments: Sequence[Segment], split_s: float) -> tuple[Pcm, Pcm]:
    """The system's speech before and after the cut, int16 (n,) at 48 kHz each."""
    pcm = np.concatenate([np.zeros(0, np.int16), *(block[:, 1] for block in stereo_blocks(reading))])
    spans = ((segments, 0.0, split_s), (segments, split_s, math.inf))
    before, after = (_cut(pcm, [(max(a, low), min(b, high)) for a, b in own]) for own, low, high in spans)
    return before, after


def _cut(pcm: Pcm, spans: Sequence[Segment]) -> Pcm:
    parts = [pcm[round(a * SAMPLE_RATE_HZ) : round(b * SAMPLE_RATE_HZ)] for a, b in spans if a < b]
    return np.concatenate([np.zeros(0, np.int16), *parts])


def _features(pcm: Pcm, command: str | None) -> Features:
    if len(pcm) < LEAST_S * SAMPLE_RATE_HZ or not pcm.any():
        return {}
    if command is not None:
        return {"utmos": quality(pcm, command)}
    import parselmouth

    sound = parselmouth.Sound(pcm / 32768.0, SAMPLE_RATE_HZ)
    hz = sound.to_pitch(time_step=STEP_S, pitch_floor=PITCH_HZ[0], pitch_ceiling=PITCH_HZ[1])
    voiced = hz.selected_array["frequency"]
    found = _mean_and_sd("pitch", "hz", voiced[voiced > 0])
    level = sound.to_intensity(minimum_pitch=PITCH_HZ[0], time_step=STEP_S).values[0]
    return found | _mean_and_sd("intensity", "db", level[level >= SILENCE_DB])


def _mean_and_sd(name: str, unit: str, values: np.ndarray[Any, np.dtype[np.float64]]) -> Features:
    if not len(values):
        return {}
    return {f"{name}_mean_{unit}": float(values.mean()), f"{name}_sd_{unit}": float(values.std())}


def quality(pcm: Pcm, command: str) -> float:
    """The number that a command prints last about a WAV file, whose path is its last argument.

    pcm: int16 (n,) at 48 kHz. InputError if it fails, or prints none.
    """
    with tempfile.TemporaryDirectory(prefix="fdbcore-") as folder:
        path = Path(folder) / "speech.wav"
        with WavWriter(path, channels=1) as file:
            file.write(pcm)
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


def figures_of(before: Features, after: Features) -> dict[str, list[float]]:
    """The items of the measures before and after, and of their changes: after minus before, of what both have."""
    sides = (("before", before), ("after", after))
    changes = {f"{name}_change": [after[name] - value] for name, value in before.items() if name in after}
    return {f"compat_{name}_{when}": [value] for when, own in sides for name, value in own.items()} | changes


def tests_of(cases: Sequence[HeardSample], sound: Sound, marks: Mapping[Path, Mapping[str, Any]]) -> list[V1PairedTest]:
    """The tests of each kind of overlap, system and feature; each family is corrected by itself (Holm 1979)."""
    found: list[V1PairedTest] = []
    keys = dict.fromkeys((case.sample.condition, case.system) for case, _ in by_clean(cases))
    paired = sorted(by_clean(cases), key=lambda pair: (pair[0].sample.name, pair[0].trial))
    for condition, system in keys:
        own = [each for each in paired if (each[0].sample.condition, each[0].system) == (condition, system)]
        for feature in FEATURES:
            for against in ("before", "clean"):
                found += _tested(condition, system, feature, against, own, sound, marks)
    published = iter(holm([one["p"] for one in found if one["p"] is not None]))
    ours = iter(holm([one["ours_p"] for one in found if one["ours_p"] is not None]))
    for one in found:
        one["p_holm"] = next(published) if one["p"] is not None else None
        one["ours_p_holm"] = next(ours) if one["ours_p"] is not None else None
    return found


def _tested(
    condition: str,
    system: str,
    feature: str,
    against: Literal["before", "clean"],
    own: Sequence[tuple[HeardSample, HeardSample | None]],
    sound: Sound,
    marks: Mapping[Path, Mapping[str, Any]],
) -> Iterator[V1PairedTest]:
    """The test of one feature, if any sample has both sides of it."""
    pairs = []
    for case, clean in own:
        before, after = sound.get(case.path, ({}, {}))
        other = before if against == "before" else sound.get(clean.path, ({}, {}))[1] if clean is not None else {}
        if feature in after and feature in other:
            responds = marks.get(case.path, {}).get("behaviour") == "respond"
            pairs.append((other[feature], after[feature], responds))
    if not pairs:
        return
    chosen = [(first, second) for first, second, responds in pairs if responds]
    test = paired_test([first for first, _ in chosen], [second for _, second in chosen])
    differences = np.array([second - first for first, second, _ in pairs])[:, None]
    estimate = bootstrap_columns(differences)[0]
    yield {
        "condition": condition,
        "system": system,
        "feature": feature,
        "against": against,
        "n": test.n,
        "outliers": test.outliers,
        "difference": test.difference,
        "ci95": test.interval,
        "t": test.t,
        "p": test.p,
        "p_holm": None,
        "d_z": test.d_z,
        "ours_n": len(pairs),
        "ours_difference": estimate.value,
        "ours_ci95": estimate.interval,
        "ours_p": sign_flip_p(differences)[0],
        "ours_p_holm": None,
    }
