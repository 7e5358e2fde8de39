"""Checks for sounds that are not speech: dialled digits, tones, ringing, music."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from fdbcore._ext.fourier import RealFourier
from fdbcore.measures.health.finding import Bools, counts, health_finding, in_session, near, runs
from fdbcore.measures.health.probe import BLOCK_TICKS, LOW_RATE_HZ, LOW_TICK, Floats, SideAudio, TickColumn
from fdbcore.recording.health import HealthFinding
from fdbcore.types import TICKS_PER_S, Side, Span, clock_text, ticks_to_s

LEAST_POWER: Final = 1e-5  # -50 dBov

# Windows of 32 ms, one every 10 ms.
WINDOW: Final = 128
BIN_HZ: Final = LOW_RATE_HZ / WINDOW
NARROW: Final = 2  # bins on both sides of a peak
LOWEST_TONE_HZ: Final = 300.0  # voices that hum are lower
TONE_SHARE, TONE_HZ = 0.97, 15.0
LEAST_TONE_TICKS: Final = 40
ROWS_HZ: Final = np.array([697, 770, 852, 941])
COLUMNS_HZ: Final = np.array([1209, 1336, 1477, 1633])
DIGITS: Final = ("123A", "456B", "789C", "*0#D")
DIGIT_SHARE, DIGIT_TOLERANCE, LEAST_DIGIT_TICKS = 0.9, 0.02, 4
FIRST_OF_TWO_SHARE: Final = DIGIT_SHARE / 2  # with a weaker first peak, two peaks cannot reach DIGIT_SHARE
RINGING_HZ: Final = (380.0, 500.0)
LONGEST_WAIT_TICKS, MOST_ENTRIES = 2 * TICKS_PER_S, 4
LEAST_RINGS: Final = 2
BESIDE_TICKS, QUIETER = 20, 0.05  # before or after a ring, power falls to this share of it
FILLED_SHARE: Final = 0.9

# Windows of 128 ms, one every 60 ms.
MUSIC_WINDOW: Final = 512
MUSIC_HOP_TICKS: Final = 6
MUSIC_LAG: Final = 3  # windows that do not overlap
MUSIC_OVER: Final = 64  # windows, about 4 s
MUSIC_BLOCK: Final = 160  # windows, at a time
STEADY: Final = 0.45
LEAST_MUSIC_TICKS: Final = 3 * TICKS_PER_S
NOTES_OVER_TICKS: Final = 4 * TICKS_PER_S
FEWEST_CHANGES: Final = 3  # of the frequency; a constant tone is no melody
NOTES_SHARE: Final = 0.25  # of all sound; none of 19 recordings of speech has more than 0.17
SOUNDING_SHARE: Final = 0.85

_OF_TONES: Final = RealFourier(WINDOW, np.hanning(WINDOW).astype(np.float32))
_OF_MUSIC: Final = RealFourier(MUSIC_WINDOW, np.hanning(MUSIC_WINDOW).astype(np.float32))


class Tones(NamedTuple):
    """Per tick: its power and the frequency of its strongest peak, 0 if it is silent.

    key: the number of the dialled digit whose two frequencies it has, int8, or -1. tonal: whether it consists of one or
    two frequencies, the same as in the tick before.
    """

    power: Floats
    hz: Floats
    key: npt.NDArray[np.int8]
    tonal: Bools


class Peaks(NamedTuple):
    """Per tick of a block: its power, and the frequency and share of the power of the two strongest peaks.

    0 for ticks that are silent, and for second peaks that cannot belong to a tone.
    """

    power: Floats
    hz: Floats
    share: Floats
    second_hz: Floats
    second_share: Floats


def checks(side: Side, heard: SideAudio, kept: Sequence[Span]) -> Iterator[HealthFinding]:
    """The findings about sounds of one side that are not speech. kept: where the audio lies in the session."""
    found = _tones(heard)
    digits = list(_digits(found.key))
    if digits:
        text = f"dialled {_entries(digits, kept)}"
        means = "Dialling is not speech: no figure counts it, even if the detector takes it for speech."
        yield health_finding("dtmf", side, "warn", text, means, {"digits": len(digits)}, [span for _, span in digits])
    dialled = np.zeros(heard.n_ticks, np.bool_)
    for _, (start, end) in digits:
        dialled[max(start - 4, 0) : end + 4] = True
    tonal = found.tonal & ~dialled
    tones = [
        (start, end)
        for start, end in runs(tonal, 1)
        if end - start >= LEAST_TONE_TICKS and np.ptp(np.quantile(found.hz[start:end], [0.05, 0.95])) < 2 * TONE_HZ
    ]
    yield from _ringing_or_tones(side, found, tones, kept)
    for start, end in tones:
        dialled[start:end] = True
    yield from _music(side, heard, _in_notes(heard, found.hz, tonal), dialled)


def ticks(findings: Iterable[HealthFinding], n_ticks: int) -> Bools:
    """The ticks of the findings of `checks`, bool (n_ticks,), except music, which may lie under speech."""
    found = np.zeros(n_ticks, np.bool_)
    for start, end in (span for finding in findings if finding["id"] != "music" for span in finding["spans"]):
        found[start:end] = True
    return found


def unspoken(tonal: Bools, active: Bools) -> Bools:
    """The activity that is a tone and no speech, bool (n_ticks,): of stretches that tones fill, all, edges included."""
    beside = near(tonal, BESIDE_TICKS)
    ticks = tonal & active
    for start, end in runs(active):
        if tonal[start:end].any() and np.mean(beside[start:end]) > FILLED_SHARE:
            ticks[start:end] = True
    return ticks


def _tones(heard: SideAudio) -> Tones:
    sounding = near(heard.powers > LEAST_POWER, WINDOW // (2 * LOW_TICK) + 1)
    n_ticks = heard.n_ticks
    key, tonal = np.zeros(n_ticks, np.int8), np.zeros(n_ticks, np.bool_)
    hz_before = None
    with TickColumn(np.float32) as power, TickColumn(np.float32) as hz:
        for tick in range(0, n_ticks, BLOCK_TICKS):
            n = min(BLOCK_TICKS, n_ticks - tick)
            pcm = heard.read(tick - 2, tick + n + 2)[2 * LOW_TICK - (WINDOW - LOW_TICK) // 2 :]
            frames = np.lib.stride_tricks.sliding_window_view(pcm, WINDOW)[::LOW_TICK][:n]
            at = np.flatnonzero(sounding[tick : tick + n])
            columns = np.zeros((len(Peaks._fields), n), np.float32)
            columns[:, at] = _strongest(frames[at])
            block, within = Peaks(*columns), slice(tick, tick + n)
            power.append(block.power)
            hz.append(block.hz)
            key[within] = _key(block)
            tonal[within] = _tonal(block, block.hz[0] if hz_before is None else hz_before)
            hz_before = block.hz[-1]
        return Tones(power.read(n_ticks), hz.read(n_ticks), key, tonal)


def _strongest(frames: Floats) -> Floats:
    """The fields of `Peaks` for frames of WINDOW samples, one row per field."""
    spectra = _OF_TONES.powers(frames)
    total = spectra.sum(axis=1) + 1e-12
    hz, share = _take_peak(spectra, total)
    second = np.zeros((2, len(frames)), np.float32)
    tonal = np.flatnonzero(share > FIRST_OF_TWO_SHARE)
    second[:, tonal] = _take_peak(spectra[tonal], total[tonal])
    return np.stack([np.mean(frames**2, axis=1), hz, share, *second])


def _take_peak(spectra: Floats, total: Floats) -> tuple[Floats, Floats]:
    """The frequency and share of the strongest peak of each spectrum; removes the peak from it."""
    beside = spectra[:, NARROW:-NARROW].argmax(axis=1)[:, None] + np.arange(2 * NARROW + 1)
    peak = np.take_along_axis(spectra, beside, axis=1)
    power = peak.sum(axis=1)
    np.put_along_axis(spectra, beside, 0, axis=1)
    return (peak * beside).sum(axis=1) / (power + 1e-20) * BIN_HZ, power / total


def _key(peaks: Peaks) -> npt.NDArray[np.int8]:
    low, high = np.minimum(peaks.hz, peaks.second_hz), np.maximum(peaks.hz, peaks.second_hz)
    row, row_near = _nearest(low, ROWS_HZ)
    column, column_near = _nearest(high, COLUMNS_HZ)
    two = (peaks.share + peaks.second_share > DIGIT_SHARE) & (peaks.second_share > 0.1)
    key: npt.NDArray[np.int8] = np.where(
        two & row_near & column_near & (peaks.power > LEAST_POWER), 4 * row + column, -1
    ).astype(np.int8)
    return key


def _digits(key: npt.NDArray[np.int8]) -> Iterator[tuple[str, Span]]:
    for start, end in runs(key >= 0):
        pressed = np.bincount(key[start:end], minlength=16)
        if pressed.max() >= LEAST_DIGIT_TICKS:
            yield DIGITS[int(pressed.argmax()) // 4][int(pressed.argmax()) % 4], (start, end)


def _entries(digits: Sequence[tuple[str, Span]], kept: Sequence[Span]) -> str:
    """Dialled digits, and when: "427 at 0:12, 1 at 0:31". Digits that lie LONGEST_WAIT_TICKS apart are two entries."""
    entries: list[tuple[int, str]] = []
    before = -LONGEST_WAIT_TICKS
    for digit, (start, end) in digits:
        if start - before >= LONGEST_WAIT_TICKS:
            entries.append((start, digit))
        else:
            entries[-1] = (entries[-1][0], entries[-1][1] + digit)
        before = end
    starts = [in_session([(start, start + 1)], kept)[0][0] for start, _ in entries]
    shown = [
        f"{said[:16]} at {clock_text(ticks_to_s(start))}" for start, (_, said) in zip(starts, entries, strict=True)
    ]
    return ", ".join(shown[:MOST_ENTRIES]) + (f" and {len(shown) - MOST_ENTRIES} more" if shown[MOST_ENTRIES:] else "")


def _nearest(hz: Floats, wanted: npt.NDArray[np.int_]) -> tuple[npt.NDArray[np.int8], Bools]:
    """The index of the wanted frequency nearest to each `hz`, int8 (n,), and whether it is near enough."""
    nearest, least = np.zeros(len(hz), np.int8), np.full(len(hz), np.inf)
    for index, each in enumerate(wanted):
        off = np.abs(np.subtract(hz, each, dtype=np.float64))
        closer = off < least
        nearest[closer], least[closer] = index, off[closer]
    return nearest, least <= (DIGIT_TOLERANCE * wanted)[nearest]


def _tonal(peaks: Peaks, hz_before: np.float32) -> Bools:
    """The ticks that consist of one or two frequencies, the same as in the tick before."""
    steady = np.abs(np.diff(peaks.hz, prepend=hz_before)) < TONE_HZ
    alone = (peaks.share > TONE_SHARE) & (peaks.hz > LOWEST_TONE_HZ)
    pair = (peaks.share + peaks.second_share > TONE_SHARE) & (np.minimum(peaks.hz, peaks.second_hz) > LOWEST_TONE_HZ)
    tonal: Bools = steady & (alone | pair) & (peaks.power > LEAST_POWER)
    return tonal


def _ringing_or_tones(side: Side, found: Tones, tones: list[Span], kept: Sequence[Span]) -> Iterator[HealthFinding]:
    hz = np.array([np.median(found.hz[start:end]) for start, end in tones])
    rings = [
        span
        for span, f in zip(tones, hz, strict=True)
        if RINGING_HZ[0] <= f <= RINGING_HZ[1] and _in_silence(found.power, span)
    ]
    means = "It is not speech: no figure counts it, even if the detector takes it for speech."
    if len(rings) >= LEAST_RINGS:
        [(first, _), *_] = in_session(rings, kept)
        text = f"ringing, {len(rings)} times from {ticks_to_s(first):.0f} s"
        yield health_finding(
            "ringing", side, "warn", text, means, {"hz": float(np.median(hz)), "rings": len(rings)}, rings
        )
        tones = [span for span in tones if span not in rings]
    if tones:
        seconds = sum(end - start for start, end in tones) / TICKS_PER_S
        figures = {"hz": float(np.median(hz)), "seconds": seconds}
        yield health_finding("tone", side, "warn", f"tones, {seconds:.1f} s", means, figures, tones)


def _in_silence(powers: Floats, span: Span) -> bool:
    """True if a tone begins after silence or ends in silence, so that it is not a part of speech."""
    start, end = span
    silence = QUIETER * float(np.median(powers[start:end]))
    around = (powers[max(start - BESIDE_TICKS, 0) : start], powers[end : end + BESIDE_TICKS])
    return any(beside.min(initial=np.inf) < silence for beside in around)


def _in_notes(heard: SideAudio, hz: Floats, tonal: Bools) -> Bools:
    """The ticks around which much of the sound is notes of a melody, as of a synthesiser; a voice has hardly any."""
    at = np.flatnonzero(tonal)
    changes = np.zeros(heard.n_ticks, np.bool_)
    changes[at[1:][np.abs(np.diff(hz[at])) > 2 * TONE_HZ]] = True
    notes = np.zeros(heard.n_ticks, np.bool_)
    over = min(NOTES_OVER_TICKS, heard.n_ticks)
    around = (counts(each, over // 2, (over - 1) // 2) for each in (heard.powers > LEAST_POWER, tonal, changes))
    for (block, sounding), (_, tonal_ticks), (_, changed) in zip(*around, strict=True):
        notes[block] = (tonal_ticks > NOTES_SHARE * sounding) & (sounding > NOTES_OVER_TICKS // 2)
        notes[block] &= changed >= FEWEST_CHANGES
    return notes


def _music(side: Side, heard: SideAudio, in_notes: Bools, other: Bools) -> Iterator[HealthFinding]:
    sounding = _sounding(heard)
    if len(sounding) < MUSIC_OVER:
        return
    box = np.full(MUSIC_OVER, 1 / MUSIC_OVER)
    share = np.convolve(sounding, box, "same")
    steadiness = np.zeros(len(sounding))
    for start, end in runs(near(share > SOUNDING_SHARE, MUSIC_OVER // 2)):
        for at in range(start, end, MUSIC_BLOCK):
            steadiness[at : min(at + MUSIC_BLOCK, end)] = _steadiness(heard, at, min(at + MUSIC_BLOCK, end))
    musical = (share > SOUNDING_SHARE) & (np.convolve(steadiness * sounding, box, "same") > STEADY * share)
    ticks = np.repeat(musical, MUSIC_HOP_TICKS)[: heard.n_ticks]
    ticks = (np.pad(ticks, (0, heard.n_ticks - len(ticks))) | in_notes) & ~other
    spans = [span for span in runs(ticks, TICKS_PER_S) if span[1] - span[0] >= LEAST_MUSIC_TICKS]
    if spans:
        seconds = sum(end - start for start, end in spans) / TICKS_PER_S
        means = "It is not speech, but the detector may take it for a long turn or an interruption."
        yield health_finding("music", side, "warn", f"music, {seconds:.0f} s", means, {"seconds": seconds}, spans)


def _sounding(heard: SideAudio) -> npt.NDArray[np.float64]:
    """For every 60 ms, 1 if there is sound both then and 180 ms later; otherwise 0."""
    n = -(-heard.n_ticks // MUSIC_HOP_TICKS)
    blocks = (_frames(heard, at, min(at + MUSIC_BLOCK, n + MUSIC_LAG)) for at in range(0, n + MUSIC_LAG, MUSIC_BLOCK))
    loud: Bools = np.concatenate([_powers(frames) > LEAST_POWER for frames in blocks])
    return (loud[:-MUSIC_LAG] & loud[MUSIC_LAG:]).astype(np.float64)


def _powers(frames: Floats) -> Floats:
    """The power of each frame without its mean, since a step of the direct current is not sound."""
    powers: Floats = np.einsum("ij,ij->i", frames, frames) / MUSIC_WINDOW - frames.mean(axis=1) ** 2
    return powers


def _steadiness(heard: SideAudio, start: int, end: int) -> npt.NDArray[np.float64]:
    """For every 60 ms from `start` to `end`: how similar the spectral lines are to those 180 ms later.

    The notes of music stay the same; the harmonics of a voice never do for long.
    """
    powers = _OF_MUSIC.powers(_frames(heard, start, end + MUSIC_LAG))
    bands = np.log(powers[:, 16:232] + np.float32(1e-7)).reshape(len(powers), -1, 24)  # 125 to 1,800 Hz
    lines = (bands - bands.mean(axis=2, keepdims=True)).reshape(len(powers), -1)
    norms = np.sqrt((lines**2).sum(axis=1)) + 1e-6
    alike = (lines[:-MUSIC_LAG] * lines[MUSIC_LAG:]).sum(axis=1) / norms[:-MUSIC_LAG] / norms[MUSIC_LAG:]
    steadiness: npt.NDArray[np.float64] = alike.astype(np.float64)
    return steadiness


def _frames(heard: SideAudio, start: int, end: int) -> Floats:
    """Windows `start` to `end` of those that begin every 60 ms: float32 (n, MUSIC_WINDOW), a view."""
    pcm = heard.read(start * MUSIC_HOP_TICKS, end * MUSIC_HOP_TICKS + MUSIC_WINDOW // LOW_TICK + 1)
    frames: Floats = np.lib.stride_tricks.sliding_window_view(pcm, MUSIC_WINDOW)[:: MUSIC_HOP_TICKS * LOW_TICK]
    return frames[: end - start]
