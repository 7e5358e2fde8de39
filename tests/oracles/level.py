"""The energy detector's decisions from whole tracks of levels: every window by its definition, tick by tick."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

WINDOW, AHEAD, SMOOTH, START, FLAT = 200, 16, 2, 15, 8  # ticks


def naive_activity(levels_dbfs: Floats, bands_dbfs: Floats) -> list[bool]:
    """Activity of each tick from its level, (n,), and the levels of its bands, (n, bands)."""
    n, last = len(levels_dbfs), len(levels_dbfs) - 1
    powers = np.where(bands_dbfs > -120, 10 ** (bands_dbfs / 10), 0)
    smooth = np.array([decibels(powers[max(t - SMOOTH, 0) : t + SMOOTH + 1]) for t in range(n)])
    mean, deviation, past = first_background(smooth[:START])
    learned, speaking, in_range = 20.0, False, False
    active = np.zeros(n, dtype=np.bool_)
    noise, voice = _Noise(levels_dbfs, bands_dbfs, smooth), -np.inf
    for tick in range(n):
        known = min(tick + AHEAD - SMOOTH, last)
        floor = smooth[max(known - WINDOW + 1, 0) : known + 1].min(axis=0)
        if known < WINDOW - 1:
            floor = np.minimum(floor, past)
        peak = levels_dbfs[max(min(tick + AHEAD, last) - WINDOW + 1, 0) : tick + AHEAD + 1].max()
        mean = np.clip(mean, floor, floor + 15)
        least = max(-95, peak - 42 - 6)
        on = np.maximum(mean + np.minimum(6 * deviation, 9), least)
        off = np.maximum(mean + np.minimum(4 * deviation, 3), least)
        goes_on = stand_out(smooth[tick : known + 1], off)
        until = np.flatnonzero(~goes_on)[0] if not goes_on.all() else len(goes_on)
        starts = (smooth[tick : tick + until] >= on).any()
        about = levels_dbfs[max(tick - 15, 0) : tick + AHEAD + 1].max()
        its_own = not noise.hears(tick, floor.max(), voice, tick > 0 and bool(active[tick - 1])) and about > voice - 20
        speaking = bool(its_own and goes_on[0] and (speaking or starts))
        fades = in_range and levels_dbfs[tick] < levels_dbfs[tick - 1]
        rises = rises_to(levels_dbfs[tick : tick + AHEAD + 1], max(-95, peak - 40))
        in_range = speaking and levels_dbfs[tick] >= max(-95, peak - (42 if fades or rises else 40))
        sharp = stand_out(bands_dbfs, off)
        if in_range and sharp[max(tick - SMOOTH, 0) : tick + 1].any() and sharp[tick : tick + SMOOTH + 1].any():
            voice = next_voice(voice, levels_dbfs[tick])
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


class _Noise:
    """Comfort noise and the noise of gates, as it is heard from tick to tick."""

    def __init__(self, levels: Floats, bands: Floats, smooth: Floats) -> None:
        self.levels, self.bands, self.smooth = levels, bands, smooth
        self.common, self.known = 0.0, np.full(bands.shape[1], np.nan)
        every = np.column_stack((bands, levels))
        self.firsts = {t for t in range(len(levels) - FLAT + 1) if (every[t : t + FLAT].std(axis=0) <= 1.4).all()}

    def flat_level(self, at: int, known: int) -> float:
        """The mean level of the last flat stretch that holds `at` and ends by `known`; NaN if there is none."""
        firsts = [t for t in range(at - FLAT + 1, at + 1) if t in self.firsts and t + FLAT - 1 <= known]
        return float(self.levels[firsts[-1] : firsts[-1] + FLAT].mean()) if firsts else np.nan

    def hears(self, tick: int, floor: float, voice: float, was_active: bool) -> bool:
        """Whether `tick` is such noise."""
        if voice == -np.inf:
            return False
        known = min(tick + AHEAD, len(self.levels) - 1)
        flat = [t for t in range(tick, min(tick + 4, known) + 1) if not np.isnan(self.flat_level(t, known))][:1]
        if flat and flat[0] > tick:
            quieter = self.levels[tick : flat[0]] < self.flat_level(flat[0], known) + 2
            flat = flat if quieter.all() and not was_active else []
        at = flat[0] if flat else tick
        soft = bool(flat) and self.flat_level(at, known) < voice - 15
        above = (self.bands if flat else self.smooth)[at].max() - floor
        if at == tick and (soft or above <= 7):
            self.common += (float(above > 7) - self.common) / 200
        if above <= 25 and self.common <= 0.1:
            return False
        if soft and above > 7:
            if at == tick:
                away = self.bands[tick] - self.known
                self.known = np.where(np.abs(away) <= 6, self.known + 0.2 * away, self.bands[tick])
            return True
        return bool((np.abs(self.smooth[tick] - self.known) < 3).all())


def next_voice(voice: float, level: float) -> float:
    """The level of the voice after a tick of speech."""
    if voice == -np.inf:
        return level
    voice -= 0.01 if level > voice - 20 else 0.005
    return max(voice, min(level, voice + 2))


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
    smooth = smooth[min(3, len(smooth) - 1) :]
    least, ones = smooth.min(axis=0), np.ones(smooth.shape[1])
    if np.ptp(np.maximum(smooth, -95), axis=0).max() < 6:
        return smooth.mean(axis=0), ones, least
    start = smooth.max() - 25
    return np.minimum(least + 6, start), 2 * ones, np.minimum(least, start)
