"""The speech detector's decisions from whole tracks of levels and probabilities: every rule by its definition."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

SURE, PEAK, RANGE = 28, 200, 42.0
FLAT, MOST = 8, (1.6, 1.2, 1.2, 1.6)


def naive_speech(levels_dbfs: Floats, bands_dbfs: Floats, probabilities: Floats) -> list[bool]:
    """Activity of each tick from its level, (n,), those of its bands, (n, 3), and the model's windows of 32 ms."""
    line = _Line(levels_dbfs, bands_dbfs, probabilities)
    return [line.decide(tick) for tick in range(len(levels_dbfs))]


@dataclass
class _Line:
    levels: Floats
    bands: Floats
    probabilities: Floats
    fades: list[int] = field(default_factory=list)
    active: list[bool] = field(default_factory=list)
    stood_out: list[bool] = field(default_factory=list)
    voice: float = -np.inf
    voiced: int = 0
    cleared: int = 0
    unbroken: int = 0
    pause: int = 0
    beside: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.n = len(self.levels)
        windows, speech = [], False
        for probability in self.probabilities:
            speech = bool(probability >= (0.35 if speech else 0.5))
            windows.append(speech)
        at = np.arange(self.n) * 10 // 32
        self.speech: Bools = np.array(windows, dtype=np.bool_)[at]
        self.p = self.probabilities.astype(np.float32)[at]
        beside = [not self.speech[max(k - 5, 0) : k + 9].any() for k in range(self.n)]
        self.clear: Bools = (self.p < 0.2) & np.array(beside, dtype=np.bool_)
        powers = 10 ** (self.bands / 10)
        self.smooth = np.array([_decibels(powers[max(t - 2, 0) : t + 3]) for t in range(self.n)])
        every = np.column_stack((self.bands, self.levels))
        self.flat = [
            bool((every[t : t + FLAT].std(axis=0) <= MOST).all()) and t + FLAT <= self.n for t in range(self.n)
        ]

    def decide(self, t: int) -> bool:
        self.known = min(t + SURE, self.n - 1)
        fade, active = None, False
        self.stood_out.append(True)
        near = [k for k in range(max(t - PEAK, 0), self.known + 1) if self.speech[k]]
        self.learn(t)
        self.peak = float(max((self.levels[k] for k in near), default=-120))
        if self.peak > -120:
            start, end = self.model_edges(t)
            self.end_of_model = end
            near_model = self.speech[t] or start is not None or end is not None
            if near_model and self.is_near(t):
                self.stood_out[t] = self.out(t)
                self.explained = not self.restless or self.unbroken >= 500 or self.explains(t)
                if self.speech[t] and (end is None or end > t + 9):
                    active = not self.explained or self.out_nearby(t)
                elif end is not None:
                    edge, fade = self.end(t, end)
                    active = t < edge
                if not active and start is not None:
                    active = t >= self.start(start)
        if fade is not None and not active and t > 0 and self.active[t - 1]:
            self.fades.append(fade)
        self.active.append(active)
        return active

    def is_near(self, t: int) -> bool:
        around = [k for k in range(max(t - 30, 0), min(t + SURE, self.known) + 1) if self.speech[k]]
        return any(self.levels[k] > self.voice - 20 for k in around)

    def learn(self, t: int) -> None:
        for k in range(self.voiced, self.known + 1):
            self.hear(k)
        self.voiced = self.known + 1
        self.beside += [k for k in range(self.cleared, min(t + 20, self.known) + 1) if self.clear[k]]
        self.cleared = min(t + 20, self.known) + 1
        quiet = self.beside[-100:]
        inside = self.levels[np.flatnonzero(self.p[: min(t + 24, self.known) + 1] > 0.9)[-200:]]
        self.inside = sorted(inside)[int(len(inside) * 0.05)] if len(inside) >= 40 else None
        self.knows, self.restless = len(quiet) >= 10, False
        if self.knows:
            smooth = np.sort(self.smooth[quiet], axis=0)
            middle, low, high = (smooth[int(len(quiet) * share)] for share in (0.5, 0.16, 0.84))
            spread = np.maximum((high - low) / 2, 0.1)
            self.background = float(np.sort(self.levels[quiet])[int(len(quiet) * 0.5)])
            self.restless = bool((spread > 1.8).any())
            self.middle = middle
            self.above = middle + np.clip(4 * spread, 1, 6)
            self.below = middle - np.maximum(3 * spread, 5)
        else:
            self.background, self.middle = -120.0, np.full(3, -120.0)

    def hear(self, k: int) -> None:
        """Follow the level of the side's speech, and learn what others say if the model hears no pause."""
        if not self.speech[k]:
            self.pause += 1
            self.unbroken = 0 if self.pause >= 10 else self.unbroken
            return
        level = float(self.levels[k])
        self.voice -= 0.01 if level > self.voice - 20 else 0.005
        if level > self.voice:
            self.voice = min(level, self.voice + 2) if self.voice > -np.inf else level
        self.unbroken, self.pause = self.unbroken + 1, 0
        if self.unbroken >= 500 and level < self.voice - 10:
            self.beside.append(k)

    def model_edges(self, t: int) -> tuple[int | None, int | None]:
        self.before, self.after = (12, 2) if self.restless else (25, 10)
        if self.speech[t]:
            return None, next((k for k in range(t + 1, self.known + 1) if not self.speech[k]), None)
        last = min(t + self.before, self.known)
        start = next((k for k in range(t + 1, last + 1) if self.speech[k]), None)
        end = next((k for k in range(t, max(t - self.after, 0), -1) if self.speech[k - 1]), None)
        return start, end

    def out(self, k: int) -> bool:
        if self.levels[k] < max(self.peak - RANGE, -95):
            return False
        out = not self.knows
        if self.knows:
            out = bool((self.smooth[k] > self.above).any())
            out = out or (not self.restless and bool((self.smooth[k] < self.below).any()))
        return out and not self.is_gate_noise(k)

    def out_nearby(self, t: int) -> bool:
        hidden = int(self.hidden(float(self.middle.max()), 28))
        return any(self.out(k) for k in range(max(t - 2 * hidden, 0), min(t + hidden, self.known) + 1))

    def is_gate_noise(self, k: int) -> bool:
        ends = self.newest + 1 - FLAT  # a stretch is flat once its last tick has come
        flat = [s for s in range(max(k - FLAT + 1, 0), min(k, ends) + 1) if self.flat[s]]
        if not flat or self.inside is None:
            return False
        level = self.levels[flat[-1] : flat[-1] + FLAT].mean()
        if level > self.peak - 12 or level >= self.inside + 3 or abs(level - self.background) <= 4:
            return False
        if self.end_of_model is None or k > self.end_of_model + 10:
            return False
        return flat[-1] + FLAT - 1 >= self.end_of_model - 4

    @property
    def newest(self) -> int:
        return min(len(self.stood_out) - 1 + 32, self.n - 1)

    def explains(self, t: int) -> bool:
        speech = [k for k in range(max(t - 100, 0), self.known + 1) if self.speech[k]]
        return sum(self.stood_out[k] if k <= t else self.out(k) for k in speech) >= 0.6 * len(speech)

    def end(self, t: int, model_end: int) -> tuple[int, int | None]:
        first, limit = max(t - 18, 0), model_end + self.after
        edge = max(model_end - 4, first)
        if self.out(edge):
            while edge <= min(limit, self.known) and self.out(edge):
                edge += 1
            if edge > limit:
                return model_end - 5, None
        else:
            while edge > first and not self.out(edge - 1):
                edge -= 1
        if not self.explained:
            return model_end - 5, None
        around, fade = self.around(edge + 1, min(edge + 4, self.known)), None
        if around < self.peak - RANGE + 3:
            loud = edge - 1
            while loud > first and self.levels[loud] < self.peak - 28:
                loud -= 1
            fade = edge - loud
            recent = [*self.fades[-4:], fade]
            if fade > 5 and edge > model_end - 5 and len(recent) >= 3 and 2 * sum(f > 5 for f in recent) > len(recent):
                return model_end - 5, fade
        return edge + int(2 * self.hidden(around, 28)), fade

    def start(self, model_start: int) -> int:
        limit = max(model_start - self.before, 0)
        edge = min(model_start + 4, self.known)
        if self.out(edge):
            edge = self.run_start(edge, limit)
            if not self.restless:
                for dip in range(edge - 2, max(edge - 8, limit + 2) - 1, -1):
                    if self.run_start(dip, limit) <= dip - 2:
                        edge = self.run_start(dip, limit)
                        break
            if edge == limit > 0:
                return model_start - 2
            last = edge + 2
            while edge < last and not self.sharp(edge):
                edge += 1
        else:
            while edge < self.known and not self.out(edge):
                edge += 1
        if not self.explained:
            return model_start - 2
        return edge - int(self.hidden(self.around(edge - 5, edge - 2), 24))

    def sharp(self, k: int) -> bool:
        levels = self.bands[k]
        return not self.knows or bool((levels > self.above).any() or (levels < self.below).any())

    def run_start(self, k: int, limit: int) -> int:
        while k >= limit and self.out(k):
            k -= 1
        return k + 1

    def around(self, first: int, last: int) -> float:
        ticks = self.smooth[max(first, 0) : last + 1]
        return float(ticks.mean(axis=0).max()) if len(ticks) and last >= 0 else -120.0

    def hidden(self, around: float, heard_db: float) -> float:
        return min(max((heard_db - (self.peak - around)) / 5, 0), 4)


def _decibels(powers: Floats) -> Floats:
    mean: Floats = 10 * np.log10(np.maximum(powers.mean(axis=0), 1e-12))
    return mean
