"""A live run: held from its plan, scored, and written as tables and pages."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fdbcore.analysis.corpus import Run
from fdbcore.analysis.score import read_scores
from fdbcore.analysis.survey import Survey
from fdbcore.errors import SettingsError
from fdbcore.measures.reading import Reading
from fdbcore.recording.files import write_json
from fdbcore.recording.run import SELFTEST
from fdbcore.registry import VADS, resolve
from fdbcore.registry import suite as suite_of
from fdbcore.report.call.document import document
from fdbcore.report.call.page import write_report
from fdbcore.report.run.page import write_index
from fdbcore.report.run.tables import write_tables
from fdbcore.runs.folder import RunFolder, seed_of
from fdbcore.runs.plan import PlannedSystem, make_plan, prompted, recorded_users, side_a_of
from fdbcore.runs.runner import Watch, run_cases
from fdbcore.runs.selftest import timing_selftest
from fdbcore.runs.summary import score_cases, summarise
from fdbcore.session.converse import LiveSettings
from fdbcore.session.vad import DEFAULT_VAD
from fdbcore.types import SideA, TurnSettings, User

if TYPE_CHECKING:
    from fdbcore.recording.run_types import TimingSelftest
    from fdbcore.report.call.document_types import Document


def run(
    systems: str | Sequence[str],
    *,
    a: str | None = None,
    clips: Sequence[str | os.PathLike[str]] = (),
    suite: str | None = None,
    data: str | os.PathLike[str] | None = None,
    trials: int = 1,
    clock: Literal["real", "virtual"] = "real",
    max_s: float = 600.0,
    jobs: int = 1,
    limits: Mapping[str, int] | None = None,
    again: Literal["failed", "invalid", "all"] | None = None,
    seed: int | None = None,
    vad: str = DEFAULT_VAD,
    settings: TurnSettings | None = None,
    out: str | os.PathLike[str] = "fdbcore-live",
    watch: Watch | None = None,
) -> Run:
    """Let recorded users, or another party, talk with systems; record and score what happens, as `fdbcore run` does.

    systems: addresses, or NAME=ADDRESS; they are side B, and several take turns. Side A is one of three: `a`, the
    address of any party; `clips`, recorded users in folders or lists of files; `suite`, the name of a benchmark, whose
    users come from `data`, "DIR" or "DIR?SETTINGS", or from what it ships, which is then put into OUT-users. What of
    the data was left out is warned of. trials: how often each case is held. clock: "virtual" runs input-clocked systems
    in lockstep, and compute time is not counted. max_s: the longest conversation in seconds. jobs: calls at a time,
    four to a process; limits: {system: calls at a time}. seed: of the order of the cases. The same arguments again go
    on where a run was stopped, and hold nothing again but what `again` names.

    A call that fails stops no other: see the status ("done", "failed", "invalid") and the reason of each in `calls`.
    What the replies are worth by the measures of a benchmark, `fdbcore score --suite` says. Raises SettingsError for a
    setting or an address that is wrong and for a folder of another run, InputError for clips or data that cannot be
    used, RecordingError if `out` cannot be written, and FdbError for what would keep every case from
    being held. Processes are spawned: a script that calls this needs the usual `if __name__ == "__main__"`.
    """
    given = [name for name, value in (("a", a), ("clips", clips), ("suite", suite)) if value]
    if len(given) != 1:
        raise SettingsError(f"run: expected one of clips, suite and a, got {' and '.join(given) or 'none'}")
    if data is not None and suite is None:
        raise SettingsError("run: data: expected it with suite alone")
    resolve("vad", VADS, vad)
    folder = Path(out)
    if suite is not None:
        side_a = side_a_of(suite_of(suite), None if data is None else os.fspath(data), folder)
        for where, reason in side_a.problems:
            warnings.warn(f"{where}: {reason}", stacklevel=2)
    else:
        side_a = SideA([User("", a)] if a else [user for path in clips for user in recorded_users(os.fspath(path))])
    named = [PlannedSystem.of(text) for text in ([systems] if isinstance(systems, str) else systems)]
    plan = make_plan(
        prompted(named, side_a),
        side_a.users,
        LiveSettings(vad, settings or TurnSettings(), max_s, realtime=clock == "real"),
        trials=trials,
        seed=seed_of(folder) if seed is None else seed,
        limits=limits,
        material=side_a.material,
    )
    with RunFolder(folder, plan) as held:
        if again is not None:
            held.hold_again(again)
        if held.left() and plan.settings.realtime:
            measure_timing(held)
        run_cases(held, jobs=jobs, watch=watch)
        for _ in score_cases(held):
            pass
        summarise(held)
        write_pages(held)
    return Run(folder)


def measure_timing(folder: RunFolder) -> TimingSelftest:
    """What the harness itself adds, measured before the first case and kept with the run; see `timing_selftest`."""
    found = timing_selftest()
    write_json(folder.path / SELFTEST, found)
    return found


def write_pages(
    folder: RunFolder, on_call: Callable[[int, int], None] = lambda number, calls: None
) -> tuple[Reading, Document] | Survey | None:
    """Write the page of a single case, or the tables and index.html of several; what these show.

    Of a single case that is its recording and the document of it; None where there is no recording that can be scored.
    on_call: told of each call in the tables, by its number of how many.
    """
    if len(folder.plan.cases) > 1:
        found = write_tables(Run(folder.path), on_call)
        write_index(found)
        return found
    reading = folder.recording(folder.plan.cases[0])
    if reading is None:
        return None
    content = document(reading, read_scores(reading))
    write_report(reading, content)
    return reading, content
