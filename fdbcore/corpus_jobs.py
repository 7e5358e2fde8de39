"""Processes that replay the calls of a corpus, one call at a time each.

A process is spawned, not forked, and gets a call through a pipe when it has ended the one before. One that dies (a
decoder that crashes on a damaged file, no memory left) takes its own call with it, and no other.
"""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import signal
import sys
import traceback
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Final

from fdbcore.audio import content_hash
from fdbcore.corpus import FAILED, SCORED, held_columns, standing
from fdbcore.errors import FdbError, RecordingError
from fdbcore.health import HEALTH_SCHEMA
from fdbcore.held import open_held, settings_of, vads_of
from fdbcore.labels import given_labels, keep_labels
from fdbcore.offline import DEFAULT_VAD, decided_by, replay_session
from fdbcore.parallel import leave_terminal, uninterrupted
from fdbcore.recording import AUDIO, META, Recording, settings_hash, write_json
from fdbcore.redaction import write_no_secrets
from fdbcore.registry import VADS, resolve
from fdbcore.run_folder import LOG, shared_lock
from fdbcore.score import read_quantities, read_scores, score, unscored
from fdbcore.sources import SessionInput
from fdbcore.types import SIDES, TurnSettings, ticks_to_s
from fdbcore.versions import versions

LOOK_S: Final = 0.5
"""How long `replayed` waits for the next call before it lets its caller look at the clock."""

_SPAWN: Final = multiprocessing.get_context("spawn")
_LEAVING_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class How:
    """How all calls of a corpus are replayed: see `offline.replay_session`."""

    run_path: Path
    vad: str | None
    changes: Mapping[str, int]
    real_time: bool = False
    line_open: bool = False


@dataclass(frozen=True, slots=True)
class Replayed:
    """What became of call `number`: see `corpus.Call`; skipped: an earlier replay of the same content was kept."""

    number: int
    status: str
    reason: str | None
    unscored: str | None
    audio_s: float = 0.0
    skipped: bool = False
    files: Sequence[Mapping[str, Any]] = ()
    columns: Mapping[str, str] = field(default_factory=dict)


def replayed(sessions: Iterable[tuple[int, SessionInput]], how: How, jobs: int) -> Generator[Replayed | None]:
    """Replay numbered sessions on `jobs` processes; what became of each, as it ends.

    None now and then, while nothing has ended. Closing the iterator ends the processes at once; what was half written
    is a recording that is "running". Sessions are drawn as they are needed, and memory does not grow with their number.
    """
    left = iter(sessions)
    workers: list[_Worker] = []
    try:
        while True:
            while len(workers) < jobs and (task := next(left, None)) is not None:
                workers.append(_Worker(how, task))
            if not workers:
                return
            ready = wait([worker.connection for worker in workers], LOOK_S)
            if not ready:
                yield None
            for worker in [worker for worker in workers if worker.connection in ready]:
                ended = worker.ended()
                if worker.dead or (task := next(left, None)) is None:
                    workers.remove(worker)
                    worker.close()
                else:
                    worker.give(task)
                yield ended
    finally:
        for worker in workers:
            worker.kill()


class _Worker:
    """A process that has a call to replay."""

    def __init__(self, how: How, task: tuple[int, SessionInput]) -> None:
        self.connection, theirs = _SPAWN.Pipe()
        self.dead = False
        self._process = _SPAWN.Process(target=_serve, args=(theirs, how), name="fdbcore-replay", daemon=True)
        with uninterrupted():
            self._process.start()
        theirs.close()
        self.give(task)

    def give(self, task: tuple[int, SessionInput]) -> None:
        self._number, self._session = task
        with suppress(BrokenPipeError):  # that it died shows when it is read
            self.connection.send(task)

    def ended(self) -> Replayed:
        """What became of its call."""
        try:
            ended: Replayed = self.connection.recv()
        except (EOFError, ConnectionResetError):
            self.dead = True
            why = f"{self._session.a}: the process that read it ended with {self._cause()}; see {LOG}"
            return Replayed(self._number, FAILED, why, why)
        return ended

    def _cause(self) -> str:
        self._process.join(_LEAVING_S)
        code = self._process.exitcode
        return signal.Signals(-code).name if code is not None and code < 0 else f"exit code {code}"

    def close(self) -> None:
        """Let it end; it has nothing left to do."""
        self.connection.close()
        self._process.join(_LEAVING_S)
        self.kill()

    def kill(self) -> None:
        """End it now."""
        self.connection.close()
        self._process.kill()
        self._process.join()


def _serve(connection: Connection, how: How) -> None:
    """The life of a worker: until its owner closes the pipe, or dies."""
    leave_terminal()
    with shared_lock(how.run_path), open(how.run_path / LOG, "a", buffering=1) as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        write_no_secrets()
        faulthandler.enable()
        with suppress(EOFError, ConnectionError):
            while True:
                number, session = connection.recv()
                connection.send(_replay(number, session, how))
        sys.stdout.flush()


def _replay(number: int, session: SessionInput, how: How) -> Replayed:
    try:
        kept = kept_recording(session, how)
        if kept is not None:
            _label_anew(kept, session)
            return _outcome(number, kept, skipped=True)
        recording = replay_session(
            session,
            how.run_path,
            how.vad,
            how.changes,
            how.real_time,
            keep_audio=session.recording is not None and session.a == session.recording / AUDIO,
            line_open=how.line_open,
        )
        score(recording)
        return _outcome(number, recording)
    except FdbError as error:
        return Replayed(number, FAILED, str(error), str(error))
    except Exception as error:
        traceback.print_exc()
        why = f"{session.a}: {type(error).__name__}: {error}; see {LOG}"
        return Replayed(number, FAILED, why, why)


def _label_anew(recording: Recording, session: SessionInput) -> None:
    """Give a kept recording the labels of its session, and score it with them, where they are others than it has."""
    given = given_labels(recording.path)
    if session.labels is None or (given is not None and given == (session.labels[0], sorted(session.labels[1]))):
        return
    keep_labels(recording.path, *session.labels)
    score(recording)


def _outcome(number: int, recording: Recording, skipped: bool = False) -> Replayed:
    described = recording.meta["source"]["files"]
    files = [{key: file[key] for key in ("path", "sha256")} for file in described]
    status, reason = standing(recording)
    return Replayed(
        number,
        status,
        reason,
        unscored(recording),
        ticks_to_s(recording.n_ticks),
        skipped,
        files,
        held_columns(recording),
    )


def kept_recording(session: SessionInput, how: How) -> Recording | None:
    """The recording that an earlier replay left: whole, and of the same content, settings and versions; else None.

    With words beside the audio (Full-Duplex-Bench v1) it is never kept: they may have changed, too. Where the file has
    moved since, the recording links it at its new place.
    """
    path = how.run_path / session.name
    if how.real_time or not all((path / part).is_file() for part in (META, *SCORED)):
        return None
    try:
        recording = Recording(path)
        same = recording.meta["status"] == "complete" and _same(recording.meta, session, how) and _is_whole(recording)
    except (RecordingError, KeyError, OSError):
        return None
    if not same:
        return None
    files = recording.meta["source"]["files"]
    if [file["path"] for file in files] != (paths := [str(path.resolve()) for path in session.paths]):
        recording.meta["source"]["files"] = [{**file, "path": p} for file, p in zip(files, paths, strict=True)]
        write_json(path / META, recording.meta)
    return recording


def _is_whole(recording: Recording) -> bool:
    """Whether what was made of it is there, and fits; RecordingError where it cannot be read."""
    read_quantities(recording), read_scores(recording), recording.turn_events
    examined = (recording.health or {}).get("schema") == HEALTH_SCHEMA
    return examined and len(recording.activity[0]) == recording.n_ticks


def _same(meta: Mapping[str, Any], session: SessionInput, how: How) -> bool:
    source = meta["source"]
    kinds = (source["swap"], source["offset_ms"], len(source["files"]))
    if (
        kinds != (session.swap, session.offset_ms, len(session.paths))
        or session.words
        or meta["versions"] != _versions()
    ):
        return False
    if meta["versions"] != _versions() or meta["settings_sha256"] != _expected_settings(source, session, how):
        return False
    return all(file["sha256"] == content_hash(path) for file, path in zip(source["files"], session.paths, strict=True))


def _expected_settings(source: Mapping[str, Any], session: SessionInput, how: How) -> str:
    """The hash of those that a replay of the same content would have."""
    held = open_held(session.recording) if session.recording is not None else None
    turns = replace(settings_of(held) if held else TurnSettings(), **how.changes)
    if held and how.vad is None:
        return settings_hash(decided_by(turns, [vad.describe() for vad in vads_of(held)], how.line_open))
    rates_hz = [source["files"][source["sides"][side]["file"]]["rate_hz"] for side in SIDES]
    vads = [_described(how.vad or DEFAULT_VAD, rate_hz) for rate_hz in rates_hz]
    return settings_hash(decided_by(turns, vads, how.line_open))


@cache
def _described(vad: str, rate_hz: int) -> Mapping[str, Any]:
    described: Mapping[str, Any] = resolve("vad", VADS, vad)(source_rate_hz=rate_hz).describe()
    return described


_versions = cache(versions)
