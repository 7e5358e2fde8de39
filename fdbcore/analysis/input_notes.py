"""Notes before the figures of many calls: which calls have missing or bad audio, or echo, and which stand out.

Calls stand out of their run as if their sides were exchanged, or as if they were one call: it may have been recorded
once and be there in several files, as WAV and as MP3, or with other tags. They count as independent, but are not.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from fdbcore.analysis.corpus import Call
from fdbcore.analysis.facts import FTO_MS, HEALTH, TOLD
from fdbcore.analysis.settings_differences import detectors, earlier
from fdbcore.errors import RecordingError
from fdbcore.measures.caveats import audio_missing
from fdbcore.recording.health import HealthSides
from fdbcore.recording.meta import Settings
from fdbcore.recording.run import FAILED
from fdbcore.types import SIDES, Side

EXCHANGED: Final = "sides perhaps exchanged: they sound like the other side of the other calls"
FEWEST_CALLS: Final = 8
FIGURES: Final = ("level_dbov", "noise_dbov", "spread_db", "under_db", "after_db", "high_drop_db", "peak_dbov")
LEAST_SPREAD_DB: Final = 2.0
MOST_APART: Final = 5.0  # deviations of one figure: it alone decides nothing
LEAST_GAIN: Final = 20.0  # in squared deviations, over both sides and all figures
LEAST_TIMES: Final = 2.0  # as well, the sides fit so many times better exchanged

TWINS: Final = "the same call twice? Others are alike in length, speech, levels, voices and timing"
ALIKE_TICKS: Final = 10
"""Codecs add up to so much."""
ALIKE_S, ALIKE_DB, ALIKE_PITCH = 0.25, 0.2, 0.04
"""So far figures of one call may lie apart after a lossy codec."""
ALIKE_MS, ALIKE_SHARE = 50, 0.8
LEAST_SPEECH_S: Final = 2.0

MOST_NAMES = 3


class SoundOfCall(NamedTuple):
    """The sound of a call.

    fto_ms: its floor transfer offsets to each side. is_held: fdbcore held it; its parties may be planned alike.
    """

    n_ticks: int
    sides: HealthSides
    fto_ms: Mapping[Side, Sequence[int]]
    is_held: bool


def input_notes(calls: Iterable[Call]) -> list[str]:
    """One line each for detectors of an earlier version, and for the calls that failed, with each finding, with missing
    audio, with bad input health, and with speech that may be echo or tones.

    calls: scored calls; one that cannot be read is skipped.
    """
    failed: list[str] = []
    missing: list[str] = []
    bad: list[str] = []
    amiss: dict[str, list[str]] = {}
    echoing: list[str] = []
    sound_like: dict[str, SoundOfCall] = {}
    made_by: dict[str, Settings] = {}
    for call in calls:
        try:
            reading = call.recording
            made_by.setdefault(reading.meta["settings_sha256"], reading.meta["settings"])
            failed += [call.name] if reading.outcome and reading.outcome["kind"] == FAILED else []
            for name in dict.fromkeys(finding["name"] for finding in call.fact(TOLD, reading)["findings"]):
                amiss.setdefault(name, []).append(call.name)
            missing += [f"{call.name} ({text.partition(':')[0]})" for text in audio_missing(reading)[:1]]
            health = call.fact(HEALTH, reading)
            found = health["findings"] if health else []  # the worst first
            bad += [f"{call.name} ({found[0]['text']})"] if found and found[0]["severity"] == "bad" else []
            if health:
                fto_ms, is_held = call.fact(FTO_MS, reading), "held" in reading.meta
                sound_like[call.name] = SoundOfCall(reading.n_ticks, health["sides"], fto_ms, is_held)
            echoing += [call.name] if health and any(health["suspect"][side] for side in SIDES) else []
        except RecordingError:
            continue
    several = detectors(made_by.values())
    return [
        *([f"calls were decided by different voice activity detectors: {', '.join(several)}"] if several[1:] else []),
        *earlier(made_by.values()),
        *_line("the conversation failed, and counts as far as it went,", failed, ""),
        *(line for name in sorted(amiss, key=lambda name: -len(amiss[name])) for line in _line(name, amiss[name], "")),
        *_line("audio missing", missing, ""),
        *_line("bad input", bad, ""),
        *(line for told, names in standing_out(sound_like).items() for line in _line(told, names, "")),
        *_line("echo or tones", echoing, ": no figure here counts the events that it makes"),
    ]


def _line(what: str, names: list[str], note: str) -> Iterator[str]:
    if names:
        more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
        yield f"{what} in {len(names):,} call{'s' * (len(names) > 1)}{note}: {', '.join(names[:MOST_NAMES])}{more}"


def standing_out(calls: Mapping[str, SoundOfCall]) -> dict[str, list[str]]:
    """The calls of a run that seem to be exchanged, or there twice, by what is said of them."""
    found = {EXCHANGED: exchanged({name: heard.sides for name, heard in calls.items()}), TWINS: twins(calls)}
    return {told: names for told, names in found.items() if names}


def exchanged(calls: Mapping[str, HealthSides]) -> list[str]:
    """The names of the calls whose A sounds like the B of the others, and whose B sounds like their A.

    calls: by name, what input health says of both sides. A side sounds as its line and its background do: a person in
    a room, a machine without one. Where both sides of a run sound alike, nothing can be told.
    """
    if len(calls) < FEWEST_CALLS:
        return []
    sides = np.array([[_figures(of[side]) for side in SIDES] for of in calls.values()])
    sides = sides[:, :, ~np.isnan(sides).all(axis=0).any(axis=0)]
    usual = np.nanmedian(sides, axis=0)
    spread = np.maximum(1.4826 * np.nanmedian(np.abs(sides - usual), axis=0), LEAST_SPREAD_DB)
    straight, crossed = (_apart(sides, usual[order], spread[order]) for order in ([0, 1], [1, 0]))
    stands_out = (straight - crossed > LEAST_GAIN) & (straight > LEAST_TIMES * crossed)
    return [name for name, stands in zip(calls, stands_out, strict=True) if stands]


def _figures(of_side: Mapping[str, Any]) -> list[float]:
    """The figures, with the pitch in quarter tones, which then spreads as levels in dB do."""
    levels = [np.nan if (value := of_side.get(name)) is None else float(value) for name in FIGURES]
    pitch_hz = of_side.get("pitch_hz")
    return [*levels, 24 * np.log2(pitch_hz) if pitch_hz else np.nan]


def _apart(
    sides: npt.NDArray[np.float64], centres: npt.NDArray[np.float64], spread: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """The distance of each call from the centres of both sides, in squared deviations, (calls,)."""
    deviations = np.minimum(np.abs(sides - centres) / spread, MOST_APART)
    apart: npt.NDArray[np.float64] = np.nansum(deviations**2, axis=(1, 2))
    return apart


def twins(calls: Mapping[str, SoundOfCall]) -> list[str]:
    """The calls that are alike to another one, which is named with each: "two (as one)"."""
    known = sorted(
        ((name, heard) for name, heard in calls.items() if not heard.is_held),
        key=lambda each: each[1].sides["A"]["speech_s"],
    )
    found = []
    for number, (name, heard) in enumerate(known):
        for other, its in known[number + 1 :]:
            if its.sides["A"]["speech_s"] > heard.sides["A"]["speech_s"] + ALIKE_S:
                break
            if _are_alike(heard, its):
                found.append(f"{other} (as {name})")
                break
    return sorted(found)


def _are_alike(one: SoundOfCall, other: SoundOfCall) -> bool:
    if abs(one.n_ticks - other.n_ticks) > ALIKE_TICKS:
        return False
    for side in SIDES:
        a, b = one.sides[side], other.sides[side]
        if min(a["speech_s"], b["speech_s"]) < LEAST_SPEECH_S or abs(a["speech_s"] - b["speech_s"]) > ALIKE_S:
            return False
        pitch_hz = a.get("pitch_hz")
        if not _is_near(a["level_dbov"], b["level_dbov"], ALIKE_DB) or pitch_hz is None:
            return False
        if not _is_near(pitch_hz, b.get("pitch_hz"), ALIKE_PITCH * pitch_hz):
            return False
    return all(_alike_share(one.fto_ms[side], other.fto_ms[side]) >= ALIKE_SHARE for side in SIDES)


def _alike_share(one: Sequence[int], other: Sequence[int]) -> float:
    """Of the offsets of one call, how many are near that of the other one at its place; 0 if they are not as many."""
    if len(one) != len(other):
        return 0.0
    near = [abs(a - b) <= ALIKE_MS for a, b in zip(one, other, strict=True)]
    return sum(near) / max(len(near), 1) if near else 1.0


def _is_near(one: float | None, other: float | None, most: float) -> bool:
    return one is not None and other is not None and abs(one - other) <= most
