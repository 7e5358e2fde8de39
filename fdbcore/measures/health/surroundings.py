"""Checks of what lies between and after the words of a side: noise that changes, automatic gain, comfort noise, gates,
rooms.

Each of them can move the edges of speech that a detector finds, or make answers look early: from where on is a matter
of the detector (`limits`).
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from fdbcore.measures.health.finding import Bools, health_finding, near, runs
from fdbcore.measures.health.limits import Limits
from fdbcore.measures.health.probe import BLOCK_TICKS, LOW_TICK, Floats, SideAudio
from fdbcore.measures.health.side_sound import MARGIN_TICKS, ROOM_TAIL_MS, crossing, levels_of, units
from fdbcore.recording.health import HealthFinding, SideSound
from fdbcore.types import TICK_MS, Side

CELL_TICKS: Final = 10  # levels of 100 ms: those of steady noise vary by 0.3 to 0.6 dB, of talk and music by 2 to 5
LEAST_CELLS: Final = 20
CHANGING_DB: Final = 1.5
INAUDIBLE_DB: Final = 50.0  # below the speech: no detector takes what is softer for speech
LEAST_PAUSE_CELLS: Final = 6
RISING_CELLS: Final = 20  # 2 s, in which automatic gain comes up
LEAST_PAUSES: Final = 3

LOUD_DB: Final = 12.0  # below the mean level of speech; its sounds at the end of a phrase are softer, but seldom more
APART_TICKS: Final = 40  # between loud sounds: what lies there is the end of a phrase, and what follows
LEAST_ENDS: Final = 4
MOST_ENDS: Final = 0.6  # the share of ends that shows a gate or comfort noise; on other lines 0.4 at most
AUDIBLE_DB: Final = 40.0  # below the mean level of speech: softer noise is out of the range of speech
HELD_TICKS: Final = 8
FLAT_DB: Final = 1.2  # deviations of levels of steady noise are softer than this, ...
LEVEL_DB: Final = 0.8  # ... and half of HELD_TICKS has the level of the other; a voice or a room falls
SETTLED: Final = slice(28, 40)

FADE_DB: Final = (15.0, 25.0, 35.0)  # below the peak of a stretch of speech
FADED_WITHIN_TICKS: Final = 100
LEAST_FADES: Final = 8
FASTER_ENDS: Final = 0.35  # some words die away slowly by themselves; in a room nearly all do


class Between(NamedTuple):
    """The noise in pauses. rise_db: from one third of a pause to the next, twice; varies_db: robust deviation."""

    rise_db: float
    varies_db: float


def checks(
    side: Side, heard: SideAudio, active: Bools, known: SideSound, is_explained: bool, limits: Limits
) -> Iterator[HealthFinding]:
    """The findings about one side. active: its speech, bool (n_ticks,); known: its `figures`; limits: of its detector.

    is_explained: whether it is known what lies between its words, such as echo or music.
    """
    level, snr = known["level_dbov"], known["snr_db"]
    if level is None:
        return
    levels = levels_of(heard)
    fade_ms, tail_ms = _fade_ms(levels, active), known["tail_ms"]
    if fade_ms > limits.fade_ms and (tail_ms is None or tail_ms >= ROOM_TAIL_MS):
        yield _reverberation(side, fade_ms)
    between = None if is_explained or snr is None else _between(heard, active)
    if between is not None and snr is not None:
        if between.rise_db > limits.agc_rise_db:
            yield _agc(side, between.rise_db)
            return  # it also changes what follows speech, and how much the noise varies
        if between.varies_db > CHANGING_DB:
            if snr < limits.nonstationary_snr_db:
                yield _nonstationary(side, snr, between.varies_db)
            return
    ends = _ends(levels, level)
    if len(ends) >= LEAST_ENDS:
        audible_dbov = level - AUDIBLE_DB
        for limit_db, steps_db, make in (
            (limits.comfort_rise_db, _rises_db(ends, audible_dbov), _comfort_noise),
            (limits.gate_fall_db, _falls_db(ends, audible_dbov), _noise_gate),
        ):
            found = steps_db > limit_db
            if found.mean() > MOST_ENDS:
                yield make(side, float(np.median(steps_db[found])))


def _between(heard: SideAudio, active: Bools) -> Between | None:
    """The change of the noise in pauses; None if there are hardly any pauses."""
    n_cells = heard.n_ticks // CELL_TICKS
    pauses = _whole_cells(~near(active, MARGIN_TICKS), n_cells)
    speech = _whole_cells(active, n_cells)
    if np.count_nonzero(pauses) < LEAST_CELLS or not speech.any():
        return None
    powers = _cells(heard, n_cells)
    audible = float(powers[speech].mean()) * 10 ** (-INAUDIBLE_DB / 10)
    levels = 10 * np.log10(np.maximum(powers, audible) + 1e-20)
    rises = []
    for start, end in runs(pauses):
        if end - start >= LEAST_PAUSE_CELLS:
            rising = levels[start : min(end, start + RISING_CELLS)]
            first, middle, last = (np.median(part) for part in np.array_split(rising, 3))
            rises.append(2 * min(middle - first, last - middle))  # a breath before the next words is in the last
    noise = levels[pauses]
    varies_db = 1.4826 * float(np.median(np.abs(noise - np.median(noise))))
    return Between(float(np.median(rises)) if len(rises) >= LEAST_PAUSES else 0.0, varies_db)


def _whole_cells(ticks: Bools, n_cells: int) -> Bools:
    """True for each cell whose ticks are all True, bool (n_cells,)."""
    whole: Bools = np.logical_and.reduce(ticks[: n_cells * CELL_TICKS].reshape(n_cells, CELL_TICKS), axis=1)
    return whole


def _cells(heard: SideAudio, n_cells: int) -> Floats:
    """The power of each 100 ms up to 2 kHz, high frequencies raised: rumble varies, but is no sound that matters."""
    powers = np.empty(n_cells, np.float32)
    for cell in range(0, n_cells, BLOCK_TICKS // CELL_TICKS):
        last = min(cell + BLOCK_TICKS // CELL_TICKS, n_cells)
        sharp = np.diff(heard.read(cell * CELL_TICKS - 1, last * CELL_TICKS)[LOW_TICK - 1 :]).reshape(last - cell, -1)
        powers[cell:last] = np.einsum("ij,ij->i", sharp, sharp) / sharp.shape[1]
    return powers


def _fade_ms(levels: Floats, active: Bools) -> float:
    """The time in ms in which most ends of speech die away by 20 dB or longer; 0 if the background hides half of them.

    Twice the shorter time of 10 dB: a room fades evenly, and voices do not. Ends in noise that is held are no fades.
    """
    fades, spoken = [], units(active)
    starts = [start for start, _ in spoken] + [len(levels)]
    for (start, end), next_start in zip(spoken, starts[1:], strict=True):
        wanted = levels[start:end].max() - np.array(FADE_DB)
        last_loud = start + int(np.flatnonzero(levels[start:end] >= wanted[0])[-1])
        tail = levels[last_loud : min(end + FADED_WITHIN_TICKS, next_start)]
        if tail.min() < wanted[-1]:
            at = [crossing(tail, each) for each in wanted]
            is_held = len(tail) > HELD_TICKS and bool(_is_held(_windows(tail[: int(at[-1]) + 1])).any())
            fades.append(0.0 if is_held else 2 * TICK_MS * float(np.diff(at).min()))
    is_shown = len(fades) >= LEAST_FADES and 2 * len(fades) > len(spoken)
    return float(np.quantile(fades, FASTER_ENDS)) if is_shown else 0.0


def _windows(levels: Floats) -> Floats:
    """All windows of HELD_TICKS: (..., n, HELD_TICKS)."""
    if levels.shape[-1] < HELD_TICKS:
        return np.zeros((*levels.shape[:-1], 0, HELD_TICKS), np.float32)
    windows: Floats = np.lib.stride_tricks.sliding_window_view(levels, HELD_TICKS, axis=-1)
    return windows


def _is_held(windows: Floats) -> Bools:
    """True for each window (..., HELD_TICKS) in which the level stays the same."""
    half = HELD_TICKS // 2
    falls = windows[..., :half].mean(axis=-1) - windows[..., half:].mean(axis=-1)
    held: Bools = (windows.std(axis=-1) < FLAT_DB) & (np.abs(falls) < LEVEL_DB)
    return held


def _ends(levels: Floats, level_dbov: float) -> Floats:
    """The levels from the last loud tick of each phrase on: (n, APART_TICKS + 1)."""
    loud = levels > level_dbov - LOUD_DB
    last = [end - 1 for _, end in runs(loud, APART_TICKS) if end + APART_TICKS <= len(levels)]
    ends: Floats = levels[np.array(last, np.int64)[:, None] + np.arange(APART_TICKS + 1)]
    return ends


def _rises_db(ends: Floats, audible_dbov: float) -> Floats:
    """The height of the steady noise after each end above the softest 30 ms before it, in dB; 0 if there is none."""
    settled = np.median(ends[:, SETTLED], axis=1)
    is_steady = (ends[:, SETTLED].std(axis=1) < FLAT_DB) & (settled > audible_dbov)
    softest = np.lib.stride_tricks.sliding_window_view(ends[:, 1 : SETTLED.start], 3, axis=1).mean(axis=2).min(axis=1)
    rises_db: Floats = np.where(is_steady, settled - softest, 0)
    return rises_db


def _falls_db(ends: Floats, audible_dbov: float) -> Floats:
    """The fall of the level at once after steady noise at each end, in dB; 0 if there is none."""
    windows = _windows(ends[:, 1:-2])
    after = np.maximum(ends[:, HELD_TICKS + 1 : -1], ends[:, HELD_TICKS + 2 :])
    before = windows.mean(axis=2)
    falls_db: Floats = np.where(_is_held(windows) & (before > audible_dbov), before - after, 0).max(axis=1)
    return falls_db


def _nonstationary(side: Side, snr_db: float, varies_db: float) -> HealthFinding:
    means = (
        "Talk, music or other sound that changes lies behind: its loud moments may count as speech, so that answers "
        "look early, and the ends of speech are less certain."
    )
    text = f"non-stationary noise, SNR {snr_db:.0f} dB, varies by {varies_db:.0f} dB"
    return health_finding("nonstationary", side, "warn", text, means, {"snr_db": snr_db, "varies_db": varies_db})


def _agc(side: Side, rise_db: float) -> HealthFinding:
    means = "The noise comes up in each pause and may count as speech before the next words: answers look early."
    text = f"automatic gain, noise rises by {rise_db:.0f} dB in pauses"
    return health_finding("agc", side, "warn", text, means, {"rise_db": rise_db})


def _reverberation(side: Side, fade_ms: float) -> HealthFinding:
    means = "The room sounds on after the voice: speech ends late, and answers to it look that much earlier."
    text = f"reverberation, speech fades by 20 dB in {fade_ms:.0f} ms"
    return health_finding("reverberation", side, "warn", text, means, {"fade_ms": fade_ms})


def _comfort_noise(side: Side, rise_db: float) -> HealthFinding:
    means = "Noise sets in after each phrase and may count as speech: it ends late, and answers look early."
    text = f"comfort noise, {rise_db:.0f} dB above what lies under the speech"
    return health_finding("comfort_noise", side, "warn", text, means, {"rise_db": rise_db})


def _noise_gate(side: Side, fall_db: float) -> HealthFinding:
    means = "Noise goes on after each phrase until a gate closes, and may count as speech: it ends late."
    text = f"noise gate, noise falls by {fall_db:.0f} dB after speech"
    return health_finding("noise_gate", side, "warn", text, means, {"fall_db": fall_db})
