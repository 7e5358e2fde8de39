"""A search for audio that is there twice: a piece of both sides, as where an upload was tried again, or the last buffer
of a side again and again, as where a program hangs whose sound device goes on.

No two moments of a room, or of a line, are alike to the sample. So the places are compared at which a side is louder
than around them, whatever they are: the distances of three such places nearly tell them from all others. One side alone
may play the same recording twice; what both have again after the same time was recorded once.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from fdbcore.measures.health.finding import health_finding
from fdbcore.measures.health.probe import FULL_SCALE, LOW_RATE_HZ, LOW_TICK, SideAudio
from fdbcore.recording.health import HealthFinding
from fdbcore.types import TICKS_PER_S, Side, clock_text

CELL: Final = 100  # samples at 4 kHz; a place is the loudest of its cell and of CELLS_AROUND on both sides
CELLS_AROUND: Final = 4
BLOCK_CELLS: Final = 2_400  # read at a time: a minute
BLOCK_TICKS: Final = CELL * BLOCK_CELLS // LOW_TICK
LEAST_PEAK: Final = 2 / FULL_SCALE
DISTANCES: Final = 2
SAME: Final = 2  # samples: so far two lags of one repeat may lie apart
FEWEST_PLACES: Final = 4  # a lossy codec moves those of noise
LEAST_TWICE: Final = 2 * LOW_RATE_HZ
LEAST_LAG: Final = LOW_RATE_HZ // 2
FEWEST_TIMES: Final = 3  # beyond the first
ALIKE_THROUGHOUT: Final = 0.9

END: Final = 8 * LOW_RATE_HZ  # where a loop is looked for
LEAST_PERIOD, MOST_PERIOD = LOW_RATE_HZ * 15 // 100, 2 * LOW_RATE_HZ
LEAST_LOOP, FEWEST_PERIODS = 3 * LOW_RATE_HZ, 3
ALIKE: Final = 0.98  # to the buffer before; a tone is so after any time
LOUD: Final = 0.01  # of full scale; softer loops are hum

Indices: TypeAlias = npt.NDArray[np.int64]


class Repeat(NamedTuple):
    """A span of a side that is there again `lag` samples later. times: how often one place of it is, in a row."""

    start: int
    end: int
    lag: int
    times: int


def recorded_twice(repeats: Mapping[Side, Sequence[Repeat]]) -> Iterator[HealthFinding]:
    """A piece of both sides comes again, both after the same time."""
    for a in repeats["A"]:
        near = [b for b in repeats["B"] if abs(a.lag - b.lag) <= SAME]
        start = max(a.start, min((b.start for b in near), default=a.end))
        end = min(a.end, max((b.end for b in near), default=a.start))
        if end - start >= LEAST_TWICE:
            from_s, to_s, again_s = (clock_text(at / LOW_RATE_HZ) for at in (start, end, start + a.lag))
            text = f"{from_s} to {to_s} is there again at {again_s}, to the sample on both sides: recorded twice"
            means = "What is there twice counts twice in every figure. Cut one of them out, or --count-bad-input."
            spans = [(at // LOW_TICK, (at + end - start) // LOW_TICK) for at in (start, start + a.lag)]
            figures = {"lag_ms": 1000 * a.lag / LOW_RATE_HZ, "length_ms": 1000 * (end - start) / LOW_RATE_HZ}
            yield health_finding("recorded_twice", None, "bad", text, means, figures, spans)
            return


def _places(audio: SideAudio) -> Indices:
    """The places where a side is louder than 0.1 s around, in samples at 4 kHz."""
    n_cells = audio.end_tick * LOW_TICK // CELL
    levels, at = np.zeros(n_cells, np.float32), np.zeros(n_cells, np.int64)
    for first in range(0, n_cells, BLOCK_CELLS):
        last = min(first + BLOCK_CELLS, n_cells)
        tick = first // BLOCK_CELLS * BLOCK_TICKS
        low = audio.low.read(tick, tick + BLOCK_TICKS)
        cells = np.abs(low[: (last - first) * CELL]).reshape(last - first, CELL)
        levels[first:last] = cells.max(axis=1)
        at[first:last] = cells.argmax(axis=1) + CELL * np.arange(first, last)
    if n_cells <= 2 * CELLS_AROUND:
        return at[:0]
    around = np.lib.stride_tricks.sliding_window_view(levels, 2 * CELLS_AROUND + 1).max(axis=1)
    middle = slice(CELLS_AROUND, n_cells - CELLS_AROUND)
    found: Indices = at[middle][(levels[middle] == around) & (around > LEAST_PEAK)]
    return found


def repeats_of(audio: SideAudio) -> list[Repeat]:
    """The longest repeat of a side for each lag at which enough places come again."""
    places = _places(audio)
    if len(places) <= DISTANCES:
        return []
    steps = np.lib.stride_tricks.sliding_window_view(np.diff(places), DISTANCES)
    _, names = np.unique(steps, axis=0, return_inverse=True)
    order = np.argsort(names.ravel(), kind="stable")
    same = names.ravel()[order][1:] == names.ravel()[order][:-1]
    first, again = places[order[:-1][same]], places[order[1:][same]]
    lags = again - first
    found = []
    for lag in np.unique(lags[lags >= LEAST_LAG]).tolist():
        own = np.sort(first[np.abs(lags - lag) <= SAME])
        if len(own) >= FEWEST_PLACES:
            found.append(Repeat(int(own[0]), int(own[-1]), lag, _times(own, lag)))
    return found


def _times(places: Indices, lag: int) -> int:
    """Times in a row that one of these places comes again after a lag, as each does once. places: sorted."""
    times, at = 1, places + lag
    while len(at := at[np.diff(np.searchsorted(places, (at - SAME, at + SAME + 1)), axis=0)[0] > 0]):
        times, at = times + 1, at + lag
    return times


def loop_of(side: Side, audio: SideAudio, repeats: Sequence[Repeat]) -> HealthFinding | None:
    """The finding of a side that repeats itself until its end: its last buffer, or an announcement; else None."""
    return _looped(side, audio) or _said_on_end(side, audio, repeats)


def _said_on_end(side: Side, audio: SideAudio, repeats: Sequence[Repeat]) -> HealthFinding | None:
    """A recording that a side plays again and again, at even distances, until its end: an announcement; else None."""
    for each in repeats:
        last = each.end + each.lag
        is_last = last + 1.5 * each.lag >= audio.end_tick * LOW_TICK
        if each.lag > MOST_PERIOD and is_last and each.times >= FEWEST_TIMES and _is_all(audio, each):
            first_tick = max(each.start // LOW_TICK - TICKS_PER_S // 2, 0)
            since, period_s = clock_text(each.start / LOW_RATE_HZ), each.lag / LOW_RATE_HZ
            text = f"{side} says the same every {period_s:.2f} s from {since} to its end"
            means = "An announcement, or a machine that hangs: it answers nobody, and no figure counts it."
            figures = {"period_ms": 1000 * period_s}
            return health_finding("looped", side, "warn", text, means, figures, [(first_tick, audio.end_tick)])
    return None


def _is_all(audio: SideAudio, repeat: Repeat) -> bool:
    """True if from its start on a side has hardly anything else: a background that comes again, under words, is no
    announcement.
    """
    squares, again_squares, products = 0.0, 0.0, 0.0
    last_tick, lag_ticks = audio.end_tick - -(-repeat.lag // LOW_TICK), repeat.lag // LOW_TICK
    for tick in range(repeat.start // LOW_TICK, last_tick, BLOCK_TICKS):
        until = min(tick + BLOCK_TICKS, last_tick)
        first = audio.low.read(tick, until).astype(np.float64)
        again = audio.low.read(tick + lag_ticks, until + lag_ticks + 1).astype(np.float64)
        again = again[repeat.lag % LOW_TICK :][: len(first)]
        squares, again_squares = squares + (first**2).sum(), again_squares + (again**2).sum()
        products += (first * again).sum()
    return float(products) >= ALIKE_THROUGHOUT * float(np.sqrt(squares * again_squares))


def _looped(side: Side, audio: SideAudio) -> HealthFinding | None:
    """The last buffer of a side comes again and again until its end; None if it does not, if it is soft, or a tone."""
    end = audio.end_tick
    tail = audio.low.read(max(end - END // LOW_TICK, 0), end).astype(np.float64)
    period = _period(tail)
    if period is None:
        return None
    start_tick = end - len(tail) // LOW_TICK
    while start_tick > 0:  # back to where it began, half a minute at a time at the most
        before = audio.low.read(start_tick - 2 * period // LOW_TICK - 1, start_tick).astype(np.float64)
        if _alike(before[-2 * period : -period], before[-period:]) < ALIKE:
            break
        start_tick -= max(period // LOW_TICK, 1)
    start_tick = max(start_tick, 0)
    if (end - start_tick) * LOW_TICK < max(LEAST_LOOP, FEWEST_PERIODS * period):
        return None
    text = (
        f"{side} repeats its last {period / LOW_RATE_HZ:.1f} s from {clock_text(start_tick / TICKS_PER_S)} to its end"
    )
    means = "A program hangs and its sound device goes on: none of it is speech, and no figure counts it."
    figures = {"period_ms": 1000 * period / LOW_RATE_HZ}
    return health_finding("looped", side, "warn", text, means, figures, [(start_tick, end)])


def _period(tail: npt.NDArray[np.float64]) -> int | None:
    """The samples after which the end of a side comes again; None if it does not, or comes sooner, as tones do."""
    if len(tail) < 2 * LEAST_LOOP or np.abs(tail).max() < LOUD:
        return None
    tail = tail[-2 * LEAST_LOOP :]
    energies = np.concatenate([[0.0], np.cumsum(tail**2)])
    products = np.fft.irfft(np.abs(np.fft.rfft(tail, 2 * len(tail))) ** 2)[: MOST_PERIOD + 1]
    lags = np.arange(MOST_PERIOD + 1)
    both = np.sqrt((energies[-1] - energies[lags]) * energies[len(tail) - lags])
    alike = products / np.maximum(both, 1e-12)
    if alike[20:LEAST_PERIOD].max() >= ALIKE or alike[LEAST_PERIOD:].max() < ALIKE:
        return None
    return LEAST_PERIOD + int(np.flatnonzero(alike[LEAST_PERIOD:] >= ALIKE)[0])


def _alike(first: npt.NDArray[np.float64], again: npt.NDArray[np.float64]) -> float:
    norm = float(np.sqrt((first**2).sum() * (again**2).sum()))
    return float((first * again).sum()) / norm if norm else 0.0
