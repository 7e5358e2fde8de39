"""The words of a side as its own party tells them, in the speech where it says that they lie: "told".

It needs no recogniser. Scripted parties and examiners say what they are told to; what another party tells of itself is
its word against the recording, so scores by it are labelled so.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from fdbcore.errors import SettingsError
from fdbcore.measures.reading import Reading
from fdbcore.measures.transcript import transcript
from fdbcore.recording.reader import Recording
from fdbcore.sources.word_files import KnownWords
from fdbcore.types import SIDES, TICK_MS, TICKS_PER_S, Side, Span
from fdbcore.types.words import TimedWord

if TYPE_CHECKING:
    from fdbcore.measures.live_record_types import HeldLine

MARGIN_TICKS: Final = TICKS_PER_S // 5
"""How much around the speech of a line belongs to it."""


def told(address: str) -> Told:
    """The words "told". SettingsError for anything after it."""
    if address != Told.name:
        raise SettingsError(f"asr: expected {Told.name}, got {address!r}")
    return Told()


class Told(KnownWords):
    """See the module."""

    name: ClassVar[str] = "told"

    def why_not(self, recording: Recording, side: Side, language: str) -> str | None:
        """See `KnownWords.why_not`."""
        return None if told_lines(recording, side) else "it did not tell what it said"

    def describe(self, recording: Recording, side: Side) -> Mapping[str, Any]:
        """The lines."""
        return {"kind": self.name, "lines_sha256": sha256_of(told_lines(recording, side))}

    def words(self, recording: Recording, side: Side) -> tuple[list[TimedWord], int]:
        """See `KnownWords.words`. Each line is spread over its speech, by its characters.

        Of a line that was cut, the words are those that fit into its speech at the pace of the side's whole lines; if
        there are none, it has no times.
        """
        lines = places(Reading(recording.path), side)
        whole = [(_characters(line), _ms(span)) for line, span in lines if "cut" not in line and _ms(span)]
        pace_ms = sum(ms for _, ms in whole) / sum(n for n, _ in whole) if whole else None
        found: list[TimedWord] = []
        untimed = 0
        for line, span in lines:
            own_pace_ms = pace_ms if "cut" in line else _ms(span) / _characters(line)
            placed = _spread(line["text"].split(), span, own_pace_ms) if own_pace_ms and _ms(span) else []
            found += placed
            untimed += len(line["text"].split()) if not placed else 0
        return found, untimed


def told_lines(recording: Recording, side: Side) -> list[HeldLine]:
    """What a side's own party told that it said, in order."""
    return [line for line in transcript(recording) if line["side"] == line["told_by"] == side]


def sha256_of(lines: Sequence[HeldLine]) -> str:
    """Of lines, in hex."""
    return hashlib.sha256(json.dumps(lines, sort_keys=True).encode()).hexdigest()


def places(reading: Reading, side: Side) -> list[tuple[HeldLine, Span]]:
    """Each line with the ticks of its speech: those from its start until the next one begins. Lines in silence have
    none.
    """
    lines = told_lines(reading, side)
    active = np.flatnonzero(reading.activity[SIDES.index(side)])
    bounds = [*(line["start_tick"] for line in lines[1:]), reading.n_ticks + MARGIN_TICKS]
    found: list[tuple[HeldLine, Span]] = []
    first = 0
    for line, bound in zip(lines, bounds, strict=True):
        start, end = max(first, line["start_tick"] - MARGIN_TICKS), bound - MARGIN_TICKS
        speech = active[(active >= start) & (active < end)]
        if len(speech):
            first = min(int(speech[-1]) + 1 + MARGIN_TICKS, end)
            found.append((line, (max(start, int(speech[0]) - MARGIN_TICKS), first)))
        else:
            found.append((line, (start, start)))
    return found


def _characters(line: HeldLine) -> int:
    return sum(map(len, line["text"].split()))


def _ms(span: Span) -> int:
    """How long the speech of a line is."""
    return max(span[1] - span[0] - 2 * MARGIN_TICKS, 0) * TICK_MS


def _spread(words: Sequence[str], span: Span, pace_ms: float) -> list[TimedWord]:
    """The words that end within a span, at so many ms a character."""
    first_ms = (span[0] + MARGIN_TICKS) * TICK_MS
    ends_ms = np.cumsum([len(word) for word in words]) * pace_ms
    return [
        TimedWord(word, round(first_ms + end_ms - len(word) * pace_ms), round(first_ms + end_ms))
        for word, end_ms in zip(words, ends_ms, strict=True)
        if end_ms <= _ms(span) + 1
    ]
