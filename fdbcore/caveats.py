"""What a reader must know before any number: how the call ended, what was wrong with its timing and its audio."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from fdbcore.recording import Recording
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, SIDES, Side

MOST_MADE_UP_SHARE: Final = 0.01
"""Of a call: more audio of a side that came too late, or never, and was filled up is told before any number."""


def caveats(recording: Recording) -> list[str]:
    """A line for each, most important first; none for what came in time and whole."""
    held, samples = recording.as_held, recording.n_ticks * FRAME_SAMPLES
    if not samples:
        return list(_files(recording))
    sides = (held.get("timing") or {}).get("sides") or {}
    made_up = [_made_up(side, sides.get(side, {}), samples) for side in SIDES]
    return [*_failure(held), *_selftest(held), *filter(None, made_up), *_files(recording), *_words(recording)]


def _failure(held: Mapping[str, Any]) -> Iterator[str]:
    outcome = held.get("outcome") or {}
    if outcome.get("kind") == "failed":
        yield f"the call has failed: side {outcome['side']}: {outcome['reason']}"


def _selftest(held: Mapping[str, Any]) -> Iterator[str]:
    found = held.get("selftest") or {}
    if found.get("passed") is False:
        broke = f" ({'; '.join(found['broke'])})" if found.get("broke") else ""
        yield f"the timing self-test before this run failed{broke}: do not rely on its latencies"


def _made_up(side: Side, measured: Mapping[str, Any], samples: int) -> str | None:
    """That much of a side's audio did not come in time, and whether it kept up with real time."""
    filled = sum(measured.get(name) or 0 for name in ("padded_samples", "concealed_samples"))
    if filled <= MOST_MADE_UP_SHARE * samples:
        return None
    text = f"{filled / SAMPLE_RATE_HZ:.1f} s of {side}'s audio ({100 * filled / samples:.0f} %) came too late or never"
    holes, rate = measured.get("underruns"), measured.get("received_samples_per_s")
    parts = [f"{holes} holes in its speech"] if holes else []
    parts += [f"it ran at {rate / SAMPLE_RATE_HZ:.2f} of real time"] if rate else []
    return (
        f"{text}: {', '.join(parts)}"
        if parts
        else f"{text}, and was made up: its machine or the network did not keep up"
    )


def _words(recording: Recording) -> Iterator[str]:
    """What the measures of words do without."""
    for side in SIDES:
        if count := recording.untimed_words(side):
            yield f"{count} word{'s' if count > 1 else ''} of {side} without a start or an end: left out"


def _files(recording: Recording) -> Iterator[str]:
    """What is odd about the files that were replayed, or played in a call."""
    parties = recording.as_held.get("parties") or {}
    played = [party["file"] for party in parties.values() if isinstance(party.get("file"), Mapping)]
    for file in [*(recording.meta.get("source") or {}).get("files", ()), *played]:
        for text in [*file.get("notes", ()), *filter(None, [file.get("damage")])]:
            yield f"{Path(file['path']).name}: {text}"
