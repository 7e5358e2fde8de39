"""Caveats that a reader must know before any number: a failed call, unreliable timing, missing audio."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from fdbcore.measures.transcript import odd_texts
from fdbcore.recording.meta import Outcome
from fdbcore.recording.reader import Recording
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, SIDES, TICKS_PER_S, Side, clock_text
from fdbcore.types.timing import MeasuredSide

MOST_MADE_UP_SHARE: Final = 0.01
"""A caveat if more than this share of a side's audio came too late or never."""
MOST_MADE_UP_S: Final = 0.5
"""A caveat if this much of a side's audio is missing in one piece, however long the call."""
MOST_SHOWN: Final = 100
"""Characters shown of what a system told in another form than it should, at most."""
MOST_SETTINGS, MOST_OF_A_VALUE = 3, 30
"""Of the settings that a server did not confirm, so many are shown, with so many characters of each value."""
SLOW: Final = 0.99
"""A side ran too slowly if it sent less than this share of real time."""


def caveats(recording: Recording) -> list[str]:
    """The caveats of a recording, one line each, the most important first."""
    found: list[str] = []
    if recording.n_ticks:
        outcome, selftest = recording.outcome, recording.original_meta.get("selftest")
        if outcome and outcome.get("kind") == "failed":
            found.append(f"the call failed: side {outcome['side']}: {outcome['reason']}{_since(outcome)}")
        if selftest and selftest.get("passed") is False:
            why = f" ({'; '.join(selftest['broke'])})" if selftest.get("broke") else ""
            found.append(f"the timing self-test before this run failed{why}: do not rely on its latencies")
        found += audio_missing(recording)
        found += [text for side in SIDES for text in _of_party(recording, side)]
    found += _oddities_of_files(recording)
    if recording.n_ticks:
        for side in SIDES:
            if odd := odd_texts(recording, side):
                found.append(_of_texts(side, odd))
            if unread := recording.unread_words(side):
                found.append(f"words of {side} not read: {unread}")
            if count := recording.untimed_words(side):
                found.append(
                    f"{count} word{'s' if count > 1 else ''} of {side} without a start and an end after it: left out"
                )
    return found


def _of_texts(side: Side, odd: Sequence[object]) -> str:
    """The caution that a system told words in another form than it should. odd: what it told so."""
    got = f"{len(odd)} such, the first {_shortened(str(odd[0]))!r}; texts with wrong times are read without them"
    return f"`text` events of {side}: expected a text, and times in ms if any, got {got}"


def _shortened(text: str, most: int = MOST_SHOWN) -> str:
    """A text without its middle: of words that a system told, the times stand at the end."""
    return text if len(text) <= most else f"{text[: most // 2]}…{text[1 - most // 2 :]}"


def _since(outcome: Outcome) -> str:
    if (gone_tick := outcome.get("gone_tick")) is None:
        return ""
    at = clock_text(gone_tick / TICKS_PER_S)
    return f" (nothing came from it after {at}; what had come was still heard, and later turns went unanswered)"


def _of_party(recording: Recording, side: Side) -> Iterator[str]:
    """Cautions on a system's audio that was not played, and on settings that its server has not confirmed."""
    outcome, unplayed = recording.outcome, recording.measured(side).get("unplayed")
    if unplayed and not (outcome and unplayed in str(outcome.get("reason"))):
        yield f"{side}'s audio was not played: {unplayed}"
    if shown := [_unconfirmed(each) for each in not_as_asked(recording.parties.get(side) or {})]:
        more = f" and {len(shown) - MOST_SETTINGS} more" if len(shown) > MOST_SETTINGS else ""
        yield f"{side}'s server did not confirm what was asked for: {'; '.join(shown[:MOST_SETTINGS])}{more}"


def not_as_asked(party: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The settings of a recorded party that its server has not confirmed: "setting", "asked", "confirmed" of each.

    Those of another form, in a file that is damaged, are left out.
    """
    differs, fields = party.get("differs"), {"setting", "asked", "confirmed"}
    listed = differs if isinstance(differs, list) else []
    return [each for each in listed if isinstance(each, dict) and fields <= set(each)]


def _unconfirmed(difference: Mapping[str, Any]) -> str:
    asked, got = (_shortened(str(difference[name]), MOST_OF_A_VALUE) for name in ("asked", "confirmed"))
    told = "nothing confirmed" if difference["confirmed"] is None else f"it confirmed {got}"
    return f"{difference['setting']} ({asked}; {told})"


def audio_missing(recording: Recording) -> list[str]:
    """The caveats about audio that came too late or never."""
    samples = recording.n_ticks * FRAME_SAMPLES
    return [text for side in SIDES for text in _missing(side, recording.measured(side), samples)]


def _missing(side: Side, measured: MeasuredSide, samples: int) -> Iterator[str]:
    """The share of a side's audio that did not come in time, and why; and of silence that nothing explains."""
    # Older recordings do not count lost samples; the concealed ones are nearly those, plus the beginnings of pauses.
    lost = measured.get("lost_samples", measured.get("concealed_samples"))
    missing = (measured.get("padded_samples") or 0) + (lost or 0)
    in_one_piece_s = measured.get("longest_loss_samples", 0) / SAMPLE_RATE_HZ
    if missing > MOST_MADE_UP_SHARE * samples or in_one_piece_s >= MOST_MADE_UP_S:
        holes, rate = measured.get("underruns"), measured.get("received_samples_per_s") or 0.0
        parts = [f"{holes} hole{'s' if holes > 1 else ''} in its speech"] if holes else []
        parts += [f"it ran at {rate / SAMPLE_RATE_HZ:.2f} of real time"] if 0 < rate < SLOW * SAMPLE_RATE_HZ else []
        parts += [f"up to {in_one_piece_s:.1f} s of it in one piece"] if in_one_piece_s >= 0.1 else []
        parts = parts or ["its machine or the network did not keep up"]
        share = f"{100 * missing / samples:.2g} %"
        yield f"{missing / SAMPLE_RATE_HZ:.1f} s of {side}'s audio ({share}) came too late or never: {', '.join(parts)}"
    unexplained_s = measured.get("unexplained_samples", 0) / SAMPLE_RATE_HZ
    paused_s = measured.get("paused_samples", 0) / SAMPLE_RATE_HZ
    if unexplained_s >= MOST_MADE_UP_S > paused_s:  # a side that is known to pause has most likely paused
        yield (
            f"nothing came from {side} for {unexplained_s:.1f} s: it may have paused, or its packets may have been lost"
        )


def _oddities_of_files(recording: Recording) -> Iterator[str]:
    """Notes about the audio files that were replayed, or played in a live call."""
    played = [party["file"] for party in recording.parties.values() if isinstance(party.get("file"), Mapping)]
    for file in [*recording.source_files, *played]:
        for text in [*file.get("notes", ()), *filter(None, [file.get("damage")])]:
            yield f"{Path(file['path']).name}: {text}"
