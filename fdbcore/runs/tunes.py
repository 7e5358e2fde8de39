"""Says what other waits of a system would have done on the calls of a run, and writes the page that shows it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from fdbcore.analysis.corpus import Run
from fdbcore.analysis.groups import CallGroup, check_column, groups
from fdbcore.analysis.tuning import TUNED, TUNED_SCHEMA, Tuned, TunedCall, tuned, tuned_call
from fdbcore.errors import InputError, RecordingError, SettingsError
from fdbcore.recording.files import write_json
from fdbcore.recording.others import keep_others
from fdbcore.report.format import counted
from fdbcore.report.tuning import TUNE_PAGE, listed, write_tuned
from fdbcore.runs.engines import executor_of
from fdbcore.runs.requests import Place
from fdbcore.runs.single_pages import write_missing_pages
from fdbcore.runs.watch import Watch
from fdbcore.runtime.executor import results_in_order
from fdbcore.types import TICK_MS

LONGEST_WAIT_MS = 10_000


def tune(
    run: Run,
    *,
    by: str | None = None,
    present_ms: int | None = None,
    waits_ms: Sequence[int] | None = None,
    jobs: int | None = None,
    engine: str | None = None,
    out: Place | None = None,
    watch: Watch | None = None,
) -> Tuned:
    """The premature responses, response latency and turns left waiting of a run, had its system waited for longer or
    shorter silences: the content of tune.json, as JSON values. tune.html beside it shows them.

    by: a column of the calls, for a curve for each of its values. present_ms: the wait that the calls were held with;
    by default as the settings, the log or the behaviour of the system show it. waits_ms: the waits to try. jobs:
    processes; by default one per processor. engine: the address of a Ray cluster in their place. out: the folder of the
    results; by default the run's own. watch: is told how it goes on.

    Keys: groups [{name, calls, turns, present_ms, ear, settings [{wait_ms, rests_on, premature {value, ci95},
    latency_ms {median, p90, ...}, left_waiting, p_holm, cut_in, spared}], knee_ms}], unread {call: reason}.
    InputError for an unknown column or a wait out of its range, SettingsError if the folder cannot be written, or for
    files there that are not of fdbcore, RecordingError if no call can be read.
    """
    watch, folder = watch or Watch(), Path(out or run.path)
    for wait_ms in [*(waits_ms or ()), *([] if present_ms is None else [present_ms])]:
        if not TICK_MS <= wait_ms <= LONGEST_WAIT_MS:
            raise InputError(f"wait: expected {TICK_MS} to {LONGEST_WAIT_MS:,} ms, got {wait_ms:,}")
    keep_others(folder / TUNED, folder / TUNE_PAGE)
    if folder == run.path and not os.access(run.path, os.W_OK):
        raise SettingsError(f"{run.path}: cannot be written: choose another folder for the results by --out")
    if by is not None:
        check_column(run.scored, by, "--by")
    watch.step(f"reading {len(run.scored):,} calls")
    found: dict[str, TunedCall] = {}
    unread = {call.name: str(call.unscored) for call in run.calls if call.is_unreadable}
    results = results_in_order(executor_of(engine, jobs), tuned_call, [call.path for call in run.scored])
    for call, result in zip(run.scored, results, strict=True):
        if isinstance(result, str):
            unread[call.name] = result
        elif result.waits.turns:
            found[call.name] = result
    calls = [call for call in run.scored if call.name in found]
    if not calls:
        why = next((f": {name}: {reason}" for name, reason in unread.items()), "")
        raise RecordingError(f"{run.path}: expected turns of A, got none in {counted(len(run.calls), 'call')}{why}")
    all_calls = CallGroup("", calls, [{}] * len(calls))
    content: Tuned = {
        "schema": TUNED_SCHEMA,
        "run": run.path.resolve().name,
        "policy": "silence",
        "by": by,
        "unread": unread,
        "groups": [
            tuned(group.name, group.calls, [found[call.name] for call in group.calls], present_ms, waits_ms)
            for group in ([all_calls] if by is None else groups(all_calls, by))
        ],
    }
    write_json(folder / TUNED, content)
    if folder == run.path:
        write_missing_pages(run, listed(content), watch)
    write_tuned(content, run, folder)
    return content
