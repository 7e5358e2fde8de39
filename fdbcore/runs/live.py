"""Holds a live run from its plan, scores and summarises it, and writes its tables and pages."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

from fdbcore import clock
from fdbcore.analysis.corpus import Run
from fdbcore.analysis.line_effects import pooled_lines
from fdbcore.analysis.score import pooled_measures, read_scores, score, unscored
from fdbcore.analysis.survey import Survey
from fdbcore.analysis.systems import RunSummary, SystemSummary
from fdbcore.endpoints.webrtc.endpoint import opened_early
from fdbcore.errors import FdbError
from fdbcore.measures.costs import total
from fdbcore.measures.placed_lines import placed_lines
from fdbcore.measures.reading import Reading
from fdbcore.models.model_table import PRICES, stated_text
from fdbcore.recording.files import SCORES, write_json, write_text
from fdbcore.recording.run import SCORED, SELFTEST, SUMMARY
from fdbcore.report.call.document import Document, document
from fdbcore.report.call.page import write_report
from fdbcore.runs.amend import keep_stages
from fdbcore.runs.budget import Budget
from fdbcore.runs.folder import RunFolder
from fdbcore.runs.pages import write_results
from fdbcore.runs.plan import Case
from fdbcore.runs.prepared import PreparedRun, prepared
from fdbcore.runs.requests import RUN_OPTIONS, RunRequest, ScoreRequest, asked_by
from fdbcore.runs.runner import run_cases
from fdbcore.runs.selftest import timing_selftest, verdict
from fdbcore.runs.services import endings, recipients
from fdbcore.runs.suite_scores import SuiteScores, scored
from fdbcore.runs.watch import NOW, RunWatch
from fdbcore.session.converse import said_nothing
from fdbcore.sources.clips import natural_order

RUN_SUMMARY_SCHEMA: Final = "fdbcore.run_summary/2"


@dataclass(frozen=True, slots=True)
class HeldRun:
    """The end of a run. summary: None if it was stopped before its results. errors: what ended a part of it. scores: of
    its benchmark, once no case is left. left: how many cases. why_left: why the budget lets none of them begin; "" if
    it does, or if there is none. is_whole: whether all cases gave a result, and nothing was left out.
    """

    folder: RunFolder
    summary: RunSummary | None
    errors: Sequence[FdbError]
    scores: SuiteScores | None
    left: int
    why_left: str
    is_whole: bool


@asked_by(RunRequest, RUN_OPTIONS)
def run(request: RunRequest) -> Run:
    """Let recorded users, or another party, talk with systems; record and score what happens, as `fdbcore run` does.

    The arguments are the fields of `RunRequest`. A warning names what of the data is left out. A call that fails stops
    no other: `calls` of the result has the status ("done", "failed", "invalid") and the reason of each.

    SettingsError for a wrong setting or address and for a folder of another run, InputError for clips, data or tools
    that cannot be used, RecordingError if `out` cannot be written, and FdbError for an error that would keep every case
    from being held. Processes are spawned, so a script that calls this needs the usual `if __name__ == "__main__"`.
    """
    held = hold(request)
    for error in held.errors:
        raise error
    return Run(held.folder.path)


def hold(request: RunRequest) -> HeldRun:
    """Hold the calls of a run that are left, score and summarise all recordings, write the pages, and score by the
    benchmark. The watcher of the request is told each step. Errors as of `run`, but those that come once calls are held
    are in the result: what is recorded is kept.
    """
    watch = request.watch or RunWatch()
    with prepared(request) as ready, RunFolder(ready.path, ready.plan) as folder:
        if prices := stated_text():
            write_text(folder.path / PRICES, prices)
        if request.again is not None:
            folder.hold_again(request.again)
        watch.begins(folder)
        for line in (*recipients(ready.plan), *endings(ready.plan, clock.utc_today())):
            watch.note(line)
        first = folder.plan.cases[: request.first]
        budget = Budget(request.max_usd) if request.max_usd is not None else None
        joined = [case for case in folder.left() if case in first][:1] if ready.hold is None else []
        with opened_early(address for case in joined for address in case.addresses):
            errors: list[FdbError] = []
            summary = scores = None
            with _kept(errors, watch):
                _hold_calls(folder, ready, first, joined, budget, watch)
            if watch.asked() < NOW:
                with _kept(errors, watch):
                    for reading in score_cases(folder):
                        watch.step(f"scoring {reading.name}")
                summary = summarise(folder)
                watch.results(summary, write_pages(folder, watch))
            left = len(folder.left())
            done = [_is_result(folder, case, request.suite is not None) for case in folder.plan.cases]
            if ready.scoring is not None and not left and summary is not None:
                with _kept(errors, watch):
                    scores = _score_by_suite(folder, ready.scoring, any(done), watch)
    is_scored = ready.scoring is None or left > 0 or (scores is not None and not scores.document["problems"])
    is_whole = all(done) and is_scored and not errors and not folder.plan.n_left_out
    why_left = budget.why_not if budget is not None and not budget.allows(0) else ""
    return HeldRun(folder, summary, errors, scores, left, why_left, is_whole)


@contextmanager
def _kept(errors: list[FdbError], watch: RunWatch) -> Iterator[None]:
    """In the `with` block, an error ends the block alone: the watcher is told, and it is added to the others."""
    try:
        yield
    except FdbError as error:
        watch.warn(str(error))
        errors.append(error)


def _hold_calls(
    folder: RunFolder,
    ready: PreparedRun,
    first: Sequence[Case],
    joined: Sequence[Case],
    budget: Budget | None,
    watch: RunWatch,
) -> None:
    """Hold the cases that are left, the first of them first; where calls run in real time, after the self-test."""
    hold = partial(run_cases, folder, jobs=ready.jobs, watch=watch, budget=budget, held=ready.hold)
    with watch:
        if folder.left() and folder.plan.settings.realtime:
            watch.invites(joined)
            found = timing_selftest()
            write_json(folder.path / SELFTEST, found)
            (watch.warn if found["passed"] is False else watch.note)(verdict(found))
        hold(only=first)
    left = folder.left()
    # Others are held unless some of the first were stopped.
    if left and not any(case in left for case in first) and watch.goes_on(first):
        with watch:
            hold()


def _is_result(folder: RunFolder, case: Case, of_suite: bool) -> bool:
    """True if a case is done; to a benchmark, which scores it, also if the system declined or said nothing."""
    outcome, ending = folder.outcome(case), folder.ending(case)
    if not of_suite or outcome is None:
        return ending == "done"
    return ending in ("done", "declined") or said_nothing(outcome)


def _score_by_suite(folder: RunFolder, scoring: ScoreRequest, has_results: bool, watch: RunWatch) -> SuiteScores | None:
    if has_results:
        return scored(scoring)
    first = folder.outcome(folder.plan.cases[0])
    if first is not None:
        watch.warn(f"not scored: no call was held; the first: {first['kind']}: {first['reason']}")
    return None


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


def _system(folder: RunFolder, name: str) -> SystemSummary:
    cases = [case for case in folder.plan.cases if case.system.name == name]
    ended = [(case, outcome) for case in cases if (outcome := folder.outcome(case)) is not None]
    kinds = Counter(map(folder.ending, cases))
    reasons = Counter(f"{folder.ending(case)}: {outcome['reason']}" for case, outcome in ended if outcome["reason"])
    again = sum(bool(folder.attempts(case)) for case in cases)
    # In the order of their names: that of the plan hangs on its seed.
    found_recordings = map(folder.recording, sorted(cases, key=lambda case: natural_order(case.name)))
    recordings = [each for each in found_recordings if each is not None and (each.path / SCORES).is_file()]
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


def write_pages(folder: RunFolder, watch: RunWatch) -> tuple[Reading, Document] | Survey | None:
    """Write the page of a single case, or the tables and pages of several; return what they show.

    For a single case that is its recording and its document, or None if no recording can be scored. One that is invalid
    is shown as several are: it is in no figure, but can be heard.
    """
    outcome = folder.outcome(folder.plan.cases[0])
    if len(folder.plan.cases) > 1 or (outcome is not None and outcome["kind"] == "invalid"):
        return write_results(
            Run(folder.path),
            on_call=lambda what, done, calls: watch.step(f"{what}: {done:,} of {calls:,} calls", done, calls),
        )
    reading = folder.recording(folder.plan.cases[0])
    if reading is None:
        return None
    content = document(reading, read_scores(reading))
    write_report(reading, content)
    return reading, content
