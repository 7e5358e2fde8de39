"""The sound of one side: its speech, what lies beside it, and how it dies away."""

from typing import Final

import numpy as np

from fdbcore.measures.health.finding import LEAST_DBOV, Bools, decibels, near, runs
from fdbcore.measures.health.probe import BLOCK_TICKS, FULL_SCALE, Floats, SideAudio, TickColumn
from fdbcore.recording.health import SideSound
from fdbcore.types import TICK_MS, TICKS_PER_S, Span

MARGIN_TICKS: Final = 20  # sound this near to speech may belong to it
LEAST_QUIET_TICKS: Final = TICKS_PER_S // 2

LEAST_UNIT_TICKS: Final = 6
LONGEST_BREAK_TICKS: Final = 19
AFTER_TICKS: Final = (5, 15)
"""The span after speech in which the sound let through by a gate or a comfort noise is heard: 50 to 150 ms."""
SOFTEST_SHARE: Final = 0.05
FALL_DB: Final = (15.0, 35.0)
"""A room shows in how long the level takes to fall from one to the other below the peak of a unit."""
LATE_FALL_DB: Final = ((30.0, 45.0), (30.0, 40.0), (25.0, 35.0))
"""Late falls at its end: the first of these that the background does not hide."""
HEARD_ABOVE_NOISE_DB: Final = 6.0
FALLEN_WITHIN_TICKS: Final = 50
QUICKEST: Final = 0.1
QUICKER: Final = 0.35
ROOM_TAIL_MS: Final = 66.0
"""In a room, 20 dB take longer: so long they take with a reverberation time of 0.2 s."""
DOUBTFUL_TAIL_MS: Final = 55.0
"""From this on to that of a room, it may be either a dry room or a voice that ends slowly."""

PASSBAND: Final = slice(25, 33)  # 2.5 to 3.3 kHz, in bins of 100 Hz
STOPBAND: Final = slice(45, 75)  # 4.5 to 7.5 kHz: synthetic voices have little in the lower half of it


def figures(heard: SideAudio, active: Bools) -> SideSound:
    """The figures of one side; None for what it does not show. active: its speech, bool (n_ticks,).

    noise_dbov: the median level apart from speech. spread_db: how much that level varies (robust standard deviation).
    under_db: the softest 5 % of ticks in speech above the noise: below 0 where noise is not under the speech.
    after_db: the sound 50 to 150 ms after speech, above the noise. fall_ms: from 15 to 35 dB below the peak of a
    stretch of speech. tail_ms: the shorter of two times, as a room lengthens both: in which a tenth of the stretches
    die away like that, and in which a third of them end dying away, by 20 dB. high_drop_db: the band of 2.5 to 3.3 kHz
    above that of 4.5 to 7.5 kHz, in loud ticks.
    """
    level = decibels(float(heard.powers[active].mean())) if active.any() else None
    quiet = ~near(active, MARGIN_TICKS)
    is_heard = np.count_nonzero(quiet) >= LEAST_QUIET_TICKS
    noise = decibels(float(np.median(heard.powers[quiet], overwrite_input=True))) if is_heard else None
    levels, spoken = levels_of(heard), units(active)
    after, falls = _after_db(heard.powers, active, spoken), _falls_ms(levels, spoken, noise)
    shows_falls = len(falls) * 2 > len(spoken)
    return {
        "speech_s": np.count_nonzero(active) / TICKS_PER_S,
        "level_dbov": level,
        "noise_dbov": noise,
        "snr_db": None if level is None or noise is None else level - noise,
        "peak_dbov": decibels(float(heard.peaks.max(initial=0) / FULL_SCALE) ** 2),
        "dc_of_full_scale": heard.mean,
        "spread_db": _deviation(levels[quiet]) if is_heard else None,
        "under_db": None
        if level is None or noise is None
        else float(np.quantile(levels[active], SOFTEST_SHARE, overwrite_input=True)) - noise,
        "after_db": None if noise is None or not after else float(np.median(after)) - noise,
        "fall_ms": float(np.median(falls[:, 0])) if shows_falls else None,
        "tail_ms": min(float(np.quantile(falls[:, 0], QUICKEST)), float(np.quantile(falls[:, 1], QUICKER)))
        if shows_falls
        else None,
        "high_drop_db": _high_drop_db(heard) if level is not None and heard.spectrum.any() else None,
    }


def units(active: Bools) -> list[Span]:
    """Stretches of speech: 60 ms without a break start one, 200 ms of silence end it."""
    found: list[Span] = []
    for start, end in runs(active):
        if found and start - found[-1][1] <= LONGEST_BREAK_TICKS:
            found[-1] = (found[-1][0], end)
        elif end - start >= LEAST_UNIT_TICKS:
            found.append((start, end))
    return found


def levels_of(heard: SideAudio) -> Floats:
    """The level of each tick in dBov, float32 (n_ticks,); a map of a file."""
    powers = heard.powers
    with TickColumn(np.float32) as levels:
        for tick in range(0, len(powers), BLOCK_TICKS):
            block = powers[tick : tick + BLOCK_TICKS]
            # In double precision: that of single precision differs from processor to processor.
            levels.append(10 * np.log10(np.maximum(block, np.float32(10 ** (LEAST_DBOV / 10))), dtype=np.float64))
        return levels.read(len(powers))


def _deviation(levels: Floats) -> float:
    """A robust standard deviation. It changes the levels."""
    levels -= np.median(levels)
    return 1.4826 * float(np.median(np.abs(levels, out=levels), overwrite_input=True))


def _after_db(powers: Floats, active: Bools, spoken: list[Span]) -> list[float]:
    """The level after each unit in dBov, where nothing is said then."""
    first, last = AFTER_TICKS
    ends = [end for _, end in spoken if end + last <= len(active) and not active[end : end + last].any()]
    return [decibels(float(powers[end + first : end + last].mean())) for end in ends]


def _falls_ms(levels: Floats, spoken: list[Span], noise_dbov: float | None) -> Floats:
    """The times that the end of each unit takes to die away, where the background does not hide it: (n, 2).

    From one of FALL_DB to the other; and 20 dB at its end, by LATE_FALL_DB.
    """
    found = []
    for start, end in spoken:
        peak = levels[start:end].max()
        last_loud = start + int(np.flatnonzero(levels[start:end] >= peak - FALL_DB[0])[-1])
        tail = levels[last_loud : end + FALLEN_WITHIN_TICKS]
        fallen = np.flatnonzero(tail < peak - FALL_DB[1])
        if len(fallen):
            found.append((TICK_MS * int(fallen[0]), _late_fall_ms(tail, float(peak), noise_dbov)))
    return np.array(found, np.float32).reshape(-1, 2)


def _late_fall_ms(tail: Floats, peak_dbov: float, noise_dbov: float | None) -> float:
    least_dbov = -np.inf if noise_dbov is None else noise_dbov + HEARD_ABOVE_NOISE_DB
    shown = [db for db in LATE_FALL_DB if peak_dbov - db[1] > max(least_dbov, float(tail.min()))]
    first_db, last_db = shown[0] if shown else LATE_FALL_DB[-1]
    ticks = crossing(tail, peak_dbov - last_db) - crossing(tail, peak_dbov - first_db)
    return TICK_MS * ticks * (FALL_DB[1] - FALL_DB[0]) / (last_db - first_db)


def crossing(tail: Floats, level_dbov: float) -> float:
    """The place where levels that begin above a level first fall below it, in ticks."""
    below = int(np.flatnonzero(tail < level_dbov)[0])
    if not below:
        return 0.0
    before, after = float(tail[below - 1]), float(tail[below])
    return below - 1 + (before - level_dbov) / (before - after)


def _high_drop_db(heard: SideAudio) -> float:
    passed, stopped = (float(heard.spectrum[band].mean()) + 1e-20 for band in (PASSBAND, STOPBAND))
    return float(10 * np.log10(passed / stopped))
