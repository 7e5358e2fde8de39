"""The output of `fdbcore run` as the run goes on, its results, and its exit code."""

import json
from collections.abc import Iterator, Sequence

import click

from fdbcore.analysis.corpus import Run
from fdbcore.analysis.settings_differences import confirmed_unlike
from fdbcore.analysis.survey import Survey
from fdbcore.analysis.systems import CaseCounts, RunSummary
from fdbcore.measures.costs import total
from fdbcore.measures.reading import Reading
from fdbcore.protocols import CLEAN
from fdbcore.recording.files import REPORT
from fdbcore.recording.run import state_of_case
from fdbcore.report.call.document import Document
from fdbcore.report.call.screen import screen
from fdbcore.report.format import clock_text, cost_in_short, cost_text, counted, usd_text
from fdbcore.report.terminal import filled
from fdbcore.runs.folder import RunFolder
from fdbcore.runs.live import HeldRun
from fdbcore.runs.plan import Case
from fdbcore.runs.watch import GO_ON
from fdbcore.session.converse import IN_TEXT, NOT_COUNTED
from fdbcore.types import ticks_to_s

from .corpus import print_run
from .options import DONE, FAILED, INTERRUPTED, screen_columns
from .progress import Display
from .score_suite import print_scores
from .status import Status


class RunScreen(Display):
    """Prints what a run does. is_new: whether its folder is a new one. like: whose confirmed settings to compare with.
    asks: ask whether to go on after the first cases.
    """

    def __init__(self, status: Status, is_new: bool, like: Run | None, asks: bool, as_json: bool, quiet: bool) -> None:
        super().__init__("fdbcore run", status, quiet, lines=not (quiet or as_json))
        self._is_new, self._like, self._asks, self._as_json = is_new, like, asks, as_json
        self._same = "run the same command again"
        self.has_begun = False

    def begins(self, folder: RunFolder) -> None:
        """Say where a run without a name is written, or that nothing is left to run."""
        super().begins(folder)
        self.has_begun = True
        if self._is_new:
            self._same = f"run the same command with --out {folder.path}"
            self.note(f"writing to {folder.path}; if it is stopped, {self._same} to continue")
        if self._lines and not folder.left():
            self._print("all cases have ended; to run cases again: --again failed, invalid or all")

    def goes_on(self, first: Sequence[Case]) -> bool:
        """Tell what the first cases took and cost, and ask whether to run the others too."""
        left = len(self.folder.left())
        for line in _of_first(self.folder, first, left):
            self._print(line)
        try:
            return not self._asks or click.confirm(f"Run the other {left}?", err=True)
        except click.Abort:  # Ctrl-C, or the end of the input, is a no
            click.echo(err=True)
            return False

    def results(self, summary: RunSummary, shown: tuple[Reading, Document] | Survey | None) -> None:
        """Print the summary as JSON; or how cases ended, what they cost, the tables or the report of a single case."""
        self._status.clear()
        folder = self.folder
        if self._like is not None:
            summary = {**summary, "confirmed_unlike": confirmed_unlike(Run(folder.path), self._like)}
        if self._as_json:
            cases = [{**case.to_json(), "outcome": folder.outcome(case)} for case in folder.plan.cases]
            click.echo(json.dumps({**summary, "cases": cases}, ensure_ascii=False))
        if not self._lines:
            return
        if not folder.plan.settings.realtime:
            click.echo(f"virtual clock: {NOT_COUNTED}")
        for line in _outcome_lines(summary):
            click.echo(line)
        if "cost" in summary:
            click.echo(f"cost: {cost_text(summary['cost'])}")
        for line in summary.get("confirmed_unlike", ()):
            click.echo(line)
        if _is_text_only(folder):
            pass
        elif shown is None:
            click.echo(folder.path)
        elif isinstance(shown, tuple):
            click.echo(screen(*shown, screen_columns()))
            click.echo(shown[0].path / REPORT)
        else:
            print_run(shown)
        lines = [line["name"] for line in folder.plan.decided_by.get("lines", ())]
        if CLEAN in lines and len(lines) > 1:
            click.echo(f"what each line costs: fdbcore score {folder.path} --by line")

    def ends(self, held: HeldRun | None) -> int:
        """Print what is left, the scores by the benchmark or how to get them, and return the exit code.

        held: None if Ctrl-C came once calls had ended.
        """
        folder = self.folder
        left = len(folder.left())
        if held is None or held.summary is None or (left and self.asked() != GO_ON):
            self.warn(f"interrupted, {self._left_text(left)}")
            return INTERRUPTED
        if left and not held.errors:
            why = f"{held.why_left}, " if held.why_left else ""
            self.warn(f"{why}{self._left_text(left, 'with a higher --max-cost or none, ' if why else '')}")
        if self._lines and held.scores is not None:
            print_scores(held.scores, self)
        elif self._lines and folder.plan.material is not None and self._kinds["done"]:
            lead = "the replies are text; score them with " if _is_text_only(folder) else ""
            click.echo(f"{lead}fdbcore score --suite {folder.plan.material.suite} {folder.path}")
        if n_left_out := folder.plan.n_left_out:
            self.warn(f"{counted(n_left_out, 'item')} of the data left out, as said above")
        return DONE if held.is_whole else FAILED

    def _left_text(self, left: int, how: str = "") -> str:
        """The number of cases left, and the command that goes on."""
        if left:
            return f"{left} of {len(self.folder.plan.cases)} cases left; {how}{self._same} to continue"
        return f"all cases have ended and are kept; {self._same} for the results"


def _is_text_only(folder: RunFolder) -> bool:
    """True if every case that is done was answered in text alone, so that there is no turn-taking to measure."""
    outcomes = [outcome for case in folder.plan.cases if (outcome := folder.outcome(case)) is not None]
    return {outcome["reason"] for outcome in outcomes if outcome["kind"] == "done"} == {IN_TEXT}


def _outcome_lines(summary: RunSummary) -> Iterator[str]:
    """The endings of each system's cases; of several systems only the reasons, as a table shows the counts."""
    systems = summary["systems"]
    for name, found in systems.items():
        lines = [f"{name}: {_counts_text(found['cases'])}"] if len(systems) == 1 else []
        lead = "  " if lines else f"{name}: "
        lines += [f"{lead}{count} {reason}" for reason, count in found["reasons"].items()]
        yield from (filled(line, screen_columns(), "    ") for line in lines)


def _counts_text(counts: CaseCounts) -> str:
    """Counts of ended cases by kind: "38 of 40 cases ended: 36 done, 1 failed, 1 invalid"."""
    declined = f"{counts['declined']} declined, " if counts["declined"] else ""
    kinds = f"{counts['done']} done, {declined}{counts['failed']} failed, {counts['invalid']} invalid"
    again = f"; {counts['again']} run more than once" if counts["again"] else ""
    return f"{counts['planned'] - counts['left']} of {counts['planned']} cases ended: {kinds}{again}"


def _of_first(folder: RunFolder, first: Sequence[Case], left: int) -> Iterator[str]:
    """The length and cost of each of the first cases, and about what those that are left will take and cost."""
    lengths_s = [ticks_to_s(state_of_case(folder.path / case.name).get("n_ticks", 0)) for case in first]
    costs = [folder.cost(case) for case in first]
    for case, length_s, cost in zip(first, lengths_s, costs, strict=True):
        told = [clock_text(length_s), *([cost_in_short(cost.to_json())] if cost else [])]
        yield f"{case.name}: {', '.join(told)}"
    expected = [clock_text(left * sum(lengths_s) / len(first))]
    if (all_costs := total(costs)) is not None:
        yield f"cost: {cost_text(all_costs.to_json())}"
        expected += ["an unknown sum"] if all_costs.unpriced else [usd_text(left * all_costs.usd / len(first))]
    yield f"the other {left}, if they are alike: about {' and '.join(expected)}"
