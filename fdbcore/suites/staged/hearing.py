"""What both sides of dialogues said, by one source of words, and what that says of goals that nobody heard."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from msgspec.structs import replace

from fdbcore.analysis.told import Told
from fdbcore.analysis.transcripts import CallToHear, hear_calls, missing_words
from fdbcore.endpoints.examiner.brief import Brief
from fdbcore.errors import MissingExtraError
from fdbcore.measures.reading import Reading
from fdbcore.recording.words import Transcript
from fdbcore.sources.word_source import WordSource, word_source
from fdbcore.suites.staged.cases import StagedCase
from fdbcore.suites.staged.goals import MET, NOT_HEARD, UNMET, GoalResult, heard_wordings
from fdbcore.types import SIDES, TICK_MS, Problem, Side
from fdbcore.types.words import as_text

Heard: TypeAlias = Mapping[Side, Transcript]
"""The transcripts of a dialogue; a side that nobody asked for, or that has no words, is missing."""


def hear(
    cases: Sequence[StagedCase], source: WordSource, for_judge: bool, jobs: int | None, show: Callable[[str], None]
) -> tuple[dict[Path, Heard], list[Problem], list[str]]:
    """The words of dialogues by their paths, what could not be transcribed, and of which sides nobody told words.

    What was transcribed before is used again. for_judge: see `sides_wanted`. jobs: see `Transcribing`. SettingsError if
    the source gives no words with times.
    """
    wanted: dict[str, list[StagedCase]] = {}
    for case in cases:
        if sides_wanted(case, for_judge):
            wanted.setdefault(language_of(Reading(case.path)), []).append(case)
    found: dict[Path, Heard] = {}
    problems: list[Problem] = []
    why_not: dict[str, Mapping[Side, str]] = {}
    for language, own in wanted.items():
        calls = [CallToHear(str(case.path), case.path, sides_wanted(case, for_judge)) for case in own]
        heard = hear_calls(calls, source, language, jobs, show, "dialogues")
        found |= {Path(where): {each.side: each for each in of} for where, of in heard.transcripts.items()}
        problems += heard.problems
        why_not |= heard.why_not
    return found, problems, missing_words(source, why_not)


def sides_wanted(case: StagedCase, for_judge: bool) -> Sequence[Side]:
    """The sides whose words are wanted: both for a judge, else B's where nobody heard whether a goal was met.

    A dialogue in which all that B said is echo is not judged: there is nothing of B to mark.
    """
    if for_judge and not case.only_echo:
        return SIDES
    return ("B",) if any(goal.verdict == NOT_HEARD for goal in case.goals) else ()


def unheard_warnings(cases: Sequence[StagedCase], sources: Sequence[WordSource]) -> list[str]:
    """In a sentence, that nobody heard whether goals were met, and what mends it; nothing where all is known.

    sources: that were asked; the first one decides goals.
    """
    deaf = [case for case in cases if any(goal.verdict == NOT_HEARD for goal in case.goals)]
    if not deaf:
        return []
    what = f"in {len(deaf)} of {len(cases)} dialogues it is not known whether goals were met"
    why = f", because {sources[0].name} has no words of the system" if sources else ""
    mends = [_mended_by(deaf, {source.name for source in sources}), "fdbcore run --ears whisper hears during the call"]
    return [f"examiner without ears: {what}{why}; {'; '.join(filter(None, mends))}"]


def _mended_by(deaf: Sequence[StagedCase], asked: Collection[str]) -> str:
    """The source of words that would decide their goals now, and what it still needs; "" if it was asked already."""
    told = word_source(Told.name)
    assert isinstance(told, Told)
    if not any(told.why_not(Reading(case.path), "B", "") for case in deaf):
        return "--transcriber told takes what the system tells of its own words"
    try:
        whisper = word_source("whisper")
    except MissingExtraError as error:
        return f"--transcriber whisper hears them once it is there ({error})"
    return "" if whisper.name in asked else "--transcriber whisper hears them now"


def language_of(recording: Reading) -> str:
    """The language of a dialogue for a recogniser, as ISO 639-1; "" where it changes."""
    brief = Brief.from_json(recording.meta["parties"]["A"]["brief"])
    return brief.language if all(goal.language == brief.language for goal in brief.goals) else ""


def goals_heard(case: StagedCase, b: Transcript) -> list[GoalResult]:
    """The goals of a dialogue; those that nobody heard are decided by B's words since B could first hear them."""
    recording, found = Reading(case.path), []
    brief = Brief.from_json(recording.meta["parties"]["A"]["brief"])
    events = [event for event in recording.events if event["side"] == "A"]
    for number, (result, goal) in enumerate(zip(case.goals, brief.goals, strict=True), 1):
        heard, ticks = heard_wordings(events, number), result.ticks
        if result.verdict != NOT_HEARD or not goal.heard or ticks is None or not heard:
            found.append(result)
            continue
        own = [
            word
            for word in b.words
            if not word.is_doubtful and heard[0]["tick"] <= (word.start_ms + word.end_ms) / 2 / TICK_MS < ticks.end
        ]
        words = as_text(own)
        found.append(replace(result, words=words, verdict=MET if goal.is_met_by(words) else UNMET))
    return found
