"""Scores systems on recorded scenarios: reads runs, and released folders with results of systems, whose audio is
replayed; has words and verdicts given to the cases, or says what that would take.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Self

from msgspec import to_builtins

from fdbcore.analysis import CallToHear, SelfReported, hear_calls
from fdbcore.errors import InputError
from fdbcore.protocols import UsesServers
from fdbcore.recording import Transcript, read_of_form, read_plan
from fdbcore.runs import JudgeOptions, expected_words, replay_outputs
from fdbcore.runtime import redacted
from fdbcore.sources import PlannedCall, SessionInput, WordSource, word_sources_of
from fdbcore.suites.fdb_v3.cases import V3Case, cases_of, released_case, unfinished
from fdbcore.suites.fdb_v3.compat import AsrWord, user_end_s
from fdbcore.suites.fdb_v3.document import Read, document
from fdbcore.suites.fdb_v3.folder import Imported, import_folder
from fdbcore.suites.fdb_v3.judge import judge_cases, plan_of
from fdbcore.suites.fdb_v3.playing import RECORDINGS, left_out_of, namesakes, playing_of, why_silent
from fdbcore.suites.fdb_v3.questions import SPEECH
from fdbcore.suites.fdb_v3.scenarios import DataCard, RecordedScenarioFile
from fdbcore.types import SIDES, Problem
from fdbcore.types.scorecard import Scored
from fdbcore.types.usage import ExpectedUse

LANGUAGE: Final = "en"
TOKENS_OF_A_VERDICT, TOKENS_OF_SPEECH = 60, 120
"""Tokens that a judge writes for a verdict with its reason, and for filler and key information, which it copies."""
KEPT_ANSWERS: Final = "judged.json"
"""In the results folder: what judges answered about released results. Those about calls lie with the calls."""


def read(paths: Sequence[Path], out: Path | None, show: Callable[[str], None]) -> Read:
    """The cases of runs and of released folders. InputError if there are none.

    out: for recordings of released audio; None: nobody wants them.
    """
    if not paths:
        raise InputError(
            "expected RUNs or released folders, got none: fdbcore run --suite fdb-v3 --system ADDRESS makes one"
        )
    found = Read()
    plans = {path: read_plan(path) for path in paths if (path / RECORDINGS).is_file()}
    for path in paths:
        if path in plans:
            recordings: RecordedScenarioFile = read_of_form(path / RECORDINGS, RecordedScenarioFile)
            cases, lost = cases_of(path, plans[path], recordings.record, show)
            found.cases += cases
            found.warnings += why_silent(path, cases)
            found.lost += lost
            found.problems += [*left_out_of(path), *(each.problem for each in lost)]
            found.played.append(playing_of(path, plans[path]))
            card = recordings.card
        elif path.is_dir() and not (path / "run.json").is_file():
            card = _take_released(import_folder(path, path / "fdb3.json", show), path, found, out, show)
        else:
            got = "something else" if path.exists() else "no such folder"
            raise InputError(f"{path}: expected a run of --suite fdb-v3, or a released folder, got {got}")
        if card not in found.sets:
            found.sets.append(card)
    if not found.cases:
        why = f": {found.problems[0].where}: {found.problems[0].reason}" if found.problems else ""
        raise InputError(f"expected calls or results of systems, found none{why}")
    found.warnings += namesakes({run: plan["plan"]["systems"] for run, plan in plans.items()})
    of_recordings = [each for each in found.played if each.user.get("kind") == "clip"]
    for name in ("ends", "user", "clock"):
        values = [str(getattr(each, name)) for each in of_recordings]
        if len(set(values)) > 1:
            found.warnings.append(f"runs were played differently ({name}): {'; '.join(dict.fromkeys(values))}")
    return found


def _take_released(
    imported: Imported, folder: Path, found: Read, out: Path | None, show: Callable[[str], None]
) -> DataCard:
    """Take in the results of systems in a folder of the release; the card of its recordings."""
    replayed = {} if out is None else {name: _replayed(imported, name, folder, out, show) for name in imported.results}
    found.problems += [*imported.left_out(folder), *(each for _, own in replayed.values() for each in own)]
    found.warnings += [
        f"{folder}: {name}: not understood, and not read (in {count})"
        for name, count in sorted(imported.unknown.items())
    ]
    for provider, results in imported.results.items():
        heard, _ = replayed.get(provider, ({}, []))
        for record in imported.records:
            if (result := results.get(record.id)) is not None:
                found.cases.append(released_case(record, provider, result, heard.get(record.id)))
    found.warnings += unfinished(imported.results)
    return imported.file().card


def _replayed(
    imported: Imported, provider: str, base: Path, out: Path, show: Callable[[str], None]
) -> tuple[dict[str, Path], list[Problem]]:
    """The recordings of a system's results by the id of the record, and why there are none of some.

    base: where the paths of the records start. Results without audio are in neither.
    """
    calls = [
        PlannedCall(SessionInput(record.id, base / record.audio.path, base / result.audio), {})
        for record in imported.records
        for result in record.results
        if result.provider == provider and result.audio
    ]
    found: dict[str, Path] = {}
    problems = []
    for call, (path, why_not) in zip(calls, replay_outputs(calls, provider, out, show), strict=True):
        if why_not is None:
            found[call.session.name] = path
        else:
            problems.append(Problem(str(call.session.b), f"audio left out: {why_not}"))
    return found, problems


@dataclass(frozen=True, slots=True)
class V3Scoring:
    """The transcriber of the calls (none, or one), the judges, and whether the paper's tables stand beside."""

    sources: Sequence[WordSource]
    judges: JudgeOptions
    with_published: bool

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """By the options of `score`. SettingsError for what is unknown."""
        sources = word_sources_of(filter(None, [options["transcriber"]]))
        return cls(sources, JudgeOptions.of(options), options["published"])


def asked(options: Mapping[str, Any], paths: Sequence[Path] = ()) -> list[UsesServers]:
    """The transcriber and the judges; see `Suite.asked`."""
    scoring = V3Scoring.of(options)
    return [*scoring.sources, *scoring.judges.judges]


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
    made = document(found, transcriber, judged.judging, scoring.with_published)
    return Scored(to_builtins(made), told=judged.told)


def hear(
    cases: Sequence[V3Case], source: WordSource, jobs: int | None, show: Callable[[str], None]
) -> tuple[list[Problem], list[str]]:
    """Give the cases of calls the words of both sides, where the source has them.

    Returns what could not be transcribed, and of which sides nobody told words.

    What is known stays: annotated words of the user, those of a released result, and that a system said none. What was
    transcribed before is used again. SettingsError if the source gives no words with times.
    """
    heard = hear_calls(list(_calls_to_hear(cases, source)), source, jobs, show)
    _take_words(cases, heard.transcripts)
    return list(heard.problems), list(heard.missing)


def _calls_to_hear(cases: Sequence[V3Case], source: WordSource) -> Iterator[CallToHear]:
    """The sides of calls whose words are not known, but the user of a released result where parties tell theirs."""
    for case in cases:
        nobody_tells = case.world is None and isinstance(source, SelfReported)
        known = {"A": () if nobody_tells else case.a_words, "B": case.b_words}
        if case.path is not None and (sides := [side for side in SIDES if known[side] is None]):
            yield CallToHear(case.where, case.path, sides, LANGUAGE)


def _take_words(cases: Sequence[V3Case], transcripts: Mapping[str, Sequence[Transcript]]) -> None:
    for case in cases:
        for each in transcripts.get(case.where, ()):
            _take_side(case, each)


def _take_side(case: V3Case, heard: Transcript) -> None:
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
    """The requests of `score` with these arguments; to the transcriber first. Errors as of `score`.

    The questions are those that scoring asks. Where words are not known yet, speech has as many as people say on
    average. Nobody can foresee what has to be asked again.
    """
    scoring = V3Scoring.of(options)
    cases = read(paths, None, show).cases if scoring.sources or scoring.judges.judges else []
    for source in scoring.sources:
        used, words = expected_words(list(_calls_to_hear(cases, source)), source, "call")
        _take_words(cases, words)
        yield used
    planned = plan_of(cases, scoring.judges, out / KEPT_ANSWERS)
    questions = [question for each in planned for question in each.questions.values()]
    yield from scoring.judges.expected(
        questions, lambda of: TOKENS_OF_SPEECH if of.question.rubric is SPEECH else TOKENS_OF_A_VERDICT
    )
