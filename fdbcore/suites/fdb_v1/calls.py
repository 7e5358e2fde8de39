"""The calls that are scored: of runs of ours, and of folders in which outputs of systems lie beside the users.

A folder of outputs (GROUP/ID/input.wav, output.wav; clean_output.wav beside clean_input.wav; output.json, its words) is
replayed into the results folder first. What was replayed is kept, so a scoring that was killed goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fdbcore.analysis.order import planned_cases
from fdbcore.errors import FdbError, InputError
from fdbcore.measures.reading import Reading
from fdbcore.recording.files import part_of
from fdbcore.recording.form import one_call
from fdbcore.recording.places import located
from fdbcore.recording.run import FAILED, is_planned, outcome_in, read_plan
from fdbcore.report.exports.fdb import why_not_held
from fdbcore.runs.replay_jobs import ReplayResult, ReplaySettings
from fdbcore.runs.replay_many import ReplayProgress, replay_corpus
from fdbcore.runtime.executor import Workers
from fdbcore.sources.calls import PlannedCall
from fdbcore.sources.clips import fit_for_a_folder
from fdbcore.sources.names import Oddities
from fdbcore.suites.fdb_v1.samples import UserSample, Version, sample_of
from fdbcore.suites.fdb_v1.users import samples_in, session_of, shortfall
from fdbcore.types import SAMPLE_RATE_HZ, Clip, Problem

if TYPE_CHECKING:
    from fdbcore.recording.run_types import PlannedCase

RECORDINGS: Final = "recordings"
"""Where in the results folder the recordings of released outputs are, a folder for each system."""


@dataclass(frozen=True, slots=True)
class HeardSample:
    """A sample with one system. path: its recording."""

    path: Path
    system: str
    trial: int
    sample: UserSample

    @property
    def key(self) -> tuple[str, int, str]:
        """What a disturbed sample and its clean one have in common."""
        return self.system, self.trial, self.sample.id


def compared_s(reading: Reading) -> float:
    """How much of the system's audio the published rules read, in s: as much as the user's file is long."""
    length_s = reading.length_s("B")
    samples = reading.parties.get("A", {}).get("samples")
    return length_s if samples is None else min(length_s, samples / SAMPLE_RATE_HZ)


def heard_samples(
    version: Version, paths: Sequence[Path], out: Path, show: Callable[[str], None]
) -> tuple[list[HeardSample], list[Problem]]:
    """The samples of all runs and folders that can be scored, and why others cannot.

    InputError if two of them have a system of one name, or if none can be scored.
    """
    if not paths:
        raise InputError(f"expected a run or a folder of outputs, got none: fdbcore run --suite {version} makes a run")
    found: list[HeardSample] = []
    problems: list[Problem] = []
    owners: dict[str, Path] = {}
    for path in paths:
        own, lost = _of_run(version, path) if is_planned(path) else _of_folder(version, path, out, show)
        for system in dict.fromkeys(each.system for each in own):
            if owners.setdefault(system, path) != path:
                raise InputError(f"{path}: expected other names of systems than in {owners[system]}, got {system!r}")
        found += own
        problems += lost
    if not found:
        why = f": {problems[0].where}: {problems[0].reason}" if problems else ""
        raise InputError(f"expected samples of {version} with outputs of a system, found none{why}")
    return found, problems


def _of_run(version: Version, run: Path) -> tuple[list[HeardSample], list[Problem]]:
    """The samples of a run, by `planned_cases`, and those of its data that it left out."""
    found: list[HeardSample] = []
    problems: list[Problem] = []
    planned = read_plan(run)
    suite = planned["plan"].get("suite")
    if suite is not None and (data := located(run, suite["data"])).is_dir():
        played = {located(run, case["clip"]["path"]) for case in planned["cases"] if case["clip"]}
        samples_in(version, data, problems, but=played)
    for case in planned_cases(planned):
        path = run / case["name"]
        try:
            with one_call(path):
                held, left_out = _held(version, path, case)
            found.append(held)
            problems += [Problem(str(path), reason) for reason in left_out if reason]
        except FdbError as error:
            problems.append(Problem(str(path), str(error).removeprefix(f"{path}: ")))
    return found, problems


def _held(version: Version, path: Path, case: PlannedCase) -> tuple[HeardSample, Sequence[str]]:
    """The sample of a case of a run, and what of its labels and its audio is missing, "" for nothing. FdbError if it is
    none, was not held, ended before what is measured, or has no label left.
    """
    clip = case["clip"]
    if clip is None:
        raise InputError("expected a recorded user, got another")
    sample = sample_of(version, Clip(clip["name"], located(path.parent, clip["path"]), clip["group"], clip["labels"]))
    if outcome_in(path) is None:
        raise InputError("not held yet")
    reading = Reading(path)
    reading.check()
    if (why := why_not_held(reading)) is not None:
        raise InputError(why)
    short, can_be_scored = shortfall(sample, reading)
    if not can_be_scored:
        raise InputError(short)
    kept, left_out = sample.within(reading.n_ticks)
    return HeardSample(path, case["system"], case["trial"], kept), (left_out, short)


def _of_folder(
    version: Version, folder: Path, out: Path, show: Callable[[str], None]
) -> tuple[list[HeardSample], list[Problem]]:
    """The outputs in a folder, replayed; its name is the system's."""
    system = fit_for_a_folder(folder.resolve().name)
    samples: list[tuple[UserSample, str]] = []
    calls: list[PlannedCall] = []
    problems: list[Problem] = []
    for clip, sample in samples_in(version, folder, problems):
        try:
            session, no_words = session_of(clip, sample)
            calls.append(PlannedCall(session, {"system": system}))
            samples.append((sample, no_words))
        except FdbError as error:
            problems.append(Problem(str(clip.path.parent), str(error).removeprefix(f"{clip.path.parent}: ")))
    if not calls:
        return [], problems
    settings = ReplaySettings(part_of(out, RECORDINGS, system), None, {})

    def watch(progress: ReplayProgress, ended: ReplayResult | None) -> None:
        show(f"{system}: {progress.ended} of {progress.calls} outputs read")

    found = []
    for (sample, no_words), entry in zip(
        samples, replay_corpus(calls, settings, Workers(), Oddities(), watch), strict=True
    ):
        path = settings.run_path / entry["name"]
        if entry["status"] == FAILED:
            problems.append(Problem(str(path), str(entry["reason"])))
            continue
        reading = Reading(path)
        try:
            kept, left_out = sample.within(reading.n_ticks)
        except InputError as error:
            problems.append(Problem(str(path), str(error)))
            continue
        short, can_be_scored = shortfall(kept, reading)
        problems += [Problem(str(path), reason) for reason in (left_out, short, no_words) if reason]
        if can_be_scored:
            found.append(HeardSample(path, system, 1, kept))
    return found, problems


def by_clean(cases: Sequence[HeardSample]) -> Iterator[tuple[HeardSample, HeardSample | None]]:
    """Each disturbed sample with its clean one, if that was heard with the same system in the same trial."""
    clean: Mapping[Any, HeardSample] = {case.key: case for case in cases if case.sample.is_clean}
    yield from ((case, clean.get(case.key)) for case in cases if not case.sample.is_clean)
