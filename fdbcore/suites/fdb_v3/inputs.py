"""Reads what is scored: runs of the suite, and released folders with results of systems, whose audio is replayed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from fdbcore.errors import InputError
from fdbcore.recording import FAILED, outcome_in, part_of, read_of_form, read_plan
from fdbcore.report import counted
from fdbcore.runs import ReplayProgress, ReplayResult, ReplaySettings, replay_corpus
from fdbcore.runtime import Workers
from fdbcore.session import SILENT
from fdbcore.sources import Oddities, PlannedCall, SessionInput, fit_for_a_folder
from fdbcore.suites.fdb_v3.cases import LostV3Case, V3Case, cases_of, released_case
from fdbcore.suites.fdb_v3.playing import RECORDINGS, V3Played, left_out_of, namesakes, playing_of
from fdbcore.suites.fdb_v3.released.folder import import_folder
from fdbcore.suites.fdb_v3.scenarios import DataCard, RecordedScenarioEntry, RecordedScenarioFile
from fdbcore.suites.fdb_v3.screen import unfinished
from fdbcore.types import Problem

REPLAYED: Final = "recordings"
"""Where in the results folder the replayed audio is, a folder for each system. What is there is used again."""


@dataclass(slots=True)
class Read:
    """What was read of runs and released folders. sets: the data cards of their recordings. played: how runs did."""

    cases: list[V3Case] = field(default_factory=list)
    lost: list[LostV3Case] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    sets: list[DataCard] = field(default_factory=list)
    played: list[V3Played] = field(default_factory=list)


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
            found.warnings += _why_silent(path, cases)
            found.lost += lost
            found.problems += [*left_out_of(path), *(each.problem for each in lost)]
            found.played.append(playing_of(path, plans[path]))
            card = recordings.card
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
    found.warnings += namesakes({run: plan["plan"]["systems"] for run, plan in plans.items()})
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
            heard, problems = _replayed(imported.records, provider, folder, out, show)
            found.problems += problems
        for record in imported.records:
            if (result := results.get(record.id)) is not None:
                found.cases.append(released_case(record, provider, result, heard.get(record.id)))
    found.warnings += unfinished(imported.results)
    return imported.file().card


def _why_silent(run: Path, cases: Sequence[V3Case]) -> Iterator[str]:
    """A line for each reason why calls of a system are silent, where there is more to say than that they are."""
    ends = ((case.system, outcome_in(case.path)) for case in cases if case.path is not None)
    reasons = Counter((system, end["reason"]) for system, end in ends if end is not None and end["kind"] == FAILED)
    for (system, reason), count in reasons.items():
        if reason != SILENT:
            yield f"{run.name}: {system}: {counted(count, 'call')}: {reason}"


def _replayed(
    records: Sequence[RecordedScenarioEntry], provider: str, base: Path, out: Path, show: Callable[[str], None]
) -> tuple[dict[str, Path], list[Problem]]:
    """The recordings of a system's results by the id of the record, and why there are none of some.

    base: where the paths of the records start. Results without audio are in neither.
    """
    calls = [
        PlannedCall(SessionInput(record.id, base / record.audio.path, base / result.audio), {})
        for record in records
        for result in record.results
        if result.provider == provider and result.audio
    ]
    if not calls:
        return {}, []

    def watch(progress: ReplayProgress, ended: ReplayResult | None) -> None:
        show(f"{provider}: {progress.ended} of {progress.calls} outputs read")

    settings = ReplaySettings(part_of(out, REPLAYED, fit_for_a_folder(provider)), None, {})
    found: dict[str, Path] = {}
    problems = []
    for call, entry in zip(calls, replay_corpus(calls, settings, Workers(), Oddities(), watch), strict=True):
        path = settings.run_path / entry["name"]
        if entry["status"] == FAILED:
            problems.append(Problem(str(call.session.b), f"audio left out: {entry['reason']}"))
        else:
            found[call.session.name] = path
    return found, problems
