"""Where speech is in clean audio, by a cut below its own peak, and the units that follow by the 60 / 200 ms rule.

Spans are int64 (n, 2), half open, in samples at RATE_HZ.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.floating[Any]]
Bools: TypeAlias = npt.NDArray[np.bool_]
Spans: TypeAlias = npt.NDArray[np.int64]

RATE_HZ: Final = 16_000
TICK_SAMPLES: Final = RATE_HZ // 100
WINDOW_SAMPLES: Final = TICK_SAMPLES
STEP_SAMPLES: Final = RATE_HZ // 1000
MIN_SPEECH_SAMPLES: Final = 6 * TICK_SAMPLES
MIN_SILENCE_SAMPLES: Final = 20 * TICK_SAMPLES
NO_SPANS: Final[Spans] = np.zeros((0, 2), dtype=np.int64)


def levels_db(pcm: Floats) -> Floats:
    """The level of windows of 10 ms, one each millisecond, in dB; (n,)."""
    powers = np.concatenate(([0.0], np.cumsum(pcm.astype(np.float64) ** 2)))
    starts = np.arange(0, len(pcm) - WINDOW_SAMPLES + 1, STEP_SAMPLES)
    means = (powers[starts + WINDOW_SAMPLES] - powers[starts]) / WINDOW_SAMPLES
    levels: Floats = 10 * np.log10(np.maximum(means, 1e-20))
    return levels


def speech_spans(pcm: Floats, down_db: float) -> Spans:
    """Where 10 ms are at most `down_db` below the loudest 10 ms: from the middle of the first window to that of the
    last, which is where a grid of ticks has its edges on average."""
    levels = levels_db(pcm)
    if not len(levels):
        return NO_SPANS
    windows = runs(levels >= levels.max() - down_db)
    middles: Spans = windows * STEP_SAMPLES + WINDOW_SAMPLES // 2
    middles[:, 1] -= STEP_SAMPLES - 1
    return middles


def runs(active: Bools) -> Spans:
    """The maximal runs of True."""
    edges = np.flatnonzero(np.diff(active.astype(np.int8), prepend=0, append=0))
    return np.array(edges.reshape(-1, 2), dtype=np.int64)


def joined(spans: Spans, silence_samples: int) -> Spans:
    """Sorted spans, those joined that lie less than `silence_samples` apart."""
    if len(spans) < 2:
        return spans
    starts, ends = spans[:, 0], np.maximum.accumulate(spans[:, 1])
    new = np.concatenate(([True], starts[1:] - ends[:-1] >= silence_samples))
    first = np.flatnonzero(new)
    return np.stack((starts[first], ends[np.append(first[1:], len(spans)) - 1]), axis=1)


def units(spans: Spans) -> Spans:
    """Stretches of speech: 60 ms without a break start one, 200 ms of silence end it. Spans: sorted."""
    spans = joined(spans, 1)
    found: list[tuple[int, int]] = []
    for start, end in spans.tolist():
        if found and start - found[-1][1] < MIN_SILENCE_SAMPLES:
            found[-1] = (found[-1][0], end)
        elif end - start >= MIN_SPEECH_SAMPLES:
            found.append((start, end))
    return np.array(found, dtype=np.int64).reshape(-1, 2)


def samples_in(spans: Spans, n_samples: int) -> Bools:
    """Whether each sample lies in a span, bool (n_samples,)."""
    marks = np.zeros(n_samples + 1, dtype=np.int32)
    np.add.at(marks, np.clip(spans[:, 0], 0, n_samples), 1)
    np.add.at(marks, np.clip(spans[:, 1], 0, n_samples), -1)
    inside: Bools = np.cumsum(marks[:-1]) > 0
    return inside


def ticks_in(spans: Spans, n_ticks: int) -> Bools:
    """Whether at least half of each tick lies in spans, bool (n_ticks,)."""
    inside = samples_in(spans, n_ticks * TICK_SAMPLES)
    half: Bools = inside.reshape(n_ticks, TICK_SAMPLES).sum(axis=1) * 2 >= TICK_SAMPLES
    return half


def level_rms(pcm: Floats, spans: Spans) -> float:
    """The RMS of what lies in the spans."""
    return float(np.sqrt(np.mean(pcm[samples_in(spans, len(pcm))].astype(np.float64) ** 2)))
