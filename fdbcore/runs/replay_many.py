"""Replays thousands of calls into one run. Finished calls are kept, failures are named, and a kill loses seconds."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from fdbcore.analysis.corpus import Run
from fdbcore.clock import now_ns, utc_now
from fdbcore.errors import RecordingError, SettingsError
from fdbcore.recording.files import part_of
from fdbcore.recording.run import (
    FAILED,
    WAITING,
    CorpusCall,
    CorpusSettings,
    ReplayedFile,
    alone_in,
    is_run,
    read_corpus,
    write_corpus,
)
from fdbcore.registry import vad as vad_of
from fdbcore.runs.engines import executor_of
from fdbcore.runs.pages import WRITTEN, keep_others_in, write_results
from fdbcore.runs.replay_jobs import ReplayResult, ReplaySettings, replayed
from fdbcore.runtime.executor import Executor, Workers
from fdbcore.session.vad import DEFAULT_VAD
from fdbcore.sources.calls import NamedInput, PlannedCall, named_calls
from fdbcore.sources.clips import fit_for_a_folder
from fdbcore.sources.left_out import asked_spans
from fdbcore.sources.names import Oddities, real_path
from fdbcore.sources.sessions import SessionInput
from fdbcore.types import TurnSettings

SAVE_EVERY_S: Final = 10.0
"""Interval at which corpus.json is written. A kill loses at most this much of it, but no finished recording."""

_RATE_OVER_S: Final = 60.0  # the span over which speed is averaged
_LEAVING_S: Final = 10.0  # wait for the processes of a killed replay to end
_NOT_YET: Final = "not replayed yet"


OUTPUTS: Final = "recordings"
"""The folder of a results folder with the recordings of outputs that exist already, a folder for each system."""


@dataclass(slots=True)
class ReplayProgress:
    """Progress of a replay: calls by how they ended, seconds of audio, and the time left.

    failed: counts at the start the calls that could not be read. They have ended too, but do not count for the speed.
    """

    calls: int
    failed: int = 0
    ended: int = field(init=False)
    skipped: int = field(default=0, init=False)
    audio_s: float = field(default=0.0, init=False)
    _recent: deque[tuple[float, int, float]] = field(init=False)

    def __post_init__(self) -> None:
        self.ended = self.failed
        self._recent = deque([(now_ns() / 1e9, self.ended, self.audio_s)])

    def add(self, replayed: ReplayResult) -> None:
        """Count a call that has ended."""
        self.ended += 1
        self.failed += replayed.status == FAILED
        self.skipped += replayed.skipped
        self.audio_s += replayed.audio_s
        self._recent.append((now_ns() / 1e9, self.ended, self.audio_s))
        while self._recent[-1][0] - self._recent[0][0] > _RATE_OVER_S and len(self._recent) > 2:
            self._recent.popleft()

    @property
    def calls_per_s(self) -> float:
        """Calls that ended per second, over the last minute."""
        (start_s, before, _), (_, after, _) = self._recent[0], self._recent[-1]
        return (after - before) / max(now_ns() / 1e9 - start_s, 1e-9)

    @property
    def times_real_time(self) -> float:
        """Seconds of audio replayed per second, over the last minute."""
        (start_s, _, before_s), (_, _, after_s) = self._recent[0], self._recent[-1]
        return (after_s - before_s) / max(now_ns() / 1e9 - start_s, 1e-9)

    @property
    def left_s(self) -> float | None:
        """The seconds left, about; None until the first call has been replayed."""
        calls_per_s = self.calls_per_s
        return (self.calls - self.ended) / calls_per_s if calls_per_s else None


def replay_corpus(
    calls: Sequence[PlannedCall],
    settings: ReplaySettings,
    executor: Executor,
    oddities: Oddities,
    watch: Callable[[ReplayProgress, ReplayResult | None], None] = lambda progress, ended: None,
) -> list[CorpusCall]:
    """Replay all calls, write corpus.json, and return its entries, one for each call.

    watch: called for each call that has ended, and several times a second with None. On KeyboardInterrupt (also one
    from `watch`) the work is ended and what has ended is written; then it is raised again. RecordingError if the
    run cannot be written, or if another command replays into it.
    """
    began = utc_now()
    entries = [_entry(call, settings.run_path) for call in calls]
    progress = ReplayProgress(len(calls), failed=sum(call.error is not None for call in calls))
    tasks = ((number, call.session) for number, call in enumerate(calls) if call.error is None)
    results = replayed(tasks, settings, executor)
    with alone_in(settings.run_path, "replaying into", _LEAVING_S), closing(results) as ended:
        _note_dropped_calls(entries, settings.run_path, oddities)
        _save(entries, settings, oddities, began)
        saved_s = now_ns() / 1e9
        try:
            for each in ended:
                if each is not None:
                    progress.add(each)
                    session, waiting = calls[each.number].session, entries[each.number]
                    entries[each.number] = _ended_entry(session, waiting, each, settings.run_path)
                watch(progress, each)
                if now_ns() / 1e9 - saved_s > SAVE_EVERY_S:
                    _save(entries, settings, oddities, began)
                    saved_s = now_ns() / 1e9
            _note_copies(entries, oddities)
        finally:
            _save(entries, settings, oddities, began)
    return entries


def replay_outputs(
    calls: Sequence[PlannedCall], system: str, out: Path, show: Callable[[str], None]
) -> list[tuple[Path, str | None]]:
    """Replay what a system put out elsewhere into a folder of its name below `out`; what is there is used again.

    Of each call its recording, and why there is none.
    """

    def watch(progress: ReplayProgress, ended: ReplayResult | None) -> None:
        show(f"{system}: {progress.ended} of {progress.calls} outputs read")

    settings = ReplaySettings(part_of(out, OUTPUTS, fit_for_a_folder(system)), None, {})
    entries = replay_corpus(calls, settings, Workers(), Oddities(), watch) if calls else []
    return [
        (settings.run_path / each["name"], str(each["reason"]) if each["status"] == FAILED else None)
        for each in entries
    ]


def _entry(call: PlannedCall, run: Path) -> CorpusCall:
    reason = _without_places(call.error, call.session, run) or _NOT_YET
    files: list[ReplayedFile] = [{"path": str(real_path(path)), "sha256": None} for path in call.session.paths]
    return {
        "name": call.session.name,
        "status": FAILED if call.error else WAITING,
        "reason": reason,
        "unscored": reason,
        "files": files,
        "columns": dict(call.columns),
    }


def _note_dropped_calls(entries: Sequence[CorpusCall], path: Path, oddities: Oddities) -> None:
    """Note recordings of an earlier replay into this run whose calls are not named any more."""
    with suppress(RecordingError):  # there was no earlier replay
        before = [entry["name"] for entry in read_corpus(path)["calls"]]
        dropped = set(before) - {entry["name"] for entry in entries}
        kept = [name for name in before if name in dropped and (path / name).is_dir()]
        oddities.add("calls that are no longer part of the run, kept on disk", kept)


def _note_copies(entries: Sequence[CorpusCall], oddities: Oddities) -> None:
    """Note calls that have the same files as an earlier one: they count as independent, but are not."""
    first: dict[tuple[str, ...], str] = {}
    copies = []
    for entry in entries:
        content = tuple(file["sha256"] or "" for file in entry["files"])
        if all(content) and (same := first.setdefault(content, entry["name"])) != entry["name"]:
            copies.append(f"{entry['name']} (as {same})")
    oddities.add("calls that are copies of an earlier one; all are counted", copies)


def _ended_entry(session: SessionInput, entry: CorpusCall, ended: ReplayResult, run: Path) -> CorpusCall:
    """The entry of a call, with its result added."""
    return {
        "name": entry["name"],
        "status": ended.status,
        "reason": _without_places(ended.reason, session, run),
        "unscored": _without_places(ended.unscored, session, run),
        "files": list(ended.files or entry["files"]),
        "columns": {**ended.columns, **entry["columns"]},
    }


def _without_places(reason: str | None, session: SessionInput, run: Path) -> str | None:
    """A reason with the names of the call's files instead of their paths: corpus.json names no absolute ones."""
    for path in session.paths if reason else ():
        reason = str(reason).replace(str(path), path.name)
    return reason and reason.replace(f"{os.path.abspath(run)}{os.sep}", "")


def _save(entries: list[CorpusCall], settings: ReplaySettings, oddities: Oddities, began: str) -> None:
    asked: CorpusSettings = {
        "vad": settings.vad or DEFAULT_VAD,
        "changes": dict(settings.changes),
        "real_time": settings.real_time,
    }
    if settings.line_open:
        asked["line_open"] = True
    if settings.count_bad_input:
        asked["count_bad_input"] = True
    write_corpus(settings.run_path, began, asked, oddities.found, entries)


def replay_all(
    *paths: str | os.PathLike[str],
    out: str | os.PathLike[str] = "fdbcore-run",
    swap: bool = False,
    offset_ms: int = 0,
    vad: str | None = None,
    settings: TurnSettings | None = None,
    line_open: bool = False,
    count_bad_input: bool = False,
    pair: tuple[str, str] | None = None,
    meta: str | os.PathLike[str] | None = None,
    labels: str | os.PathLike[str] | None = None,
    marks: str | os.PathLike[str] | None = None,
    marks_offset_ms: float | None = None,
    marks_session: str | None = None,
    leave_out: Sequence[tuple[float, float | None]] | None = None,
    jobs: int | None = None,
    engine: str | None = None,
) -> Run:
    """Replay and score many recorded sessions into one run, with tables and a page. Finished calls are kept.

    paths: files, folders (searched), patterns ("calls/*.wav") or lists (.txt), as `fdbcore replay` takes them. pair: if
    each call has two files, the patterns of side A's and side B's ("*-caller.wav", "*-agent.wav"). meta: a CSV table of
    the calls, joined by path and file name; its columns a_file and b_file pair files, too, and measure_from, measure_to
    and leave_out say what to leave out of a call. labels: a label file, or a folder of them. marks: agents' own logs,
    as a file, a folder or a pattern; or the table's column marks_file names them. marks_offset_ms: what to add to their
    times (default: estimated). marks_session: which of their entries count, by a text in them. jobs: processes; by
    default one for each processor. engine: the address of a Ray cluster in their place. The other arguments are those
    of `replay`. "oddities" in corpus.json lists what did not fit. A call that fails stops no other: `calls` of the
    result has the status and the reason of each.

    InputError for files and tables that cannot be used, SettingsError if `out` is not a run, RecordingError if it
    cannot be written. Processes are spawned, so a script that calls this needs the usual `if __name__ == "__main__"`.
    """
    oddities = Oddities()
    asked = ReplaySettings(Path(out), vad, asdict(settings) if settings else {}, False, line_open, count_bad_input)
    if vad is not None:
        vad_of(vad)
    named = NamedInput(
        paths=[Path(path) for path in paths],
        swap=swap,
        offset_ms=offset_ms,
        pair=pair,
        meta=None if meta is None else Path(meta),
        labels=None if labels is None else Path(labels),
        marks=None if marks is None else Path(marks),
        marks_offset_ms=marks_offset_ms,
        marks_session=marks_session,
        leave_out=asked_spans(leave_out),
    )
    calls = named_calls(named, oddities)
    check_run_folder(asked.run_path, named.meta, calls)
    workers = executor_of(engine, jobs)
    replay_corpus(calls, asked, workers, oddities)
    write_results(Run(asked.run_path), executor=workers)
    return Run(asked.run_path)


def check_run_folder(path: Path, meta: Path | None, calls: Sequence[PlannedCall]) -> None:
    """Raise SettingsError if a replay into `path` would overwrite files that are not ours, or files that it reads.

    It reads its table `meta`, the run whose recordings it replays, and the folder of the audio. If the folder holds a
    file with one of the names in WRITTEN, it must be a run or hold recordings.
    """
    sessions = [call.session for call in calls]
    runs = {real_path(session.recording).parent for session in sessions if session.recording is not None}
    if real_path(path) in runs | {real_path(session.a).parent for session in sessions}:
        raise SettingsError(f"--out {path}: expected another folder than that of the recordings to replay")
    if meta is not None and real_path(meta) in {real_path(path / name) for name in WRITTEN}:
        raise SettingsError(f"--meta {meta}: expected a table of yours, got one that the run in {path} writes")
    there = [name for name in WRITTEN if os.path.exists(path / name)]
    if there and not is_run(path):
        raise SettingsError(
            f"{path}: expected a new folder or that of a run, got a folder whose {there[0]} is not of a run "
            "and would be overwritten; give another by --out"
        )
    keep_others_in(path)
