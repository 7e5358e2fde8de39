"""Scores systems on recorded scenarios: reads runs and released results, and has words and verdicts given to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, cast

from msgspec import to_builtins

from fdbcore.errors import InputError, told_as
from fdbcore.recording.files import read_json
from fdbcore.recording.run import FAILED, outcome_in
from fdbcore.report.format import counted
from fdbcore.runs.judge_options import JudgeOptions
from fdbcore.runtime.redaction import redacted
from fdbcore.session.converse import SILENT
from fdbcore.sources.word_source import WordSource, word_source
from fdbcore.suites.fdb_v3.cases import V3Case, cases_of, released_case
from fdbcore.suites.fdb_v3.document import Read, document
from fdbcore.suites.fdb_v3.hearing import hear
from fdbcore.suites.fdb_v3.judging.judge import judge_cases
from fdbcore.suites.fdb_v3.playing import RECORDINGS, left_out_of, namesakes, playing_of
from fdbcore.suites.fdb_v3.published import published
from fdbcore.suites.fdb_v3.released.audio import replayed
from fdbcore.suites.fdb_v3.released.folder import import_folder
from fdbcore.suites.fdb_v3.screen import unfinished
from fdbcore.types.scorecard import Scored

if TYPE_CHECKING:
    from fdbcore.suites.fdb_v3.scenario_types import DataCard, RecordedScenarioFile

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
            sources = [word_source(address) for address in filter(None, [options["transcriber"]])]
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


def read(paths: Sequence[Path], out: Path | None, show: Callable[[str], None]) -> Read:
    """The cases of runs and of released folders. InputError if there are none.

    out: for recordings of released audio; None: nobody wants them.
    """
    if not paths:
        raise InputError(
            "expected RUNs or released folders, got none: fdbcore run --suite fdb-v3 --system ADDRESS makes one"
        )
    found = Read()
    for path in paths:
        if (path / RECORDINGS).is_file():
            cases, lost = cases_of(path, show)
            found.cases += cases
            found.warnings += _why_silent(path, cases)
            found.lost += lost
            found.problems += [*left_out_of(path), *(each.problem for each in lost)]
            found.played.append(playing_of(path))
            card = cast("RecordedScenarioFile", read_json(path / RECORDINGS))["card"]
        elif path.is_dir() and not (path / "run.json").is_file():
            card = _read_released(path, found, out, show)
        else:
            got = "something else" if path.exists() else "no such folder"
            raise InputError(f"{path}: expected a run of --suite fdb-v3, or a released folder, got {got}")
        if card not in found.sets:
            found.sets.append(card)
    if not found.cases:
        why = f": {found.problems[0].where}: {found.problems[0].reason}" if found.problems else ""
        raise InputError(f"expected calls or results of systems, found none{why}")
    found.warnings += namesakes([run for run in paths if (run / RECORDINGS).is_file()])
    of_recordings = [each for each in found.played if each.user.get("kind") == "clip"]
    for name in ("ends", "user", "clock"):
        values = [str(getattr(each, name)) for each in of_recordings]
        if len(set(values)) > 1:
            found.warnings.append(f"runs were played differently ({name}): {'; '.join(dict.fromkeys(values))}")
    return found


def _read_released(folder: Path, found: Read, out: Path | None, show: Callable[[str], None]) -> DataCard:
    imported = import_folder(folder, folder / "fdb3.json", show)
    found.problems += imported.left_out(folder)
    found.warnings += [
        f"{folder}: {name}: not understood, and not read (in {count})"
        for name, count in sorted(imported.unknown.items())
    ]
    for provider, results in imported.results.items():
        heard: Mapping[str, Path] = {}
        if out is not None:
            heard, problems = replayed(imported.records, provider, folder, out, show)
            found.problems += problems
        for record in imported.records:
            if (result := results.get(record["id"])) is not None:
                found.cases.append(released_case(record, provider, result, heard.get(record["id"])))
    found.warnings += unfinished(imported.results)
    return imported.file()["card"]


def _why_silent(run: Path, cases: Sequence[V3Case]) -> Iterator[str]:
    """A line for each reason why calls of a system are silent, where there is more to say than that they are."""
    ends = ((case.system, outcome_in(case.path)) for case in cases if case.path is not None)
    reasons = Counter((system, end["reason"]) for system, end in ends if end is not None and end["kind"] == FAILED)
    for (system, reason), count in reasons.items():
        if reason != SILENT:
            yield f"{run.name}: {system}: {counted(count, 'call')}: {reason}"
