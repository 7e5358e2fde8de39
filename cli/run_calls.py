"""What `fdbcore run` does once it has a plan: it runs the calls, scores them, and prints the results."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fdbcore.errors import FdbError

from .options import DONE, FAILED, INTERRUPTED, screen_columns

if TYPE_CHECKING:
    from fdbcore.analysis.corpus import Run
    from fdbcore.analysis.systems import CaseCounts, RunSummary, SystemSummary
    from fdbcore.runs.budget import Budget
    from fdbcore.runs.folder import RunFolder
    from fdbcore.runs.held_here import HeldCalls
    from fdbcore.runs.plan import Case
    from fdbcore.runtime.executor import Executor
    from fdbcore.session.converse import LiveSettings

    from .progress import Display
    from .run_costs import Trial
    from .run_plan import Wanted


@dataclass(frozen=True, slots=True)
class Calls:
    """The calls of a run that are left, and then its results.

    executor: scores by the benchmark. held: see `run_cases`. same: how to give the same command again. trial: the cases
    to run before the user is asked. scoring: see `scoring_of`; the benchmark scores once all cases have ended. like:
    the run whose confirmed settings to compare with.
    """

    wanted: Wanted
    folder: RunFolder
    jobs: int
    executor: Executor
    held: Callable[[Path, LiveSettings], HeldCalls] | None
    same: str
    budget: Budget | None
    trial: Trial | None
    scoring: Mapping[str, Any] | None
    like: Run | None

    def run(self) -> int:
        """Run the cases that are left, score all recordings, print the results, and return the exit code.

        The benchmark of the run scores it last.

        Once Ctrl-C ends live calls, or comes while recordings are scored, there are no results.
        """
        from fdbcore.report.format import counted
        from fdbcore.runs.live import summarise
        from fdbcore.runs.runner import GO_ON, NOW

        from .progress import Display

        display = Display(self.folder, self._shows)
        failures: list[str] = []
        has_results = False
        try:
            failures += self._hold(display)
            if display.asked() < NOW:
                failures += _score(self.folder, self._shows)
                _print(self.folder, summarise(self.folder), self.like, self.wanted.as_json, self.wanted.quiet)
                has_results = True
        except KeyboardInterrupt:
            pass
        left = len(self.folder.left())
        if not has_results or (left and display.asked() != GO_ON):
            click.echo(f"fdbcore run: interrupted, {self._told(left)}", err=True)
            return INTERRUPTED
        if left and not failures:
            why = f"{self.budget.why_not}, " if self.budget is not None and not self.budget.allows(0) else ""
            higher = "with a higher --max-cost or none, " if why else ""
            click.echo(f"fdbcore run: {why}{self._told(left, higher)}", err=True)
        done = [self._is_result(case) for case in self.folder.plan.cases]
        is_scored = self._score_by_suite(any(done))
        if n_left_out := self.folder.plan.n_left_out:
            click.echo(f"fdbcore run: {counted(n_left_out, 'item')} of the data left out, as said above", err=True)
        return DONE if all(done) and is_scored and not failures and not n_left_out else FAILED

    def _is_result(self, case: Case) -> bool:
        """Whether a case is done; to a benchmark, which scores it, also whether the system declined or said nothing."""
        from fdbcore.session.converse import said_nothing

        outcome, ending = self.folder.outcome(case), self.folder.ending(case)
        if self.wanted.suite is None or outcome is None:
            return ending == "done"
        return ending in ("done", "declined") or said_nothing(outcome)

    def _score_by_suite(self, has_results: bool) -> bool:
        """Score by the benchmark if no case is left, else print the command that does; returns whether it went well."""
        from fdbcore.runs.plan import scores_beside

        from .score_suite import score_suite

        left = self.folder.left()
        if not has_results:
            first = self.folder.outcome(self.folder.plan.cases[0])
            if self.scoring is not None and not left and first is not None:
                why = f"{first['kind']}: {first['reason']}"
                click.echo(f"fdbcore run: not scored: no call was held; the first: {why}", err=True)
            return False
        if self.wanted.suite is not None and self.scoring is not None and not left:
            path, suite, to_continue = self.folder.path, self.wanted.suite, f"{self.same} to continue"
            code = score_suite(
                *(suite, [path], self.scoring, None, self.executor, None, scores_beside(path)),
                as_json=False,
                quiet=not self._shows,
                to_continue=to_continue,
            )
            return code == DONE
        if self._shows and self.folder.plan.material is not None:
            lead = "the replies are text; score them with " if _is_text_only(self.folder) else ""
            click.echo(f"{lead}fdbcore score --suite {self.folder.plan.material.suite} {self.folder.path}")
        return True

    @property
    def _shows(self) -> bool:
        return not (self.wanted.quiet or self.wanted.as_json)

    def _told(self, left: int, how: str = "") -> str:
        """How many cases are left, and the command that goes on."""
        if left:
            return f"{left} of {len(self.folder.plan.cases)} cases left; {how}{self.same} to continue"
        return f"all cases have ended and are kept; {self.same} for the results"

    @property
    def first(self) -> Sequence[Case]:
        """The case whose call is held first, if it is held on this machine."""
        left = self.folder.left() if self.held is None else []
        of_trial = self.trial.cases(self.folder) if self.trial else left
        return [case for case in left if case in of_trial][:1]

    def _hold(self, display: Display) -> list[str]:
        """Run the cases that are left; returns the errors, after printing them."""
        from fdbcore.runs.live import measure_timing
        from fdbcore.runs.runner import run_cases
        from fdbcore.runs.selftest import verdict

        folder = self.folder
        hold = partial(
            run_cases, folder, jobs=self.jobs, watch=display, asked=display.asked, budget=self.budget, held=self.held
        )
        try:
            with display:
                if folder.left() and folder.plan.settings.realtime:
                    if not self.wanted.quiet:
                        display.invite(self.first)
                    found = measure_timing(folder)
                    if self._shows or not found["passed"]:
                        click.echo(verdict(found), err=True)
                elif self._shows and not folder.left():
                    click.echo("all cases have ended; to run cases again: --again failed, invalid or all", err=True)
                hold(only=self.trial.cases(folder) if self.trial else None)
            if self.trial is not None and self.trial.goes_on(folder):
                with display:
                    hold()
        except FdbError as error:
            click.echo(f"fdbcore run: {error}", err=True)
            return [str(error)]
        return []


def _score(folder: RunFolder, show: bool) -> list[str]:
    """Score recordings that have no scores yet; returns the errors, after printing them."""
    from fdbcore.runs.live import score_cases

    from .status import Status

    try:
        with Status(not show) as status:
            for recording in score_cases(folder):
                status(f"scoring {recording.name}")
    except FdbError as error:
        click.echo(f"fdbcore run: {error}", err=True)
        return [str(error)]
    return []


def _print(folder: RunFolder, summary: RunSummary, like: Run | None, as_json: bool, quiet: bool) -> None:
    """Write the page of a single case, or the tables and index.html of several, and print the results."""
    from fdbcore.analysis.corpus import Run
    from fdbcore.analysis.settings_differences import confirmed_unlike
    from fdbcore.protocols import CLEAN
    from fdbcore.report.format import cost_text
    from fdbcore.session.converse import NOT_COUNTED

    silent = as_json or quiet
    if like is not None:
        summary = {**summary, "confirmed_unlike": confirmed_unlike(Run(folder.path), like)}
    if as_json:
        printed: RunSummary = {
            **summary,
            "cases": [{**case.to_json(), "outcome": folder.outcome(case)} for case in folder.plan.cases],
        }
        click.echo(json.dumps(printed, ensure_ascii=False))
    if not silent and not folder.plan.settings.realtime:
        click.echo(f"virtual clock: {NOT_COUNTED}")
    if not silent:
        _print_outcomes(summary["systems"])
        if "cost" in summary:
            click.echo(f"cost: {cost_text(summary['cost'])}")
        for line in summary.get("confirmed_unlike", ()):
            click.echo(line)
    _write_pages(folder, silent or _is_text_only(folder))
    lines = [line["name"] for line in folder.plan.decided_by.get("lines", ())]
    if not silent and CLEAN in lines and len(lines) > 1:
        click.echo(f"what each line costs: fdbcore score {folder.path} --by line")


def _is_text_only(folder: RunFolder) -> bool:
    """Whether every case that is done was answered in text alone, so that there is no turn-taking to measure."""
    from fdbcore.session.converse import IN_TEXT

    outcomes = [outcome for case in folder.plan.cases if (outcome := folder.outcome(case)) is not None]
    return {outcome["reason"] for outcome in outcomes if outcome["kind"] == "done"} == {IN_TEXT}


def _print_outcomes(systems: Mapping[str, SystemSummary]) -> None:
    """Print how the cases of each system ended; of several systems only the reasons, as a table shows the counts."""
    from fdbcore.report.terminal import filled

    for name, found in systems.items():
        lines = [f"{name}: {counts_text(found['cases'])}"] if len(systems) == 1 else []
        lead = "  " if lines else f"{name}: "
        lines += [f"{lead}{count} {reason}" for reason, count in found["reasons"].items()]
        for line in lines:
            click.echo(filled(line, screen_columns(), "    "))


def _write_pages(folder: RunFolder, silent: bool) -> None:
    from fdbcore.recording.files import REPORT
    from fdbcore.report.call.screen import screen
    from fdbcore.runs.live import write_pages

    from .corpus import on_written, print_run
    from .status import Status

    shown = write_pages(folder, on_written(Status(silent)))
    if silent:
        return
    if shown is None:
        click.echo(folder.path)
    elif isinstance(shown, tuple):
        click.echo(screen(*shown, screen_columns()))
        click.echo(shown[0].path / REPORT)
    else:
        print_run(shown)


def counts_text(counts: CaseCounts) -> str:
    """How many cases have ended, and how: "38 of 40 cases ended: 36 done, 1 failed, 1 invalid"."""
    declined = f"{counts['declined']} declined, " if counts["declined"] else ""
    kinds = f"{counts['done']} done, {declined}{counts['failed']} failed, {counts['invalid']} invalid"
    again = f"; {counts['again']} run more than once" if counts["again"] else ""
    return f"{counts['planned'] - counts['left']} of {counts['planned']} cases ended: {kinds}{again}"
