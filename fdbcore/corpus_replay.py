"""Replay thousands of calls into one run: what is done is kept, what fails is named, and a kill loses a few seconds."""

from __future__ import annotations

import fcntl
import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any, Final

from fdbcore.clock import now_ns, utc_now
from fdbcore.corpus import CORPUS, CORPUS_SCHEMA, FAILED, WAITING, is_run, read_corpus
from fdbcore.corpus_inputs import PlannedCall
from fdbcore.corpus_jobs import How, Replayed, replayed
from fdbcore.errors import RecordingError, SettingsError
from fdbcore.measures.line import LINE_OPEN
from fdbcore.names import Oddities, real_path
from fdbcore.offline import DEFAULT_VAD
from fdbcore.recording import write_json
from fdbcore.run_folder import LOG, SUMMARY, lock
from fdbcore.versions import versions

WRITTEN: Final = (
    CORPUS, SUMMARY, "index.html", "calls.csv", "events.csv", "calls.parquet", "events.parquet", LOG,
)  # fmt: skip
"""What a replay and the tables of its run write beside the calls."""

SAVE_EVERY_S: Final = 10.0
"""How often corpus.json is brought up to date: what a kill can cost; the recordings themselves are never lost."""

_RATE_OVER_S: Final = 60.0
_LEAVING_S: Final = 10.0  # what the processes of a replay that was killed are given to end
_NOT_YET: Final = "not replayed yet"


@dataclass(slots=True)
class Progress:
    """How far a replay is: calls by how they ended, seconds of audio, and the time left."""

    calls: int
    ended: int = 0
    failed: int = 0
    skipped: int = 0
    audio_s: float = 0.0
    _began_s: float = field(default_factory=lambda: now_ns() / 1e9)
    _recent: deque[tuple[float, int, float]] = field(default_factory=lambda: deque([(now_ns() / 1e9, 0, 0.0)]))

    def add(self, replayed: Replayed) -> None:
        """One more has ended."""
        self.ended += 1
        self.failed += replayed.status == FAILED
        self.skipped += replayed.skipped
        self.audio_s += replayed.audio_s
        self._recent.append((now_ns() / 1e9, self.ended, self.audio_s))
        while self._recent[-1][0] - self._recent[0][0] > _RATE_OVER_S and len(self._recent) > 2:
            self._recent.popleft()

    @property
    def elapsed_s(self) -> float:
        """Since the replay began."""
        return now_ns() / 1e9 - self._began_s

    @property
    def calls_per_s(self) -> float:
        """Of the last minute."""
        (start_s, before, _), (_, after, _) = self._recent[0], self._recent[-1]
        return (after - before) / max(now_ns() / 1e9 - start_s, 1e-9)

    @property
    def times_real_time(self) -> float:
        """Seconds of audio in a second, of the last minute."""
        (start_s, _, before_s), (_, _, after_s) = self._recent[0], self._recent[-1]
        return (after_s - before_s) / max(now_ns() / 1e9 - start_s, 1e-9)

    @property
    def left_s(self) -> float | None:
        """None before the first call has ended."""
        return (self.calls - self.ended) / self.calls_per_s if self.ended else None


def replay_corpus(
    calls: Sequence[PlannedCall],
    how: How,
    jobs: int,
    oddities: Oddities,
    watch: Callable[[Progress, Replayed | None], None] = lambda progress, ended: None,
) -> list[dict[str, Any]]:
    """Replay all calls on `jobs` processes, and keep corpus.json in the run; its entries of the calls.

    watch: told of each call that has ended, and several times a second of nothing. KeyboardInterrupt (also from
    `watch`) ends the processes, and goes on to the caller, after what has ended was written down. Raises RecordingError
    if the run cannot be written, or another process replays into it.
    """
    began = utc_now()
    entries = [_entry(call) for call in calls]
    progress = Progress(len(calls), failed=sum(call.error is not None for call in calls))
    progress.ended = progress.failed
    tasks = ((number, call.session) for number, call in enumerate(calls) if call.error is None)
    with _alone_in(how.run_path), closing(replayed(tasks, how, jobs)) as ended:
        _note_left_behind(entries, how.run_path, oddities)
        _save(entries, how, oddities, began)
        saved_s = now_ns() / 1e9
        try:
            for each in ended:
                if each is not None:
                    progress.add(each)
                    entries[each.number] = _told(entries[each.number], each)
                watch(progress, each)
                if now_ns() / 1e9 - saved_s > SAVE_EVERY_S:
                    _save(entries, how, oddities, began)
                    saved_s = now_ns() / 1e9
            _note_copies(entries, oddities)
        finally:
            _save(entries, how, oddities, began)
    return entries


def _entry(call: PlannedCall) -> dict[str, Any]:
    files = [{"path": str(real_path(path)), "sha256": None} for path in call.session.paths]
    return {
        "name": call.session.name,
        "status": FAILED if call.error else WAITING,
        "reason": call.error or _NOT_YET,
        "unscored": call.error or _NOT_YET,
        "files": files,
        "columns": dict(call.columns),
    }


def _note_left_behind(entries: Sequence[Mapping[str, Any]], path: Path, oddities: Oddities) -> None:
    """The recordings of the run that was here before, of which this one knows nothing."""
    with suppress(RecordingError):
        before = [entry["name"] for entry in read_corpus(path)["calls"]]
        left = set(before) - {entry["name"] for entry in entries}
        kept = [name for name in before if name in left and (path / name).is_dir()]
        oddities.add("calls that are no longer part of the run, kept on disk", kept)


def _note_copies(entries: Sequence[Mapping[str, Any]], oddities: Oddities) -> None:
    """Calls that count as independent, and are not: the files of each are those of one before it."""
    first: dict[tuple[str, ...], str] = {}
    copies = []
    for entry in entries:
        content = tuple(file["sha256"] or "" for file in entry["files"])
        if all(content) and (same := first.setdefault(content, entry["name"])) != entry["name"]:
            copies.append(f"{entry['name']} (as {same})")
    oddities.add("calls that have the audio of another, and count beside it", copies)


def _told(entry: Mapping[str, Any], ended: Replayed) -> dict[str, Any]:
    """The entry of a call that has ended."""
    known = {"status": ended.status, "reason": ended.reason, "unscored": ended.unscored}
    files = ended.files or entry["files"]
    return {**entry, **known, "files": list(files), "columns": {**ended.columns, **entry["columns"]}}


def _save(entries: Sequence[Mapping[str, Any]], how: How, oddities: Oddities, began: str) -> None:
    asked = {"vad": how.vad or DEFAULT_VAD, "changes": dict(how.changes), "real_time": how.real_time}
    asked |= {LINE_OPEN: True} if how.line_open else {}
    known = {"schema": CORPUS_SCHEMA, "began": began, "updated": utc_now(), "settings": asked, "versions": versions()}
    write_json(how.run_path / CORPUS, known | {"oddities": oddities.found, "calls": entries})


def check_run_folder(path: Path, meta: Path | None, calls: Sequence[PlannedCall]) -> None:
    """SettingsError where a replay into `path` would write over what is not ours, or over what it reads.

    That is its own table `meta`, or the run whose recordings it replays. A folder that holds a file of one of these
    names must be a run, or hold recordings.
    """
    runs = {real_path(call.session.recording).parent for call in calls if call.session.recording is not None}
    if real_path(path) in runs:
        raise SettingsError(f"--out {path}: expected another folder than that of the recordings which are replayed")
    if meta is not None and real_path(meta) in {real_path(path / name) for name in WRITTEN}:
        raise SettingsError(f"--meta {meta}: expected a table of yours, got one that the run in {path} writes itself")
    there = [name for name in WRITTEN if os.path.exists(path / name)]
    if there and not is_run(path):
        raise SettingsError(
            f"{path}: expected a new folder or that of a run, got a folder with {there[0]} of something else, "
            "which would be written over; give another by --out"
        )


@contextmanager
def _alone_in(path: Path) -> Iterator[None]:
    """Keep other replays out of a run's folder, which is made if it is missing; wait for those that are leaving."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDONLY)
    except OSError as error:
        raise RecordingError(f"{path}: cannot be written: {error.strerror}") from error
    try:
        _take(path, descriptor)
        yield
    finally:
        os.close(descriptor)
        with suppress(OSError):
            if (path / LOG).stat().st_size == 0:
                (path / LOG).unlink()


def _take(path: Path, descriptor: int) -> None:
    for _ in range(round(10 * _LEAVING_S) + 1):
        with suppress(BlockingIOError):
            lock(descriptor, fcntl.LOCK_EX)
            lock(descriptor, fcntl.LOCK_SH)  # with the processes of this one
            return
        Event().wait(0.1)
    raise RecordingError(f"{path}: another process is replaying into this folder")
