"""Which calls of a run seem to be one call that was recorded once, in other files: as WAV and as MP3, or with other
tags. They count as independent, but are not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from fdbcore.analysis.exchanged_calls import EXCHANGED, exchanged
from fdbcore.types import SIDES, Side

if TYPE_CHECKING:
    from fdbcore.recording.recorded_types import HealthSides

TWINS: Final = "the same call twice? Others are alike in length, speech, levels, voices and timing"
ALIKE_TICKS: Final = 10
"""Codecs add up to so much."""
ALIKE_S, ALIKE_DB, ALIKE_PITCH = 0.25, 0.2, 0.04
"""So far figures of one call may lie apart after a lossy codec."""
ALIKE_MS, ALIKE_SHARE = 50, 0.8
LEAST_SPEECH_S: Final = 2.0


class SoundOfCall(NamedTuple):
    """What a call sounds like.

    fto_ms: its floor transfer offsets to each side. is_held: fdbcore held it; its parties may be planned alike.
    """

    n_ticks: int
    sides: HealthSides
    fto_ms: Mapping[Side, Sequence[int]]
    is_held: bool


def standing_out(calls: Mapping[str, SoundOfCall]) -> dict[str, list[str]]:
    """The calls of a run that seem to be exchanged, or there twice, by what is said of them."""
    found = {EXCHANGED: exchanged({name: heard.sides for name, heard in calls.items()}), TWINS: twins(calls)}
    return {told: names for told, names in found.items() if names}


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
