"""Builds two-sided dialogues of phrases at known samples: turns with pauses, gaps and overlaps, backchannels, and
interruptions of which some are yielded to."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from benchmarks.voices.clips import CUT_DB, LONG_S, Phrase, speakers
from benchmarks.voices.speech import RATE_HZ, TICK_SAMPLES, Floats, Spans, level_rms, speech_spans, units

OTHER_CUT_DB: Final = 30
CUTS_DB: Final = (CUT_DB, OTHER_CUT_DB)
"""The two truths: how far below the peak of its clip speech reaches."""

SHORT_S: Final = (0.25, 0.9)
FADE_SAMPLES: Final = RATE_HZ // 50
REST_SAMPLES: Final = RATE_HZ * 2 // 5  # a side is silent for at least this long between two phrases of different turns
TAIL_SAMPLES: Final = 2 * RATE_HZ


@dataclass(frozen=True)
class Dialogue:
    """Clean audio, float32 (n, 2) with full scale 1, n a multiple of a tick. spans: of each side, by cut (dB)."""

    pcm: Floats
    spans: Mapping[int, tuple[Spans, Spans]]
    voices: tuple[str, str]

    @property
    def n_ticks(self) -> int:
        """The length in ticks."""
        return len(self.pcm) // TICK_SAMPLES

    def speech_rms(self, side: int) -> float:
        """The level of a side's own speech."""
        return level_rms(self.pcm[:, side], self.spans[CUT_DB][side])


def dialogue(voices: Mapping[str, Sequence[Phrase]], seed: int, seconds: float) -> Dialogue:
    """A dialogue of about so many seconds between two of the voices; the same for the same seed and voices."""
    return _Stage(voices, np.random.default_rng(seed), round(seconds * RATE_HZ)).play()


class _Full(Exception):
    """The dialogue is as long as it should be."""


class _Stage:
    """Places phrases of two speakers, whose levels differ, until the time is over."""

    def __init__(self, voices: Mapping[str, Sequence[Phrase]], rng: np.random.Generator, n_samples: int) -> None:
        names = speakers(voices)
        first, second = rng.choice(len(names), 2, replace=False)
        self._names = (names[first], names[second])
        self._phrases = tuple(voices[name] for name in self._names)
        self._rng = rng
        self._levels_dbfs = rng.uniform(-30, -22, 2)
        self._pcm = np.zeros((n_samples, 2), dtype=np.float32)
        self._spans: dict[int, tuple[list[Spans], list[Spans]]] = {cut: ([], []) for cut in CUTS_DB}
        self._ends = [0, 0]  # of the last speech of each side

    def play(self) -> Dialogue:
        """Turn by turn until the time is over."""
        holder, at = int(self._rng.integers(2)), self._samples(0.5, 1.5)
        try:
            while True:
                holder, at = self._turn(holder, at)
        except _Full:
            pass
        n_samples = min(max(self._ends) + TAIL_SAMPLES, len(self._pcm)) // TICK_SAMPLES * TICK_SAMPLES
        spans = {cut: (np.concatenate(a), np.concatenate(b)) for cut, (a, b) in self._spans.items()}
        sorted_spans = {cut: (a[np.argsort(a[:, 0])], b[np.argsort(b[:, 0])]) for cut, (a, b) in spans.items()}
        return Dialogue(self._pcm[:n_samples], sorted_spans, self._names)

    def _turn(self, holder: int, at: int) -> tuple[int, int]:
        """One turn of the holder from sample `at`; returns who speaks next, and from where."""
        n_phrases = int(self._rng.choice((1, 1, 2, 2, 3)))
        end = at
        for number in range(n_phrases):
            phrase = self._phrase(holder, LONG_S)
            onset, length = _extent(phrase)
            chance = self._rng.random()
            if number == n_phrases - 1 and length > 1.5 * RATE_HZ and chance < 0.2:
                return self._interrupted(holder, phrase, at)
            end = self._place(holder, phrase, at - onset)
            if length > 1.5 * RATE_HZ and chance > 0.75:
                self._backchannel(1 - holder, at + round(length * self._rng.uniform(0.25, 0.6)))
            if number < n_phrases - 1:
                at = end + round(float(np.clip(self._rng.lognormal(math.log(0.5), 0.4), 0.3, 1.2)) * RATE_HZ)
        return self._next(1 - holder, end)

    def _next(self, side: int, end: int) -> tuple[int, int]:
        """When `side` takes the floor that ends at `end`: half a second before it to 2.5 s after it."""
        offset_s = float(np.clip(self._rng.lognormal(math.log(0.9), 0.55) - 0.5, -0.5, 2.5))
        return side, max(end + round(offset_s * RATE_HZ), self._ends[side] + REST_SAMPLES)

    def _interrupted(self, holder: int, phrase: Floats, at: int) -> tuple[int, int]:
        """The other side breaks in. Of ten times the holder yields six times, and talks on to its end four times."""
        onset, length = _extent(phrase)
        cut_in = at + round(length * self._rng.uniform(0.35, 0.7))
        reaction = round(float(np.clip(self._rng.lognormal(math.log(0.45), 0.5), 0.15, 1.4)) * RATE_HZ)
        other = 1 - holder
        yields = self._rng.random() < 0.6 and cut_in - at + reaction < length
        if yields:
            kept = onset + cut_in - at + reaction
            phrase = _faded(phrase[:kept])
        end = self._place(holder, phrase, at - onset)
        if cut_in < self._ends[other] + REST_SAMPLES:
            return self._next(other, end)
        if yields:
            return other, cut_in
        said = self._phrase(other, LONG_S)
        said_end = self._place(other, said, cut_in - _extent(said)[0])
        return self._next(holder, said_end) if said_end > end else self._next(other, end)

    def _backchannel(self, side: int, at: int) -> None:
        has_short = any(SHORT_S[0] <= phrase.speech_s < SHORT_S[1] for phrase in self._phrases[side])
        if has_short and at > self._ends[side] + REST_SAMPLES:
            phrase = self._phrase(side, SHORT_S)
            self._place(side, phrase, at - _extent(phrase)[0])

    def _phrase(self, side: int, length_s: tuple[float, float]) -> Floats:
        """A phrase of about that length at the side's level, give or take 2 dB."""
        fitting = [p for p in self._phrases[side] if length_s[0] <= p.speech_s <= length_s[1]]
        pcm = _faded(fitting[int(self._rng.integers(len(fitting)))].pcm)
        level_dbfs = self._levels_dbfs[side] + self._rng.uniform(-2, 2)
        gained: Floats = pcm * np.float32(10 ** (level_dbfs / 20) / level_rms(pcm, speech_spans(pcm, CUT_DB)))
        return gained

    def _place(self, side: int, pcm: Floats, start: int) -> int:
        """Add a phrase whose first sample is `start`; returns where its speech ends."""
        start = max(start, 0)
        if start + len(pcm) + TICK_SAMPLES > len(self._pcm):
            raise _Full
        self._pcm[start : start + len(pcm), side] += pcm
        for cut, sides in self._spans.items():
            sides[side].append(speech_spans(pcm, cut) + start)
        self._ends[side] = max(self._ends[side], start + sum(_extent(pcm)))
        return start + sum(_extent(pcm))

    def _samples(self, low_s: float, high_s: float) -> int:
        return round(self._rng.uniform(low_s, high_s) * RATE_HZ)


def _extent(pcm: Floats) -> tuple[int, int]:
    """The first sample of speech in a phrase, and how many samples on its speech ends."""
    spans = speech_spans(pcm, CUT_DB)
    found = units(spans) if len(units(spans)) else spans
    return int(found[0, 0]), int(found[-1, 1] - found[0, 0])


def _faded(pcm: Floats) -> Floats:
    """A copy that begins and ends in 20 ms."""
    ramp = np.sin(np.linspace(0, np.pi / 2, FADE_SAMPLES, dtype=np.float32)) ** 2
    faded = pcm.copy()
    faded[:FADE_SAMPLES] *= ramp
    faded[-FADE_SAMPLES:] *= ramp[::-1]
    return faded
