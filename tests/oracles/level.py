"""The energy detector's decisions from whole tracks of levels: every window by its definition, tick by tick."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

WINDOW, AHEAD, SMOOTH, START = 200, 16, 2, 15  # ticks


def naive_activity(levels_dbfs: Floats, bands_dbfs: Floats) -> list[bool]:
    """Activity of each tick from its level, (n,), and the levels of its bands, (n, bands)."""
    n, last = len(levels_dbfs), len(levels_dbfs) - 1
    powers = 10 ** (bands_dbfs / 10)
    smooth = np.array([decibels(powers[max(t - SMOOTH, 0) : t + SMOOTH + 1]) for t in range(n)])
    mean, deviation, past = first_background(smooth[:START])
    learned, speaking, in_range = 20.0, False, False
    active = np.zeros(n, dtype=np.bool_)
    for tick in range(n):
        known = min(tick + AHEAD - SMOOTH, last)
        floor = smooth[max(known - WINDOW + 1, 0) : known + 1].min(axis=0)
        if known < WINDOW - 1:
            floor = np.minimum(floor, past)
        peak = levels_dbfs[max(min(tick + AHEAD, last) - WINDOW + 1, 0) : tick + AHEAD + 1].max()
        mean = np.clip(mean, floor, floor + 15)
        on = np.maximum(mean + np.minimum(6 * deviation, 9), -66)
        off = np.maximum(mean + np.minimum(4 * deviation, 3), -66)
        goes_on = stand_out(smooth[tick : known + 1], off)
        until = np.flatnonzero(~goes_on)[0] if not goes_on.all() else len(goes_on)
        starts = (smooth[tick : tick + until] >= on).any()
        speaking = bool(goes_on[0] and (speaking or starts))
        fades = in_range and levels_dbfs[tick] < levels_dbfs[tick - 1]
        rises = rises_to(levels_dbfs[tick : tick + AHEAD + 1], max(-60, peak - 40))
        in_range = speaking and levels_dbfs[tick] >= max(-60, peak - (48 if fades or rises else 40))
        sharp = stand_out(bands_dbfs, off)
        if in_range and sharp[max(tick - SMOOTH, 0) : tick + 1].any() and sharp[tick : tick + SMOOTH + 1].any():
            hidden = int(min(max((28 - (peak - mean.max())) / 5, 0), 4))
            active[max(tick - hidden, 0) : tick + 2 * hidden + 1] = True
        away, ticks = smooth[tick] - mean, 2000.0
        if speaking:
            away = np.clip(away, -2 * deviation, 2 * deviation)
        else:
            learned = ticks = min(learned + 1, 200)
        mean = mean + away / ticks
        deviation = np.clip(deviation + (np.abs(away) - deviation) / ticks, 0.1, 5)
    return [bool(tick) for tick in active]


def rises_to(levels_dbfs: Floats, start_dbfs: float) -> bool:
    """Do the levels rise from the first tick on until one reaches the start?"""
    steps = np.flatnonzero(np.diff(levels_dbfs) <= 0)
    rising = levels_dbfs[1 : steps[0] + 1] if len(steps) else levels_dbfs[1:]
    return bool((rising >= start_dbfs).any())


def stand_out(bands_dbfs: Floats, thresholds: Floats) -> Bools:
    """Per tick: does any band reach its threshold?"""
    out: Bools = np.any(bands_dbfs >= thresholds, axis=1)
    return out


def decibels(powers: Floats) -> Floats:
    mean: Floats = 10 * np.log10(np.maximum(powers.mean(axis=0), 1e-12))
    return mean


def first_background(smooth: Floats) -> tuple[Floats, Floats, Floats]:
    """Mean and deviation of the bands, and the floor of the 2 s before, from the start of a recording."""
    least, ones = smooth.min(axis=0), np.ones(smooth.shape[1])
    if np.ptp(smooth, axis=0).max() < 6:
        return smooth.mean(axis=0), ones, least
    return np.minimum(least + 6, -45), 2 * ones, np.minimum(least, -45)
