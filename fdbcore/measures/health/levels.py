"""Checks of one side: level, background noise, clipping, direct current, audio band and dropouts."""

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from fdbcore.measures.health.finding import LEAST_DBOV, Bools, decibels, health_finding, near, runs
from fdbcore.measures.health.hum import hum_hz
from fdbcore.measures.health.limits import Limits
from fdbcore.measures.health.probe import FULL_SCALE, LOUD_POWER, Floats, SideAudio
from fdbcore.measures.health.side_sound import LEAST_QUIET_TICKS, MARGIN_TICKS
from fdbcore.recording.health import HealthFinding, Severity, SideSound
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, TICKS_PER_S, Side

LEAST_PAUSE_TICKS: Final = TICKS_PER_S // 10  # apart from speech, needed to recognise a voice without any background

LOUD_DBOV: Final = -9.0
POOR_SNR_DB, NO_SNR_DB = 15.0, 6.0

LEAST_FLAT: Final = 4  # samples at the tick's own peak; unclipped speech seldom has more than two
LEAST_CLIPPED_TICKS: Final = 3
CLIPPED_WARN, CLIPPED_BAD = 0.005, 0.05  # shares of the speech
LEAST_CLIPPED_PEAK: Final = FULL_SCALE // 16

DC_NOTE, DC_WARN = 0.01, 0.05  # of full scale

TELEPHONE_DB: Final = 30.0  # vowels of espeak-ng: up to 24; 8 kHz under noise of -66 dBov: 36 and more
LEAST_BAND_TICKS: Final = 5 * TICKS_PER_S

SYNTHETIC_SHARE: Final = 0.5  # a voice that is digitally silent between words may be so within words
LONGEST_DROPOUT_TICKS: Final = 50
EDGE_TICKS: Final = 2
LEAST_FLOOR_PEAK: Final = 8  # of 32768: a background that never stops; a codec may have made softer ones
NEARLY_SILENT_PEAK: Final = 8  # codecs turn digital silence into this; A-law has nothing softer
FAR_BELOW: Final = 3  # times softer than the background
BESIDE_SPEECH_TICKS: Final = 10
TONAL_MARGIN_TICKS: Final = 4
EDGE_DB: Final = 15.0  # below the level of the speech: sound that dies away by itself is softer

LEVEL_TICKS: Final = 100_000  # at a time
DIP_DB: Final = 25.0  # a hole is so much softer than what sounds on both sides of it
LONGEST_DIP_TICKS: Final = 10
CHOPPY_PER_S: Final = 7  # dips within words: clear speech has up to 6 in a second, and seldom more than 4
LEAST_CHOPPY_S: Final = 3


def checks(
    side: Side, heard: SideAudio, active: Bools, tonal: Bools, known: SideSound, limits: Limits
) -> Iterator[HealthFinding]:
    """The findings about one side by itself. active: its speech; tonal: the ticks with tones, bool (n_ticks,) both.
    known: its `figures`; limits: of its detector."""
    yield from _level(side, heard, active, known, limits)
    yield from _clipping(side, heard, active)
    yield from _direct_current(side, heard)
    yield from _band(side, active, known)
    choppy = list(_choppy(side, heard, tonal))
    yield from choppy or _dropouts(side, heard, active, tonal, known)


def _level(side: Side, heard: SideAudio, active: Bools, known: SideSound, limits: Limits) -> Iterator[HealthFinding]:
    level, snr = known["level_dbov"], known["snr_db"]
    if level is None:
        peak = known["peak_dbov"]
        heard_at = f"loudest {peak:.0f} dBFS" if peak > LEAST_DBOV else "digitally silent"
        means = "Nothing of this side can be measured."
        yield health_finding("no_speech", side, "warn", f"no speech, {heard_at}", means, {"peak_dbov": peak})
    if level is not None and level < limits.soft_dbov:
        means = (
            "Its softest sounds are below what the detectors hear: speech begins late, ends early, and parts are lost."
        )
        yield health_finding("soft", side, "warn", f"soft, {level:.0f} dBov", means, {"level_dbov": level})
    if level is not None and level > LOUD_DBOV:
        means = "It is always near full scale, as after a limiter: noise between words is loud and may count as speech."
        yield health_finding("loud", side, "note", f"loud, {level:.0f} dBov", means, {"level_dbov": level})
    if snr is not None and snr < POOR_SNR_DB:
        severity: Severity = "bad" if snr < NO_SNR_DB else "warn"
        means = (
            "Onsets are found late, ends late or early, and noise may count as speech: all latencies are less certain."
        )
        hz = hum_hz(heard, ~near(active, MARGIN_TICKS))
        hum = f", hum of {hz:.0f} Hz" if hz else ""
        figures = {"snr_db": snr} | ({"hum_hz": hz} if hz else {})
        yield health_finding("noise", side, severity, f"noise, SNR {snr:.0f} dB{hum}", means, figures)


def _clipping(side: Side, heard: SideAudio, active: Bools) -> Iterator[HealthFinding]:
    limit = max(LEAST_CLIPPED_PEAK, 0.7 * float(heard.peaks.max(initial=0)))
    clipped = (heard.flat >= LEAST_FLAT) & (heard.peaks >= limit)
    count = int(np.count_nonzero(clipped))
    share = count / max(int(np.count_nonzero(active if active.any() else heard.peaks)), count, 1)
    at_full_scale = heard.peaks.max(initial=0) >= FULL_SCALE - 1
    if count < LEAST_CLIPPED_TICKS or (share <= CLIPPED_WARN and not at_full_scale):
        return
    severity: Severity = "bad" if share > CLIPPED_BAD else "warn" if share > CLIPPED_WARN else "note"
    means = "Words and times hardly suffer, but levels and echo are measured on a distorted signal."
    yield health_finding(
        "clipping",
        side,
        severity,
        f"clipped in {100 * share:.{0 if share >= 0.1 else 1}f} % of {'the speech' if active.any() else 'what sounds'}",
        means,
        {"clipped_share_of_speech": share},
        runs(clipped, 10),
    )


def _direct_current(side: Side, heard: SideAudio) -> Iterator[HealthFinding]:
    if abs(heard.mean) > DC_NOTE:
        severity: Severity = "warn" if abs(heard.mean) > DC_WARN else "note"
        means = "No figure here suffers, as the detectors filter it out; but audio with this offset clips sooner."
        text = f"direct current, {100 * heard.mean:+.1f} % of full scale"
        yield health_finding("dc", side, severity, text, means, {"dc_of_full_scale": heard.mean})


def _band(side: Side, active: Bools, known: SideSound) -> Iterator[HealthFinding]:
    drop_db = known["high_drop_db"]
    if np.count_nonzero(active) >= LEAST_BAND_TICKS and drop_db is not None and drop_db > TELEPHONE_DB:
        means = "Friction (s, f, sh) above 4 kHz is missing: words that begin or end with it seem later or shorter."
        yield health_finding("telephone", side, "note", "telephone band", means, {"drop_above_4_khz_db": drop_db})


def _choppy(side: Side, heard: SideAudio, tonal: Bools) -> Iterator[HealthFinding]:
    """Sound with holes all over, whatever a detector takes it for."""
    some = heard.powers[:: heard.n_ticks // LEVEL_TICKS + 1]
    sounding = some[some > LOUD_POWER]
    if not len(sounding):
        return
    loud_power = float(np.quantile(sounding, 0.9)) * 10 ** (-EDGE_DB / 10)
    toneless = ~near(tonal, TONAL_MARGIN_TICKS)
    blocks = range(0, heard.n_ticks, LEVEL_TICKS)
    per_s = np.concatenate(
        [_dips(heard.powers[at : at + LEVEL_TICKS], toneless[at : at + LEVEL_TICKS], loud_power) for at in blocks]
    )
    choppy = per_s >= CHOPPY_PER_S
    seconds = int(np.count_nonzero(choppy))
    if seconds >= LEAST_CHOPPY_S:
        holes_per_s = float(per_s[choppy].mean())
        means = (
            "Sound is missing again and again inside words: a recorder lost packets or placed them wrongly. A "
            "detector takes what is left for speech, for many short turns, or for nothing; no figure means anything."
        )
        text = f"choppy, {holes_per_s:.0f} holes a second or more for {seconds} s"
        spans = [(start * TICKS_PER_S, min(end * TICKS_PER_S, heard.n_ticks)) for start, end in runs(choppy, 2)]
        figures = {"holes_per_s": holes_per_s, "seconds": seconds}
        yield health_finding("choppy", side, "bad", text, means, figures, spans)


def _dips(powers: Floats, toneless: Bools, loud_power: float) -> npt.NDArray[np.int64]:
    """The number of holes that begin in each second of some ticks, between two loud ticks that are no tones."""
    per_s = np.zeros(-(-len(powers) // TICKS_PER_S), np.int64)
    loud = np.flatnonzero((powers > loud_power) & toneless)
    gaps = np.diff(loud)
    is_short = (gaps > 1) & (gaps <= LONGEST_DIP_TICKS)
    before, after = loud[:-1][is_short], loud[1:][is_short]
    if len(before):
        softest = np.minimum.reduceat(powers, np.stack([before + 1, after], axis=1).reshape(-1))[::2]
        beside = np.minimum(
            np.maximum(powers[np.maximum(before - 1, 0)], powers[before]),
            np.maximum(powers[after], powers[np.minimum(after + 1, len(powers) - 1)]),
        )
        np.add.at(per_s, before[softest < beside * 10 ** (-DIP_DB / 10)] // TICKS_PER_S, 1)
    return per_s


def _dropouts(side: Side, heard: SideAudio, active: Bools, tonal: Bools, known: SideSound) -> Iterator[HealthFinding]:
    if known["level_dbov"] is None:
        return
    holes = heard.holes[np.diff(heard.holes)[:, 0] <= LONGEST_DROPOUT_TICKS * FRAME_SAMPLES]
    sounding = np.ones(heard.n_ticks, np.bool_)
    for start, end in holes.tolist():
        sounding[start // FRAME_SAMPLES : -(-end // FRAME_SAMPLES)] = False
    apart = ~near(active, MARGIN_TICKS)
    if np.count_nonzero(apart) < LEAST_PAUSE_TICKS or np.mean(heard.peaks[apart] == 0) > SYNTHETIC_SHARE:
        return  # silence within words may belong to the voice
    background = sounding & apart
    if np.count_nonzero(background) < LEAST_QUIET_TICKS:  # after a hole the detectors may take noise for speech
        background = sounding
    if not background.any() or np.mean(heard.peaks[background] == 0) > SYNTHETIC_SHARE:
        return
    edge_dbov = known["level_dbov"] - EDGE_DB
    floor = np.quantile(heard.peaks[background], 0.01)
    if floor >= LEAST_FLOOR_PEAK:
        edge_dbov = min(edge_dbov, decibels(float(np.quantile(heard.powers[background], 0.1))))
        below = [span for span in runs(heard.peaks <= min(NEARLY_SILENT_PEAK, floor / FAR_BELOW)) if np.ptp(span) > 1]
        holes = np.concatenate([holes, np.array(below, np.int64).reshape(-1, 2) * FRAME_SAMPLES])
    found, powers = [], heard.powers
    spoken, tonal = near(active, BESIDE_SPEECH_TICKS), near(tonal, TONAL_MARGIN_TICKS)
    for start, end in _joined(holes):
        first, last = start // FRAME_SAMPLES, (end - 1) // FRAME_SAMPLES  # the ticks at its edges are partly speech
        if end - start > LONGEST_DROPOUT_TICKS * FRAME_SAMPLES or not (spoken[first] and spoken[last]):
            continue
        if tonal[first : last + 1].any():  # tones begin and end at once
            continue
        before, after = powers[max(first - EDGE_TICKS, 0) : first + 1], powers[last : last + 1 + EDGE_TICKS]
        if min(decibels(before.max()), decibels(after.max())) > edge_dbov:
            found.append((start, end))
    if found:
        missing_ms = round(sum(end - start for start, end in found) * 1000 / SAMPLE_RATE_HZ)
        per_min = 60 * TICKS_PER_S * len(found) / max(int(np.count_nonzero(active)), TICKS_PER_S)
        means = (
            "Digital silence inside speech: dropouts of 200 ms count as pauses, and may end a turn. Searched from "
            "10 ms (at 8 kHz 16 ms, after lossy coding about 60 ms) to half a second; Opus hides most of them."
        )
        yield health_finding(
            "dropouts",
            side,
            "warn",
            f"{len(found)} dropout{'s' if len(found) > 1 else ''}, {missing_ms} ms or more",
            means,
            {"dropouts": len(found), "missing_ms": missing_ms, "per_speech_min": per_min},
            [(start // FRAME_SAMPLES, -(-end // FRAME_SAMPLES)) for start, end in found],
        )


def _joined(holes: npt.NDArray[np.int64]) -> list[list[int]]:
    """The holes (n, 2), in samples, sorted; those that touch or are less than a tick apart are joined."""
    joined: list[list[int]] = []
    for start, end in sorted(holes.tolist()):
        if joined and start - joined[-1][1] < FRAME_SAMPLES:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([start, end])
    return joined
