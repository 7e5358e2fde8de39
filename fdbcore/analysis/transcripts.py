"""Has both sides of a recording transcribed, each word with its time on the session's clock.

A side is given to the transcriber in pieces, so that neither memory nor a request grows with the length of the call.
A piece ends in the longest silence of the side that its stored activity has there, and silence around the speech of a
piece is left out; so is what the user left out of the recording. What was transcribed is stored with the recording, and
used again while audio, transcriber and language are the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from fdbcore.audio.speech import wav_to_recognise
from fdbcore.errors import AudioError
from fdbcore.measures.echo_free import echo_free_activity
from fdbcore.measures.reading import Reading
from fdbcore.protocols import Transcriber
from fdbcore.recording.words import Transcript, as_stored, keep_transcript, transcripts
from fdbcore.sources.recorded import changed_source, session_of
from fdbcore.sources.word_files import WordFiles
from fdbcore.sources.word_source import WordSource
from fdbcore.types import FRAME_SAMPLES, SIDES, TICK_MS, TICKS_PER_S, Pcm, Side, Span
from fdbcore.types.words import TimedWord

MOST_TICKS: Final = 30 * TICKS_PER_S
"""The longest piece: what Whisper hears at once."""
MARGIN_TICKS: Final = TICKS_PER_S // 2
"""How much silence stays before and after the speech of a piece."""
TOLERANCE_TICKS: Final = TICKS_PER_S // 5
"""A word lies in silence if its side is silent from so long before it until so long after it: recognisers place words
less exactly than voice activity."""

SHARP_MS: Final = 100
"""A word has at most so much silence in it: Whisper begins the first word after a pause before or amid the pause."""

Watch = Callable[[Side, int], None]
"""Told before each piece: the side, and the tick that the piece begins at."""


class SideHeard(NamedTuple):
    """The transcript of a side. is_new: whether it was made now, or else stored before."""

    transcript: Transcript
    is_new: bool


def transcribe(
    reading: Reading,
    source: WordSource,
    language: str = "",
    watch: Watch = lambda side, tick: None,
    sides: Sequence[Side] = SIDES,
) -> list[SideHeard]:
    """The words of these sides; what was not stored before is stored as soon as a side is done.

    language: as ISO 639-1; "" has the transcriber find it out. AudioError if the audio is gone or has changed,
    SettingsError if the transcriber gives no word times, PartyError if it is not available.
    """
    if (changed := changed_source(reading)) is not None:
        raise AudioError(changed)
    sha256s = audio_sha256s(reading)
    return [_heard(reading, side, source, language, sha256s[side], watch) for side in sides]


def audio_sha256s(reading: Reading) -> dict[Side, str]:
    """The SHA-256 of each side's audio on the session's clock, as mono int16 at 48 kHz, in hex."""
    hashes = {side: hashlib.sha256() for side in SIDES}
    with session_of(reading).open() as source:
        for blocks in source.blocks():
            for side, block in zip(SIDES, blocks, strict=True):
                if block is not None:
                    hashes[side].update(block.astype("<i2").tobytes())
    return {side: found.hexdigest() for side, found in hashes.items()}


def pieces(active: npt.NDArray[np.bool_], peaks: npt.NDArray[np.uint16]) -> list[Span]:
    """The spans in which to transcribe a side, by time, in ticks; together they hold all of its activity.

    active: its activity, bool (n,). peaks: the largest absolute sample of each tick, uint16 (n,): where it is never
    silent, the quietest tick ends a piece.
    """
    found: list[Span] = []
    start, speech = 0, np.flatnonzero(active)
    while len(speech := speech[speech >= start]):
        begin = max(start, int(speech[0]) - MARGIN_TICKS)
        end = int(speech[-1]) + 1 + MARGIN_TICKS
        if end > begin + MOST_TICKS:
            start = _cut(active, peaks, begin + MOST_TICKS // 2, begin + MOST_TICKS)
            end = min(start, int(speech[speech < start][-1]) + 1 + MARGIN_TICKS)
        else:
            start = end
        found.append((begin, min(end, len(active))))
    return found


def in_silence(words: Sequence[TimedWord], active: npt.NDArray[np.bool_]) -> list[TimedWord]:
    """The words with what a side's activity, bool (n,), says of each: whether it lies in silence."""
    speech = np.flatnonzero(active)
    return [replace(word, in_silence=not _has_speech(word, speech)) for word in words]


def within_speech(words: Sequence[TimedWord], active: npt.NDArray[np.bool_]) -> list[TimedWord]:
    """The words, each in one stretch of speech by a side's activity, bool (n,): that which it has most of.

    A silence of SHARP_MS or less parts no stretches, and stays at the ends of a word. A word in silence stays whole.
    """
    speech = np.flatnonzero(active)
    return [_in_one_stretch(word, speech) for word in words]


def _heard(reading: Reading, side: Side, source: WordSource, language: str, sha256: str, watch: Watch) -> SideHeard:
    made = Transcript(side, (), source.name, as_stored(_described(reading, side, source)), language, sha256)
    known = transcripts(reading.path, side)
    stored = next((each for each in known if each.is_like(made)), None)
    track = echo_free_activity(reading.activity, reading.suspect_spans)[SIDES.index(side)]
    if stored is not None:
        made = stored
    elif isinstance(source, WordFiles):
        words, untimed = source.words(reading, side)
        made = replace(made, words=tuple(words), untimed=untimed)
    else:
        words = within_speech(list(_transcribed(reading, side, track, source, language, watch)), track)
        made = replace(made, words=tuple(words))
    made = replace(made, words=tuple(in_silence(made.words, track)))
    if known[-1:] != [made]:
        keep_transcript(reading.path, made)
    return SideHeard(made, stored is None)


def _described(reading: Reading, side: Side, source: Transcriber | WordFiles) -> Mapping[str, Any]:
    return source.describe(reading, side) if isinstance(source, WordFiles) else source.describe()


def _transcribed(
    reading: Reading,
    side: Side,
    track: npt.NDArray[np.bool_],
    transcriber: Transcriber,
    language: str,
    watch: Watch,
) -> Iterator[TimedWord]:
    """The words of each piece, moved to the session's clock; those of a piece never leave it."""
    peaks = reading.peaks[:, SIDES.index(side)]
    spans = [
        (start + begin, start + end)
        for start, stop in reading.kept
        for begin, end in pieces(track[start:stop], peaks[start:stop])
    ]
    for (start, end), pcm in _audio(reading, side, spans):
        watch(side, start)
        words = transcriber.words(wav_to_recognise(pcm), language)
        yield from sorted((_moved(word, start, end) for word in words), key=lambda word: word.start_ms)


def _moved(word: TimedWord, start_tick: int, end_tick: int) -> TimedWord:
    first_ms, last_ms = start_tick * TICK_MS, end_tick * TICK_MS
    start_ms = min(max(first_ms + word.start_ms, first_ms), last_ms)
    return replace(word, start_ms=start_ms, end_ms=min(max(first_ms + word.end_ms, start_ms), last_ms))


def _audio(reading: Reading, side: Side, spans: Sequence[Span]) -> Iterator[tuple[Span, Pcm]]:
    """Each of these spans with its audio, int16 (n,) at 48 kHz; what lies beyond the end of the side is missing."""
    left = list(reversed(spans))
    parts: list[Pcm] = []
    at = 0
    with session_of(reading).open() as source:
        for blocks in source.blocks():
            block = blocks[SIDES.index(side)]
            if block is None or not left:
                break
            while left and left[-1][0] * FRAME_SAMPLES < at + len(block):
                start, end = (tick * FRAME_SAMPLES - at for tick in left[-1])
                parts.append(block[max(start, 0) : end])
                if end > len(block):
                    break
                yield left.pop(), np.concatenate(parts)
                parts = []
            at += len(block)
    if parts:
        yield left.pop(), np.concatenate(parts)


def _cut(active: npt.NDArray[np.bool_], peaks: npt.NDArray[np.uint16], low: int, high: int) -> int:
    """Where to end a piece from tick `low` to before `high`: amid the longest silence, the last one if several are
    equally long; without silence, at the quietest tick."""
    edges = np.flatnonzero(np.diff(np.concatenate(([True], active[low:high], [True])).astype(np.int8)))
    starts, ends = edges[::2], edges[1::2]
    if not len(starts):
        return low + int(np.argmin(peaks[low:high]))
    longest = np.flatnonzero(ends - starts == (ends - starts).max())[-1]
    return low + int(starts[longest] + ends[longest]) // 2


def _in_one_stretch(word: TimedWord, speech: npt.NDArray[np.int64]) -> TimedWord:
    """A word without what lies beyond its stretch of speech. speech: the active ticks, in order."""
    first, last = np.searchsorted(speech, (word.start_ms // TICK_MS, -(-word.end_ms // TICK_MS)))
    if first == last:
        return word
    ticks = speech[first:last]
    stretches = np.split(ticks, np.flatnonzero(np.diff(ticks) > SHARP_MS // TICK_MS + 1) + 1)
    longest = max(stretches, key=len)
    begins_ms, ends_ms = int(longest[0]) * TICK_MS, (int(longest[-1]) + 1) * TICK_MS
    return replace(
        word,
        start_ms=begins_ms if begins_ms - word.start_ms > SHARP_MS else word.start_ms,
        end_ms=ends_ms if word.end_ms - ends_ms > SHARP_MS else word.end_ms,
    )


def _has_speech(word: TimedWord, speech: npt.NDArray[np.int64]) -> bool:
    """Whether any of the active ticks `speech`, in order, lies in a word or near it."""
    first = word.start_ms // TICK_MS - TOLERANCE_TICKS
    last = -(-max(word.end_ms, word.start_ms + 1) // TICK_MS) + TOLERANCE_TICKS
    return int(np.searchsorted(speech, last)) > int(np.searchsorted(speech, first))
