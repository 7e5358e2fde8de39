"""Notes that stand before the figures of many calls: which calls have missing or bad audio, or echo."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fdbcore.analysis.corpus import Call
from fdbcore.errors import RecordingError
from fdbcore.measures.caveats import audio_missing

MOST_NAMES = 3


def input_notes(calls: Iterable[Call]) -> list[str]:
    """One line each for the calls with missing audio, with bad input health, and with speech that may be echo.

    calls: scored calls; one that cannot be read is skipped.
    """
    missing: list[str] = []
    bad: list[str] = []
    echoing: list[str] = []
    for call in calls:
        try:
            reading = call.recording
            health = reading.health or {}
            missing += [f"{call.name} ({text.partition(':')[0]})" for text in audio_missing(reading)[:1]]
            bad += [f"{call.name} ({_worst(health)})"] if health.get("verdict") == "bad" else []
            echoing += [call.name] if reading.has_suspects else []
        except RecordingError:
            continue
    return [
        *_line("audio missing", missing, ""),
        *_line("bad input", bad, ""),
        *_line("echo", echoing, ": only the measures of published benchmarks count the events that it makes"),
    ]


def _worst(health: dict[str, object]) -> str:
    findings = health["findings"]
    assert isinstance(findings, list)
    return next((str(each["text"]) for each in findings if each["severity"] == "bad"), "bad")


def _line(what: str, names: list[str], note: str) -> Iterator[str]:
    if names:
        more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
        yield f"{what} in {len(names):,} call{'s' * (len(names) > 1)}{note}: {', '.join(names[:MOST_NAMES])}{more}"
