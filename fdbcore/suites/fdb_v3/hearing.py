"""What both sides of recorded calls said, by one source of words."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from fdbcore.analysis.told import Told
from fdbcore.analysis.transcripts import HeardCall, Transcribing, missing_words
from fdbcore.errors import FdbError, SettingsError
from fdbcore.measures.reading import Reading
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
    calls = [case for case in cases if case.path is not None and sides_to_hear(case, source)]
    problems: list[Problem] = []
    why_not: dict[str, Mapping[Side, str]] = {}
    with Transcribing(source, LANGUAGE, jobs) as asking:
        begun: deque[tuple[V3Case, HeardCall]] = deque()
        for number, case in enumerate(calls, 1):
            show(f"{source.name}: {number} of {len(calls)} calls transcribed")
            assert case.path is not None
            try:
                begun.append((case, asking.begin(Reading(case.path), sides=sides_to_hear(case, source))))
                why_not[case.where] = begun[-1][1].why_not
            except SettingsError:
                raise
            except FdbError as error:
                problems.append(_untranscribed(case, error))
            while begun and begun[0][1].is_done:
                _end(*begun.popleft(), problems)
        while begun:
            _end(*begun.popleft(), problems)
    return problems, missing_words(source, why_not)


def sides_to_hear(case: V3Case, source: WordSource) -> Sequence[Side]:
    """The sides of a call whose words are not known, but the user of a released result where parties tell theirs."""
    known = {"A": case.a_words, "B": case.b_words}
    nobody_tells = case.world is None and isinstance(source, Told)
    return [side for side in SIDES if known[side] is None and not (side == "A" and nobody_tells)]


def _end(case: V3Case, call: HeardCall, problems: list[Problem]) -> None:
    try:
        for each in call.heard():
            take_words(case, each.transcript, each.transcript.text)
    except SettingsError:
        raise
    except FdbError as error:
        problems.append(_untranscribed(case, error))


def _untranscribed(case: V3Case, error: FdbError) -> Problem:
    return Problem(case.where, f"not transcribed: {str(error).removeprefix(f'{case.path}: ')}")


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
