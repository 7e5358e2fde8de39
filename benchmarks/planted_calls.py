"""Make a folder of calls in which B cuts off a planned share of the turns, to see what a gate says.

    python -m benchmarks.planted_calls calls --calls 1000 --premature 0.06 --seed 2

writes calls/*.wav (A left, B right; 8 kHz, as telephone systems record) and calls.csv beside it, for `--meta`. The
table says how many turns of A each call has, and how many of them B cuts off, 0.6 s before they end. B answers the
others after a median of 0.8 s. A thousand calls take a minute and 0.8 GB.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import random
import wave
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import soxr

from benchmarks.speech import Dialogue, Floats, Speaker, int16, place
from fdbcore.types import SAMPLE_RATE_HZ, TICKS_PER_S

RATE_HZ: Final = 8_000
TURNS: Final = 5
EARLY_S: Final = 0.6
LATENCY_S, LATENCY_SPREAD = 0.8, 0.4  # median, and standard deviation of its logarithm
CLIP_S: Final = (1.4, 2.6)
SPEAKERS, CLIPS = 4, 4  # of each side: so many voices, and utterances of each
HISS: Final = 10 / 32_768
LONGEST_S: Final = 60


def voices(rng: random.Random) -> list[list[Floats]]:
    """Utterances of several speakers, none so short that B could overtake it."""
    speakers = [Speaker(rng) for _ in range(SPEAKERS)]
    return [list(itertools.islice(_utterances(speaker), CLIPS)) for speaker in speakers]


def _utterances(speaker: Speaker) -> Iterator[Floats]:
    least, most = (round(limit_s * SAMPLE_RATE_HZ) for limit_s in CLIP_S)
    while True:
        clip = speaker.clip()
        if least <= len(clip) <= most:
            yield clip


def call(rng: random.Random, a: Sequence[Floats], b: Sequence[Floats], premature: float) -> tuple[Floats, int]:
    """A call, float64 (n, 2) at 48 kHz, and how many turns of A are cut off."""
    dialogue = Dialogue(np.zeros((LONGEST_S * SAMPLE_RATE_HZ, 2)), np.zeros((LONGEST_S * TICKS_PER_S, 2), np.bool_))
    start, cut_off = SAMPLE_RATE_HZ // 2, 0
    for _ in range(TURNS):
        asked, answer = rng.choice(a), rng.choice(b)
        place(dialogue, 0, asked, start)
        early = rng.random() < premature
        cut_off += early
        wait_s = -EARLY_S if early else LATENCY_S * np.exp(rng.gauss(0, LATENCY_SPREAD))
        start += len(asked) + round(wait_s * SAMPLE_RATE_HZ)
        place(dialogue, 1, answer, start)
        start += len(answer) + round(rng.uniform(0.3, 0.8) * SAMPLE_RATE_HZ)
    return dialogue.pcm[: start + 2 * SAMPLE_RATE_HZ], cut_off


def write(path: Path, pcm: Floats) -> None:
    noise = np.random.default_rng(len(pcm)).normal(0, HISS, pcm.shape)
    with wave.open(str(path), "wb") as file:
        file.setparams((2, 2, RATE_HZ, 0, "NONE", ""))
        file.writeframes(int16(soxr.resample(pcm + noise, SAMPLE_RATE_HZ, RATE_HZ)).tobytes())


def main() -> None:
    parser = argparse.ArgumentParser(description="Make calls with a planned share of premature responses.")
    parser.add_argument("folder", type=Path, help="new folder of the calls; FOLDER.csv says what is in them")
    parser.add_argument("--calls", type=int, default=1000, metavar="N")
    parser.add_argument("--premature", type=float, default=0.02, metavar="SHARE", help="of the turns of A")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    asked = parser.parse_args()
    make(asked.folder, asked.calls, asked.premature, asked.seed)


def make(folder: Path, calls: int, premature: float, seed: int) -> list[int]:
    """The calls, and their table beside them; how many turns of each are cut off."""
    rng = random.Random(seed)
    folder.mkdir(parents=True)
    sides = voices(rng), voices(rng)
    rows = []
    for number in range(calls):
        pcm, cut_off = call(rng, rng.choice(sides[0]), rng.choice(sides[1]), premature)
        name = f"{folder.name}{number:04}.wav"  # those of two folders are no pairs
        write(folder / name, pcm)
        rows.append((name, TURNS, cut_off))
    with open(folder.with_suffix(".csv"), "w", newline="") as file:
        csv.writer(file).writerows([("file", "turns_of_a", "cut_off"), *rows])
    return [cut_off for _, _, cut_off in rows]


if __name__ == "__main__":
    main()
