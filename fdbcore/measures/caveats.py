"""What a reader must know before any number: how the call ended, what was wrong with its timing and its audio."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from fdbcore.recording.reader import Recording
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, SIDES, Side

MOST_MADE_UP_SHARE: Final = 0.01
"""Of a call: more audio of a side that came too late, or never, is told before any number."""
MOST_MADE_UP_S: Final = 0.5
"""So much of it in one piece is told as well, however long the call."""
SLOW: Final = 0.99
"""Of real time: a side that sends less is told to."""


def caveats(recording: Recording) -> list[str]:
    """A line for each, most important first; none for what came in time and whole."""
    held, samples = recording.original_meta, recording.n_ticks * FRAME_SAMPLES
    if not samples:
        return list(_files(recording))
    return [*_failure(held), *_selftest(held), *audio_missing(recording), *_files(recording), *_words(recording)]


def audio_missing(recording: Recording) -> list[str]:
    """Those of the caveats that are about audio which did not come."""
    samples = recording.n_ticks * FRAME_SAMPLES
    sides = (recording.original_meta.get("timing") or {}).get("sides") or {}
    return [text for side in SIDES for text in _missing(side, sides.get(side, {}), samples)]


def _failure(held: Mapping[str, Any]) -> Iterator[str]:
    outcome = held.get("outcome") or {}
    if outcome.get("kind") == "failed":
        yield f"the call has failed: side {outcome['side']}: {outcome['reason']}"


def _selftest(held: Mapping[str, Any]) -> Iterator[str]:
    found = held.get("selftest") or {}
    if found.get("passed") is False:
        broke = f" ({'; '.join(found['broke'])})" if found.get("broke") else ""
        yield f"the timing self-test before this run failed{broke}: do not rely on its latencies"


def _missing(side: Side, measured: Mapping[str, Any], samples: int) -> Iterator[str]:
    """That much of a side's audio did not come in time, and whether it kept up; silence that nothing explains.

    Concealed samples stand for lost ones in recordings that do not count these; the begin of a pause is concealed too.
    """
    lost = measured.get("lost_samples", measured.get("concealed_samples"))
    missing = (measured.get("padded_samples") or 0) + (lost or 0)
    in_one_piece_s = measured.get("longest_loss_samples", 0) / SAMPLE_RATE_HZ
    if missing > MOST_MADE_UP_SHARE * samples or in_one_piece_s >= MOST_MADE_UP_S:
        holes, rate = measured.get("underruns"), measured.get("received_samples_per_s")
        parts = [f"{holes} hole{'s' if holes > 1 else ''} in its speech"] if holes else []
        parts += (
            [f"it ran at {rate / SAMPLE_RATE_HZ:.2f} of real time"] if rate and rate < SLOW * SAMPLE_RATE_HZ else []
        )
        parts += [f"up to {in_one_piece_s:.1f} s of it in one piece"] if in_one_piece_s >= 0.1 else []
        parts = parts or ["its machine or the network did not keep up"]
        share = f"{100 * missing / samples:.2g} %"
        yield f"{missing / SAMPLE_RATE_HZ:.1f} s of {side}'s audio ({share}) came too late or never: {', '.join(parts)}"
    unexplained_s, paused_s = (
        measured.get(f"{kind}_samples", 0) / SAMPLE_RATE_HZ for kind in ("unexplained", "paused")
    )
    if unexplained_s >= MOST_MADE_UP_S > paused_s:  # who is known to pause has most likely paused
        told = "and nothing tells whether it paused or its packets were lost"
        yield f"nothing came of {side} for {unexplained_s:.1f} s, {told}"


def _words(recording: Recording) -> Iterator[str]:
    """What the measures of words do without."""
    for side in SIDES:
        if count := recording.untimed_words(side):
            yield f"{count} word{'s' if count > 1 else ''} of {side} without a start or an end: left out"


def _files(recording: Recording) -> Iterator[str]:
    """What is odd about the files that were replayed, or played in a call."""
    parties = recording.original_meta.get("parties") or {}
    played = [party["file"] for party in parties.values() if isinstance(party.get("file"), Mapping)]
    for file in [*(recording.meta.get("source") or {}).get("files", ()), *played]:
        for text in [*file.get("notes", ()), *filter(None, [file.get("damage")])]:
            yield f"{Path(file['path']).name}: {text}"
