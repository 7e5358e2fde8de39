"""A run on disk, replayed or live: its calls, with the status and columns of each.

<run>/corpus.json     by `replay`: settings, versions, and the calls with their files, columns and status
      run.json        by `run`: the plan, with the calls in its order
      <call>/         one recording per call
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from fdbcore.analysis.facts import META, UNSCORED, Fact
from fdbcore.analysis.facts_table import DamagedTableError, FactsTable
from fdbcore.analysis.score import check, check_figures, read_quantities, unscored
from fdbcore.errors import FdbError, RecordingError
from fdbcore.measures.quantities import Quantity
from fdbcore.measures.reading import Reading
from fdbcore.recording.files import META as META_FILE
from fdbcore.recording.files import part_of
from fdbcore.recording.form import damaged, one_call
from fdbcore.recording.meta import Settings
from fdbcore.recording.places import located, place_from
from fdbcore.recording.reader import Recording, folders_in
from fdbcore.recording.run import (
    CORPUS,
    DAMAGED,
    DONE,
    FAILED,
    SCORED,
    WAITING,
    case_columns,
    held_columns,
    is_planned,
    is_replayed,
    read_corpus,
    read_plan,
    standing,
)
from fdbcore.sources.clips import natural_order

T = TypeVar("T")


@dataclass(frozen=True)
class Call:
    """One call of a run.

    name, path: its folder. status: "done", "failed", ...; reason: why, if it is not done. unscored: why no measure
    counts it; None if measures do. columns: its values from --meta; a live call has at least system, clip, trial and
    outcome. files: the audio files it was replayed from; sha256s: of their audio, where known. is_unreadable: whether
    its recording is gone or damaged. damaged_beside: what is damaged of its words, labels and log, a line each: it
    counts all the same.
    table: what the run keeps of its calls; None if it is not asked.
    """

    name: str
    path: Path
    status: str = DONE
    reason: str | None = None
    unscored: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    files: Sequence[str] = ()
    sha256s: Sequence[str | None] = ()
    is_unreadable: bool = False
    damaged_beside: Sequence[str] = ()
    table: FactsTable | None = field(default=None, repr=False, compare=False)

    @property
    def recording(self) -> Reading:
        """The recording, opened each time, so that thousands need no memory. Raises RecordingError without one."""
        return Reading(self.path, self._from_table(lambda table, number: table.fact(META, number)))

    @property
    def quantities(self) -> Mapping[str, Quantity]:
        """The quantities of its measures, read each time; none if it is unscored."""
        return self.both_quantities()[0] if self.unscored is None else {}

    def both_quantities(self, reading: Reading | None = None) -> tuple[Mapping[str, Quantity], Mapping[str, Quantity]]:
        """The quantities of its recording, and those that differ if echo counts as speech; see `read_quantities`."""
        return self._from_table(FactsTable.quantities) or read_quantities(reading or self.recording)

    def fact(self, fact: Fact[T], reading: Reading | None = None) -> T:
        """A fact about it: of the table of the run if that holds for its files, else of these.

        reading: its recording, if that is open. Raises FdbError if the files cannot be read.
        """
        kept = self._from_table(lambda table, number: (table.fact(fact, number),))
        return fact.of(reading or self.recording) if kept is None else kept[0]

    @property
    def state(self) -> str | None:
        """The state that its facts in the table hang on, see `facts_table.state_of`; None if it has none there."""
        return self._from_table(FactsTable.state)

    @property
    def is_in_table(self) -> bool:
        """True if the table of the run has its facts."""
        return self.state is not None

    def _from_table(self, read: Callable[[FactsTable, int], T]) -> T | None:
        """Its facts in the table of the run; None without a row that holds for its files."""
        if self.table is not None and (number := self.table.number(self.path)) is not None:
            with suppress(DamagedTableError):
                return read(self.table, number)
        return None


class Run:
    """A run on disk, by `fdbcore replay` or `fdbcore run`. A single recording is a run of one call.

    calls: all calls in the order of the run, those of a live one in that of their names; by default read from its
    files. since: calls made before this time (UTC, ISO 8601) are as the table of the run has them, and their files are
    not looked at. Raises RecordingError for a folder that is not a run.
    """

    def __init__(self, path: str | os.PathLike[str], calls: Sequence[Call] | None = None, since: str = "") -> None:
        self.path = Path(path)
        self.since = since
        self.calls = tuple(_checked_calls(self.path, FactsTable(self.path, since)) if calls is None else calls)

    @property
    def scored(self) -> list[Call]:
        """The calls that measures count."""
        return [call for call in self.calls if call.unscored is None]

    @property
    def created(self) -> str:
        """When its first scored call was made (UTC, ISO 8601); "" if that is not known. Later scores do not count."""
        return str(self.scored[0].recording.meta.get("created", "")) if self.scored else ""

    @property
    def settings(self) -> Settings | None:
        """The settings that most scored calls have; None if no call is scored."""
        return next(iter(self._made_by[0].values()), (None, 0))[0]

    @property
    def settings_sha256s(self) -> dict[str, int]:
        """The number of scored calls per hash of their settings, the most common first.

        Several are no mistake: a detector may treat telephone calls differently.
        """
        return {sha256: count for sha256, (_, count) in self._made_by[0].items()}

    @property
    def all_settings(self) -> Sequence[Settings]:
        """All settings of scored calls, the most common first."""
        return [settings for settings, _ in self._made_by[0].values()]

    @property
    def versions(self) -> dict[str, list[str]]:
        """The versions of each package that made the scored calls, the most common first."""
        return self._made_by[1]

    @cached_property
    def _made_by(self) -> tuple[dict[str, tuple[Settings, int]], dict[str, list[str]]]:
        settings: dict[str, Settings] = {}
        shas: Counter[str] = Counter()
        packages: Counter[tuple[str, str]] = Counter()
        for call in self.scored:
            meta = call.recording.meta
            settings.setdefault(meta["settings_sha256"], meta["settings"])
            shas[meta["settings_sha256"]] += 1
            packages.update({name: str(version) for name, version in meta.get("versions", {}).items()}.items())
        versions: dict[str, list[str]] = {}
        for (name, version), _ in packages.most_common():
            versions.setdefault(name, []).append(version)
        return {sha256: (settings[sha256], count) for sha256, count in shas.most_common()}, versions


def _checked_calls(path: Path, table: FactsTable) -> Iterator[Call]:
    """The calls of a run. One with a damaged file that figures come from is unreadable: it counts nowhere."""
    for call in _calls(path, table):
        if call.unscored is not None and call.status in (WAITING, FAILED):  # its folder holds an earlier one
            yield call
            continue
        try:
            with one_call(call.path):
                checked = _checked(path, call)
        except RecordingError as error:
            checked = unreadable(call, error)
        yield checked


def _checked(run: Path, call: Call) -> Call:
    """The call, unscored if its recording says so. RecordingError if a file that figures come from is damaged."""
    if call.is_in_table:
        return replace(call, unscored=call.fact(UNSCORED))
    reading = call.recording
    _refuse_another(run, call, reading)
    if (reason := unscored(reading)) is not None:
        check_figures(reading)  # and with them what says so; there may be no other files
        return replace(call, unscored=reason)
    check(reading)
    if damages := reading.damaged_beside:
        why = "; ".join([*filter(None, [call.reason]), *damages])
        return replace(call, status=DAMAGED, reason=why, unscored=None, damaged_beside=damages)
    return replace(call, unscored=None)


def _refuse_another(run: Path, call: Call, reading: Reading) -> None:
    """RecordingError if the recording in the folder of a call is not that of the call, by what the run says of it."""
    case = reading.meta.get("case") if is_planned(run) else None
    files = tuple(place_from(run, path) for path in reading.source_paths)
    listed = call.files if "source" in reading.meta else ()
    if (case and case["name"] != call.name) or (listed and files != listed):
        of = case["name"] if case else ", ".join(files) or "no file"
        raise damaged(call.path / META_FILE, f"of another call: {of}")
    sha256s = tuple(file.get("sha256") for file in reading.source_files)
    if listed and None not in call.sha256s and call.sha256s not in ((), sha256s):
        raise damaged(call.path / META_FILE, f"of other audio than {CORPUS} has of {', '.join(files)}")


def unreadable(call: Call, error: FdbError) -> Call:
    """The same call, whose recording is gone or damaged."""
    return replace(call, status=FAILED, reason=str(error), unscored=str(error), is_unreadable=True)


def _calls(path: Path, table: FactsTable) -> Iterator[Call]:
    run = path.absolute().parent
    if path.is_symlink() and (is_replayed(run) or is_planned(run)):
        part_of(run, path.name)  # a call that a user names, of a run that somebody else may have made
    if is_replayed(path):
        return _replayed(path, table)
    return _live(path, table) if is_planned(path) else _found(path, table)


def _replayed(path: Path, table: FactsTable) -> Iterator[Call]:
    corpus = read_corpus(path)
    for known in corpus["calls"]:
        files = tuple(place_from(path, located(path, file["path"])) for file in known["files"])
        folder, columns = path / known["name"], known["columns"]
        sha256s = tuple(file["sha256"] for file in known["files"])
        standing_then = known["status"], known["reason"], known["unscored"]
        call = Call(known["name"], folder, *standing_then, columns, files, sha256s, table=table)
        if call.status in (WAITING, FAILED) and (made := _made_whole(corpus["began"], call)) is not None:
            status, reason = standing(made)
            call = replace(call, status=status, reason=reason, unscored=None, columns={**held_columns(made), **columns})
        yield call


def _made_whole(began: str, call: Call) -> Recording | None:
    """The complete recording of a call that the list of calls has as waiting, since its replay was killed before it
    could note more, or as failed, which its recording knows better; None if there is none, or if it is of an earlier
    replay. One that failed is of this replay by its audio, too."""
    with suppress(RecordingError, KeyError):
        recording = Recording(call.path)
        whole = recording.meta["status"] == "complete" and all((call.path / part).is_file() for part in SCORED)
        sha256s = tuple(file["sha256"] for file in recording.source_files)
        is_of_it = call.status == FAILED and {*call.sha256s} - {None} and call.sha256s == sha256s
        return recording if whole and (is_of_it or recording.meta["created"] >= began) else None
    return None


def _live(path: Path, table: FactsTable) -> Iterator[Call]:
    """The calls by their names: the plan's order hangs on its seed, and resampling on the order of calls."""
    for case in sorted(read_plan(path)["cases"], key=lambda case: natural_order(case["name"])):
        call, outcome = Call(case["name"], path / case["name"], table=table), None
        try:
            outcome = call.recording.meta.get("outcome")
        except RecordingError as error:
            if (call.path / META_FILE).is_file():  # not only not held yet
                gone = unreadable(replace(call, columns=case_columns(case, None)), error)
                yield replace(gone, status=WAITING)  # it will be held again
                continue
        call = replace(call, columns=case_columns(case, outcome))
        if outcome is None:
            yield replace(call, status=WAITING, reason="not held to its end", unscored="not held to its end")
        else:
            yield replace(call, status=outcome["kind"], reason=outcome["reason"])


def _found(path: Path, table: FactsTable) -> Iterator[Call]:
    """The recordings in a folder that has no file about their run."""
    for folder in folders_in(path):
        try:
            recording = Recording(folder)
        except RecordingError as error:
            yield unreadable(Call(folder.name, folder), error)
            continue
        status, reason = recording.meta["status"], recording.meta.get("reason")
        files = tuple(place_from(path, file) for file in recording.source_paths)
        call = Call(recording.name, recording.path, columns=held_columns(recording), files=files, table=table)
        if status != "complete":
            why = reason or f"the recording is {status}"
            yield replace(call, status=FAILED, reason=why, unscored=why)
        else:
            yield call
