"""What scoring would ask of recognisers and judges, before it does: requests, tokens and money.

The questions are those that scoring asks. Where words are not known yet, speech has as many as people say on average.
Nobody can foresee what has to be asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from fdbcore.analysis.transcripts import seconds_to_hear
from fdbcore.errors import InputError
from fdbcore.measures.reading import Reading
from fdbcore.runs.asking import JudgeRequest
from fdbcore.runs.expected_words import expected_hearing, usual_words
from fdbcore.runs.judge_options import expected_of
from fdbcore.sources.word_source import WordSource
from fdbcore.suites.staged.cases import StagedCase
from fdbcore.suites.staged.hearing import Heard, hear, language_of, sides_wanted
from fdbcore.suites.staged.marking import requests_of
from fdbcore.suites.staged.pooling import dialogues_of
from fdbcore.suites.staged.replied import is_of_replies
from fdbcore.suites.staged.scoring import Scoring
from fdbcore.suites.staged.variants import setups_of
from fdbcore.types.usage import ExpectedUse

TOKENS_OF_A_MARK: Final = 60
"""What a judge writes for a mark with its reason: about forty words."""


def expected(runs: Sequence[Path], options: Mapping[str, Any], show: Callable[[str], None]) -> Iterator[ExpectedUse]:
    """What `score` would ask with these arguments; recognisers first. Errors as of `score`."""
    scoring = Scoring.of(options)
    judges, repeats = scoring.judging.judges, scoring.judging.repeats
    cases, _, _ = dialogues_of([run for run in runs if not is_of_replies(run)], show)
    if not cases and (scoring.sources or judges):
        raise InputError("expected staged dialogues, found none")
    heard = []
    for source in scoring.sources.values():
        used, words = _of_words(cases, source, bool(judges), show)
        heard.append(words)
        yield used
    setups = [setup for _, setup in setups_of(len(scoring.sources), len(judges), scoring.judging.wordings)]
    planned = requests_of(cases, heard, judges, setups, repeats) if judges else []
    for judge in judges:
        requests = {(own.path, each.key): each for own in planned for each in own.requests if each.judge is judge}
        yield expected_of(judge, list(requests.values()), _tokens_out)


def _of_words(
    cases: Sequence[StagedCase], source: WordSource, for_judge: bool, show: Callable[[str], None]
) -> tuple[ExpectedUse, dict[Path, Heard]]:
    """What a recogniser would hear, and the words of all dialogues: those that it has given, or as many as usual."""
    wanted = {case.path: sides_wanted(case, for_judge) for case in cases}
    seconds = {
        path: seconds_to_hear(reading, source, language_of(reading), sides)
        for path, sides in wanted.items()
        if sides
        for reading in (Reading(path),)
    }
    found, *_ = hear([case for case in cases if seconds.get(case.path) == 0], source, for_judge, None, show)
    found |= {path: usual_words(Reading(path)) for path, left in seconds.items() if left}
    return expected_hearing(source, "dialogue", list(seconds.values())), found


def _tokens_out(request: JudgeRequest) -> float:
    """What is written for each mark; points of yes and no have one reason together."""
    return TOKENS_OF_A_MARK * len(request.question.rubric.questions)
