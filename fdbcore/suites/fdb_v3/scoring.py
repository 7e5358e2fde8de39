"""Scores systems on recorded scenarios: has words and verdicts given to the cases, or says what that would take."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Self

from msgspec import to_builtins

from fdbcore.analysis import CallToHear, Told, hear_calls, missing_words, seconds_to_hear
from fdbcore.errors import told_as
from fdbcore.measures import Reading
from fdbcore.recording import Transcript
from fdbcore.runs import JudgeOptions, JudgeRequest, expected_hearing, expected_of, usual_words
from fdbcore.runtime import redacted
from fdbcore.sources import WordSource, word_source_of
from fdbcore.suites.fdb_v3.cases import V3Case
from fdbcore.suites.fdb_v3.compat.logs import AsrWord, user_end_s
from fdbcore.suites.fdb_v3.document import document
from fdbcore.suites.fdb_v3.inputs import read
from fdbcore.suites.fdb_v3.judging.judge import judge_cases, plan_of
from fdbcore.suites.fdb_v3.judging.questions import SPEECH
from fdbcore.suites.fdb_v3.published import published
from fdbcore.types import SIDES, Problem, Side
from fdbcore.types.scorecard import Scored
from fdbcore.types.usage import ExpectedUse

LANGUAGE: Final = "en"
TOKENS_OF_A_VERDICT, TOKENS_OF_SPEECH = 60, 120
"""What a judge writes for a verdict with its reason, and for filler and key information, which it copies."""
KEPT_ANSWERS: Final = "judged.json"
"""In the results folder: what judges answered about released results. Those about calls lie with the calls."""


@dataclass(frozen=True, slots=True)
class V3Scoring:
    """Who hears the calls (nobody, or one), who judges them, and whether the paper's tables stand beside."""

    sources: Sequence[WordSource]
    judges: JudgeOptions
    with_published: bool

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """By the options of `score`. SettingsError for what is unknown."""
        with told_as("--transcriber", "asr"):
            sources = [word_source_of(address) for address in filter(None, [options["transcriber"]])]
        return cls(sources, JudgeOptions.of(options), options["published"])


def score(
    paths: Sequence[Path], options: Mapping[str, Any], jobs: int | None, out: Path, show: Callable[[str], None]
) -> Scored:
    """The document of all calls of runs, and of all results in released folders; see `Suite.score`."""
    scoring, found = V3Scoring.of(options), read(paths, out, show)
    for source in scoring.sources:
        problems, unheard = hear(found.cases, source, jobs, show)
        found.problems += problems
        found.warnings += unheard
    judged = judge_cases(found.cases, scoring.judges, out / KEPT_ANSWERS, jobs, show)
    found.problems += judged.problems
    found.warnings += judged.warnings
    transcriber = None if options["transcriber"] is None else redacted(options["transcriber"])
    made = document(found, transcriber, judged.judging, published() if scoring.with_published else None)
    return Scored(to_builtins(made), told=judged.told)


def hear(
    cases: Sequence[V3Case], source: WordSource, jobs: int | None, show: Callable[[str], None]
) -> tuple[list[Problem], list[str]]:
    """Give the cases of calls the words of both sides, where the source has them.

    Returns what could not be transcribed, and of which sides nobody told words.

    What is known stays: annotated words of the user, those of a released result, and that a system said none. What was
    transcribed before is used again. SettingsError if the source gives no words with times.
    """
    calls = [
        CallToHear(case.where, case.path, sides)
        for case in cases
        if case.path is not None and (sides := _sides_to_hear(case, source))
    ]
    heard = hear_calls(calls, source, LANGUAGE, jobs, show)
    for case in cases:
        for each in heard.transcripts.get(case.where, ()):
            _take_words(case, each)
    return list(heard.problems), missing_words(source, heard.why_not)


def _sides_to_hear(case: V3Case, source: WordSource) -> Sequence[Side]:
    """The sides of a call whose words are not known, but the user of a released result where parties tell theirs."""
    known = {"A": case.a_words, "B": case.b_words}
    nobody_tells = case.world is None and isinstance(source, Told)
    return [side for side in SIDES if known[side] is None and not (side == "A" and nobody_tells)]


def _take_words(case: V3Case, heard: Transcript) -> None:
    words = tuple(
        AsrWord(word.text, word.start_ms / 1000, word.end_ms / 1000) for word in heard.words if not word.is_doubtful
    )
    if heard.side == "A":
        case.a_words = words
        case.log = replace(case.log, user_end_s=user_end_s(words))
    else:
        case.b_words = words
        case.log = replace(case.log, transcript=heard.text, words=words, first_word_s=None)


def expected(
    paths: Sequence[Path], options: Mapping[str, Any], out: Path, show: Callable[[str], None]
) -> Iterator[ExpectedUse]:
    """What `score` would ask with these arguments; the transcriber first. Errors as of `score`.

    The questions are those that scoring asks. Where words are not known yet, speech has as many as people say on
    average. Nobody can foresee what has to be asked again.
    """
    scoring = V3Scoring.of(options)
    cases = read(paths, None, show).cases if scoring.sources or scoring.judges.judges else []
    for source in scoring.sources:
        yield _expected_words(cases, source, show)
    planned = plan_of(cases, scoring.judges, out / KEPT_ANSWERS)
    for judge in scoring.judges.judges:
        own = [request for each in planned if each.judge == judge.name for request in each.requests]
        yield expected_of(judge, list({(id(each.kept), each.key): each for each in own}.values()), _tokens_out)


def _expected_words(cases: Sequence[V3Case], source: WordSource, show: Callable[[str], None]) -> ExpectedUse:
    """What a transcriber would hear. The cases get the words that it has given, or as many as usual."""
    left_s: list[float] = []
    heard_before = []
    for case in cases:
        if case.path is None or not (sides := _sides_to_hear(case, source)):
            continue
        reading = Reading(case.path)
        left_s.append(seconds_to_hear(reading, source, LANGUAGE, sides))
        if not left_s[-1]:
            heard_before.append(case)
        for side in sides if left_s[-1] else ():
            _take_words(case, usual_words(reading)[side])
    hear(heard_before, source, None, show)
    return expected_hearing(source, "call", left_s)


def _tokens_out(request: JudgeRequest) -> float:
    return TOKENS_OF_SPEECH if request.question.rubric is SPEECH else TOKENS_OF_A_VERDICT
