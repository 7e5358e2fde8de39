"""Holds a live run from its plan, scores and summarises it, and writes its tables and pages."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from fdbcore.analysis.corpus import Run
from fdbcore.analysis.line_effects import pooled_lines
from fdbcore.analysis.score import pooled_measures, read_scores, score, unscored
from fdbcore.analysis.survey import Survey
from fdbcore.analysis.systems import RunSummary, SystemSummary
from fdbcore.endpoints.webrtc.endpoint import opened_early
from fdbcore.errors import SettingsError
from fdbcore.measures.costs import total
from fdbcore.measures.placed_lines import placed_lines
from fdbcore.measures.reading import Reading
from fdbcore.recording.files import SCORES, write_json
from fdbcore.recording.run import SCORED, SELFTEST, SUMMARY
from fdbcore.registry import suite as suite_of
from fdbcore.registry import vad as vad_of
from fdbcore.report.call.document import Document, document
from fdbcore.report.call.page import write_report
from fdbcore.runs.amend import keep_stages
from fdbcore.runs.budget import Budget, check_priced
from fdbcore.runs.calls_at_once import needed_calls_at_once
from fdbcore.runs.folder import RunFolder, seed_of
from fdbcore.runs.pages import OnCall, write_results
from fdbcore.runs.plan import (
    PlannedSystem,
    clock_of,
    make_plan,
    prompted,
    recorded_users,
    side_a_of,
    unless_refused,
    world_of,
)
from fdbcore.runs.runner import Watch, run_cases
from fdbcore.runs.selftest import timing_selftest
from fdbcore.runs.services import check_local
from fdbcore.session.converse import LiveSettings
from fdbcore.session.vad import DEFAULT_VAD
from fdbcore.sources.clips import natural_order
from fdbcore.types import SideA, TurnSettings, User
from fdbcore.types.timing import TimingSelftest

RUN_SUMMARY_SCHEMA: Final = "fdbcore.run_summary/2"


def run(
    systems: str | Sequence[str],
    *,
    a: str | None = None,
    clips: Sequence[str | os.PathLike[str]] = (),
    suite: str | None = None,
    data: str | os.PathLike[str] | None = None,
    suite_options: Mapping[str, Any] | None = None,
    tools: str | os.PathLike[str] | None = None,
    lines: Sequence[str] = (),
    trials: int = 1,
    clock: Literal["real", "virtual"] | None = None,
    max_s: float = 600.0,
    jobs: int | Literal["auto"] = 1,
    limits: Mapping[str, int] | None = None,
    again: Literal["failed", "invalid", "all"] | None = None,
    seed: int | None = None,
    vad: str = DEFAULT_VAD,
    settings: TurnSettings | None = None,
    max_usd: float | None = None,
    local_only: bool = False,
    out: str | os.PathLike[str] = "fdbcore-live",
    watch: Watch | None = None,
) -> Run:
    """Let recorded users, or another party, talk with systems; record and score what happens, as `fdbcore run` does.

    systems: addresses, or NAME=ADDRESS. They are side B; several systems take turns. Side A is given in one of
    three ways: `a`, the address of any party; `clips`, recorded users in folders or lists of files; or `suite`, the
    name of a benchmark. A benchmark's users come from `data` ("DIR" or "DIR?SETTINGS") or from the data that it
    ships, which are put into OUT-users. suite_options: values of the benchmark's `options.run` by name, which say what
    to make of the data that it ships. A warning names each item of the data that is left out. tools: what the systems
    may call, a Python file of functions or a JSON file ("FILE" or "FILE?SETTINGS", see docs/systems.md), or the address
    of another world. lines: what the calls go over ("telephone", "noise:20", ..., see docs/live.md), each in its turn.
    trials: how often each case is held. clock: "virtual" runs input-clocked systems in lockstep; compute time is
    then not counted; None takes it where neither the benchmark nor any system depends on timing.
    max_s: the time limit of a conversation in seconds. jobs: calls at a time, four to a process;
    "auto": as many as this machine holds on time, which is measured in two minutes if it is not known.
    limits: {system: calls at a time}. seed: decides the order of the cases, and the latencies of tools. Calling it
    again with the same arguments resumes a run that was stopped; it holds no case again except those that `again`
    names. max_usd: no call begins that would make the run cost more. local_only: refuse the run if audio or words would
    leave this machine and its network.

    A call that fails stops no other: `calls` of the result has the status ("done", "failed", "invalid") and the
    reason of each. To score the replies by the measures of a benchmark, use `fdbcore score --suite`. SettingsError
    for a wrong setting or address and for a folder of another run, InputError for clips, data or tools that cannot
    be used, RecordingError if `out` cannot be written, and FdbError for an error that would keep every case from
    being held. Processes are spawned, so a script that calls this needs the usual `if __name__ == "__main__"`.
    """
    given = [name for name, value in (("a", a), ("clips", clips), ("suite", suite)) if value]
    if len(given) != 1:
        raise SettingsError(f"run: expected one of clips, suite and a, got {' and '.join(given) or 'none'}")
    if data is not None and suite is None:
        raise SettingsError("run: data: expected it with suite alone")
    if jobs != "auto" and (not isinstance(jobs, int) or isinstance(jobs, bool) or jobs < 1):
        raise SettingsError(f"run: jobs: expected a whole number of at least 1, or auto, got {jobs!r}")
    vad_of(vad)
    folder = Path(out)
    with unless_refused(folder):
        if suite is not None:
            given_data = None if data is None else os.fspath(data)
            side_a = side_a_of(suite_of(suite), given_data, folder, suite_options or {})
            for where, reason in (*side_a.problems, *side_a.warnings):
                warnings.warn(f"{where}: {reason}", stacklevel=2)
        else:
            side_a = SideA([User("", a)] if a else [user for path in clips for user in recorded_users(os.fspath(path))])
        named = [PlannedSystem.of(text) for text in ([systems] if isinstance(systems, str) else systems)]
        plan = make_plan(
            prompted(named, side_a),
            side_a.users,
            LiveSettings(
                vad,
                settings or TurnSettings(),
                max_s,
                realtime=clock_of(clock, named, side_a) == "real",
                ends=side_a.ends,
                outlasts_b=side_a.outlasts_b,
            ),
            trials=trials,
            seed=seed_of(folder) if seed is None else seed,
            limits=limits,
            material=side_a.material,
            world=world_of(side_a, None if tools is None else os.fspath(tools)),
            lines=lines,
        )
        if local_only:
            check_local(plan)
        if max_usd is not None:
            check_priced(plan)
        with RunFolder(folder, plan) as run_folder:
            if again is not None:
                run_folder.hold_again(again)
            at_a_time = needed_calls_at_once(plan.settings.realtime) if jobs == "auto" else jobs
            budget = Budget(max_usd) if max_usd is not None else None
            with opened_early(address for case in run_folder.left()[:1] for address in case.addresses):
                if run_folder.left() and plan.settings.realtime:
                    measure_timing(run_folder)
                run_cases(run_folder, jobs=at_a_time, watch=watch, budget=budget)
            for _ in score_cases(run_folder):
                pass
            summarise(run_folder)
            write_pages(run_folder)
    return Run(folder)


def measure_timing(folder: RunFolder) -> TimingSelftest:
    """Measure the delay of the harness itself, store it with the run and return it; see `timing_selftest`."""
    found = timing_selftest()
    write_json(folder.path / SELFTEST, found)
    return found


def score_cases(folder: RunFolder) -> Iterator[Reading]:
    """Score each recording of a run that is not scored yet, and yield it. Do not call it while calls are live."""
    for case in folder.plan.cases:
        reading = folder.recording(case)
        if reading is None:
            continue
        keep_stages(reading)
        if not all((reading.path / part).is_file() for part in SCORED):
            score(reading)
            yield reading


def summarise(folder: RunFolder) -> RunSummary:
    """Write the summary of a run to its summary.json, and return it.

    Measures are pooled over all recordings that can be scored, also of calls that failed after their first tick.
    """
    values: RunSummary = {
        "schema": RUN_SUMMARY_SCHEMA,
        "plan": folder.plan.decided_by,
        "systems": {name: _system(folder, name) for name in folder.plan.systems},
    }
    if (cost := total(folder.cost(case) for case in folder.plan.cases)) is not None:
        values["cost"] = cost.to_json()
    write_json(folder.path / SUMMARY, values)
    return values


def recordings_of(folder: RunFolder, system: str) -> list[Reading]:
    """The scored recordings of one system, in the order of their names: that of the plan hangs on its seed."""
    cases = sorted(folder.plan.cases, key=lambda case: natural_order(case.name))
    found = (folder.recording(case) for case in cases if case.system.name == system)
    return [recording for recording in found if recording is not None and (recording.path / SCORES).is_file()]


def _system(folder: RunFolder, name: str) -> SystemSummary:
    cases = [case for case in folder.plan.cases if case.system.name == name]
    ended = [(case, outcome) for case in cases if (outcome := folder.outcome(case)) is not None]
    kinds = Counter(map(folder.ending, cases))
    reasons = Counter(f"{folder.ending(case)}: {outcome['reason']}" for case, outcome in ended if outcome["reason"])
    again = sum(bool(folder.attempts(case)) for case in cases)
    recordings = recordings_of(folder, name)
    found: SystemSummary = {
        "cases": {
            "planned": len(cases),
            "done": kinds["done"],
            "declined": kinds["declined"],
            "failed": kinds["failed"],
            "invalid": kinds["invalid"],
            "left": len(cases) - len(ended),
            "again": again,
        },
        "reasons": dict(reasons.most_common()),
        "recordings": [reading.name for reading in recordings],
        "measures": pooled_measures(recordings),
        "lines": pooled_lines(
            (reading.path.name, placed_lines(reading)) for reading in recordings if unscored(reading) is None
        ),
    }
    if (cost := total(map(folder.cost, cases))) is not None:
        found["cost"] = cost.to_json()
    return found


def write_pages(
    folder: RunFolder, on_call: OnCall = lambda what, done, calls: None
) -> tuple[Reading, Document] | Survey | None:
    """Write the page of a single case, or the tables and pages of several; return what they show.

    For a single case that is its recording and its document, or None if no recording can be scored. One that is invalid
    is shown as several are: it is in no figure, but can be heard. on_call: tells how far the tables and pages are.
    """
    outcome = folder.outcome(folder.plan.cases[0])
    if len(folder.plan.cases) > 1 or (outcome is not None and outcome["kind"] == "invalid"):
        return write_results(Run(folder.path), on_call=on_call)
    reading = folder.recording(folder.plan.cases[0])
    if reading is None:
        return None
    content = document(reading, read_scores(reading))
    write_report(reading, content)
    return reading, content
