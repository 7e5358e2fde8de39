"""The samples of a folder: users of a run, played from their first to their last sound; and the calls that are scored,
of runs of ours, and of folders in which outputs of systems lie beside the users.

A system that says nothing may do the right thing, so its call counts as held. A folder of outputs (GROUP/ID/input.wav,
output.wav; clean_output.wav beside clean_input.wav; output.json, its words) is replayed into the results folder first.
What was replayed is kept, so a scoring that was killed goes on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from msgspec import to_builtins

from fdbcore.analysis import planned_cases
from fdbcore.audio import AudioFile
from fdbcore.errors import FdbError, InputError
from fdbcore.measures import Reading
from fdbcore.protocols.suite import Show
from fdbcore.recording import FAILED, is_planned, located, one_call, outcome_in, part_of, read_plan
from fdbcore.report import why_not_held
from fdbcore.runs import ReplayProgress, ReplayResult, ReplaySettings, replay_corpus, users_of
from fdbcore.runtime import Workers, query_of, split_query
from fdbcore.sources import Oddities, PlannedCall, SessionInput, chunks_in, clips_in, fit_for_a_folder
from fdbcore.suites.fdb_v1.samples import UserSample, Version, sample_of, task_of
from fdbcore.types import SAMPLE_RATE_HZ, SIDES, TICKS_PER_S, Clip, Material, Problem, Side, SideA, UserLabels

if TYPE_CHECKING:
    from fdbcore.recording import PlannedCase

RECORDINGS: Final = "recordings"
"""Where in the results folder the recordings of released outputs are, a folder for each system."""
AS_LONG: Final = "tail_s=0"
"""The released outputs are as long as the inputs, which hold the time to answer."""
SHORT_S: Final = 0.5
"""An output that ends so much before its input is as long as it: systems send whole frames."""
AFTER_S: Final = 1.0
"""How much of the audio after the last label is needed: the least in which a system can take over."""
MISSING: Final = "what is measured is missing"


def side_a(version: Version, data: str) -> SideA:
    """The users in "DIR" or "DIR?SETTINGS" (settings of the clip endpoint), and the samples that cannot be used."""
    path, settings = split_query(data, file=True)
    folder = Path(path).absolute()
    problems: list[Problem] = []
    found = samples_in(version, folder, problems, "channel" in query_of(settings))
    if not found:
        raise InputError(f"{folder}: expected samples of {version}, found none: {problems[0].reason}")
    users = []
    for (clip, sample), user in zip(found, users_of([clip for clip, _ in found], settings or AS_LONG), strict=True):
        try:
            if user.length_s is not None:
                sample.within(round(user.length_s * TICKS_PER_S))
            labels = UserLabels(str(clip.path.parent), to_builtins(sample.labels))
            users.append(replace(user, may_be_silent=True, labels=labels if labels.labels else None))
        except InputError as error:
            problems.append(Problem(str(clip.path.parent), str(error)))
    if not users:
        raise InputError(f"{problems[0].where}: {problems[0].reason}")
    return SideA(users, material=Material(version, str(folder), {}), problems=problems)


def samples_in(
    version: Version, folder: Path, problems: list[Problem], has_channel: bool = False, but: Collection[Path] = ()
) -> list[tuple[Clip, UserSample]]:
    """The samples in a folder that can be played, or scored if outputs lie beside them; why others cannot is added to
    `problems`.

    has_channel: it is known which channel of a file is the user's. but: the files of users that are not wanted. Errors
    as of `clips_in`.
    """
    found, known = [], len(problems)
    clips = clips_in(folder, problems, lambda group: task_of(version, group) is not None)
    for clip in (each for each in clips if each.path not in but):
        try:
            sample = sample_of(version, clip)
            _check_user(clip, sample, has_channel)
            found.append((clip, sample))
        except FdbError as error:
            problems.append(problem_of(clip.path.parent, error))
    # A clean sample has the labels of its overlapped one, and their faults.
    problems[known:] = dict.fromkeys(problems[known:])
    return found


def problem_of(path: Path, error: FdbError) -> Problem:
    """The error of what is at a path."""
    return Problem(str(path), str(error).removeprefix(f"{path}: "))


def _check_user(clip: Clip, sample: UserSample, has_channel: bool) -> None:
    """InputError if the user of a sample cannot be played, or its file is cut off before what is measured has ended.

    has_channel: it is known which channel of a file is the user's.
    """
    length_s, damage = _heard_through(clip.path, has_channel)
    if damage and (not sample.spans or length_s < _needed_s(sample, length_s)):
        raise InputError(f"{clip.path.name}: {damage}: {MISSING}")


def _needed_s(sample: UserSample, otherwise_s: float) -> float:
    """How much of the audio of a sample is needed; otherwise_s: where nothing is labelled."""
    return max((end_s + AFTER_S for _, end_s in sample.spans), default=otherwise_s)


def session_of(clip: Clip, sample: UserSample) -> tuple[SessionInput, str]:
    """The user and the output beside it; and why words beside them cannot be read, "" if they can or there are none.

    InputError if there is no output, or if it has the voices of more than one side.
    """
    output = clip.path.with_name(clip.path.name.replace("input", "output"))
    if not output.is_file():
        raise InputError(f"expected {output.name} beside {clip.path.name}, found none")
    _heard_through(output)
    words: dict[Side, Path] = {}
    problems = []
    for side, audio in zip(SIDES, (clip.path, output), strict=True):
        if (beside := audio.with_suffix(".json")).is_file():
            try:
                chunks_in(beside)
                words[side] = beside
            except FdbError as error:
                problems.append(f"{str(error).removeprefix(f'{beside.parent}/')}: no words, all else is scored")
    given = (str(clip.path.parent), sample.labels) if sample.labels else None
    return SessionInput(clip.name, clip.path, output, words=words, labels=given), "; ".join(problems)


def _heard_through(path: Path, has_channel: bool = False) -> tuple[float, str | None]:
    """The length of a file in s, and what is missing at its end. InputError for channels that differ, if nobody said
    which of them is the side's own.
    """
    with AudioFile(path) as file:
        differ = [np.any(block != block[:, :1]) for block in file.blocks()]
        if any(differ) and not has_channel:
            raise InputError(
                f"expected one channel, got {file.channels} that differ: keep that of the "
                f"{'user' if 'input' in path.name else 'system'} alone: {path.name}"
            )
        return file.samples / file.rate_hz, file.damage


def shortfall(sample: UserSample, reading: Reading) -> tuple[str, bool]:
    """What is missing at the end of the audio of either side, "" if nothing is; and whether the sample can be scored.

    It cannot where the output, or the live call, ends before its input does and less than AFTER_S after the last label,
    or where nothing is labelled.
    """
    user = reading.parties.get("A", {})
    user_s, system_s = max(reading.length_s("A"), user.get("samples", 0) / SAMPLE_RATE_HZ), reading.length_s("B")
    file = user.get("file")
    played = [f"{file['path']}: {file['damage']}"] if isinstance(file, Mapping) and file.get("damage") else []
    damage = "; ".join(each.removeprefix(f"{Path(each).parent}/") for each in [*reading.damages, *played])
    if user_s - system_s <= SHORT_S:
        return damage, True
    outcome = reading.outcome
    ended = f"{outcome['kind']}: {outcome['reason']}" if outcome and outcome["reason"] else ""
    told = f"expected {'a call' if outcome else 'an output'} as long as its input, {user_s:.2f} s, got {system_s:.2f} s"
    told += f" ({'; '.join(why)})" if (why := [each for each in (ended, damage) if each]) else ""
    if system_s < min(_needed_s(sample, user_s), user_s - SHORT_S):
        return f"{told}: {MISSING}", False
    return f"{told}: what is missing counts as silence", True


@dataclass(frozen=True, slots=True)
class HeardSample:
    """A sample with one system. path: its recording."""

    path: Path
    system: str
    trial: int
    sample: UserSample


def compared_s(reading: Reading) -> float:
    """How much of the system's audio the published rules read, in s: as much as the user's file is long."""
    length_s = reading.length_s("B")
    samples = reading.parties.get("A", {}).get("samples")
    return length_s if samples is None else min(length_s, samples / SAMPLE_RATE_HZ)


def heard_samples(
    version: Version, paths: Sequence[Path], out: Path, show: Show
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
        of = _of_run(version, path, problems) if is_planned(path) else _of_folder(version, path, out, problems, show)
        own = list(of)
        for system in dict.fromkeys(each.system for each in own):
            if owners.setdefault(system, path) != path:
                raise InputError(f"{path}: expected other names of systems than in {owners[system]}, got {system!r}")
        found += own
    if not found:
        why = f": {problems[0].where}: {problems[0].reason}" if problems else ""
        raise InputError(f"expected samples of {version} with outputs of a system, found none{why}")
    return found, problems


def _of_run(version: Version, run: Path, problems: list[Problem]) -> Iterator[HeardSample]:
    """The samples of a run, by `planned_cases`; others, and those of its data that it left out, become problems."""
    planned = read_plan(run)
    suite = planned["plan"].get("suite")
    if suite is not None and (data := located(run, suite["data"])).is_dir():
        played = {located(run, case["clip"]["path"]) for case in planned["cases"] if case["clip"]}
        samples_in(version, data, problems, but=played)
    for case in planned_cases(planned):
        path = run / case["name"]
        try:
            with one_call(path):
                sample, told = _held(version, path, case)
        except FdbError as error:
            problems.append(problem_of(path, error))
            continue
        problems += [Problem(str(path), reason) for reason in told if reason]
        yield HeardSample(path, case["system"], case["trial"], sample)


def _held(version: Version, path: Path, case: PlannedCase) -> tuple[UserSample, Sequence[str]]:
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
    return kept, (left_out, short)


def _of_folder(version: Version, folder: Path, out: Path, problems: list[Problem], show: Show) -> Iterator[HeardSample]:
    """The outputs in a folder, replayed; its name is the system's. Others become problems."""
    system = fit_for_a_folder(folder.resolve().name)
    given: list[tuple[UserSample, PlannedCall, str]] = []
    for clip, sample in samples_in(version, folder, problems):
        try:
            session, no_words = session_of(clip, sample)
            given.append((sample, PlannedCall(session, {"system": system}), no_words))
        except FdbError as error:
            problems.append(problem_of(clip.path.parent, error))
    if not given:
        return
    settings = ReplaySettings(part_of(out, RECORDINGS, system), None, {})

    def watch(progress: ReplayProgress, ended: ReplayResult | None) -> None:
        show(f"{system}: {progress.ended} of {progress.calls} outputs read")

    replayed = replay_corpus([call for _, call, _ in given], settings, Workers(), Oddities(), watch)
    for (sample, _, no_words), entry in zip(given, replayed, strict=True):
        path = settings.run_path / entry["name"]
        try:
            if entry["status"] == FAILED:
                raise InputError(str(entry["reason"]))
            reading = Reading(path)
            kept, left_out = sample.within(reading.n_ticks)
        except InputError as error:
            problems.append(Problem(str(path), str(error)))
            continue
        short, can_be_scored = shortfall(kept, reading)
        problems += [Problem(str(path), reason) for reason in (left_out, short, no_words) if reason]
        if can_be_scored:
            yield HeardSample(path, system, 1, kept)


def by_clean(cases: Sequence[HeardSample]) -> Iterator[tuple[HeardSample, HeardSample | None]]:
    """Each disturbed sample with its clean one, if that was heard with the same system in the same trial."""
    clean = {(case.system, case.trial, case.sample.id): case for case in cases if case.sample.is_clean}
    for case in cases:
        if not case.sample.is_clean:
            yield case, clean.get((case.system, case.trial, case.sample.id))
