"""Replays the calls that somebody names: one by itself, or many into a run with tables. The commands do it so, too."""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from fdbcore.analysis.corpus import Call, Run
from fdbcore.analysis.groups import CallGroup
from fdbcore.analysis.score import score
from fdbcore.analysis.sensitivity import Sensitivity, sensitivity
from fdbcore.analysis.survey import Survey
from fdbcore.errors import FdbError, InputError, SettingsError
from fdbcore.measures.reading import Reading
from fdbcore.recording.run import is_replayed, is_run
from fdbcore.report.call.document import Document, page_document
from fdbcore.report.call.page import write_report
from fdbcore.runs.engines import executor_of, replays_through
from fdbcore.runs.pages import WRITTEN, keep_others_in, write_results
from fdbcore.runs.replay import ReplaySettings, replay_session
from fdbcore.runs.replay_jobs import Replays
from fdbcore.runs.replay_many import replay_corpus
from fdbcore.runs.requests import Place, check_vads
from fdbcore.runs.watch import ReplayWatch
from fdbcore.runtime.executor import Executor, Workers
from fdbcore.session.vad import check_usable
from fdbcore.sources.agent_logs import read_log
from fdbcore.sources.calls import NamedInput, PlannedCall, named_calls
from fdbcore.sources.left_out import asked_spans
from fdbcore.sources.names import Oddities, real_path
from fdbcore.types import TurnSettings


@dataclass(frozen=True, slots=True)
class PlannedReplay:
    """A replay that can begin. several: whether the calls become a run with tables; else there is one, by itself.

    detectors: others to compare with. replays: replays the calls, on `executor`. reader: works on the run's folder,
    which `executor` does not see if calls come through a store.
    """

    calls: Sequence[PlannedCall]
    settings: ReplaySettings
    detectors: Sequence[str]
    oddities: Oddities
    several: bool
    executor: Executor
    replays: Replays
    reader: Executor


def planned_replay(
    named: NamedInput,
    settings: ReplaySettings,
    *,
    several: bool | None = None,
    detectors: Sequence[str] = (),
    jobs: int | None = None,
    engine: str | None = None,
    store: str | None = None,
) -> PlannedReplay:
    """Find the calls that are named, and who replays them. Errors as of `replay_all`, before anything is written.

    several: None for a run with tables if more than one call is named, or a table of calls, or a run is in the folder.
    """
    check_vads([*filter(None, [settings.vad]), *detectors])
    executor, replays = executor_of(engine, jobs), replays_through(store)
    oddities, out = Oddities(), settings.run_path
    calls = named_calls(named, oddities)
    if several is None:
        several = len(calls) > 1 or named.pair is not None or named.meta is not None or is_replayed(out)
    if several:
        _check_run_folder(out, named.meta, calls)
    elif len(calls) != 1:
        raise InputError(f"replay: expected one session, got {len(calls)}: call it once for each")
    elif is_replayed(out):
        raise InputError(f"{out}: expected a folder for single calls, got a run with tables: fdbcore replay renews it")
    elif store is not None:
        raise SettingsError("--store: expected several calls, got one, which this machine replays itself")
    elif (log := calls[0].session.log) is not None:
        read_log(log.path, log.session)
    reader = executor if store is None else Workers(jobs)
    return PlannedReplay(calls, settings, detectors, oddities, several, executor, replays, reader)


def replayed_call(plan: PlannedReplay, watch: ReplayWatch) -> tuple[Reading, Document]:
    """Replay and score the only call of a plan, and write its page. Errors as of `replay`."""
    session = plan.calls[0].session
    watch.begins(plan.calls)
    watch.oddities(plan.oddities)
    check_usable(plan.detectors)
    reading = replay_session(session, plan.settings, watch.ticks)
    watch.step(f"{reading.name}: writing its page")
    content = page_document(reading, score(reading))
    try:
        if plan.detectors and not content["unscored"]:
            content["detectors"] = _by_detectors(Run(reading.path, [Call(session.name, reading.path)]), plan)
    finally:
        write_report(reading, content)  # what the first detector decided stays
    return reading, content


def replayed_run(plan: PlannedReplay, watch: ReplayWatch) -> tuple[Survey, Sensitivity | None]:
    """Replay and score the calls of a plan, and write the tables and pages of their run.

    The second is what moves with other detectors, if there are any. Errors as of `replay_all`.
    """
    watch.begins(plan.calls)
    check_usable(plan.detectors)
    replay_corpus(plan.calls, plan.settings, plan.executor, plan.oddities, watch.progress, plan.replays)
    watch.oddities(plan.oddities)
    run = Run(plan.settings.run_path)
    try:
        moved = _by_detectors(run, plan) if plan.detectors and run.scored else None
    except FdbError:  # what the first detector decided stays
        write_results(run, executor=plan.reader, on_call=watch.written)
        raise
    return write_results(run, executor=plan.reader, on_call=watch.written, detectors=moved), moved


def _by_detectors(run: Run, plan: PlannedReplay) -> Sensitivity:
    """The figures of the scored calls of a run by other detectors."""
    assert run.settings is not None
    return sensitivity([CallGroup("", run.scored, [])], run.settings, plan.reader, detectors=plan.detectors, alone=True)


def _check_run_folder(path: Path, meta: Path | None, calls: Sequence[PlannedCall]) -> None:
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


def replay(
    *paths: Place,
    a: Place | None = None,
    b: Place | None = None,
    out: Place = "fdbcore-run",
    swap: bool = False,
    offset_ms: int = 0,
    vad: str | None = None,
    settings: TurnSettings | None = None,
    real_time: bool = False,
    line_open: bool = False,
    count_bad_input: bool = False,
    leave_out: Sequence[tuple[float, float | None]] | None = None,
    detectors: Sequence[str] = (),
    watch: ReplayWatch | None = None,
) -> Reading:
    """Replay one recorded session and score it. Its folder in `out` gets the recording, the scores and the report.

    paths: a stereo file (left A, right B), two mono files (A, B), a Full-Duplex-Bench v1 folder, or the folder of a
    recording. Or give `a` and `b`, a file for each side. swap: exchange the sides. offset_ms: how much later B begins
    than A. vad, settings: if not given, those of the recording, else "silero" and the defaults. real_time: keep the
    real clock. line_open: B could have answered until the end, so a last turn of A that B did not answer counts as
    no answer. count_bad_input: a recording that went wrong is scored, too. leave_out: spans that no measure counts, in
    seconds: [(0.0, 12.0), (220.0, None)]. None is the end, and negative times count from it. If not given, those of the
    recording. detectors: others, of which the report says what moves with them. watch: is told how it goes on.
    InputError for files that cannot be used, RecordingError if `out` cannot be written.
    """
    files, spans, changes = [Path(path) for path in paths], asked_spans(leave_out), asdict(settings) if settings else {}
    named = NamedInput(files, _path(a), _path(b), swap, offset_ms, leave_out=spans)
    asked = ReplaySettings(Path(out), vad, changes, real_time, line_open, count_bad_input)
    return replayed_call(planned_replay(named, asked, several=False, detectors=detectors), watch or ReplayWatch())[0]


def replay_all(
    *paths: Place,
    out: Place = "fdbcore-run",
    swap: bool = False,
    offset_ms: int = 0,
    vad: str | None = None,
    settings: TurnSettings | None = None,
    line_open: bool = False,
    count_bad_input: bool = False,
    pair: tuple[str, str] | None = None,
    meta: Place | None = None,
    labels: Place | None = None,
    marks: Place | None = None,
    marks_offset_ms: float | None = None,
    marks_session: str | None = None,
    leave_out: Sequence[tuple[float, float | None]] | None = None,
    detectors: Sequence[str] = (),
    jobs: int | None = None,
    engine: str | None = None,
    store: str | None = None,
    watch: ReplayWatch | None = None,
) -> Run:
    """Replay and score many recorded sessions into one run, with tables and a page. Finished calls are kept.

    paths: files, folders (searched), patterns ("calls/*.wav") or lists (.txt), as `fdbcore replay` takes them. pair: if
    each call has two files, the patterns of side A's and side B's ("*-caller.wav", "*-agent.wav"). meta: a CSV table of
    the calls, joined by path and file name; its columns a_file and b_file pair files, too, and measure_from, measure_to
    and leave_out say what to leave out of a call. labels: a label file, or a folder of them. marks: agents' own logs,
    as a file, a folder or a pattern; or the table's column agent_log_file names them. marks_offset_ms: what to add to
    their times (default: estimated). marks_session: which of their entries count, by a text in them. jobs: processes;
    by default one for each processor. engine: the address of a Ray cluster in their place. store: that of an object
    store, if its machines do not all see `out`. The other arguments are those of `replay`. "oddities" in corpus.json
    lists what did not fit. A call that fails stops no other: `calls` of the result has the status and the reason of
    each.

    InputError for files and tables that cannot be used, SettingsError if `out` is not a run, RecordingError if it
    cannot be written. Processes are spawned, so a script that calls this needs the usual `if __name__ == "__main__"`.
    """
    named = NamedInput(
        paths=[Path(path) for path in paths],
        swap=swap,
        offset_ms=offset_ms,
        pair=pair,
        meta=_path(meta),
        labels=_path(labels),
        marks=_path(marks),
        marks_offset_ms=marks_offset_ms,
        marks_session=marks_session,
        leave_out=asked_spans(leave_out),
    )
    asked = ReplaySettings(Path(out), vad, asdict(settings) if settings else {}, False, line_open, count_bad_input)
    plan = planned_replay(named, asked, several=True, detectors=detectors, jobs=jobs, engine=engine, store=store)
    replayed_run(plan, watch or ReplayWatch())
    return Run(asked.run_path)


def _path(place: Place | None) -> Path | None:
    return None if place is None else Path(place)
