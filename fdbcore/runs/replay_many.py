"""Replays thousands of calls into one run. Finished calls are kept, failures are named, and a kill loses seconds."""

import os
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from fdbcore.clock import now_ns, utc_now
from fdbcore.errors import RecordingError
from fdbcore.recording.files import part_of
from fdbcore.recording.run import (
    FAILED,
    WAITING,
    CorpusCall,
    CorpusSettings,
    ReplayedFile,
    alone_in,
    read_corpus,
    write_corpus,
)
from fdbcore.runs.replay_jobs import ReplayResult, Replays, ReplaySettings, replayed
from fdbcore.runtime.executor import Executor, Workers
from fdbcore.session.vad import DEFAULT_VAD
from fdbcore.sources.calls import PlannedCall
from fdbcore.sources.clips import fit_for_a_folder
from fdbcore.sources.names import Oddities, real_path
from fdbcore.sources.sessions import SessionInput

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
    replays: Replays = replayed,
) -> list[CorpusCall]:
    """Replay all calls, write corpus.json, and return its entries, one for each call.

    watch: called for each call that has ended, and several times a second with None. replays: does the work. On
    KeyboardInterrupt (also one from `watch`) the work is ended and what has ended is written; then it is raised again.
    RecordingError if the run cannot be written, or if another command replays into it.
    """
    began = utc_now()
    entries = [_entry(call, settings.run_path) for call in calls]
    progress = ReplayProgress(len(calls), failed=sum(call.error is not None for call in calls))
    tasks = ((number, call.session) for number, call in enumerate(calls) if call.error is None)
    results = replays(tasks, settings, executor)
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


def replay_into(
    run_path: Path, calls: Sequence[PlannedCall], oddities: Oddities, what: object, show: Callable[[str], None]
) -> list[CorpusCall]:
    """`replay_corpus` on this machine, with each call's own settings. show: told how many are done, of `what`."""

    def watch(progress: ReplayProgress, ended: ReplayResult | None) -> None:
        show(f"{what}: {progress.ended} of {progress.calls} calls replayed")

    return replay_corpus(calls, ReplaySettings(run_path), Workers(), oddities, watch)


def replay_outputs(
    calls: Sequence[PlannedCall], system: str, out: Path, show: Callable[[str], None]
) -> list[tuple[Path, str | None]]:
    """Replay what a system put out elsewhere into a folder of its name below `out`; what is there is used again.

    Of each call its recording, and why there is none.
    """
    path = part_of(out, OUTPUTS, fit_for_a_folder(system))
    entries = replay_into(path, calls, Oddities(), system, show) if calls else []
    return [(path / each["name"], str(each["reason"]) if each["status"] == FAILED else None) for each in entries]


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
