"""Scores of systems on recorded scenarios: the document of everything that can be computed from runs and results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, cast

from fdbcore._version import __version__
from fdbcore.errors import InputError, told_as
from fdbcore.recording.files import read_json
from fdbcore.recording.run import FAILED, outcome_in
from fdbcore.report.format import counted
from fdbcore.runs.judge_options import JudgeOptions
from fdbcore.runtime.redaction import redacted
from fdbcore.session.converse import SILENT
from fdbcore.sources.word_source import WordSource, word_source
from fdbcore.stats.bootstrap import LEVEL, RESAMPLES, SEED
from fdbcore.suites.fdb_v3.cases import LostV3Case, V3Case, cases_of, released_case
from fdbcore.suites.fdb_v3.compat.rows import compat_of, log_of, slices_of_cases
from fdbcore.suites.fdb_v3.items import item_of
from fdbcore.suites.fdb_v3.judging.judge import judge_cases
from fdbcore.suites.fdb_v3.ours.rows import OursItem, comparisons_of, ours_of, passes_of, rows_of
from fdbcore.suites.fdb_v3.people import PEOPLE, ranks_of
from fdbcore.suites.fdb_v3.playing import RECORDINGS, left_out_of, namesakes, playing_of
from fdbcore.suites.fdb_v3.published import published
from fdbcore.suites.fdb_v3.released.audio import replayed
from fdbcore.suites.fdb_v3.released.folder import import_folder
from fdbcore.suites.fdb_v3.screen import unfinished
from fdbcore.types import Problem
from fdbcore.types.scorecard import Scored

if TYPE_CHECKING:
    from fdbcore.suites.fdb_v3.document_types import V3Document, V3Group, V3Judging, V3Lost, V3Played, V3Published
    from fdbcore.suites.fdb_v3.scenario_types import DataCard, RecordedScenarioFile

SCHEMA: Final = "fdbcore.fdb_v3/1"
KEPT_ANSWERS: Final = "judged.json"
"""In the results folder: what judges answered about released results. Those about calls lie with the calls."""
RELEASED: Final = "released results"
"""The condition of results that others made."""


@dataclass(slots=True)
class Read:
    """What was read of runs and released folders. sets: the data cards of their recordings. played: how runs did."""

    cases: list[V3Case] = field(default_factory=list)
    lost: list[LostV3Case] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    sets: list[DataCard] = field(default_factory=list)
    played: list[V3Played] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class V3Scoring:
    """Who hears the calls (None: nobody), who judges them, and whether the paper's tables stand beside."""

    source: WordSource | None
    judges: JudgeOptions
    with_published: bool

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """By the options of `score`. SettingsError for what is unknown."""
        with told_as("--transcriber", "asr"):
            source = None if options["transcriber"] is None else word_source(options["transcriber"])
        return cls(source, JudgeOptions.of(options), options["published"])


def score(
    paths: Sequence[Path], options: Mapping[str, Any], jobs: int | None, out: Path, show: Callable[[str], None]
) -> Scored:
    """The document of all calls of runs, and of all results in released folders; see `Suite.score`."""
    scoring, found = V3Scoring.of(options), read(paths, out, show)
    if scoring.source is not None:
        from fdbcore.suites.fdb_v3.hearing import hear

        problems, unheard = hear(found.cases, scoring.source, jobs, show)
        found.problems += problems
        found.warnings += unheard
    judged = judge_cases(found.cases, scoring.judges, out / KEPT_ANSWERS, jobs, show)
    found.problems += judged.problems
    found.warnings += judged.warnings
    transcriber = None if options["transcriber"] is None else redacted(options["transcriber"])
    made = document(found, transcriber, judged.judging, published() if scoring.with_published else None)
    return Scored(cast("Mapping[str, Any]", made), told=judged.told)


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
    of_recordings = [each for each in found.played if each["user"].get("kind") == "clip"]
    for name in ("ends", "user", "clock"):
        values = [str(each[name]) for each in of_recordings]
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


def condition_of(case: V3Case) -> str:
    """How the tools behave towards a system, and what the call goes over, in words."""
    if case.world is None:
        return RELEASED
    told = [f"{PEOPLE if case.by_person else ''}tools: {case.world.get('latency', 'instant')}"]
    if faults := case.world.get("faults"):
        told.append(f"faults: {faults}")
    if case.line is not None:
        told.append(f"line {case.line}")
    return ", ".join(told)


def document(
    found: Read,
    transcriber: str | None = None,
    judging: V3Judging | None = None,
    beside: V3Published | None = None,
) -> V3Document:
    """Everything that can be computed from these cases, as JSON values.

    transcriber: who heard the calls. judging: how judges were asked. beside: the paper's tables.
    """
    groups: dict[str, list[V3Case]] = {}
    for case in sorted(found.cases, key=lambda case: case.line is not None):
        groups.setdefault(condition_of(case), []).append(case)
    ours = {
        name: [ours_of(case, None if judging is None else log_of(case, "repaired")) for case in cases]
        for name, cases in groups.items()
    }
    return {
        "schema": SCHEMA,
        "settings": {
            "fdbcore": __version__,
            "transcriber": transcriber,
            "resamples": RESAMPLES,
            "seed": SEED,
            "level": LEVEL,
        },
        "data": found.sets,
        "played": found.played,
        "groups": [_group(name, cases, ours[name]) for name, cases in groups.items()],
        "people": list(ranks_of(ours)),
        "lost": _lost(found.lost),
        "judging": judging,
        "published": beside,
        "items": [
            item_of(case, name, own)
            for name, cases in groups.items()
            for case, own in zip(cases, ours[name], strict=True)
        ],
        "problems": [{"where": each.where, "reason": each.reason} for each in found.problems],
        "warnings": found.warnings,
    }


def _group(condition: str, cases: Sequence[V3Case], ours: Sequence[OursItem]) -> V3Group:
    systems: dict[str, list[V3Case]] = {}
    for case in cases:
        systems.setdefault(case.system, []).append(case)
    return {
        "condition": condition,
        "compat": [row for name, own in systems.items() for row in compat_of(name, own)],
        "slices": [row for name, own in systems.items() for row in slices_of_cases(name, own)],
        "ours": list(rows_of(ours)),
        "comparisons": comparisons_of(ours),
        "passes": list(passes_of(ours)),
    }


def _lost(lost: Sequence[LostV3Case]) -> list[V3Lost]:
    systems = dict.fromkeys(each.system for each in lost)
    counts = Counter((each.system, each.kind) for each in lost)
    return [
        {"system": name, **{kind: counts[name, kind] for kind in ("failed", "invalid", "missing")}}  # type: ignore[typeddict-item]
        for name in systems
    ]
