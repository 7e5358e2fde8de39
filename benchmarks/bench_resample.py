"""Resampling to 48 kHz in blocks of 10 ms: speed and quality of the int16 output, beside other libraries.

Each library runs with its defaults for the named quality, from int16 to int16; if it takes only floats, the conversion
is part of the work. scipy cannot stream, so it gets the whole signal at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import av
import numpy as np
import numpy.typing as npt
import samplerate
import soxr
from scipy.signal import resample_poly

from benchmarks.harness import best_seconds, print_table
from fdbcore._ext.resample import Resampler
from fdbcore.types import SAMPLE_RATE_HZ, TICKS_PER_S

Pcm = npt.NDArray[np.int16]
Convert = Callable[[Sequence[Pcm], int], Iterator[Pcm]]

RATES_HZ = (16_000, 24_000, 44_100)
SECONDS = 10
ANALYSED_S = 8  # the middle of the output; every tone has whole periods in it, so that its spectrum has no leakage
TONES = 12
ROUNDS = 9


def fdbcore_blocks(blocks: Sequence[Pcm], rate_hz: int, quality: str) -> Iterator[Pcm]:
    resampler = Resampler(rate_hz, SAMPLE_RATE_HZ, quality)  # type: ignore[arg-type]
    yield from map(resampler.process, blocks)
    yield resampler.flush()


def soxr_blocks(blocks: Sequence[Pcm], rate_hz: int) -> Iterator[Pcm]:
    stream = soxr.ResampleStream(rate_hz, SAMPLE_RATE_HZ, 1, dtype="int16", quality="HQ")
    yield from map(stream.resample_chunk, blocks)
    yield stream.resample_chunk(blocks[0][:0], last=True)


def libswresample_blocks(blocks: Sequence[Pcm], rate_hz: int) -> Iterator[Pcm]:
    resampler = av.AudioResampler(format="s16", layout="mono", rate=SAMPLE_RATE_HZ)
    for block in blocks:
        frame = av.AudioFrame.from_ndarray(block[None], format="s16", layout="mono")
        frame.sample_rate = rate_hz
        yield from (out.to_ndarray()[0] for out in resampler.resample(frame))
    yield from (out.to_ndarray()[0] for out in resampler.resample(None))


def samplerate_blocks(blocks: Sequence[Pcm], rate_hz: int, converter: str) -> Iterator[Pcm]:
    resampler = samplerate.Resampler(converter, channels=1)
    ratio = SAMPLE_RATE_HZ / rate_hz
    for block in blocks:
        yield to_int16(resampler.process(block.astype(np.float32), ratio))
    yield to_int16(resampler.process(np.zeros(0, np.float32), ratio, end_of_input=True))


def scipy_at_once(blocks: Sequence[Pcm], rate_hz: int) -> Iterator[Pcm]:
    ratio = Fraction(SAMPLE_RATE_HZ, rate_hz)
    yield to_int16(resample_poly(np.concatenate(blocks).astype(np.float32), ratio.numerator, ratio.denominator))


def to_int16(samples: npt.NDArray[np.floating]) -> Pcm:
    rounded: Pcm = samples.clip(-32_768, 32_767).round().astype(np.int16)
    return rounded


OURS = "fdbcore best"
RIVAL = "soxr HQ"
CONTESTANTS: dict[str, Convert] = {
    OURS: partial(fdbcore_blocks, quality="best"),
    "fdbcore fast": partial(fdbcore_blocks, quality="fast"),
    RIVAL: soxr_blocks,
    "libswresample (PyAV)": libswresample_blocks,
    "samplerate sinc_medium": partial(samplerate_blocks, converter="sinc_medium"),
    "samplerate sinc_best": partial(samplerate_blocks, converter="sinc_best"),
    "scipy resample_poly (at once)": scipy_at_once,
}


def tone_bins(rate_hz: int) -> npt.NDArray[np.int64]:
    """Where the tones are in the analysed spectrum, up to 0.9 of the Nyquist frequency.

    Odd, so that the signal does not repeat within the spectrum and rounding spreads over all of it.
    """
    return (ANALYSED_S * np.geomspace(101, 0.45 * rate_hz - 1, TONES)).astype(np.int64) | 1


def multitone(rate_hz: int) -> Pcm:
    """The tones at equal levels, near full scale, int16."""
    angle = 2 * np.pi / ANALYSED_S * np.arange(SECONDS * rate_hz) / rate_hz
    phases = np.random.default_rng(1).uniform(0, 2 * np.pi, TONES)
    wave = np.sum(
        [np.sin(tone * angle + phase) for tone, phase in zip(tone_bins(rate_hz), phases, strict=True)], axis=0
    )
    return to_int16(30_000 * wave / np.abs(wave).max())


def spectrum(pcm: Pcm, rate_hz: int) -> npt.NDArray[np.float64]:
    """Amplitude of every 1 / ANALYSED_S Hz in the middle of `pcm`; each tone is one bin."""
    length = ANALYSED_S * rate_hz
    start = (len(pcm) - length) // 2
    return np.abs(np.fft.rfft(pcm[start : start + length])) * (2 / length)


class Quality(NamedTuple):
    """In dB: the largest level error of a tone; and everything that is no tone, relative to the tones: its strongest
    line, and its sum.
    """

    level_error: float
    spur: float
    noise: float


def quality(source: Pcm, out: Pcm, rate_hz: int) -> Quality:
    """How converting `source` to `out` changed its tones; spurs are images, distortion, or peaks of the noise."""
    tones = tone_bins(rate_hz)
    levels_in = spectrum(source, rate_hz)[tones]
    rest = spectrum(out, SAMPLE_RATE_HZ)
    levels = rest[tones]
    rest[tones] = 0
    return Quality(
        level_error=float(np.abs(20 * np.log10(levels / levels_in)).max()),
        spur=20 * math.log10(rest.max() / levels.max()),
        noise=10 * math.log10(np.sum(rest**2) / np.sum(levels**2)),
    )


def exhaust(convert: Convert, blocks: Sequence[Pcm], rate_hz: int) -> None:
    for _ in convert(blocks, rate_hz):
        pass


def seconds_each(blocks: Sequence[Pcm], rate_hz: int) -> dict[str, float]:
    """The shortest time of each contestant; they take turns, so that a disturbance affects all alike."""
    seconds = dict.fromkeys(CONTESTANTS, math.inf)
    for _ in range(ROUNDS):
        for name, convert in CONTESTANTS.items():
            seconds[name] = min(seconds[name], best_seconds(partial(exhaust, convert, blocks, rate_hz), repeats=1))
    return seconds


def report(rate_hz: int) -> None:
    source = multitone(rate_hz)
    blocks = np.split(source, SECONDS * TICKS_PER_S)
    seconds = seconds_each(blocks, rate_hz)
    found = {
        name: quality(source, np.concatenate(list(convert(blocks, rate_hz))), rate_hz)
        for name, convert in CONTESTANTS.items()
    }
    print_table(
        f"Resampling {rate_hz} to {SAMPLE_RATE_HZ} Hz, {TONES} tones, int16 in and out, blocks of 10 ms",
        ["", "x real time", f"{OURS} faster by", "level error dB", "worst spur dB", "noise dB"],
        [
            [
                name,
                f"{SECONDS / taken_s:,.0f}",
                f"{taken_s / seconds[OURS]:.2f} x",
                f"{found[name].level_error:.3f}",
                f"{found[name].spur:.1f}",
                f"{found[name].noise:.1f}",
            ]
            for name, taken_s in seconds.items()
        ],
    )
    ratio = seconds[RIVAL] / seconds[OURS]
    met = ratio > 1 and found[OURS].level_error < 0.05 and found[OURS].spur < -100
    print(
        f"Goal: {OURS} faster than {RIVAL}, with tones within 0.05 dB and spurs below -100 dB: "
        f"{'met' if met else 'NOT met'} ({ratio:.2f} x)"
    )


def main() -> None:
    for rate_hz in RATES_HZ:
        report(rate_hz)


if __name__ == "__main__":
    main()
