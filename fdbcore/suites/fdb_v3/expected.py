"""What scoring would ask of recognisers and judges, before it does: requests, tokens and money.

The questions are those that scoring asks. Where words are not known yet, speech has as many as people say on average.
Nobody can foresee what has to be asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from fdbcore.analysis.transcripts import seconds_to_hear
from fdbcore.measures.reading import Reading
from fdbcore.runs.asking import JudgeRequest
from fdbcore.runs.expected_words import expected_hearing, usual_words
from fdbcore.runs.judge_options import expected_of
from fdbcore.sources.word_source import WordSource
from fdbcore.suites.fdb_v3.cases import V3Case
from fdbcore.suites.fdb_v3.hearing import LANGUAGE, hear, sides_to_hear, take_words
from fdbcore.suites.fdb_v3.judging.judge import plan_of
from fdbcore.suites.fdb_v3.judging.rubrics import SPEECH
from fdbcore.suites.fdb_v3.scoring import KEPT_ANSWERS, V3Scoring, read
from fdbcore.types.usage import ExpectedUse
from fdbcore.types.words import as_text

TOKENS_OF_A_VERDICT: Final = 60
"""What a judge writes for a verdict with its reason."""
TOKENS_OF_SPEECH: Final = 120
"""The same for filler and key information, which it copies."""


def expected(
    paths: Sequence[Path], options: Mapping[str, Any], out: Path, show: Callable[[str], None]
) -> Iterator[ExpectedUse]:
    """What `score` would ask with these arguments; the recogniser first. Errors as of `score`."""
    scoring = V3Scoring.of(options)
    cases = read(paths, None, show).cases if scoring.sources or scoring.judges.judges else []
    for source in scoring.sources:
        yield _heard(cases, source, show)
    planned = plan_of(cases, scoring.judges, out / KEPT_ANSWERS)
    for judge in scoring.judges.judges:
        own = [request for each in planned if each.judge == judge.name for request in each.requests]
        yield expected_of(judge, list({(id(each.kept), each.key): each for each in own}.values()), _tokens_out)


def _heard(cases: Sequence[V3Case], source: WordSource, show: Callable[[str], None]) -> ExpectedUse:
    """What a recogniser would hear. The cases get the words that it has given, or as many as usual."""
    calls = [(case, Reading(case.path), sides_to_hear(case, source)) for case in cases if case.path is not None]
    left_s = [seconds_to_hear(reading, source, LANGUAGE, sides) for _, reading, sides in calls if sides]
    wanted = [(case, reading, sides) for case, reading, sides in calls if sides]
    hear([case for (case, _, _), seconds in zip(wanted, left_s, strict=True) if not seconds], source, None, show)
    for (case, reading, sides), seconds in zip(wanted, left_s, strict=True):
        if seconds:
            for side in sides:
                take_words(case, words := usual_words(reading)[side], as_text(words.words))
    return expected_hearing(source, "call", left_s)


def _tokens_out(request: JudgeRequest) -> float:
    return TOKENS_OF_SPEECH if request.question.rubric is SPEECH else TOKENS_OF_A_VERDICT
