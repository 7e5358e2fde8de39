"""The words of a side as its own party tells them, in the speech where it says that they lie.

It needs no transcriber. Scripted parties and examiners say what they are told to; what another party tells of itself is
its word against the recording, so scores by it are labelled so.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np

from fdbcore.errors import SettingsError
from fdbcore.measures.reading import Reading
from fdbcore.measures.transcript import HeldLine, transcript
from fdbcore.recording.reader import Recording
from fdbcore.sources.word_files import KnownWords
from fdbcore.types import TICK_MS, TICKS_PER_S, Side, Span
from fdbcore.types.session_events import MUTED, SPOKE_MS
from fdbcore.types.words import SELF_REPORTED, TOLD, TimedWord

MARGIN_TICKS: Final = TICKS_PER_S // 5
"""Margin around the speech of a line that belongs to it."""

LATE_TICKS: Final = TICKS_PER_S
"""Speech that is so much later than the end of a line, where that is known, is of another one, which nobody told."""


class LinePlace(NamedTuple):
    """A line with the ticks of its audio, and each stretch of its speech therein as it was heard; none in silence.

    muted_ticks: for how long before that the side said the line while it was muted, so that its first words are lost.
    is_lost: it was muted throughout.
    """

    line: HeldLine
    span: Span
    speech: Sequence[Span] = ()
    muted_ticks: int = 0
    is_lost: bool = False

    @property
    def said(self) -> Sequence[Span]:
        """The stretches of ticks in which the side said the line, the muted one first; none if it has no speech."""
        if not self.muted_ticks or not self.speech:
            return self.speech
        first = self.speech[0][0]
        return [(first - self.muted_ticks, first), *self.speech]

    @property
    def ms(self) -> int:
        """The length of its speech of the line, in ms without pauses; 0 if it has none."""
        return sum(end - start for start, end in self.said) * TICK_MS

    @property
    def n_characters(self) -> int:
        """Of its words."""
        return sum(map(len, self.line["text"].split()))


def self_reported(address: str) -> SelfReported:
    """The words "self-reported". SettingsError for anything after it."""
    if address != SelfReported.name:
        raise SettingsError(f"asr: expected {SelfReported.name}, got {address!r}")
    return SelfReported()


class SelfReported(KnownWords):
    """See the module."""

    name: ClassVar[str] = SELF_REPORTED

    def why_not(self, recording: Recording, side: Side, language: str) -> str | None:
        """See `KnownWords.why_not`."""
        return None if told_lines(recording, side) else "it did not tell what it said"

    def describe(self, recording: Recording, side: Side) -> Mapping[str, Any]:
        """The lines, and until when the side spoke unheard."""
        return {"kind": TOLD, **described(recording, side)}

    def words(self, recording: Recording, side: Side) -> tuple[list[TimedWord], int]:
        """See `KnownWords.words`. Each line is spread over its speech without the pauses, by its characters.

        Of a line that was cut, the words are those that fit into its speech at the pace of the side's whole lines; if
        there are none, it has no times. Words that it said while it was muted are lost, and nobody counts them.
        """
        found: list[TimedWord] = []
        untimed = 0
        for place, placed in spread(places(reading_of(recording), side)):
            found += placed
            untimed += len(place.line["text"].split()) if not placed and not place.muted_ticks else 0
        return found, untimed


def spread(found: Sequence[LinePlace]) -> Iterator[tuple[LinePlace, list[TimedWord]]]:
    """Each line that was not lost with its words that were heard, spread evenly over the time in which it was said."""
    whole = [place for place in found if "cut" not in place.line and place.ms]
    pace_ms = sum(place.ms for place in whole) / sum(place.n_characters for place in whole) if whole else None
    for place in found:
        own_pace_ms = pace_ms if "cut" in place.line else place.ms / place.n_characters
        if not place.is_lost:
            yield place, _spread(place, own_pace_ms) if own_pace_ms and place.ms else []


def told_lines(recording: Recording, side: Side) -> list[HeldLine]:
    """Lines that a side's own party told that it said, in order."""
    return [line for line in transcript(reading_of(recording)) if line["side"] == line["told_by"] == side]


def reading_of(recording: Recording) -> Reading:
    """A recording with its dialogue."""
    return recording if isinstance(recording, Reading) else Reading(recording.path)


def described(recording: Recording, side: Side) -> Mapping[str, Any]:
    """Everything that decides the words that a side's own party told, as JSON values."""
    lines = told_lines(recording, side)
    sha256 = hashlib.sha256(json.dumps(lines, sort_keys=True).encode()).hexdigest()
    found = {"lines_sha256": sha256, "spread_over": "speech"}
    lost_ticks = spoke_until(recording, side)
    return {**found, "lost_ticks": lost_ticks} if lost_ticks else found


def places(reading: Reading, side: Side) -> list[LinePlace]:
    """Each line with its speech: that from its start until the next one begins, or until LATE_TICKS after its end.

    Speech that may be of the line before or after it is left out if the line has other speech.

    Of a line that began while the side was muted, the speech is what was heard of it afterwards.
    """
    lines = told_lines(reading, side)
    ipus: list[Span] = [(start, end) for start, end in reading.dialogue.ipus[side].tolist()]
    bounds = [*(line["start_tick"] for line in lines[1:]), reading.n_ticks + MARGIN_TICKS]
    lost_ticks = spoke_until(reading, side)
    found: list[LinePlace] = []
    first = 0
    for line, bound in zip(lines, bounds, strict=True):
        start, end = max(first, line["start_tick"] - MARGIN_TICKS), bound - MARGIN_TICKS
        is_muted, end_tick = line["start_tick"] < lost_ticks, line["end_tick"]
        if is_muted and end_tick is not None:
            end = min(end, end_tick + MARGIN_TICKS if end_tick > lost_ticks else 0)
        elif end_tick is not None:
            end = min(end, end_tick + LATE_TICKS)
        if speech := _within(ipus, start, end):
            first = min(speech[-1][1] + MARGIN_TICKS, end)
            span = (max(start, speech[0][0] - MARGIN_TICKS), first)
            speech = _within(speech, span[0] + MARGIN_TICKS, span[1] - MARGIN_TICKS) or speech
            muted_ticks = max(speech[0][0] - line["start_tick"], 0) if is_muted else 0
            found.append(LinePlace(line, span, speech, muted_ticks))
        else:
            found.append(LinePlace(line, (start, start), is_lost=is_muted))
    return found


def _within(spans: Sequence[Span], start: int, end: int) -> list[Span]:
    """The parts of spans between two ticks."""
    cut = ((max(first, start), min(last, end)) for first, last in spans)
    return [(first, last) for first, last in cut if first < last]


def spoke_until(recording: Recording, side: Side) -> int:
    """First audible tick of a side that spoke while it was muted; 0 if none."""
    return max(
        (
            event["to_tick"]
            for event in recording.events
            if event["kind"] == MUTED and event["side"] == side and event["loud_ms"] >= SPOKE_MS
        ),
        default=0,
    )


def _spread(place: LinePlace, pace_ms: float) -> list[TimedWord]:
    """The words that end within a line's time and do not begin while it is muted, at so many ms a character."""
    words = place.line["text"].split()
    ends_ms = np.cumsum([len(word) for word in words]) * pace_ms
    return [
        TimedWord(word, *_on_session(place.said, end_ms - len(word) * pace_ms, end_ms))
        for word, end_ms in zip(words, ends_ms.tolist(), strict=True)
        if end_ms <= place.ms + 1 and end_ms - len(word) * pace_ms >= place.muted_ticks * TICK_MS
    ]


def _on_session(said: Sequence[Span], start_ms: float, end_ms: float) -> tuple[int, int]:
    """The times of a word of a line, within the stretch that has its middle.

    said: see `LinePlace`. start_ms, end_ms: of the word, since the line began, without pauses.
    """
    ends_ms = np.cumsum([end - start for start, end in said]) * TICK_MS
    number = min(int(np.searchsorted(ends_ms, (start_ms + end_ms) / 2)), len(said) - 1)
    (first, last), end_of_stretch_ms = said[number], int(ends_ms[number])
    back_ms = last * TICK_MS - end_of_stretch_ms
    return round(max(start_ms + back_ms, first * TICK_MS)), round(min(end_ms + back_ms, last * TICK_MS))
