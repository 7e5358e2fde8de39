"""Checks of a transcriber's words: against the voice activity of their side, and against each other."""

import re
import zlib
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from fdbcore.types import TICK_MS, TICKS_PER_S
from fdbcore.types.words import TimedWord

TOLERANCE_TICKS: Final = TICKS_PER_S // 5
"""A word lies in silence if its side is silent from so long before it until so long after it: transcribers place words
less exactly than voice activity."""

SHARP_MS: Final = 100
"""A word has at most so much silence in it: Whisper begins the first word after a pause before or amid the pause."""

MOST_OF_LOOP: Final = 30
LOOP_GAP_MS: Final = 1000
LOOP_RATIO: Final = 2.4

_EDGES: Final = re.compile(r"^\W+|(?<=\w)\W+$")


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
    """True if any of the active ticks `speech`, in order, lies in a word or near it."""
    first = word.start_ms // TICK_MS - TOLERANCE_TICKS
    last = -(-max(word.end_ms, word.start_ms + 1) // TICK_MS) + TOLERANCE_TICKS
    return int(np.searchsorted(speech, last)) > int(np.searchsorted(speech, first))


def in_loops(words: Sequence[TimedWord]) -> list[TimedWord]:
    """The words with whether each is of a loop, in which a transcriber says one phrase again and again.

    A loop is a phrase of at most MOST_OF_LOOP words that follows itself, without pauses of more than LOOP_GAP_MS, so
    often that its text is compressed by more than LOOP_RATIO: Whisper itself tells such texts by this ratio (Radford et
    al. 2022, section 4.5). People repeat themselves less often, or with pauses.
    """
    plain = [_EDGES.sub("", word.text.casefold()) for word in words]
    goes_on = [True, *(after.start_ms - word.end_ms <= LOOP_GAP_MS for word, after in pairwise(words))]
    loops: set[int] = set()
    for size in range(1, min(MOST_OF_LOOP, len(words) // 2) + 1):
        begin = 0
        for at in range(1, len(words) + 1):
            goes = at < len(words) and goes_on[at]
            if goes and (at - begin < size or plain[at] == plain[at - size]):
                continue
            if at - begin >= 2 * size and _ratio(plain[begin:at]) > LOOP_RATIO:
                loops.update(range(begin, at))
            begin = at if not goes else max(begin + 1, at - size + 1)
    return [replace(word, in_loop=number in loops) for number, word in enumerate(words)]


def _ratio(texts: Sequence[str]) -> float:
    data = " ".join(texts).encode()
    return len(data) / len(zlib.compress(data))
