"""What stands before figures of many calls: whose audio is not all there or unfit, and where echo was left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fdbcore.analysis.corpus import Call
from fdbcore.errors import RecordingError
from fdbcore.measures.caveats import audio_missing

NAMED = 3


def input_notes(calls: Iterable[Call]) -> list[str]:
    """A line for calls with audio that never came, for those whose input health is bad, and for those with speech that
    may be echo; none if all is well.

    calls: scored; one that cannot be read is passed over.
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
        *_line("echo", echoing, ": no figure counts the events that it makes, but those of published benchmarks"),
    ]


def _worst(health: dict[str, object]) -> str:
    findings = health["findings"]
    assert isinstance(findings, list)
    return next((str(each["text"]) for each in findings if each["severity"] == "bad"), "bad")


def _line(what: str, names: list[str], note: str) -> Iterator[str]:
    if names:
        more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
        yield f"{what} in {len(names):,} call{'s' * (len(names) > 1)}{note}: {', '.join(names[:NAMED])}{more}"
