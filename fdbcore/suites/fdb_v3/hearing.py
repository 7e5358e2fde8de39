"""What both sides of recorded calls said, by one source of words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from fdbcore.analysis.told import Told
from fdbcore.analysis.transcripts import CallToHear, hear_calls, missing_words
from fdbcore.recording.words import Transcript
from fdbcore.sources.word_source import WordSource
from fdbcore.suites.fdb_v3.cases import V3Case
from fdbcore.suites.fdb_v3.compat.logs import AsrWord, user_end_s
from fdbcore.types import SIDES, Problem, Side

LANGUAGE: Final = "en"


def hear(
    cases: Sequence[V3Case], source: WordSource, jobs: int | None, show: Callable[[str], None]
) -> tuple[list[Problem], list[str]]:
    """Give the cases of calls the words of both sides, where the source has them.

    Returns what could not be transcribed, and of which sides nobody told words.

    What is known stays: annotated words of the user, those of a released result, and that a system said none. What was
    transcribed before is used again.
    SettingsError if the source gives no words with times.
    """
    calls = [
        CallToHear(case.where, case.path, sides)
        for case in cases
        if case.path is not None and (sides := sides_to_hear(case, source))
    ]
    heard = hear_calls(calls, source, LANGUAGE, jobs, show)
    for case in cases:
        for each in heard.transcripts.get(case.where, ()):
            take_words(case, each, each.text)
    return list(heard.problems), missing_words(source, heard.why_not)


def sides_to_hear(case: V3Case, source: WordSource) -> Sequence[Side]:
    """The sides of a call whose words are not known, but the user of a released result where parties tell theirs."""
    known = {"A": case.a_words, "B": case.b_words}
    nobody_tells = case.world is None and isinstance(source, Told)
    return [side for side in SIDES if known[side] is None and not (side == "A" and nobody_tells)]


def take_words(case: V3Case, heard: Transcript, text: str) -> None:
    """Give a case the words of a side. text: the same as a text."""
    words = tuple(
        AsrWord(word.text, word.start_ms / 1000, word.end_ms / 1000) for word in heard.words if not word.is_doubtful
    )
    if heard.side == "A":
        case.a_words = words
        case.log = replace(case.log, user_end_s=user_end_s(words))
    else:
        case.b_words = words
        case.log = replace(case.log, transcript=text, words=words, first_word_s=None)
