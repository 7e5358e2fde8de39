"""Echo of one side in the other: found by cross-correlation in speech of its source, and which speech it explains.

A linear echo alone: what a canceller or a codec leaves of one may sound like it and correlate no more. Nor is each
count exact once echo is left out: on the shipped session none of overlaps and intrusions changes, but in dialogues that
are dense with overlaps a few echoes in a hundred still move one by an event.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from fdbcore.measures.health.finding import Bools, near
from fdbcore.measures.health.hearing import LOW_RATE_HZ, LOW_TICK, Floats, SideAudio
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
AT_ONCE_SAMPLES: Final = 20  # files may begin so far apart: an echo comes no earlier before its source
MIRRORED_SAMPLES: Final = 64  # the strongest ray of a room is not the same in each stretch
LEAST_SHARE: Final = 0.02  # explained by an echo both ways at once; one seen from behind explains less, but for chance
EARLY_TIMES: Final = 2.0  # what comes before its source explains so much more than the same seen from behind
DITHER: Final = 1.5e-5  # half a step of int16: digital silence correlates with nothing

TAPS: Final = 64  # of the response of a path, oldest sample first: from 14 ms after its lag ...
AT_LAG: Final = 55  # ... to 2 ms before it
MARGIN_TICKS: Final = 3  # of the source, for TAPS
LOUDEST_DB: Final = 4.0  # over its source; a tick of the target that is louder is not of its echo
LEAST_TICKS: Final = 20
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
class EchoPath:
    """A way from one side into the other, in a stretch of the session.

    deviations: how far the correlation at `lag_samples` (4 kHz) stands out of that at other lags. gain_db: power of the
    echo over that of its source. explained_share: of the target's power, where it is least of its own; of each half of
    these ticks by the response of the other half, so that an echo that is none explains nothing.
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
class HeardEcho:
    """The other side as it is heard in `side`. paths: one for each stretch in which it was found."""

    side: Side
    paths: Sequence[EchoPath]

    @property
    def level_db(self) -> float:
        """Its power over that of its source; the median of its paths."""
        return float(np.median([path.gain_db for path in self.paths]))

    @property
    def lag_samples(self) -> float:
        """How late it is, at 4 kHz; the median of its paths."""
        return float(np.median([path.lag_samples for path in self.paths]))

    @property
    def is_late(self) -> bool:
        """Whether it comes after its source, as every echo does, and not before it."""
        return self.lag_samples >= -AT_ONCE_SAMPLES

    @property
    def delays_ms(self) -> tuple[float, float, float]:
        """How late it is: least, median, most; all below 0 if it is not late, and none if it is."""
        delays_ms = np.array([path.delay_ms for path in self.paths])
        least, median, most = np.quantile(np.maximum(delays_ms, 0) if self.is_late else delays_ms, [0, 0.5, 1])
        return float(least), float(median), float(most)

    @property
    def explained_share(self) -> float:
        """How much of the side's power it explains where the other speaks alone."""
        return float(np.median([path.explained_share for path in self.paths]))

    @property
    def alike(self) -> bool:
        """Whether it is no echo: the side holds the other, as loud as the other is."""
        return self.level_db > ALIKE_DB and self.explained_share > ALIKE_SHARE


def find(
    sides: Mapping[Side, SideAudio], activity: Mapping[Side, Bools], one_clock: bool = False
) -> dict[Side, HeardEcho]:
    """What each side has of the other, by the side that has it; sides that hold the same have it both ways.

    one_clock: both sides are known to begin together, so nothing comes before its source.
    """
    possible = {side: _echoes(sides, activity, side, one_clock) for side in SIDES}
    found = {}
    for side, echoes in possible.items():
        others = possible[other_side(side)]
        genuine = [echo for echo in echoes if not any(_is_mirrored(echo, other) for other in others)]
        if genuine:
            found[side] = max(genuine, key=lambda echo: echo.explained_share)
    return found


def _echoes(
    sides: Mapping[Side, SideAudio], activity: Mapping[Side, Bools], side: Side, one_clock: bool
) -> list[HeardEcho]:
    """What may be an echo into a side: one that comes after its source, and one before it, unless on `one_clock`."""
    source, target, speaking = sides[other_side(side)], sides[side], activity[other_side(side)]
    windows = (window for window in _windows(source, target, speaking) if window[3] >= FOUND_DEVIATIONS)
    measured = [path for window in windows if (path := _measured(source, target, speaking, *window)) is not None]
    found = []
    for is_late in (True,) if one_clock else (True, False):
        paths = [path for path in measured if (path.lag_samples >= -AT_ONCE_SAMPLES) == is_late]
        sane = [path for path in paths if LEAST_DB - 3 <= path.gain_db <= MOST_DB]
        echo = HeardEcho(side, sane)
        found += [echo] if sane and 2 * len(sane) >= len(paths) and echo.level_db >= LEAST_DB - 1 else []
    return found


def _is_mirrored(echo: HeardEcho, other: HeardEcho) -> bool:
    """Whether an echo is but the other side's seen from behind: as early as that is late.

    Two at once may both be real, unless one side holds the other as loud as it is. Of others the one is that comes
    after its source, as every echo does; but sides that do not begin together have one before it, which alone explains
    what is heard.
    """
    if abs(echo.lag_samples + other.lag_samples) > MIRRORED_SAMPLES:
        return False
    if echo.is_late and other.is_late:
        return other.alike > echo.alike or echo.explained_share < min(LEAST_SHARE, other.explained_share)
    early, late = (other, echo) if echo.is_late else (echo, other)
    is_early = early.explained_share > max(LEAST_SHARE, EARLY_TIMES * late.explained_share)
    return is_early == echo.is_late


def _windows(source: SideAudio, target: SideAudio, speaking: Bools) -> Iterator[tuple[int, int, int, float]]:
    """Start and end of each stretch, a lag at which the target resembles the source, and how clearly: of each stretch
    the lag after the source and the one before it at which it does most."""
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
            for lag_samples, deviations in _lags(spectra):
                yield starts[0], starts[-1] + FRAME_TICKS, lag_samples, deviations
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


def _lags(spectra: Sequence[tuple[Complexes, Complexes]]) -> Iterator[tuple[int, float]]:
    """The lag after the source at which the target resembles it most, and how clearly, in deviations of the whitened
    correlation at all lags; and a lag before the source, if the target resembles it more there."""
    x, y = (np.stack(side) for side in zip(*spectra, strict=True))
    powers = [(side.real**2 + side.imag**2).sum(axis=0) for side in (x, y)]
    cross = np.einsum("ij,ij->j", x.conj(), y) / np.sqrt(_smooth(powers[0]) * _smooth(powers[1]))
    cross[: LOWEST_HZ * 2 * len(cross) // LOW_RATE_HZ] = 0
    correlation = np.abs(np.fft.irfft(cross)[: 2 * REACH_TICKS * LOW_TICK + 1])
    correlation /= np.median(correlation) / 0.6745
    first = REACH_TICKS * LOW_TICK - AT_ONCE_SAMPLES
    late, early = first + int(np.argmax(correlation[first:])), int(np.argmax(correlation[:first]))
    for at in (late, early) if correlation[early] > correlation[late] else (late,):
        yield at - REACH_TICKS * LOW_TICK, float(correlation[at])


def _smooth(power: Floats) -> Floats:
    smooth: Floats = np.convolve(power, np.full(33, 1 / 33, np.float32), "same")
    return smooth


def _measured(
    source: SideAudio,
    target: SideAudio,
    speaking: Bools,
    start_tick: int,
    end_tick: int,
    lag_samples: int,
    deviations: float,
) -> EchoPath | None:
    """A path's response by least squares, from the ticks in which the target is least of its own; None without these.

    A tick in which the target is louder than the source is of no use: there the source may itself be an echo.
    """
    x, y = _aligned(source, target, start_tick, end_tick, lag_samples)
    rows = np.lib.stride_tricks.sliding_window_view(x, TAPS).reshape(-1, LOW_TICK, TAPS)
    loud = np.mean(rows[:, :, AT_LAG] ** 2, axis=1)
    spoken = np.zeros(len(rows), np.bool_)
    spoken[: len(speaking) - start_tick] = speaking[start_tick:end_tick]
    moved = np.roll(spoken, round(lag_samples / LOW_TICK))
    contamination = np.where(moved & (loud > 0), np.mean(y.reshape(-1, LOW_TICK) ** 2, axis=1) / (loud + 1e-12), np.inf)
    usable = int(np.count_nonzero(contamination <= 10 ** (LOUDEST_DB / 10)))
    if usable < LEAST_TICKS:
        return None
    best = np.sort(np.argsort(contamination)[: min(FIT_TICKS, usable // 2) // 2 * 2]).reshape(-1, 2).T
    regressors, wanted = rows[best].reshape(2, -1, TAPS), y.reshape(-1, LOW_TICK)[best].reshape(2, -1, 1)
    transposed = regressors.swapaxes(1, 2)
    grams, moments = transposed @ regressors, transposed @ wanted
    response = _solved(grams.sum(axis=0), moments.sum(axis=0))
    gain = float(np.sum((regressors @ response) ** 2)) / max(float(np.sum(regressors[:, :, AT_LAG] ** 2)), 1e-12)
    rest = wanted - regressors @ _solved(grams[::-1], moments[::-1])
    share = 1 - float(np.sum(rest**2)) / max(float(np.sum(wanted**2)), 1e-12)
    return EchoPath(start_tick, end_tick, lag_samples, deviations, 10 * math.log10(gain + 1e-12), share, response[:, 0])


def _solved(grams: Floats, moments: Floats) -> Floats:
    """The responses that fit best, with a ridge: (..., TAPS, 1)."""
    traces = np.trace(grams, axis1=-2, axis2=-1)[..., None, None]
    responses: Floats = np.linalg.solve(
        grams + np.eye(TAPS, dtype=np.float32) * (RIDGE * traces / TAPS + 1e-12), moments
    )
    return responses.astype(np.float32)


def _aligned(
    source: SideAudio, target: SideAudio, start_tick: int, end_tick: int, lag_samples: int
) -> tuple[Floats, Floats]:
    """The target's samples, and the source's that are `lag_samples` older, with margins for the response."""
    older, offset = divmod(-lag_samples - AT_LAG, LOW_TICK)
    x = source.low.read(start_tick + older, end_tick + older + MARGIN_TICKS)[offset:]
    y = target.low.read(start_tick, end_tick)
    return x[: len(y) + TAPS - 1], y


def suspect(echo: HeardEcho, sides: Mapping[Side, SideAudio]) -> Bools:
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


def _explained_ticks(source: SideAudio, target: SideAudio, found: Sequence[EchoPath]) -> Bools:
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


def _explained(source: SideAudio, target: SideAudio, path: EchoPath, start_tick: int, end_tick: int) -> Bools:
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
