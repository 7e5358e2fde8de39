"""Scores a run anew: every call, and what holds of all of them, with the pages that show it."""

import os
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final

from fdbcore.analysis.corpus import Run
from fdbcore.analysis.groups import check_column, groups, rescored, unit
from fdbcore.analysis.input_notes import input_notes
from fdbcore.analysis.reference import beside_reference
from fdbcore.analysis.sensitivity import sensitivity as under_settings
from fdbcore.analysis.statements import STATEMENTS, Statements, evidence, statements
from fdbcore.errors import RecordingError, SettingsError
from fdbcore.recording.files import part_of, write_json
from fdbcore.recording.meta import Settings
from fdbcore.recording.others import keep_others
from fdbcore.recording.run import is_recorded
from fdbcore.report.groups.page import SCORES_PAGE, write_statements
from fdbcore.runs.engines import executor_of
from fdbcore.runs.replays import replay_all
from fdbcore.runs.requests import OnDisk, Place, check_vads, path_of
from fdbcore.runs.single_pages import write_missing_pages
from fdbcore.runs.watch import Watch
from fdbcore.session.vad import check_installed
from fdbcore.types import TurnSettings

_LOOK_CALLS: Final = 10


def score(
    run: Run,
    *,
    by: str | None = None,
    cluster: str | None = None,
    sensitivity: bool = False,
    detectors: Sequence[str] = (),
    reference: OnDisk | Place | None = None,
    jobs: int | None = None,
    engine: str | None = None,
    out: Place | None = None,
    watch: Watch | None = None,
) -> Statements:
    """Score every call of a run anew, and say what holds of all of them, as `fdbcore score` does: the content of
    scores.json, as JSON values. scores.html beside it shows them.

    by: a column of the calls (see `call_rows`) whose values are compared with each other. cluster: the column whose
    values the intervals resample; by default the call. sensitivity: also read the stored activity under many settings.
    detectors: other voice activity detectors to read the calls with, also without `sensitivity`. reference:
    conversations between people to compare with: a run, or audio, which is replayed into OUT/reference. jobs:
    processes; by default one per processor. engine: the address of a Ray cluster in their place. out: the folder of the
    results; without it, it is the run's own, and the scores of each call are renewed there too. watch: is told how it
    goes on.

    Keys: measures {id: {n, median, mean, p90, ci95, unit, ...}} with latencies in ms, shares from 0 to 1, and ci95
    (low, high) or None; groups [{name, calls, clusters, measures}]; differences [{measure, a, b, value, interval, p,
    p_holm, ...}]; unscored and unread {call: reason}; settings, versions, input; and sensitivity and reference, if
    requested.
    Raises SettingsError if the run cannot be written, or for files there that are not of fdbcore, InputError for an
    unknown column or a detector or reference that cannot be used, RecordingError if no call is scored.
    """
    watch, folder = watch or Watch(), Path(out or run.path)
    keep = folder == run.path
    check_vads(detectors)
    keep_others(folder / STATEMENTS, folder / SCORES_PAGE)
    if keep and not os.access(run.path, os.W_OK):
        raise SettingsError(f"{run.path}: cannot be written: choose another folder for the results by --out")
    workers = executor_of(engine, jobs)
    chosen = unit(run.scored, cluster)
    if by is not None:
        check_column(run.scored, by, "--by")
    people = None
    if reference is not None and run.settings is not None:
        replayed = partial(replay_all, out=part_of(folder, "reference"), jobs=jobs, engine=engine)
        people = _people(reference, run.settings, detectors, replayed, watch)
    gone = {call.name: str(call.unscored) for call in run.calls if call.is_unreadable}
    calls, unread = rescored(run, workers, _counting(watch, f"scored, of {len(run.scored):,} calls"), keep)
    if not calls.calls or run.settings is None:
        unscored = {call.name: call.unscored for call in run.calls if call.unscored is not None}
        why = next((f": {name}: {reason}" for name, reason in (unscored | unread).items()), "")
        raise RecordingError(f"{run.path}: expected scored calls, got none of {len(run.calls):,}{why}")
    found = groups(calls, by) if by else []
    content: Statements = {
        **evidence(run, run.settings, by, gone | unread),
        "input": input_notes(calls.calls),
        **statements(calls, chosen, found, by or ""),
    }
    if sensitivity or detectors:
        on_call = _counting(watch, "read under other settings")
        content["sensitivity"] = under_settings(
            found or [calls], run.settings, workers, on_call, detectors, alone=not sensitivity
        )
    if people is not None:
        on_call = _counting(watch, "read beside the reference")
        content["reference"] = beside_reference(found or [calls], chosen, run.settings, people, on_call)
    write_json(folder / STATEMENTS, content)
    if keep:
        listed = [moment for of in content["longer"] for found in of["longer"] for moment in found["worst"]]
        write_missing_pages(run, listed, watch)
    write_statements(content, folder)
    return content


def _people(
    reference: OnDisk | Place, own: Settings, detectors: Sequence[str], replayed: Callable[..., Run], watch: Watch
) -> Run:
    """The run of a reference. A folder of audio is first replayed with the settings `own`."""
    path = path_of(reference)
    if is_recorded(path):
        return reference if isinstance(reference, Run) else Run(path)
    if not path.exists():
        raise SettingsError(f"--reference {path}: expected a run, or audio, got no such file")
    if (name := own["vad"]["B"]["name"]) not in detectors:
        check_installed(name, "--reference")
    settings = TurnSettings(**own["turns"])
    watch.step("replaying the reference")
    run = replayed(path, vad=name, settings=settings)
    for call in run.calls:
        if call.unscored:
            watch.warn(f"reference {call.name}: {call.unscored}")
    return run


def _counting(watch: Watch, work: str) -> Callable[[], None]:
    """A callback that now and then tells how many calls are done."""
    numbers = count(1)

    def on_call() -> None:
        if (done := next(numbers)) % _LOOK_CALLS == 0:
            watch.step(f"{done:,} {work}")

    return on_call
