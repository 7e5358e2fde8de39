"""The ticks of a side that are echo: they are hardly louder, over all bands, than the other side's echo is there.

The echo's power follows from that of its source (`fdbcore._ext.echo`). In half a second of a room it keeps to this
within a few dB, whatever codec it came through; speech of the side itself is louder than its echo by far more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from fdbcore._ext.echo import REACH_TICKS, explained, heard_before, response
from fdbcore._ext.fourier import RealFourier
from fdbcore.measures.health.echo import EchoPath, HeardEcho
from fdbcore.measures.health.finding import Bools, near, runs
from fdbcore.measures.health.probe import LOW_RATE_HZ, LOW_TICK, Floats, SideAudio
from fdbcore.types import Side, other_side

Doubles: TypeAlias = npt.NDArray[np.float64]

WINDOW: Final = 2 * LOW_TICK
EDGES_HZ: Final = (100, 300, 500, 750, 1000, 1300, 1650, 1950)  # of the bands; one more has all that is heard
LEAST_POWER: Final = 1e-11  # of a band: the rounding of 16 bit
SECTION_TICKS: Final = 12_000  # share a response; a path changes slowly
BEFORE_TICKS: Final = 1  # of the lag: ticks of both sides overlap

NOISE_SHARE: Final = 0.15
OVER_NOISE: Final = 10.0  # a source so much louder than its own noise has an echo to measure
MOST_FITTED, FEWEST_FITTED = 2_000, 100  # ticks
LEAST_TIMES, START_TIMES = 0.01, 4.0  # of the strongest path's gain: what a room or a codec makes of it in a band
OWN_TIMES: Final = 5.0

OWN_DB: Final = 3.5  # over what is explained, in the mean of the bands
MOST_DB: Final = 12.0  # of a band
BRIDGED_TICKS: Final = 6  # within speech of the side's own
LEAST_OWN_TICKS: Final = 4
EARLY_TICKS, TAIL_TICKS = 2, 40  # an echo may begin so much before its delay, and takes so long to die away


class _Lags(NamedTuple):
    """Of the paths of an echo, by time: where each begins and ends, and its delay in ticks. int64 (n,) each."""

    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    ticks: npt.NDArray[np.int32]

    @classmethod
    def of(cls, paths: Sequence[EchoPath]) -> _Lags:
        starts, ends, lags = np.array(sorted((path.start_tick, path.end_tick, path.lag_samples) for path in paths)).T
        return cls(starts, ends, np.rint(lags / LOW_TICK).astype(np.int32))

    @property
    def move(self) -> bool:
        return bool(np.ptp(self.ticks) > 1)


def echo_ticks(
    found: Mapping[Side, HeardEcho], sides: Mapping[Side, SideAudio], active: Mapping[Side, Bools]
) -> dict[Side, Bools]:
    """The active ticks of each side with an echo that are nothing else, bool (n_ticks,).

    They have no speech of the side's own, and may hear what the other side itself says, or what is left of it in a
    room. active: bool (n_ticks,) per side.
    """
    heard = {side: _heard(echo, sides) for side, echo in found.items()}
    ticks = {}
    for side, echo in found.items():
        own, loud = heard[side]
        ticks[side] = active[side] & ~own & near(loud & ~own, TAIL_TICKS)
        if (other := other_side(side)) in heard:  # what it has of this side is not heard here again
            ticks[side] &= _reached(echo, active[other] & heard[other][0])
    return ticks


def _reached(echo: HeardEcho, said: Bools) -> Bools:
    """The ticks in which an echo of what the other side said may be heard, at any of its delays."""
    least, most = (round(lag / LOW_TICK) for lag in echo.lag_range_samples)
    reached = np.zeros(len(said), np.bool_)
    for start, end in runs(said):
        reached[max(start + least - EARLY_TICKS, 0) : max(end + most + TAIL_TICKS, 0)] = True
    return reached


def _heard(echo: HeardEcho, sides: Mapping[Side, SideAudio]) -> tuple[Bools, Bools]:
    """The ticks of the echo's side in which it speaks itself, and those in which its echo is louder than its noise."""
    source, target = sides[other_side(echo.side)], sides[echo.side]
    lags, gain = _Lags.of(echo.paths), 10 ** (echo.level_db / 10)
    n_sections = max(-(-target.n_ticks // SECTION_TICKS), 1)
    edges = np.linspace(0, target.n_ticks, n_sections + 1).astype(int).tolist()
    own, loud = np.concatenate([_section(source, target, lags, gain, *each) for each in pairwise(edges)], axis=1)
    return _without_gaps(own), loud


def _without_gaps(own: Bools) -> Bools:
    """Speech of a side without short gaps, which soft sounds leave, and without short stretches, which echo leaves."""
    spoken = np.zeros(len(own), np.bool_)
    for start, end in runs(own, BRIDGED_TICKS):
        spoken[start:end] = end - start >= LEAST_OWN_TICKS
    return spoken


def _section(source: SideAudio, target: SideAudio, lags: _Lags, gain: float, start_tick: int, end_tick: int) -> Bools:
    """Of each tick of a section: whether it has speech of the side's own, and a loud echo; bool (2, n)."""
    first_tick = start_tick - REACH_TICKS - int(lags.ticks.max())
    of_source = _powers(source, first_tick, end_tick - min(int(lags.ticks.min()), 0) + BEFORE_TICKS)
    of_target = _powers(target, start_tick, end_tick)
    at = np.arange(start_tick, end_tick)
    path = np.maximum(np.searchsorted(lags.starts, at, side="right") - 1, 0)
    is_known = (at < lags.ends[path]) & (at >= lags.starts[path]) if lags.move else np.ones(len(at), np.bool_)
    beside = [np.clip(path + step, 0, len(lags.ticks) - 1) for step in ((0, -1, 1) if lags.move else (0,))]
    firsts = [(at - first_tick - lags.ticks[each] + BEFORE_TICKS).astype(np.int32) for each in beside]
    over, loud = np.zeros((len(beside), len(at))), np.zeros(len(at), np.bool_)
    for of_band, heard in zip(of_source.T, of_target.T, strict=True):
        band, power = np.ascontiguousarray(of_band), np.ascontiguousarray(heard)
        noise = float(np.quantile(power, NOISE_SHARE)) + LEAST_POWER
        before = [heard_before(band, first) for first in firsts]
        weights = _response(before[0], power, noise, float(np.quantile(band, NOISE_SHARE)), gain, is_known)
        around = _boxed(power)
        for row, each in zip(over, before, strict=True):
            echo = _boxed(explained(each, weights))
            row += np.clip(10 * np.log10(around / (echo + noise) + 1e-9), 0, MOST_DB)
            loud |= echo > noise
    return np.stack([over.min(axis=0) > OWN_DB * of_target.shape[1], loud])


def _response(
    before: Doubles, power: Floats, noise: float, noise_of_source: float, gain: float, is_known: Bools
) -> Doubles:
    """The response of a band by the ticks in which the source is heard, and where the delay is known."""
    reached = before.sum(axis=1)
    heard = reached > OVER_NOISE * before.shape[1] * (noise_of_source + LEAST_POWER)
    used = np.flatnonzero(heard & is_known if np.count_nonzero(heard & is_known) >= FEWEST_FITTED else heard)
    used = used[:: -(-len(used) // MOST_FITTED) or 1]
    if not len(used):
        return np.zeros(before.shape[1])
    ratio = float(np.median(np.maximum(power[used] - noise, 0.05 * noise) / reached[used]))
    start = min(max(ratio, LEAST_TIMES * gain), START_TIMES * gain)
    return response(before[used], power[used], noise, start, OWN_TIMES)


def _powers(side: SideAudio, start_tick: int, end_tick: int) -> Floats:
    """The power of a side in each band and tick, float32 (n, 8); silence outside the audio."""
    n_ticks = end_tick - start_tick
    low = side.read(start_tick - 1, end_tick + 1)
    rows = np.lib.stride_tricks.sliding_window_view(low[LOW_TICK // 2 :], WINDOW)[::LOW_TICK][:n_ticks]
    lines = _OF_TWO_TICKS.powers(rows)
    powers = np.zeros((n_ticks, len(EDGES_HZ)), np.float32)
    for band, (first_hz, last_hz) in enumerate(pairwise(EDGES_HZ)):
        powers[:, band] = lines[:, first_hz * WINDOW // LOW_RATE_HZ : last_hz * WINDOW // LOW_RATE_HZ].sum(axis=1)
    inside = np.arange(max(start_tick, 0), min(end_tick, side.n_ticks))
    powers[inside - start_tick, -1] = side.powers[inside]
    return powers


def _boxed(powers: npt.NDArray[np.floating]) -> Doubles:
    """The mean of each tick and its neighbours."""
    padded = np.pad(powers.astype(np.float64), 1)
    boxed: Doubles = (padded[:-2] + padded[1:-1] + padded[2:]) / 3
    return boxed


_WINDOW: Final = np.hanning(WINDOW)
_OF_TWO_TICKS: Final = RealFourier(WINDOW, (_WINDOW / np.sqrt(np.sum(_WINDOW**2) * WINDOW / 2)).astype(np.float32))
