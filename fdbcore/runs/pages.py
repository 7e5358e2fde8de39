"""Writes what a run shows: its tables, the pages of its calls, index.html, and the lists of moments that it opens."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final, TypeAlias

from fdbcore.analysis.corpus import Run
from fdbcore.analysis.facts_table import TABLE, FactsTable, Row, has_tables, renew, row_of
from fdbcore.analysis.kept import COMPARISON, GATES, Kept, forget_all_but, kept
from fdbcore.analysis.sensitivity import Sensitivity
from fdbcore.analysis.survey import ReplaySummary, Survey
from fdbcore.recording.files import write_json
from fdbcore.recording.others import keep_others
from fdbcore.recording.run import CORPUS, DAMAGED, FAILED, LOG, SUMMARY, WAITING, is_planned, is_replayed
from fdbcore.report.call.shared import PAGES
from fdbcore.report.comparison.page import write_comparison
from fdbcore.report.html.templates import COMPARE, INDEX
from fdbcore.report.html.values import WHOLE, PageParts
from fdbcore.report.listening import ClipCounts
from fdbcore.report.run.page import write_index
from fdbcore.report.run.tables import write_tables
from fdbcore.runs.call_pages import LISTS, write_call_pages
from fdbcore.runtime.executor import Executor, Workers, results_in_order

SUMMARY_SCHEMA: Final = "fdbcore.summary/2"
WRITTEN: Final = (
    CORPUS, SUMMARY, INDEX, "calls.csv", "events.csv", "stages.csv", "calls.parquet", "events.parquet",
    "stages.parquet", TABLE, LOG, COMPARE, COMPARISON, GATES, PAGES,
)  # fmt: skip
"""Files that a replay, the tables and the pages of its run write beside the calls."""

OnCall: TypeAlias = Callable[[str, int, int], None]
"""Called with what is made ("facts", "tables", "pages"), the number of calls that are done, and that of all."""


def write_results(
    run: Run,
    shown: PageParts = WHOLE,
    heard: ClipCounts | None = None,
    executor: Executor | None = None,
    on_call: OnCall = lambda what, done, calls: None,
    detectors: Sensitivity | None = None,
) -> Survey:
    """Write the tables of a run, the pages of its calls, and index.html; return the survey that they are made from.

    A replayed run gets its summary.json, too. The comparison and the verdicts that the run was last given are shown,
    with compare.html; they are removed if they were made from other scores. heard: notes what can be played on
    index.html. executor: writes many pages; by default workers of this machine. detectors: what others make of the
    run. Raises RecordingError if a file cannot be written. A call that cannot be read has no page.
    """
    executor = executor or Workers()
    keep_others_in(run.path)
    run = _with_facts(run, executor, on_call)
    given = kept(run)
    forget_all_but(given, run.path)
    gated = given.gated(run)
    found = write_tables(run, lambda number, calls: on_call("tables", number + 1, calls), gated)
    verdicts = gated.calls if gated else {}
    listed = write_call_pages(run, shown, executor, lambda done, calls: on_call("pages", done, calls), verdicts)
    write_index(found, shown, heard, listed, given.comparison, detectors)
    if given == Kept():
        (run.path / COMPARE).unlink(missing_ok=True)
    else:
        write_comparison(given, run, shown)
    if is_replayed(run.path):
        write_json(run.path / SUMMARY, summary_of(found))
    return found


def keep_others_in(path: Path) -> None:
    """SettingsError if a folder that says of no run that it is its own holds files of somebody else that one writes."""
    if not (is_replayed(path) or is_planned(path)):
        keep_others(*(path / name for name in WRITTEN))


def summary_of(run: Survey) -> ReplaySummary:
    """The summary of a replayed run, for `summary.json` and `fdbcore replay --json`.

    All measures pooled, the calls that they cover, and the findings that every reader must know.
    """
    calls = run.corpus.calls
    read = [call for call in calls if call.status not in (FAILED, WAITING)]
    return {
        "schema": SUMMARY_SCHEMA,
        "recordings": [call.name for call in read],
        "unscored": {call.name: call.unscored for call in read if call.unscored},
        "findings": {name: [call.name for call, _ in calls] for name, calls in run.amiss().items()},
        "warnings": run.warned(),
        "measures": run.measures,
        "lines": run.lines,
        "failed": [call.reason or call.status for call in calls if call.status in (FAILED, DAMAGED)],
    }


def _with_facts(run: Run, executor: Executor, on_call: OnCall) -> Run:
    """The run with a table that has the facts of all its calls; new and changed ones alone are read.

    Without pyarrow the run stays without a table, and each call is read whenever something is asked of it.
    """
    if not has_tables():
        return run
    table = FactsTable(run.path, run.since)
    missing = [call.path for call in run.calls if not (call.is_in_table or call.is_unreadable)]
    rows = _rows(missing, executor, partial(on_call, "facts"))
    first = next(rows, None)
    if first is not None or len(table) > len(run.calls):
        renew(table, [call.path for call in run.calls], chain(filter(None, [first]), rows), [LISTS])
        table = FactsTable(run.path, run.since)
    return Run(run.path, [replace(call, table=table) for call in run.calls], run.since)


def _rows(calls: Sequence[Path], executor: Executor, on_call: Callable[[int, int], None]) -> Iterator[Row]:
    """The rows of the calls in these folders that can be read."""
    for done, row in enumerate(results_in_order(executor, _row, calls), 1):
        on_call(done, len(calls))
        if row is not None:
            yield row


def _row(path: Path) -> Row | None:
    return row_of(path, [LISTS])
