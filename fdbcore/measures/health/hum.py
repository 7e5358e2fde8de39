"""Removes steady tones from a side: hum and beeps mask other sounds, and correlate with anything."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from fdbcore._ext.fourier import RealFourier
from fdbcore.measures.health.finding import Bools, near, runs
from fdbcore.measures.health.probe import LOW_RATE_HZ, LOW_TICK, Floats, SideAudio
from fdbcore.types import Side

Complexes: TypeAlias = npt.NDArray[np.complex64]

HOP_TICKS: Final = 100
HOP: Final = HOP_TICKS * LOW_TICK
WINDOW: Final = 2 * HOP  # 2 s, in which the pitch of a voice moves, and a tone does not
HOPS_AT_ONCE: Final = 16
BAND: Final = 50  # spectral lines of 0.5 Hz; most of them belong to no tone
STANDS_OUT: Final = 10.0  # times the median magnitude of its band
PEAKED: Final = 6.0  # times the mean: only bands with such a peak need the median, which is slow
LEAST_WINDOWS: Final = 3  # a drawn-out vowel stands out in two
SKIRT: Final = 8  # lines on both sides that a tone reaches

HUM_WINDOW: Final = 1_000
HUM_SHARE: Final = 0.5
MOST_PAUSES: Final = 100

# overlapping windows add up to 1
_TAPERED: Final = RealFourier(WINDOW, (np.sin(np.pi * (np.arange(WINDOW) + 0.5) / WINDOW) ** 2).astype(np.float32))


@contextmanager
def without_hum(sides: Mapping[Side, SideAudio]) -> Iterator[dict[Side, SideAudio]]:
    """Both sides with steady tones removed from their audio at 4 kHz. The audio exists while the context lasts."""
    with ExitStack() as opened:
        rest = {side: heard.low.without(_lines(heard)) for side, heard in sides.items()}
        for low in rest.values():
            opened.callback(low.close)
        yield {side: replace(heard, low=rest[side]) for side, heard in sides.items()}


def _lines(heard: SideAudio) -> Iterator[Floats]:
    """The steady tones of a side in blocks of whole ticks: the parts of lines that stand out of the spectrum."""
    low, n_ticks = heard.low, heard.n_ticks
    for first in range(0, n_ticks, HOPS_AT_ONCE * HOP_TICKS):
        last = min(first + HOPS_AT_ONCE * HOP_TICKS, n_ticks)
        hops = -(-(last - first) // HOP_TICKS)
        pcm = low.read(first - HOP_TICKS, first + (hops + 1) * HOP_TICKS)
        windows = np.lib.stride_tricks.sliding_window_view(pcm, WINDOW)[::HOP]
        found = np.zeros((hops + 1, WINDOW), np.float32)
        spectra = _TAPERED.lines(windows)
        excess = _excess(spectra)
        has = excess.any(axis=1)
        found[has] = np.fft.irfft(spectra[has] * excess[has], WINDOW)
        yield (found[:-1, HOP:] + found[1:, :HOP]).reshape(-1)[: (last - first) * LOW_TICK]


def hum_hz(heard: SideAudio, quiet: Bools) -> float | None:
    """The frequency of the sound in pauses in Hz, if most of it is one tone. quiet: the pauses, bool (n_ticks,)."""
    spans = [(start, end) for start, end in runs(quiet) if end - start >= HUM_WINDOW // LOW_TICK]
    windows = [heard.read(start, start + HUM_WINDOW // LOW_TICK) for start, _ in spans[:MOST_PAUSES]]
    if not windows:
        return None
    lines = np.fft.rfft(np.stack(windows) * np.hanning(HUM_WINDOW))
    powers = np.median(lines.real**2 + lines.imag**2, axis=0)
    beside = np.arange(-2, 3) + int(powers[2:-2].argmax()) + 2
    if powers[beside].sum() < HUM_SHARE * powers.sum() or not powers.any():
        return None
    return float((powers[beside] * beside).sum() / powers[beside].sum() * LOW_RATE_HZ / HUM_WINDOW)


def _excess(spectra: Complexes) -> Floats:
    """For each line of each spectrum, the share of it above its band, if it stands out in several windows."""
    lines = spectra[:, : WINDOW // 2]
    magnitudes = np.sqrt(lines.real**2 + lines.imag**2)
    bands = magnitudes.reshape(len(spectra), -1, BAND)
    usual = bands.mean(axis=2)
    peaked = bands.max(axis=2) > PEAKED * usual
    usual[peaked] = np.median(bands[peaked], axis=1)
    stands_out = (bands > STANDS_OUT * usual[:, :, None]).reshape(magnitudes.shape)
    stands_out[:, 1:-1] |= stands_out[:, :-2] | stands_out[:, 2:]
    stands_out &= stands_out.sum(axis=0) >= min(LEAST_WINDOWS, len(spectra))
    excess = np.zeros(spectra.shape, np.float32)
    for row in np.flatnonzero(stands_out.any(axis=1)):
        around = np.repeat(usual[row], BAND)
        at = np.flatnonzero(near(stands_out[row], SKIRT))
        excess[row, at] = np.maximum(1 - around[at] / np.maximum(magnitudes[row, at], 1e-12), 0)
    return excess
