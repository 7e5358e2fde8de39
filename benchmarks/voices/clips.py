"""Reads folders of clean clips, a voice each, and cuts the clips into phrases."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import av
import numpy as np
from scipy.signal import butter, sosfilt

from benchmarks.voices.speech import RATE_HZ, Floats, joined, levels_db, speech_spans

CUT_DB: Final = 40
"""Speech is what lies at most this far below the peak of its clip."""

BACKGROUND_DB: Final = 52.0
"""A clip whose quietest 2 % do not lie this far below its peak has sounds of its own that no truth knows."""

EDGE_CUTS_DB: Final = (30, 45)
MOST_EDGE_SAMPLES: Final = RATE_HZ * 15 // 100
"""A phrase whose edge moves by more between these cuts dies away in a room: where it ends is a matter of taste."""

MOST_S: Final = 420.0  # of a voice: more phrases than the dialogues of a run ask for
LONG_S: Final = (0.9, 6.0)
LEAST_PHRASES: Final = 40
"""A voice with fewer long phrases holds no dialogue; it is heard in babble."""

SILENCE_SAMPLES: Final = RATE_HZ // 5
BEFORE_SAMPLES, AFTER_SAMPLES = RATE_HZ // 8, RATE_HZ // 6
AUDIO: Final = frozenset({".flac", ".g722", ".m4a", ".mp3", ".ogg", ".opus", ".wav"})
_HIGH_PASS: Final = butter(2, 60, "highpass", fs=RATE_HZ, output="sos")


@dataclass(frozen=True)
class Phrase:
    """Speech without a silence of 200 ms, with what its clip has around it: float32 (n,). speech_s: without that."""

    pcm: Floats
    speech_s: float


def decoded(path: Path) -> Floats:
    """The clip at RATE_HZ, one channel, float32 (n,), full scale 1."""
    with av.open(str(path), format="g722" if path.suffix == ".g722" else None) as container:
        resampler = av.AudioResampler(format="flt", layout="mono", rate=RATE_HZ)
        parts = [part.to_ndarray()[0] for frame in container.decode(audio=0) for part in resampler.resample(frame)]
        parts += [part.to_ndarray()[0] for part in resampler.resample(None)]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.float32)


def phrases_of(folder: Path) -> list[Phrase]:
    """The phrases of a voice's clips, in an order that is the same each time but mixes the clips."""
    paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() in AUDIO)
    found: list[Phrase] = []
    for index in np.random.default_rng(len(paths)).permutation(len(paths)):
        found += _phrases(decoded(paths[index]))
        if sum(phrase.speech_s for phrase in found) > MOST_S:
            break
    return found


def _phrases(clip: Floats) -> list[Phrase]:
    """None, if the clip is empty, nearly silent or noisy."""
    if len(clip) < RATE_HZ // 6:
        return []
    clip = sosfilt(_HIGH_PASS, clip).astype(np.float32)
    levels = levels_db(clip)
    if levels.max() < -45 or np.quantile(levels, 0.02) > levels.max() - BACKGROUND_DB:
        return []
    spans = joined(speech_spans(clip, CUT_DB), SILENCE_SAMPLES).tolist()
    ends = [0, *(end for _, end in spans)]
    starts = [*(start for start, _ in spans), len(clip)]
    found = []
    for number, (start, end) in enumerate(spans):
        first = max(start - BEFORE_SAMPLES, (ends[number] + start) // 2 if number else 0)
        last = min(end + AFTER_SAMPLES, (end + starts[number + 1]) // 2 if number + 1 < len(spans) else len(clip))
        if _is_sharp(clip[first:last]):
            found.append(Phrase(clip[first:last], (end - start) / RATE_HZ))
    return found


def _is_sharp(pcm: Floats) -> bool:
    """Whether the edges of a phrase hardly depend on the cut."""
    inner, outer = (speech_spans(pcm, cut_db) for cut_db in EDGE_CUTS_DB)
    return bool(max(inner[0, 0] - outer[0, 0], outer[-1, 1] - inner[-1, 1]) <= MOST_EDGE_SAMPLES)


def voices_in(folder: Path) -> dict[str, list[Phrase]]:
    """The phrases of each voice: a sub-folder each. Exits with one line if fewer than two can hold a dialogue."""
    voices = {}
    for each in sorted(path for path in folder.iterdir() if path.is_dir()):
        print(f"reading {each.name}", file=sys.stderr)
        phrases = phrases_of(each)
        if phrases:
            voices[each.name] = phrases
    talkers = speakers(voices)
    if len(talkers) < 2:
        sys.exit(
            f"{folder}: expected a sub-folder of clean clips for each of two voices or more, with {LEAST_PHRASES} "
            f"phrases of {LONG_S[0]} to {LONG_S[1]} s; got {len(talkers)} of them"
        )
    return voices


def speakers(voices: Mapping[str, Sequence[Phrase]]) -> list[str]:
    """The voices with enough long phrases for a dialogue, sorted."""
    return sorted(
        name
        for name, phrases in voices.items()
        if sum(LONG_S[0] <= phrase.speech_s <= LONG_S[1] for phrase in phrases) >= LEAST_PHRASES
    )


def tracks_in(folder: Path) -> list[Floats]:
    """The music in a folder, float32 (n,) each."""
    return [decoded(path) for path in sorted(folder.iterdir()) if path.suffix.lower() in AUDIO]
