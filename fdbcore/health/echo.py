"""Echo of one side in the other: found by cross-correlation in speech of its source, and which speech it explains.

A linear echo alone: what a canceller or a codec leaves of one may sound like it and correlate no more. Nor is each
count exact once echo is left out: on the shipped session none of overlaps and intrusions changes, but in dialogues that
are dense with overlaps a few echoes in a hundred still move one by an event.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from fdbcore.health.findings import Bools, near
from fdbcore.health.hearing import LOW_RATE_HZ, LOW_TICK, Floats, Heard
from fdbcore.types import SIDES, Side, other_side

Complexes: TypeAlias = npt.NDArray[np.complex64]

REACH_MS: Final = 500
LEAST_DB: Final = -50.0
"""The range: echoes up to REACH_MS late, and not below LEAST_DB of their source."""

FRAME_TICKS: Final = 100
REACH_TICKS: Final = REACH_MS // 10  # searched before the source as well: no echo, but what misplaced files give
WINDOW_FRAMES: Final = 8
LEAST_SPEAKING_TICKS: Final = 20  # of a frame
LOWEST_HZ: Final = 200  # hum is common to many sides, and no echo
FOUND_DEVIATIONS: Final = 9.0  # of the correlation at other lags; unrelated sides stay below 6
MIRRORED_SAMPLES: Final = 64  # the strongest ray of a room is not the same in each stretch
DITHER: Final = 1.5e-5  # half a step of int16: digital silence correlates with nothing

TAPS: Final = 64  # of the response of a path, oldest sample first: from 14 ms after its lag ...
AT_LAG: Final = 55  # ... to 2 ms before it
MARGIN_TICKS: Final = 3  # of the source, for TAPS
FIT_TICKS: Final = 300
RIDGE: Final = 1e-3
MOST_DB: Final = 3.0
ALIKE_DB: Final = -10.0
ALIKE_SHARE: Final = 0.8
MARGIN_DB: Final = 4.0
NEAR_TICKS: Final = 20
BACKGROUND_SHARE: Final = 0.2
EXPLAINED_SHARE: Final = 0.5
EXPLAINED_OVER_TICKS: Final = 11
EXPLAIN_TICKS: Final = 3_000  # at a time


@dataclass(frozen=True, slots=True)
class Path:
    """A way from one side into the other, in a stretch of the session.

    deviations: how far the correlation at `lag_samples` (4 kHz) stands out of that at other lags. gain_db: power of the
    echo over that of its source. explained_share: of the target's power, where it is least of its own.
    """

    start_tick: int
    end_tick: int
    lag_samples: int
    deviations: float
    gain_db: float
    explained_share: float
    response: Floats

    @property
    def delay_ms(self) -> float:
        """How late the echo is."""
        return 1000 * self.lag_samples / LOW_RATE_HZ


@dataclass(frozen=True, slots=True)
class Echo:
    """The other side as it is heard in `side`. paths: one for each stretch in which it was found."""

    side: Side
    paths: Sequence[Path]

    @property
    def level_db(self) -> float:
        """Its power over that of its source; the median of its paths."""
        return float(np.median([path.gain_db for path in self.paths]))

    @property
    def lag_samples(self) -> float:
        """How late it is, at 4 kHz; the median of its paths."""
        return float(np.median([path.lag_samples for path in self.paths]))

    @property
    def delays_ms(self) -> tuple[float, float, float]:
        """How late it is: least, median, most."""
        least, median, most = np.quantile([path.delay_ms for path in self.paths], [0, 0.5, 1])
        return float(least), float(median), float(most)

    @property
    def explained_share(self) -> float:
        """How much of the side's power it explains where the other speaks alone."""
        return float(np.median([path.explained_share for path in self.paths]))

    @property
    def alike(self) -> bool:
        """Whether it is no echo: the side holds the other, as loud as the other is."""
        return self.level_db > ALIKE_DB and self.explained_share > ALIKE_SHARE


def find(sides: Mapping[Side, Heard], activity: Mapping[Side, Bools]) -> dict[Side, Echo]:
    """What each side has of the other, by the side that has it; sides that hold the same have it both ways."""
    found = {side: echo for side in SIDES if (echo := _echo(sides, activity, side)) is not None}
    if len(found) < len(SIDES) or all(echo.alike for echo in found.values()):
        return found
    genuine = {side: _without_mirrored(echo, found[other_side(side)]) for side, echo in found.items()}
    return {side: echo for side, echo in genuine.items() if echo is not None}


def _echo(sides: Mapping[Side, Heard], activity: Mapping[Side, Bools], side: Side) -> Echo | None:
    source, target, speaking = sides[other_side(side)], sides[side], activity[other_side(side)]
    windows = [window for window in _windows(source, target, speaking) if window[3] >= FOUND_DEVIATIONS]
    measured = [_measured(source, target, speaking, *window) for window in windows]
    sane = [path for path in measured if LEAST_DB - 3 <= path.gain_db <= MOST_DB]
    echo = Echo(side, sane)
    return echo if sane and 2 * len(sane) >= len(measured) and echo.level_db >= LEAST_DB - 1 else None


def _without_mirrored(echo: Echo, other: Echo) -> Echo | None:
    """Without the paths that are the other side's echo seen from behind: as early as that is late, and less clear."""
    genuine = [
        path
        for path in echo.paths
        if abs(path.lag_samples + other.lag_samples) > MIRRORED_SAMPLES or path.explained_share > other.explained_share
    ]
    return replace(echo, paths=genuine) if genuine else None


def _windows(source: Heard, target: Heard, speaking: Bools) -> Iterator[tuple[int, int, int, float]]:
    """Start and end of each stretch, the lag at which the target resembles the source most, and how clearly."""
    dither = np.random.default_rng(0).standard_normal((2, FRAME_TICKS + 2 * REACH_TICKS, LOW_TICK), np.float32)
    dither_x, dither_y = dither.reshape(2, -1) * np.float32(DITHER)
    starts: list[int] = []
    spectra: list[tuple[Complexes, Complexes]] = []
    for tick in range(0, source.n_ticks, FRAME_TICKS):
        mask = np.pad(speaking[tick : tick + FRAME_TICKS], (0, FRAME_TICKS))[:FRAME_TICKS]
        if np.count_nonzero(mask) >= LEAST_SPEAKING_TICKS:
            x = source.low.read(tick, tick + FRAME_TICKS)
            y = target.low.read(tick - REACH_TICKS, tick + FRAME_TICKS + REACH_TICKS)
            x = _levelled(x + dither_x[: len(x)]) * np.repeat(mask, LOW_TICK)
            spectra.append((_spectrum(x, len(y)), _spectrum(_levelled(y + dither_y), len(y))))
            starts.append(tick)
        if len(starts) == WINDOW_FRAMES or (starts and tick + FRAME_TICKS >= source.n_ticks):
            yield starts[0], starts[-1] + FRAME_TICKS, *_resemblance(spectra)
            starts, spectra = [], []


def _spectrum(pcm: Floats, size: int) -> Complexes:
    return np.fft.rfft(pcm, size).astype(np.complex64, copy=False)


def _levelled(pcm: Floats) -> Floats:
    """Every 50 ms as loud as any other, and without the slope of the spectrum of speech."""
    sharp = np.diff(pcm, prepend=np.float32(0))
    powers = np.mean(sharp.reshape(-1, LOW_TICK) ** 2, axis=1)
    smooth = np.convolve(powers, np.full(5, 0.2, np.float32), "same")
    levelled: Floats = sharp / np.repeat(np.sqrt(smooth), LOW_TICK)
    return levelled


def _resemblance(spectra: Sequence[tuple[Complexes, Complexes]]) -> tuple[int, float]:
    """The lag of the largest whitened correlation, and that in deviations of all lags."""
    x, y = (np.stack(side) for side in zip(*spectra, strict=True))
    powers = [(side.real**2 + side.imag**2).sum(axis=0) for side in (x, y)]
    cross = np.einsum("ij,ij->j", x.conj(), y) / np.sqrt(_smooth(powers[0]) * _smooth(powers[1]))
    cross[: LOWEST_HZ * 2 * len(cross) // LOW_RATE_HZ] = 0
    correlation = np.abs(np.fft.irfft(cross)[: 2 * REACH_TICKS * LOW_TICK + 1])
    at = int(np.argmax(correlation))
    return at - REACH_TICKS * LOW_TICK, float(correlation[at] / (np.median(correlation) / 0.6745))


def _smooth(power: Floats) -> Floats:
    smooth: Floats = np.convolve(power, np.full(33, 1 / 33, np.float32), "same")
    return smooth


def _measured(
    source: Heard, target: Heard, speaking: Bools, start_tick: int, end_tick: int, lag_samples: int, deviations: float
) -> Path:
    """A path's response by least squares, from the ticks in which the target is least of its own."""
    x, y = _aligned(source, target, start_tick, end_tick, lag_samples)
    rows = np.lib.stride_tricks.sliding_window_view(x, TAPS).reshape(-1, LOW_TICK, TAPS)
    loud = np.mean(rows[:, :, AT_LAG] ** 2, axis=1)
    spoken = np.zeros(len(rows), np.bool_)
    spoken[: len(speaking) - start_tick] = speaking[start_tick:end_tick]
    moved = np.roll(spoken, round(lag_samples / LOW_TICK))
    contamination = np.where(moved & (loud > 0), np.mean(y.reshape(-1, LOW_TICK) ** 2, axis=1) / (loud + 1e-12), np.inf)
    best = np.argsort(contamination)[: min(FIT_TICKS, max(np.count_nonzero(moved) // 2, 1))]
    regressors, wanted = rows[best].reshape(-1, TAPS), y.reshape(-1, LOW_TICK)[best].reshape(-1)
    gram = regressors.T @ regressors
    gram += np.eye(TAPS, dtype=np.float32) * (RIDGE * np.trace(gram) / TAPS + 1e-12)
    response = np.linalg.solve(gram, regressors.T @ wanted).astype(np.float32)
    echo = regressors @ response
    gain = float(np.sum(echo**2)) / max(float(np.sum(regressors[:, AT_LAG] ** 2)), 1e-12)
    rest = float(np.sum((wanted - echo) ** 2)) / max(float(np.sum(wanted**2)), 1e-12)
    return Path(start_tick, end_tick, lag_samples, deviations, 10 * math.log10(gain + 1e-12), 1 - rest, response)


def _aligned(source: Heard, target: Heard, start_tick: int, end_tick: int, lag_samples: int) -> tuple[Floats, Floats]:
    """The target's samples, and the source's that are `lag_samples` older, with margins for the response."""
    older, offset = divmod(-lag_samples - AT_LAG, LOW_TICK)
    x = source.low.read(start_tick + older, end_tick + older + MARGIN_TICKS)[offset:]
    y = target.low.read(start_tick, end_tick)
    return x[: len(y) + TAPS - 1], y


def suspect(echo: Echo, sides: Mapping[Side, Heard]) -> Bools:
    """The ticks of the echo's side in which whatever is heard is taken for echo, bool (n_ticks,).

    Those that the echo explains, and those near them that are no louder than it may be: the paths are measured below
    2 kHz, and see no friction.
    """
    source, target = sides[other_side(echo.side)], sides[echo.side]
    ticks = _explained_ticks(source, target, echo.paths)
    lag_ticks = round(echo.lag_samples / LOW_TICK)
    loudest = np.max([np.roll(source.powers, lag_ticks + shift) for shift in range(-2, 5)], axis=0)
    background = 2 * np.quantile(target.until_its_end.powers, BACKGROUND_SHARE)
    possible = target.powers <= loudest * 10 ** ((echo.level_db + MARGIN_DB) / 10) + background
    taken: Bools = ticks | (near(ticks, NEAR_TICKS) & possible)
    return taken


def _explained_ticks(source: Heard, target: Heard, found: Sequence[Path]) -> Bools:
    """The ticks of the target that are echo of the source and little else.

    A tick is if the path's prediction leaves less than half of the power around it. A path is tried from its start to
    that of the next, and in the stretches beside it, for one that changes in between; where there is no echo, it
    explains nothing.
    """
    ticks = np.zeros(target.n_ticks, np.bool_)
    edges = [0, *(path.start_tick for path in found[1:]), target.n_ticks]
    for number, (start, end) in enumerate(itertools.pairwise(edges)):
        for path in found[max(number - 1, 0) : number + 2]:
            for at in range(start, end, EXPLAIN_TICKS):
                ticks[at : min(at + EXPLAIN_TICKS, end)] |= _explained(
                    source, target, path, at, min(at + EXPLAIN_TICKS, end)
                )
    return ticks


def _explained(source: Heard, target: Heard, path: Path, start_tick: int, end_tick: int) -> Bools:
    x, y = _aligned(source, target, start_tick, end_tick, path.lag_samples)
    predicted = np.convolve(x, path.response[::-1], "valid")
    power, rest = (np.mean(pcm.reshape(-1, LOW_TICK) ** 2, axis=1) for pcm in (y, y - predicted))
    around = _boxed(power)
    explained: Bools = (_boxed(rest) < EXPLAINED_SHARE * around) & (rest < EXPLAINED_SHARE * around)
    return explained


def _boxed(powers: Floats) -> Floats:
    """The mean of the ticks around each."""
    box = np.full(EXPLAINED_OVER_TICKS, 1 / EXPLAINED_OVER_TICKS, np.float32)
    boxed: Floats = np.convolve(powers, box)[EXPLAINED_OVER_TICKS // 2 :][: len(powers)]
    return boxed
