"""Processes that replay the calls of a corpus, one call at a time each.

A process gets a call when it has ended the one before. One that dies (a decoder that crashes on a damaged file, no
memory left) takes its own call with it, and no other.
"""

from __future__ import annotations

import traceback
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fdbcore.analysis.score import read_quantities, read_scores, score, unscored
from fdbcore.audio.decode import content_hash
from fdbcore.errors import FdbError, RecordingError
from fdbcore.measures.health.examine import HEALTH_SCHEMA
from fdbcore.measures.reading import Reading
from fdbcore.recording.files import AUDIO, META, settings_hash, write_json
from fdbcore.recording.labels import given_labels, keep_labels
from fdbcore.recording.reader import Recording
from fdbcore.recording.run import FAILED, LOG, SCORED, held_columns, standing
from fdbcore.recording.versions import versions
from fdbcore.registry import VADS, resolve
from fdbcore.runs.process import RunProcess, told
from fdbcore.runs.replay import decided_by, replay_session
from fdbcore.session.vad import DEFAULT_VAD, vads_of
from fdbcore.sources.recorded import open_held, settings_of
from fdbcore.sources.sessions import SessionInput
from fdbcore.types import SIDES, TurnSettings, ticks_to_s

if TYPE_CHECKING:
    from fdbcore.recording.run_types import ReplayedFile, Standing

LOOK_S: Final = 0.5
"""How long `replayed` waits for the next call before it lets its caller look at the clock."""


@dataclass(frozen=True, slots=True)
class ReplaySettings:
    """How all calls of a corpus are replayed: see `replay.replay_session`."""

    run_path: Path
    vad: str | None
    changes: Mapping[str, int]
    real_time: bool = False
    line_open: bool = False


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """What became of call `number`: see `corpus.Call`; skipped: an earlier replay of the same content was kept."""

    number: int
    status: Standing
    reason: str | None
    unscored: str | None
    audio_s: float = 0.0
    skipped: bool = False
    files: Sequence[ReplayedFile] = ()
    columns: Mapping[str, str] = field(default_factory=dict)


def replayed(
    sessions: Iterable[tuple[int, SessionInput]], settings: ReplaySettings, jobs: int
) -> Generator[ReplayResult | None]:
    """Replay numbered sessions on `jobs` processes; what became of each, as it ends.

    None now and then, while nothing has ended. Closing the iterator ends the processes at once; what was half written
    is a recording that is "running". Sessions are drawn as they are needed, and memory does not grow with their number.
    """
    left = iter(sessions)
    workers: list[_Worker] = []
    try:
        while True:
            while len(workers) < jobs and (task := next(left, None)) is not None:
                workers.append(_Worker(settings, task))
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
            worker.close(leaving_s=0)


class _Worker(RunProcess):
    """A process that has a call to replay."""

    def __init__(self, settings: ReplaySettings, task: tuple[int, SessionInput]) -> None:
        super().__init__(settings.run_path, _replay_calls, settings)
        self.dead = False
        self.give(task)

    def give(self, task: tuple[int, SessionInput]) -> None:
        self._number, self._session = task
        self.send(task)

    def ended(self) -> ReplayResult:
        """What became of its call."""
        received = self.received()
        if received is not None:
            ended: ReplayResult = received[0]
            return ended
        self.dead = True
        why = f"{self._session.a}: the process that read it died: {self.cause_of_death()}; see {LOG}"
        return ReplayResult(self._number, FAILED, why, why)


def _replay_calls(connection: Connection, settings: ReplaySettings) -> None:
    """The work of the process."""
    for number, session in told(connection):
        connection.send(_replay(number, session, settings))


def _replay(number: int, session: SessionInput, settings: ReplaySettings) -> ReplayResult:
    try:
        kept = kept_recording(session, settings)
        if kept is not None:
            _label_anew(kept, session)
            return _outcome(number, kept, skipped=True)
        reading = replay_session(
            session,
            settings.run_path,
            settings.vad,
            settings.changes,
            settings.real_time,
            keep_audio=session.recording is not None and session.a == session.recording / AUDIO,
            line_open=settings.line_open,
        )
        score(reading)
        return _outcome(number, reading)
    except FdbError as error:
        return ReplayResult(number, FAILED, str(error), str(error))
    except Exception as error:
        traceback.print_exc()
        why = f"{session.a}: {type(error).__name__}: {error}; see {LOG}"
        return ReplayResult(number, FAILED, why, why)


def _label_anew(recording: Recording, session: SessionInput) -> None:
    """Give a kept recording the labels of its session, and score it with them, where they are others than it has."""
    given = given_labels(recording.path)
    if session.labels is None or (given is not None and given == (session.labels[0], sorted(session.labels[1]))):
        return
    keep_labels(recording.path, *session.labels)
    score(Reading(recording.path))


def _outcome(number: int, recording: Recording, skipped: bool = False) -> ReplayResult:
    described = recording.meta["source"]["files"]
    files: list[ReplayedFile] = [{"path": file["path"], "sha256": file["sha256"]} for file in described]
    status, reason = standing(recording)
    return ReplayResult(
        number,
        status,
        reason,
        unscored(recording),
        ticks_to_s(recording.n_ticks),
        skipped,
        files,
        held_columns(recording),
    )


def kept_recording(session: SessionInput, settings: ReplaySettings) -> Reading | None:
    """The recording that an earlier replay left: whole, and of the same content, settings and versions; else None.

    With words beside the audio (Full-Duplex-Bench v1) it is never kept: they may have changed, too. Where the file has
    moved since, the recording links it at its new place.
    """
    path = settings.run_path / session.name
    if settings.real_time or not all((path / part).is_file() for part in (META, *SCORED)):
        return None
    try:
        recording = Reading(path)
        same = (
            recording.meta["status"] == "complete" and _same(recording.meta, session, settings) and _is_whole(recording)
        )
    except (RecordingError, KeyError, OSError):
        return None
    if not same:
        return None
    files = recording.meta["source"]["files"]
    if [file["path"] for file in files] != (paths := [str(path.resolve()) for path in session.paths]):
        recording.meta["source"]["files"] = [{**file, "path": p} for file, p in zip(files, paths, strict=True)]
        write_json(path / META, recording.meta)
    return recording


def _is_whole(reading: Reading) -> bool:
    """Whether what was made of it is there, and fits; RecordingError where it cannot be read."""
    read_quantities(reading), read_scores(reading), reading.turn_events
    examined = (reading.health or {}).get("schema") == HEALTH_SCHEMA
    return examined and len(reading.activity[0]) == reading.n_ticks


def _same(meta: Mapping[str, Any], session: SessionInput, settings: ReplaySettings) -> bool:
    source = meta["source"]
    kinds = (source["swap"], source["offset_ms"], len(source["files"]))
    if session.words or kinds != (session.swap, session.offset_ms, len(session.paths)):
        return False
    if meta["versions"] != _versions() or meta["settings_sha256"] != _expected_settings(source, session, settings):
        return False
    return all(file["sha256"] == content_hash(path) for file, path in zip(source["files"], session.paths, strict=True))


def _expected_settings(source: Mapping[str, Any], session: SessionInput, settings: ReplaySettings) -> str:
    """The hash of those that a replay of the same content would have."""
    held = open_held(session.recording) if session.recording is not None else None
    turns = replace(settings_of(held) if held else TurnSettings(), **settings.changes)
    if held and settings.vad is None:
        return settings_hash(decided_by(turns, [vad.describe() for vad in vads_of(held)], settings.line_open))
    rates_hz = [source["files"][source["sides"][side]["file"]]["rate_hz"] for side in SIDES]
    vads = [_described(settings.vad or DEFAULT_VAD, rate_hz) for rate_hz in rates_hz]
    return settings_hash(decided_by(turns, vads, settings.line_open))


@cache
def _described(vad: str, rate_hz: int) -> Mapping[str, Any]:
    described: Mapping[str, Any] = resolve("vad", VADS, vad)(source_rate_hz=rate_hz).describe()
    return described


_versions = cache(versions)
