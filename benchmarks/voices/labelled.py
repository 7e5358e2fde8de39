"""Recordings whose speech people have labelled: NAME.wav, one channel, and NAME.scv beside it.

The second holds one line, `NAME,start,end,label,start,end,label,...`, in seconds; the label 1 is speech.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import numpy as np
import soundfile

from benchmarks.voices.clips import decoded
from benchmarks.voices.dialogues import CUTS_DB
from benchmarks.voices.speech import NO_SPANS, RATE_HZ, Spans
from benchmarks.voices.workshop import Made


def labelled_in(folder: Path, cache: Path) -> list[Made]:
    """The recordings of a folder as calls whose side B is silent. Exits with one line if one is amiss."""
    made = []
    for number, labels in enumerate(sorted(folder.glob("*.scv"))):
        audio = labels.with_suffix(".wav")
        if not audio.exists():
            sys.exit(f"{labels}: expected {audio.name} beside it")
        key = hashlib.sha256(audio.read_bytes() + labels.read_bytes()).hexdigest()[:16]
        out = cache / "labelled" / key
        out.mkdir(parents=True, exist_ok=True)
        each = Made("labelled", number, out / f"{labels.stem}.wav", out / "truth.npz")
        pcm = decoded(audio)
        soundfile.write(each.path, np.stack((pcm, np.zeros_like(pcm)), axis=1), RATE_HZ, subtype="PCM_16")
        spans = speech_of(labels)
        truth = {f"{side}{cut}": span for cut in CUTS_DB for side, span in (("a", spans), ("b", NO_SPANS))}
        np.savez(each.truth, allow_pickle=False, **truth)
        made.append(each)
    if not made:
        sys.exit(f"{folder}: expected files NAME.scv, with NAME.wav beside each")
    return made


def speech_of(labels: Path) -> Spans:
    """What people called speech."""
    _, *fields = labels.read_text().strip().split(",")
    if not fields or len(fields) % 3:
        sys.exit(
            f"{labels}: expected NAME and then start, end and label of each span, got {len(fields)} fields after NAME"
        )
    try:
        rows = np.array(fields, dtype=np.float64).reshape(-1, 3)
    except ValueError as error:
        sys.exit(f"{labels}: expected numbers after NAME: {error}")
    return np.array(np.rint(rows[rows[:, 2] == 1, :2] * RATE_HZ), dtype=np.int64)
