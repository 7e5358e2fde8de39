"""Which calls of a run seem to be one call that was recorded once, in other files: as WAV and as MP3, or with other
tags. They count as independent, but are not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from fdbcore.analysis.exchanged_calls import EXCHANGED, exchanged
from fdbcore.types import SIDES

if TYPE_CHECKING:
    from fdbcore.measures.reading import Reading
    from fdbcore.recording.recorded_types import HealthSides

TWINS: Final = "the same call twice? Others are alike in length, speech, levels and voices"
ALIKE_TICKS: Final = 10
"""Codecs add up to so much."""
ALIKE_S, ALIKE_DB, ALIKE_PITCH = 0.25, 0.2, 0.04
"""So far figures of one call may lie apart after a lossy codec."""
LEAST_SPEECH_S: Final = 2.0


class SoundOfCall(NamedTuple):
    """What a call sounds like. is_held: it was held by fdbcore, between parties that may be planned alike."""

    n_ticks: int
    sides: HealthSides
    is_held: bool

    @classmethod
    def of(cls, reading: Reading) -> SoundOfCall | None:
        """That of a recording; None if its audio was not examined."""
        health = reading.health
        return None if health is None else cls(reading.n_ticks, health["sides"], "held" in reading.meta)


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
    return True


def _is_near(one: float | None, other: float | None, most: float) -> bool:
    return one is not None and other is not None and abs(one - other) <= most
