"""Echo of one side in the other: finds it by cross-correlation with its source. `echo_powers` says which sound it is.

It finds linear echo only. What an echo canceller leaves of an echo may sound like it, but no longer correlate.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from fdbcore._ext.fourier import RealFourier
from fdbcore.measures.health.finding import Bools, near
from fdbcore.measures.health.probe import LOW_RATE_HZ, LOW_TICK, Floats, SideAudio
from fdbcore.types import SIDES, Side, other_side

Complexes: TypeAlias = npt.NDArray[np.complex64]

REACH_MS: Final = 500
LEAST_DB: Final = -50.0
"""The search range: echoes up to REACH_MS after their source, and not below LEAST_DB relative to it."""

FRAME_TICKS: Final = 100
REACH_TICKS: Final = REACH_MS // 10  # also searched before the source: it is no echo, but misplaced files look so
LONG_REACH_TICKS, FAR_SHARE = 110, 0.8  # an echo found from this share of the reach on may go on beyond it
HINT_REACH_TICKS: Final = 310
FAR_REACH_TICKS: Final = 1_030  # of what sides out of step hear of each other; a good length for Fourier transforms
WINDOW_FRAMES: Final = 8
LEAST_SPEAKING_TICKS: Final = 20  # of a frame
LOWEST_HZ: Final = 200  # hum is common to both sides without being an echo
FOUND_DEVIATIONS: Final = 9.0  # of the correlation at other lags; it stays below 6 for unrelated sides
HINT_DEVIATIONS: Final = 4.5  # of all frames together, and of each along a line
FEWEST_CREEPING, CREEPS_WITHIN, CREEPS_SAMPLES = 4, 2, 4  # frames, and samples beside and along a straight line
FEWEST_IN_LINE, IN_LINE_WITHIN = 6, 40
AT_ONCE_SAMPLES: Final = 20  # files may begin this far apart, so an echo may seem to precede its source by it
MIRRORED_SAMPLES: Final = 64  # the strongest path through a room differs between stretches
LEAST_SHARE: Final = 0.02  # explained by a real echo in each of both directions; a mirror image explains less
LEAST_EARLY: Final = 2  # stretches, and if it comes far behind: a machine may say a recording again
ALIKE_TIMES, BOTH_SOFTER_DB = 0.9, -6.0  # if both explain nearly all, each side is really heard on the other
EARLY_TIMES: Final = 2.0  # a sound before its source explains at least this much more than its mirror image
DITHER: Final = 1.5e-5  # half a step of int16, so that digital silence correlates with nothing

# The impulse response of a path has TAPS taps, the oldest sample first: from 14 ms after its lag to 2 ms before it.
TAPS: Final = 64
AT_LAG: Final = 55  # the tap at the lag itself
MARGIN_TICKS: Final = 3  # of the source, for TAPS
LOUDEST_DB: Final = 4.0  # above the source; a louder tick of the target is not echo alone
LEAST_TICKS: Final = 20
FIT_TICKS: Final = 300
RIDGE: Final = 1e-3
MOST_DB: Final = 3.0
ALIKE_DB: Final = -10.0
ALIKE_SHARE: Final = 0.8
NEAR_TICKS: Final = 40


@cache
def _correlated(reach_ticks: int) -> RealFourier:
    return RealFourier((FRAME_TICKS + 2 * reach_ticks) * LOW_TICK)


@dataclass(frozen=True, slots=True)
class EchoPath:
    """The path of an echo from one side into the other, in a stretch of the session.

    lag_samples: delay at 4 kHz. deviations: how far the correlation at this lag exceeds that at other lags. gain_db:
    power of the echo relative to its source. explained_share: the share of the target's power that the response
    explains in ticks where the target has least sound of its own. It is cross-validated: each half of these ticks is
    explained by the response of the other half, so that a false echo explains nothing.
    """

    start_tick: int
    end_tick: int
    lag_samples: int
    deviations: float
    gain_db: float
    explained_share: float

    @property
    def delay_ms(self) -> float:
        """The delay of the echo in ms."""
        return 1000 * self.lag_samples / LOW_RATE_HZ


@dataclass(frozen=True, slots=True)
class HeardEcho:
    """The echo of the other side in `side`. paths: one for each stretch in which it was found."""

    side: Side
    paths: Sequence[EchoPath]

    @property
    def level_db(self) -> float:
        """The power of the echo relative to its source, in dB; the median over its paths."""
        return float(np.median([path.gain_db for path in self.paths]))

    @property
    def lag_samples(self) -> float:
        """The delay in samples at 4 kHz; the median over its paths."""
        return float(np.median([path.lag_samples for path in self.paths]))

    @property
    def lag_range_samples(self) -> tuple[int, int]:
        """The least and the most delay of its paths."""
        lags = [path.lag_samples for path in self.paths]
        return min(lags), max(lags)

    @property
    def is_late(self) -> bool:
        """True if it comes after its source, as every real echo does."""
        return self.lag_samples >= -AT_ONCE_SAMPLES

    @property
    def delays_ms(self) -> tuple[float, float, float]:
        """The least, median and most delay in ms. A late echo has none below 0, any other may have."""
        delays_ms = np.array([path.delay_ms for path in self.paths])
        least, median, most = np.quantile(np.maximum(delays_ms, 0) if self.is_late else delays_ms, [0, 0.5, 1])
        return float(least), float(median), float(most)

    @property
    def explained_share(self) -> float:
        """The share of the side's power that the echo explains while the other side speaks alone."""
        return float(np.median([path.explained_share for path in self.paths]))

    @property
    def alike(self) -> bool:
        """True if this is rather the other side itself: nearly as loud, and explaining nearly everything."""
        return self.level_db > ALIKE_DB and self.explained_share > ALIKE_SHARE


def find(
    sides: Mapping[Side, SideAudio], activity: Mapping[Side, Bools], one_clock: bool = False, far: bool = False
) -> dict[Side, HeardEcho]:
    """The echo in each side that has one. Sides with the same content have it in both directions.

    far: something is heard further away than REACH_MS, so look twice as far; so it does if an echo is found near there.

    activity: bool (n_ticks,) per side. one_clock: both sides are known to begin together, so no sound precedes its
    source.
    """
    genuine = all_in(sides, activity, REACH_TICKS, one_clock)
    lags = [abs(lag) for heard in genuine.values() for echo in heard for lag in echo.lag_range_samples]
    if far or max(lags, default=0) > FAR_SHARE * REACH_TICKS * LOW_TICK:
        genuine = all_in(sides, activity, LONG_REACH_TICKS, one_clock)
    return {side: max(heard, key=lambda echo: echo.explained_share) for side, heard in genuine.items() if heard}


def all_in(
    sides: Mapping[Side, SideAudio], activity: Mapping[Side, Bools], reach_ticks: int, one_clock: bool = False
) -> dict[Side, list[HeardEcho]]:
    """The same with every echo of a side: one after its source and one before it, at most `reach_ticks` away."""
    possible = {side: _echoes(sides, activity, side, reach_ticks, one_clock) for side in SIDES}
    return {
        side: [echo for echo in echoes if not any(_is_mirrored(echo, other) for other in possible[other_side(side)])]
        for side, echoes in possible.items()
    }


def hears_far(sides: Mapping[Side, SideAudio], activity: Mapping[Side, Bools]) -> bool:
    """True if some stretch of a side seems to be heard on the other more than REACH_MS before or after it.

    It listens to one stretch of each side, where that side speaks most and the other least.
    """
    for side in SIDES:
        speaking, beside = activity[other_side(side)], activity[side]
        frames = len(speaking) // FRAME_TICKS
        alone = (speaking & ~beside)[: frames * FRAME_TICKS].reshape(frames, FRAME_TICKS).sum(axis=1)
        best = np.zeros(len(speaking), np.bool_)
        for frame in np.argsort(-alone, kind="stable")[:WINDOW_FRAMES]:
            best[frame * FRAME_TICKS : (frame + 1) * FRAME_TICKS] = True
        stretches = _windows(sides[other_side(side)], sides[side], speaking & best, HINT_REACH_TICKS)
        if any(
            deviations >= FOUND_DEVIATIONS and abs(lag) > REACH_TICKS * LOW_TICK for _, _, lag, deviations in stretches
        ):
            return True
    return False


def _echoes(
    sides: Mapping[Side, SideAudio], activity: Mapping[Side, Bools], side: Side, reach_ticks: int, one_clock: bool
) -> list[HeardEcho]:
    """Possible echoes in a side: at most one after its source and, unless on `one_clock`, one before it."""
    source, target, speaking = sides[other_side(side)], sides[side], activity[other_side(side)]
    stretches = _windows(source, target, speaking, reach_ticks)
    windows = (window for window in stretches if window[3] >= FOUND_DEVIATIONS)
    measured = [path for window in windows if (path := _measured(source, target, speaking, *window)) is not None]
    is_short = np.count_nonzero(speaking) < WINDOW_FRAMES * FRAME_TICKS
    found = []
    for is_late in (True,) if one_clock else (True, False):
        paths = [path for path in measured if (path.lag_samples >= -AT_ONCE_SAMPLES) == is_late]
        sane = [path for path in paths if LEAST_DB - 3 <= path.gain_db <= MOST_DB]
        echo = HeardEcho(side, sane)
        is_near = all(abs(path.lag_samples) <= REACH_TICKS * LOW_TICK for path in sane)
        is_shown = len(sane) >= (1 if is_near and (is_late or is_short) else LEAST_EARLY)
        found += [echo] if is_shown and 2 * len(sane) >= len(paths) and echo.level_db >= LEAST_DB - 1 else []
    return found


def _is_mirrored(echo: HeardEcho, other: HeardEcho) -> bool:
    """True if an echo is only the mirror image of the other side's echo: as early as that one is late.

    If both come after their source, both may be real, unless one side contains the other at its full level. Otherwise
    the later one is usually real, since an echo follows its source. Only sides that do not begin together have a real
    one before its source; it then explains much more than its mirror image.
    """
    least, most = (-edge for edge in reversed(other.lag_range_samples))
    if not (least - MIRRORED_SAMPLES <= echo.lag_samples <= most + MIRRORED_SAMPLES):
        return False
    if echo.is_late and other.is_late:
        return other.alike > echo.alike or echo.explained_share < min(LEAST_SHARE, other.explained_share)
    early, late = (other, echo) if echo.is_late else (echo, other)
    both_softer = early.level_db + late.level_db < BOTH_SOFTER_DB  # an image is as much louder as its echo is softer
    times = ALIKE_TIMES if both_softer and late.explained_share > ALIKE_SHARE else EARLY_TIMES
    is_early = early.explained_share > max(LEAST_SHARE, times * late.explained_share)
    return is_early == echo.is_late


def _windows(
    source: SideAudio, target: SideAudio, speaking: Bools, reach_ticks: int
) -> Iterator[tuple[int, int, int, float]]:
    """Yields start tick, end tick, lag and deviations for each stretch of speech of the source (see `_lags`).

    A stretch is WINDOW_FRAMES frames with speech. An echo behind a jitter buffer, or of another clock, has a lag that
    moves within them: then each frame is a stretch.
    """
    lines = _correlated(reach_ticks).lines
    dither = np.random.default_rng(0).standard_normal((2, FRAME_TICKS + 2 * reach_ticks, LOW_TICK), np.float32)
    dither_x, dither_y = dither.reshape(2, -1) * np.float32(DITHER)
    starts: list[int] = []
    rows: tuple[list[Floats], list[Floats]] = [], []
    for tick in range(0, source.n_ticks, FRAME_TICKS):
        spoken = np.flatnonzero(speaking[tick : tick + FRAME_TICKS])
        if len(spoken) >= LEAST_SPEAKING_TICKS:
            x = source.low.read(tick, tick + FRAME_TICKS)
            y = target.low.read(tick - reach_ticks, tick + FRAME_TICKS + reach_ticks)
            levelled, said = _levelled(x + dither_x[: len(x)]), np.zeros((FRAME_TICKS, LOW_TICK), np.float32)
            said[spoken] = levelled[spoken]
            for row, ticks in zip(rows, (said, _levelled(y + dither_y)), strict=True):
                row.append(ticks.reshape(-1))
            starts.append(tick)
        if len(starts) == WINDOW_FRAMES or (starts and tick + FRAME_TICKS >= source.n_ticks):
            of_source, of_target = (lines(np.stack(row)) for row in rows)
            yield from _stretches(starts, of_source, of_target, reach_ticks)
            starts, rows = [], ([], [])


def _stretches(
    starts: Sequence[int], x: Complexes, y: Complexes, reach_ticks: int
) -> Iterator[tuple[int, int, int, float]]:
    """The same for some frames that begin at `starts`: together or, if the lag moves, each alone.

    A lag that moves fast leaves no more than a hint in all frames together. It is found if the lags of most frames lie
    along a line: then each has the deviations of all of these.
    """
    together = [lags for lags in _lags(x, y, reach_ticks) if lags[1] >= HINT_DEVIATIONS]
    if not together:
        return
    is_sure = any(deviations >= FOUND_DEVIATIONS for _, deviations in together)
    alone = [list(_lags(x[at : at + 1], y[at : at + 1], reach_ticks)) for at in range(len(starts))]
    last = [(start, *lags[-1]) for start, lags in zip(starts, alone, strict=True)]
    sure = [(start, lag) for start, lag, deviations in last if deviations >= FOUND_DEVIATIONS]
    if is_sure and _moves(sure):
        for start, lags in zip(starts, alone, strict=True):
            yield from ((start, start + FRAME_TICKS, *lag) for lag in lags)
    elif not is_sure and (lined := _in_line([each for each in last if each[2] >= HINT_DEVIATIONS])):
        of_all = math.hypot(*(deviations for *_, deviations in lined))
        yield from ((start, start + FRAME_TICKS, lag, of_all) for start, lag, _ in lined)
    else:
        yield from ((starts[0], starts[-1] + FRAME_TICKS, *lag) for lag in together if lag[1] >= FOUND_DEVIATIONS)


def _moves(found: Sequence[tuple[int, int]]) -> bool:
    """True if a lag moves through some frames: jumps, or creeps as between two clocks. found: start tick and lag."""
    lags = np.array([lag for _, lag in found])
    if len(lags) >= FEWEST_CREEPING:
        beside, along = _from_line(np.array([start for start, _ in found]), lags)
        if np.abs(beside).max() <= CREEPS_WITHIN and np.ptp(along) >= CREEPS_SAMPLES:
            return True
    return bool(len(lags)) and bool(np.ptp(lags) > MIRRORED_SAMPLES)


def _in_line(found: Sequence[tuple[int, int, float]]) -> list[tuple[int, int, float]]:
    """The frames whose lags lie along a line; none if these are few. found: start tick, lag and deviations."""
    if len(found) < FEWEST_IN_LINE:
        return []
    beside, _ = _from_line(np.array([start for start, *_ in found]), np.array([lag for _, lag, _ in found]))
    lined = [each for each, off in zip(found, beside.tolist(), strict=True) if abs(off) <= IN_LINE_WITHIN]
    return lined if len(lined) >= FEWEST_IN_LINE else []


def _from_line(
    ticks: npt.NDArray[np.int64], lags: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The distances of lags from the line through most of them (Theil, Sen), and where that line is, in samples."""
    first, second = np.triu_indices(len(ticks), 1)
    slope = np.median((lags[second] - lags[first]) / (ticks[second] - ticks[first]))
    along = slope * ticks + np.median(lags - slope * ticks)
    return lags - along, along


def _levelled(pcm: Floats) -> Floats:
    """The samples with the level equalised over 50 ms, without the spectral slope of speech: float32 (n_ticks, 40)."""
    sharp = pcm.copy()
    sharp[1:] -= pcm[:-1]
    ticks = sharp.reshape(-1, LOW_TICK)
    smooth = np.convolve(np.mean(ticks**2, axis=1), np.full(5, 0.2, np.float32), "same")
    levelled: Floats = ticks / np.sqrt(smooth)[:, None]
    return levelled


def _lags(x: Complexes, y: Complexes, reach_ticks: int) -> Iterator[tuple[int, float]]:
    """The lag after the source with the strongest correlation; also one before the source, if it is stronger there.

    x, y: the spectra of the source and of the target in some frames, complex64 (frames, n).
    The strength of the whitened correlation is in standard deviations of the correlation at all lags.
    """
    powers = [(side.real**2 + side.imag**2).sum(axis=0) for side in (x, y)]
    cross = np.einsum("ij,ij->j", x.conj(), y) / np.sqrt(_smooth(powers[0]) * _smooth(powers[1]))
    cross[: LOWEST_HZ * 2 * len(cross) // LOW_RATE_HZ] = 0
    correlation = np.abs(np.fft.irfft(cross)[: 2 * reach_ticks * LOW_TICK + 1])
    correlation /= np.median(correlation) / 0.6745
    first = reach_ticks * LOW_TICK - AT_ONCE_SAMPLES
    late, early = first + int(np.argmax(correlation[first:])), int(np.argmax(correlation[:first]))
    for at in (late, early) if correlation[early] > correlation[late] else (late,):
        yield at - reach_ticks * LOW_TICK, float(correlation[at])


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
    """The path of an echo, with its response by least squares; None if there are too few usable ticks.

    It uses the ticks in which the target has least sound of its own. Ticks in which the target is much louder than the
    source are of no use: there the source may itself be an echo.
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
    return EchoPath(start_tick, end_tick, lag_samples, deviations, 10 * math.log10(gain + 1e-12), share)


def _solved(grams: Floats, moments: Floats) -> Floats:
    """The least-squares responses with ridge regularisation: (..., TAPS, 1)."""
    traces = np.trace(grams, axis1=-2, axis2=-1)[..., None, None]
    responses: Floats = np.linalg.solve(
        grams + np.eye(TAPS, dtype=np.float32) * (RIDGE * traces / TAPS + 1e-12), moments
    )
    return responses.astype(np.float32)


def _aligned(
    source: SideAudio, target: SideAudio, start_tick: int, end_tick: int, lag_samples: int
) -> tuple[Floats, Floats]:
    """The source's samples `lag_samples` earlier, with margins for the response, and the target's samples."""
    older, offset = divmod(-lag_samples - AT_LAG, LOW_TICK)
    x = source.low.read(start_tick + older, end_tick + older + MARGIN_TICKS)[offset:]
    y = target.low.read(start_tick, end_tick)
    return x[: len(y) + TAPS - 1], y


def beside(echo: HeardEcho, activity: Mapping[Side, Bools]) -> Bools:
    """The ticks, bool (n_ticks,), at which an echo of some speech may come, at any of its delays."""
    source = activity[other_side(echo.side)]
    least, most = (round(lag / LOW_TICK) for lag in echo.lag_range_samples)
    middle, spread = (least + most) // 2, (most - least) // 2
    return near(np.roll(source, middle), spread + NEAR_TICKS)
