"""The samples of a folder: users of a run, played from their first to their last sound; and the calls that are scored,
of runs of ours, and of folders in which outputs of systems lie beside the users.

A system that says nothing may do the right thing, so its call counts as held. A folder of outputs (GROUP/ID/input.wav,
output.wav; clean_output.wav beside clean_input.wav; output.json, its words) is replayed into the results folder first.
What was replayed is kept, so a scoring that was killed goes on.

A sample of v1 or v1.5: its task, and where in the user's audio its labels lie.

    v1    GROUP/ID/input.wav    with pause.json, turn_taking.json or interrupt.json: [{"text", "timestamp": [s, s]}]
    v1.5  GROUP/ID/input.wav, clean_input.wav    with metadata.json: {"timestamps": [s, s]}: the overlap

The group's name says the task; in v1 the labels do where it does not.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, Self, TypeAlias

import numpy as np
from msgspec import to_builtins

from fdbcore.analysis import planned_cases
from fdbcore.audio import AudioFile
from fdbcore.errors import FdbError, InputError
from fdbcore.measures import Reading
from fdbcore.protocols.suite import Show
from fdbcore.recording import Label, LabelKind, PlannedCase, is_planned, located, one_call, outcome_in, read_plan
from fdbcore.report import why_not_held
from fdbcore.runs import replay_outputs, users_of
from fdbcore.runtime import query_of, split_query
from fdbcore.sources import CLEAN_INPUT, PlannedCall, SessionInput, chunks_in, clips_in, fit_for_a_folder, labelled_span
from fdbcore.types import SAMPLE_RATE_HZ, SIDES, TICKS_PER_S, Clip, Material, Problem, Side, SideA, UserLabels

Version: TypeAlias = Literal["fdb-v1", "fdb-v1.5"]
V1: Final[Version] = "fdb-v1"
V15: Final[Version] = "fdb-v1.5"

PAUSE, BACKCHANNEL, TURN_TAKING, INTERRUPTION = (
    "pause handling", "backchannel", "smooth turn-taking", "user interruption",
)  # fmt: skip
USER_BACKCHANNEL, TALKING_TO_OTHER, BACKGROUND = "user backchannel", "talking to other", "background speech"

NAMES: Final[Mapping[Version, Mapping[str, str]]] = {
    V1: {"pause": PAUSE, "backchannel": BACKCHANNEL, "turn.?taking": TURN_TAKING, "interrupt": INTERRUPTION},
    V15: {
        "interrupt": INTERRUPTION,
        "backchannel": USER_BACKCHANNEL,
        "talking|to.?other|side": TALKING_TO_OTHER,
        "background|ambient": BACKGROUND,
    },
}
"""Patterns of the names of groups, as regular expressions, and the task that each then is."""
FILES: Final = {"pause": PAUSE, "turn_taking": TURN_TAKING, "interrupt": INTERRUPTION}
"""The files of labels that say the task of v1."""
KINDS: Final[Mapping[str, LabelKind]] = {
    PAUSE: "pause",
    INTERRUPTION: "interruption",
    USER_BACKCHANNEL: "backchannel",
    TALKING_TO_OTHER: "side_talk",
    BACKGROUND: "noise",
}
"""The labels of the spans of a task."""

AS_LONG: Final = "tail_s=0"
"""The released outputs are as long as the inputs, which hold the time to answer."""
SHORT_S: Final = 0.5
"""An output that ends so much before its input is as long as it: systems send whole frames."""
AFTER_S: Final = 1.0
"""Audio after the last label that is needed: the least in which a system can take over."""
MISSING: Final = "what is measured is missing"


def conditions_of(version: Version) -> list[str]:
    """The conditions in the order of tables."""
    return [name for task in NAMES[version].values() for name in (task, f"{task}, clean")]


@dataclass(frozen=True, slots=True)
class UserSample:
    """A recorded user. name: unique in its data; a clean one (v1.5) has the id of its overlapped one.

    spans: the labelled ones in s: pauses, the annotated interval, the interruption, the overlap; those of a clean
    sample are where its overlap would be. texts: what each label says that was said, by its keys.
    """

    name: str
    id: str
    group: str
    task: str
    is_clean: bool
    spans: Sequence[tuple[float, float]]
    texts: Sequence[Mapping[str, str]]

    @property
    def condition(self) -> str:
        """The task; of v1.5 whether the user was disturbed, too."""
        return f"{self.task}, clean" if self.is_clean else self.task

    @property
    def labels(self) -> list[Label]:
        """The spans as labels of a call. A clean sample has none: nobody disturbed the system."""
        found = []
        for start_s, end_s in () if self.is_clean else self.spans:
            if self.task in KINDS:
                found.append(Label("A", KINDS[self.task], start_s, end_s))
            if self.task in (TURN_TAKING, INTERRUPTION):
                at_s = start_s if self.task == TURN_TAKING else end_s
                found.append(Label("A", "turn_end", at_s, at_s))
        return found

    def within(self, n_ticks: int) -> tuple[Self, str]:
        """The sample with the labels that begin within so many ticks, each once and cut there; and which others are
        left out, counted once or cut, "" if none are.

        A clean sample keeps its own. InputError if there are labels, but none is left.
        """
        if self.is_clean:
            return self, ""
        told = []
        length_s = n_ticks / TICKS_PER_S
        texts: dict[tuple[float, float], Mapping[str, str]] = {}
        for span, text in zip(self.spans, self.texts, strict=True):
            texts.setdefault(span, text)
        if again := [span for number, span in enumerate(self.spans) if span in self.spans[:number]]:
            told.append(f"expected each label once, got {_listed(again)} again, counted once")
        if beyond := [span for span in texts if in_ticks(span)[0] >= n_ticks]:
            why = f"expected labels that begin within its {length_s:.1f} s, got {_listed(beyond)}"
            if len(beyond) == len(texts):
                raise InputError(why)
            told.append(f"{why}, left out")
        inside = [span for span in texts if span not in beyond]
        if too_long := [span for span in inside if in_ticks(span)[1] > n_ticks]:
            told.append(f"expected labels that end within its {length_s:.2f} s, got {_listed(too_long)}, cut there")
        cut = [(start_s, length_s if (start_s, end_s) in too_long else end_s) for start_s, end_s in inside]
        return replace(self, spans=cut, texts=[texts[span] for span in inside]), "; ".join(told)


def sample_of(version: Version, clip: Clip) -> UserSample:
    """The sample that a clip is. InputError if it is one of the other version, if its task is not known, or if its
    labels cannot be used.
    """
    is_clean, where = clip.path.name == CLEAN_INPUT, clip.path.parent
    says = {V1: any(file in clip.labels for file in FILES), V15: is_clean or "metadata" in clip.labels}
    other = V15 if version == V1 else V1
    if says[other] and not says[version]:
        raise InputError(f"{where}: expected a sample of {version}, got one of {other}: --suite {other}")
    task = _task(version, clip)
    if version == V1:
        file = next((file for file, of in FILES.items() if of == task), "")
        notes = clip.labels.get(file, [])
        if not isinstance(notes, Sequence) or not all(isinstance(note, Mapping) for note in notes):
            raise InputError(f"{where}: expected a list of labels in {file}.json, got something else")
        if file and not notes:
            raise InputError(f"{where}: expected labels in {file}.json, found none")
        given = [(note.get("timestamp"), note) for note in notes]
    elif "metadata" not in clip.labels:
        raise InputError(f"{where}: expected metadata.json, found none")
    else:
        file, note = "metadata", clip.labels["metadata"]
        if not isinstance(note, Mapping):
            raise InputError(f"{where}: expected an object in metadata.json, got something else")
        at = note.get("timestamps", note.get("timestamp"))
        is_list = isinstance(at, Sequence) and at and isinstance(at[0], Sequence)
        given = [(at[0] if is_list else at, note)]
    try:
        spans = [labelled_span(at) for at, _ in given]
    except InputError as error:
        raise InputError(f"{where}: {file}.json: {error}") from None
    texts = [{key: value for key, value in note.items() if isinstance(value, str)} for _, note in given]
    name = clip.name.removesuffix("-clean") if is_clean else clip.name
    return UserSample(clip.name, name, clip.group, task, is_clean, spans, texts)


def task_of(version: Version, group: str) -> str | None:
    """The task that the name of a folder says; None if it says none."""
    named = (task for pattern, task in NAMES[version].items() if re.search(pattern, group, re.IGNORECASE))
    return next(named, None)


def _task(version: Version, clip: Clip) -> str:
    group = clip.group.rpartition("/")[2]
    if (named := task_of(version, group)) is not None:
        return named
    by_labels = [task for file, task in FILES.items() if file in clip.labels] if version == V1 else []
    if len(by_labels) == 1:
        return by_labels[0]
    words = ", ".join(NAMES[version].values())
    raise InputError(f"{clip.path}: expected a folder whose name says its task ({words}), got {group!r}")


def _listed(spans_s: Sequence[tuple[float, float]]) -> str:
    return ", ".join(f"{start_s:g} to {end_s:g} s" for start_s, end_s in spans_s)


def in_ticks(span_s: tuple[float, float]) -> tuple[int, int]:
    """A span in ticks."""
    return round(span_s[0] * TICKS_PER_S), round(span_s[1] * TICKS_PER_S)


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
    """The length of a sample's audio that is needed; otherwise_s: where nothing is labelled."""
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
    """The part missing at the end of the audio of either side, "" if none is; and whether the sample can be scored.

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
    """The length of the system's audio that the published rules read, in s: as much as the user's file is long."""
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
    replayed = replay_outputs([call for _, call, _ in given], system, out, show)
    for (sample, _, no_words), (path, why_not) in zip(given, replayed, strict=True):
        try:
            if why_not is not None:
                raise InputError(why_not)
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
