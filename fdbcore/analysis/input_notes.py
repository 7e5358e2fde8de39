"""Notes that stand before the figures of many calls: which calls have missing or bad audio, or echo."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from fdbcore.analysis.corpus import Call
from fdbcore.analysis.detectors import detectors, earlier
from fdbcore.analysis.facts import FTO_MS, HEALTH
from fdbcore.analysis.standing_out import SoundOfCall, standing_out
from fdbcore.errors import RecordingError
from fdbcore.measures.caveats import audio_missing
from fdbcore.types import SIDES

if TYPE_CHECKING:
    from fdbcore.recording.meta_types import Settings

MOST_NAMES = 3


def input_notes(calls: Iterable[Call]) -> list[str]:
    """One line each for detectors of an earlier version, and for the calls with missing audio, with bad input health,
    and with speech that may be echo or tones.

    calls: scored calls; one that cannot be read is skipped.
    """
    missing: list[str] = []
    bad: list[str] = []
    echoing: list[str] = []
    sound_like: dict[str, SoundOfCall] = {}
    made_by: dict[str, Settings] = {}
    for call in calls:
        try:
            reading = call.recording
            made_by.setdefault(reading.meta["settings_sha256"], reading.meta["settings"])
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
        *_line("audio missing", missing, ""),
        *_line("bad input", bad, ""),
        *(line for told, names in standing_out(sound_like).items() for line in _line(told, names, "")),
        *_line("echo or tones", echoing, ": only the measures of published benchmarks count the events that it makes"),
    ]


def _line(what: str, names: list[str], note: str) -> Iterator[str]:
    if names:
        more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
        yield f"{what} in {len(names):,} call{'s' * (len(names) > 1)}{note}: {', '.join(names[:MOST_NAMES])}{more}"
