"""A check that each side keeps its voice: two may change places at one moment, or one jump with its whole spectrum.

A voice is known by its long-term spectrum below 2 kHz and by its pitch. If people or systems take turns in any way,
both stay on their side; only a recorder exchanges them. And nobody raises his pitch and all of his formants by the same
musical interval: only a wrong sample rate does.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from fdbcore._ext.fourier import RealFourier
from fdbcore.measures.health.finding import Bools, health_finding, runs
from fdbcore.measures.health.probe import LOW_RATE_HZ, LOW_TICK, Floats, SideAudio
from fdbcore.recording.health import HealthFinding, Severity
from fdbcore.types import SIDES, TICKS_PER_S, Side, clock_text

Doubles = npt.NDArray[np.float64]

# A unit of speech: with pauses of up to 0.3 s, and 0.6 s of speech or more. It is heard in up to 40 frames of 64 ms.
BRIDGED_TICKS: Final = 30
LEAST_UNIT_TICKS: Final = 60
MOST_FRAMES: Final = 40
MOST_HEARD: Final = 4_000  # units of a side; of a day's, every third
FRAME: Final = 256
PADDED: Final = 1024
LOUD_SHARE: Final = 0.03  # of the power of the loud frames of its unit
LONGEST_UNIT_TICKS: Final = 300  # a longer one has no more weight

LOWEST_HZ, BANDS, PER_OCTAVE = 125.0, 48, 12
PITCH_LAGS: Final = (10, 57)  # 400 to 70 Hz
VOICED: Final = 0.5
LEAST_VOICED: Final = 8

# By how much less the units of a side vary if a part of them is taken otherwise: the mean logarithm over the directions
# in which they vary most. Noise fills the others, and with those two alike voices were not told apart.
DIRECTIONS: Final = 12
MOST_DEVIATIONS: Final = 2.0  # of the median absolute one: an odd unit counts no more
EXCHANGED: Final = -0.025  # of 216 dialogues none reached -0.018; of 60 with exchanged sides 57 reached this
OF_A_SECOND_CHANGE: Final = 0.012  # there are many more parts than ends
FEWEST_BESIDE: Final = 3  # units of each side within the part, and beside it
FEWEST_OF_BOTH: Final = 16  # of both sides: of less, some part always fits better
INTERVALS: Final = {7: "3:2", -7: "2:3", 12: "2:1", -12: "1:2", 5: "4:3", -5: "3:4"}
WRONG_RATE, SURE_RATE, PITCH_AGREES = -0.3, -0.6, -0.3
FEWEST_IN_PART, FEWEST_UNITS, MOST_UNITS = 2, 8, 120

_OF_FRAME: Final = RealFourier(PADDED, np.pad(np.hanning(FRAME), (0, PADDED - FRAME)).astype(np.float32))
_HZ: Final = np.fft.rfftfreq(PADDED, 1 / LOW_RATE_HZ)
_EDGES: Final = np.searchsorted(_HZ, LOWEST_HZ * 2 ** (np.arange(BANDS + 1) / PER_OCTAVE))
_WINDOW: Final = np.fft.irfft(np.abs(np.fft.rfft(np.hanning(FRAME), PADDED)) ** 2)[: PITCH_LAGS[1] + 2]


class SpokenUnits(NamedTuple):
    """A side's units of speech. spans: (n, 2) in ticks. levels: of each band in dB, (n, BANDS). pitch: in octaves,
    (n,), NaN where there is none. weights: (n,)."""

    spans: npt.NDArray[np.int64]
    levels: Doubles
    pitch: Doubles
    weights: Doubles

    def part(self, of: slice) -> "SpokenUnits":
        """Some of its units."""
        return SpokenUnits(self.spans[of], self.levels[of], self.pitch[of], self.weights[of])


def pitch_hz(spoken: SpokenUnits) -> float | None:
    """The median pitch of a side; None if that is not known."""
    known = spoken.pitch[np.isfinite(spoken.pitch)]
    return float(2 ** np.median(known)) if len(known) else None


def checks(voices: Mapping[Side, SpokenUnits]) -> Iterator[HealthFinding]:
    """Sides that are exchanged from some point on, or a side whose rate is wrong in a part of the session.

    A voice an octave higher is also another voice, and some exchanged voices lie apart by an interval: of both
    findings, a sure jump counts, else the exchange.
    """
    jumps = list(_wrong_rates(voices))
    is_sure = any(jump["severity"] == "bad" for jump in jumps) and not _are_opposite(jumps)
    yield from jumps if is_sure else list(_exchanged(voices)) or jumps


def _are_opposite(jumps: Sequence[HealthFinding]) -> bool:
    """True if one side jumps up where the other jumps down, as exchanged sides do."""
    if len(jumps) < len(SIDES):
        return False
    a, b = jumps
    (a_start, a_end), (b_start, b_end) = a["spans"][0], b["spans"][0]
    together = min(a_end, b_end) > max(a_start, b_start)
    return a["figures"]["twelfths"] == b["figures"]["twelfths"] * (-1 if together else 1)


def units_of(heard: SideAudio, speech: Bools) -> SpokenUnits:
    """The units of a side. speech: bool (n_ticks,)."""
    found: list[tuple[tuple[int, int], Doubles, float]] = []
    spoken = runs(speech, BRIDGED_TICKS)
    for start, end in spoken[:: len(spoken) // MOST_HEARD + 1]:
        ticks = start + np.flatnonzero(speech[start:end])
        if len(ticks) < LEAST_UNIT_TICKS:
            continue
        chosen = ticks[:: max(len(ticks) // MOST_FRAMES, 1)][:MOST_FRAMES] - start
        pcm = heard.read(start, end + FRAME // LOW_TICK + 1)
        frames = np.lib.stride_tricks.sliding_window_view(pcm, FRAME)[chosen * LOW_TICK]
        found.append(((start, end), *_sound(np.pad(frames, ((0, 0), (0, PADDED - FRAME))))))
    spans = np.array([span for span, _, _ in found], np.int64).reshape(-1, 2)
    return SpokenUnits(
        spans,
        np.array([levels for _, levels, _ in found], np.float64).reshape(-1, BANDS),
        np.array([pitch for _, _, pitch in found], np.float64),
        np.sqrt(np.minimum(np.diff(spans)[:, 0], LONGEST_UNIT_TICKS)),
    )


def _sound(frames: Floats) -> tuple[Doubles, float]:
    """The level of each band in dB, (BANDS,), and the pitch in octaves above 1 Hz, of a unit. frames: (n, PADDED)."""
    spectra = _OF_FRAME.powers(frames).astype(np.float64)
    powers = spectra.sum(axis=1)
    spectra = spectra[powers >= LOUD_SHARE * np.quantile(powers, 0.9)]
    mean = spectra.mean(axis=0)
    levels = 10 * np.log10(np.add.reduceat(mean, _EDGES[:-1])[:BANDS] / np.diff(_EDGES) + 1e-12)
    correlation = np.fft.irfft(spectra)[:, : PITCH_LAGS[1] + 2]
    correlation = correlation / (correlation[:, :1] + 1e-12) / (_WINDOW / _WINDOW[0])
    inner = correlation[:, 1:-1]
    is_peak = (inner >= correlation[:, :-2]) & (inner >= correlation[:, 2:])
    is_peak[:, : PITCH_LAGS[0] - 1] = False
    most = np.where(is_peak, inner, 0).max(axis=1)
    voiced = most > VOICED
    lags = (
        1 + (is_peak & (inner > 0.9 * most[:, None])).argmax(axis=1)[voiced]
    )  # the first: an octave above if in doubt
    pitch = float(np.median(np.log2(LOW_RATE_HZ / lags))) if len(lags) >= LEAST_VOICED else float("nan")
    return levels, pitch


def _exchanged(voices: Mapping[Side, SpokenUnits]) -> Iterator[HealthFinding]:
    """Taken with its sides exchanged from some unit on, or in a part, a side's voice varies less."""
    spans = np.concatenate([voices[side].spans for side in SIDES])
    order = np.argsort(spans[:, 0], kind="stable")
    is_b = np.repeat([False, True], [len(voices[side].spans) for side in SIDES])[order]
    weights = np.concatenate([voices[side].weights for side in SIDES])[order]
    if len(is_b) < FEWEST_OF_BOTH:
        return
    levels = _along_directions(_centred(np.concatenate([voices[side].levels for side in SIDES]))[order], weights)
    sums = [_running(weights * (is_b == side), levels) for side in (False, True)]
    counted = [np.concatenate([[0], np.cumsum(is_b == side)]) for side in (False, True)]
    first, end = _parts(len(is_b))
    within = [each[end] - each[first] for each in counted]
    enough = np.all(
        [
            (part >= FEWEST_BESIDE) & (each[-1] - part >= FEWEST_BESIDE)
            for part, each in zip(within, counted, strict=True)
        ],
        axis=0,
    )
    first, end = first[enough], end[enough]
    if not len(first):
        return
    a, b = sums
    as_they_are = _scatter(*(total[-1] for total in a)) + _scatter(*(total[-1] for total in b))
    crossed = sum(
        _scatter(*(x[-1] - (x[end] - x[first]) + (y[end] - y[first]) for x, y in zip(one, other, strict=True)))
        for one, other in ((a, b), (b, a))
    )
    gains = np.log(crossed / as_they_are).mean(axis=1)
    gains += np.where(end < len(is_b), OF_A_SECOND_CHANGE, 0)
    best = int(gains.argmin())
    if gains[best] < EXCHANGED:
        start, until = (
            clock_text(spans[order][at, 0] / TICKS_PER_S) if at < len(order) else "" for at in (first[best], end[best])
        )
        text = f"sides exchanged from {start} {f'to {until}' if until else 'on'}: each voice changes sides"
        means = "What is said there counts for the wrong side. Replay the parts alone, with --from, --to and --swap."
        yield health_finding("exchanged", None, "bad", text, means, {"gain": float(gains[best])})


def _along_directions(levels: Doubles, weights: Doubles) -> Doubles:
    """The levels (n, BANDS) along the DIRECTIONS in which they vary most, (n, DIRECTIONS)."""
    apart = levels - np.median(levels, axis=0)
    most = MOST_DEVIATIONS * (np.median(np.abs(apart), axis=0) + 0.5)
    apart = np.clip(apart, -most, most)
    weighted = (apart - np.average(apart, axis=0, weights=weights)) * np.sqrt(weights)[:, None]
    _, directions = np.linalg.eigh(weighted.T @ weighted)
    along: Doubles = apart @ directions[:, -DIRECTIONS:]
    return along


def _parts(n: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The parts [first, end) of n units that may be exchanged: to the end or, if there are not too many, any."""
    if n > MOST_UNITS:
        return np.arange(1, n), np.full(n - 1, n)
    first, end = np.triu_indices(n + 1, 1)
    return first[first > 0], end[first > 0]


def _wrong_rates(voices: Mapping[Side, SpokenUnits]) -> Iterator[HealthFinding]:
    """A part of a side whose spectrum and pitch lie a musical interval from those of the rest.

    One that begins or ends with the call may be another speaker, to whom the call was handed over.
    """
    parts = {side: _jump(voice) for side, voice in voices.items()}
    together = all(parts.values())
    for side, part in parts.items():
        if part is not None:
            gain, interval, start, end = part
            place = f"{clock_text(start / TICKS_PER_S)} to {clock_text(end / TICKS_PER_S)}"
            is_within = start > voices[side].spans[0][0] and end < voices[side].spans[-1][1]
            severity: Severity = "bad" if together or (gain < SURE_RATE and is_within) else "warn"
            perhaps = "" if severity == "bad" else " perhaps"
            text = f"{side}{perhaps} at another rate, {place}: voice and formants jump by {INTERVALS[interval]}"
            means = "A part was recorded or written at a wrong sample rate: its times are wrong by that ratio."
            if perhaps:
                means += " Another voice may sound so, too."
            yield health_finding(
                "wrong_rate", side, severity, text, means, {"gain": gain, "twelfths": interval}, [(start, end)]
            )


def _jump(voice: SpokenUnits) -> tuple[float, int, int, int] | None:
    """The gain, the interval in twelfths of an octave, and the span of the part that fits best; None without one."""
    found = []
    for first in range(0, len(voice.spans), MOST_UNITS):
        block = voice.part(slice(first, first + MOST_UNITS))
        if len(block.spans) >= FEWEST_UNITS and np.isfinite(block.pitch).any():
            found += [_jump_by(block, interval) for interval in INTERVALS]
    gain, interval, start, end = min(found, default=(0.0, 0, 0, 0))
    return (gain, interval, start, end) if gain < WRONG_RATE else None


def _jump_by(voice: SpokenUnits, interval: int) -> tuple[float, int, int, int]:
    n = len(voice.spans)
    pitch = np.where(np.isfinite(voice.pitch), voice.pitch, np.nanmedian(voice.pitch))
    first, end = np.triu_indices(n + 1, FEWEST_IN_PART)
    is_part = end - first < n - FEWEST_IN_PART
    first, end = first[is_part], end[is_part]
    by_pitch = _gains(voice.weights, pitch[:, None], pitch[:, None] - interval / PER_OCTAVE, first, end)
    agrees = by_pitch < PITCH_AGREES
    if not agrees.any():
        return 0.0, interval, 0, 0
    first, end = first[agrees], end[agrees]
    bands = np.arange(max(0, -interval), BANDS - max(0, interval))
    as_it_is, moved = _centred(voice.levels[:, bands]), _centred(voice.levels[:, bands + interval])
    gains = _gains(voice.weights, as_it_is, moved, first, end)
    best = int(gains.argmin())
    return float(gains[best]), interval, int(voice.spans[first[best], 0]), int(voice.spans[end[best] - 1, 1])


def _gains(
    weights: Doubles, whole: Doubles, moved: Doubles, first: npt.NDArray[np.int64], end: npt.NDArray[np.int64]
) -> Doubles:
    """The gain, (parts,): how much less the units vary if those of each part [first, end) are taken as `moved`."""
    of_whole, of_moved = _running(weights, whole), _running(weights, moved)
    sums = [w[-1] - (w[end] - w[first]) + (m[end] - m[first]) for w, m in zip(of_whole, of_moved, strict=True)]
    gains: Doubles = np.log(_scatter(*sums) / _scatter(*(w[-1] for w in of_whole))).mean(axis=1)
    return gains


def _centred(levels: Doubles) -> Doubles:
    """Without the level of each unit."""
    centred: Doubles = levels - levels.mean(axis=1, keepdims=True)
    return centred


def _running(weights: Doubles, values: Doubles) -> tuple[Doubles, Doubles, Doubles]:
    """The sums over the first 0, 1, ... n units: of weights (n + 1, 1), of values and of their squares (n + 1, m)."""
    weighted = weights[:, None] * values
    columns = (weights[:, None], weighted, weighted * values)
    w, x, squares = (np.pad(np.cumsum(column, axis=0), ((1, 0), (0, 0))) for column in columns)
    return w, x, squares


def _scatter(weights: Doubles, values: Doubles, squares: Doubles) -> Doubles:
    """The sum of the squares around the mean."""
    scatter: Doubles = np.maximum(squares - values**2 / np.maximum(weights, 1e-9), 1e-9)
    return scatter
