"""The progress of `fdbcore replay`, and the screen of a run."""

import json
import shlex
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import click

from fdbcore.analysis.comparison import differing
from fdbcore.analysis.corpus import Run
from fdbcore.analysis.order import positions
from fdbcore.analysis.score import read_scores
from fdbcore.analysis.sensitivity import Sensitivity
from fdbcore.analysis.summaries import Measures
from fdbcore.analysis.survey import ReplaySummary, Survey
from fdbcore.analysis.systems import several
from fdbcore.clock import now_ns
from fdbcore.errors import FdbError
from fdbcore.recording.form import NOT_OF_FORM
from fdbcore.recording.run import WAITING, runs_beside
from fdbcore.report.agent_logs import run_screen_lines
from fdbcore.report.call.document import document
from fdbcore.report.call.screen import run_screen
from fdbcore.report.groups.detectors import detector_lines
from fdbcore.report.html.templates import INDEX
from fdbcore.report.run.screen import corpus_screen
from fdbcore.report.terminal import filled, labelled
from fdbcore.runs.pages import OnCall
from fdbcore.runs.replay_jobs import ReplayResult
from fdbcore.runs.replay_many import ReplayProgress
from fdbcore.runs.watch import ReplayWatch
from fdbcore.sources.calls import PlannedCall
from fdbcore.sources.names import Oddities
from fdbcore.sources.sessions import MONO, SessionInput
from fdbcore.types import TICKS_PER_S, clock_text

from . import options
from .options import screen_columns
from .status import Status, Teller

SHOWN_EVERY_TICKS: Final = 10 * TICKS_PER_S
"""The time between two lines about one call, on the timeline of the call."""
MOST_NAMES: Final = 5
_REPLAYING: Final = 0.8
"""Of the time of a replay, about; its tables and pages take the rest."""
_WRITTEN: Final = ("facts", "tables", "pages")
_DRAW_EVERY_NS: Final = 10**8
_MOST_BESIDE: Final = 5  # runs that are looked at for one to compare with


def on_written(status: Status, before: float = 0.0) -> OnCall:
    """A callback that shows how far the tables and the pages are. before: the share of the bar that is full already."""
    began_ns, drawn_ns = now_ns(), 0

    def on_call(what: str, done: int, calls: int) -> None:
        nonlocal drawn_ns
        if now_ns() - drawn_ns < _DRAW_EVERY_NS and done < calls:
            return
        drawn_ns = now_ns()
        share = (_WRITTEN.index(what) + done / calls) / len(_WRITTEN)
        left_s = (drawn_ns - began_ns) / 1e9 * (1 - share) / share
        text = f"{what}: {done:,} of {calls:,} calls | {clock_text(left_s)} left"
        status(text if share < 1 else "the page of all calls", before + (1 - before) * share, 1)

    return on_call


class ReplayScreen(Teller, ReplayWatch):
    """Shows how far a replay is: live on a terminal, elsewhere one line per minute. Prints one line per failure."""

    def __init__(self, status: Status) -> None:
        super().__init__("fdbcore replay", status)
        self.failures = 0
        self._progress: ReplayProgress | None = None
        self._mono: list[str] = []

    def begins(self, calls: Sequence[PlannedCall]) -> None:
        """Name the calls that cannot be replayed."""
        self._sessions = [call.session for call in calls]
        self._began_ns = now_ns()
        for call in calls:
            if call.error is not None:
                self._failed(f"{call.session.name}: {call.error}")

    def ticks(self, stated_s: float | None, tick: int) -> None:
        """Show how far the call is, and how long it takes."""
        if not tick or tick % SHOWN_EVERY_TICKS:
            return
        done_s, elapsed_s = tick / TICKS_PER_S, (now_ns() - self._began_ns) / 1e9
        text = f"{self._sessions[0].name}: {clock_text(done_s)}"
        if stated_s and stated_s >= done_s:
            left_s = elapsed_s * (stated_s - done_s) / done_s
            text += f" of {clock_text(stated_s)} | {clock_text(left_s)} left"
        self._status.step(f"{text} | {done_s / elapsed_s:,.0f}x real time", done_s, stated_s)

    def progress(self, progress: ReplayProgress, ended: ReplayResult | None) -> None:
        """Show how many calls have ended, and name those that failed."""
        self._progress = progress
        if ended is not None and ended.status in ("failed", "damaged"):
            scored = "; the readable part is scored" if ended.status == "damaged" else ""
            reason = f"{_named(ended.reason or '', self._sessions[ended.number])}{scored}"
            if MONO in reason:
                self._mono.append(reason)
            else:
                self._failed(reason)
        self._status.step(self._line(progress), _REPLAYING * progress.ended, progress.calls)

    def oddities(self, found: Oddities) -> None:
        """Print one line per kind of input that did not fit, with some of its names."""
        self._tell_mono()
        for what, names in found.found.items():
            self.warn(f"{what}: {len(names):,}: {shortlist(names)}")
        self._on_written = on_written(self._status, _REPLAYING)

    def written(self, what: str, done: int, calls: int) -> None:
        """Show of how many calls the tables and the pages are written."""
        self._on_written(what, done, calls)

    def clear(self) -> None:
        """Remove the status, so that results can be printed."""
        self._status.clear()

    def so_far(self) -> str:
        """The number of calls that have ended, as a part of a sentence."""
        return f", {self._progress.ended:,} of {self._progress.calls:,} calls ended" if self._progress else ""

    def _failed(self, text: str) -> None:
        """Count a failure and print its line, unless there were too many."""
        self.failures += 1
        if self.failures <= options.MOST_LINES:
            self.warn(text)
        elif self.failures == options.MOST_LINES + 1:
            self.warn("more calls failed; calls.csv lists them all")

    def _tell_mono(self) -> None:
        """Say which files have one channel: one as any other failure, several in one line with what to do."""
        if len(self._mono) < 2:
            for reason in self._mono:
                self._failed(reason)
            return
        self.failures += len(self._mono)
        names = [Path(reason.partition(f": {MONO}")[0]).name for reason in self._mono]
        self.warn(
            f"{len(names):,} files have one channel ({shortlist(names)}): if two of them are the sides of a call, say "
            "how their names differ, A's first: --pair '*-caller.wav' '*-agent.wav'"
        )

    def _line(self, progress: ReplayProgress) -> str:
        past_s, left_s = (now_ns() - self._began_ns) / 1e9, progress.left_s
        time_left = "" if left_s is None else f" | {clock_text((past_s + left_s) / _REPLAYING - past_s)} left"
        failed = f" | {self.failures:,} failed" if self.failures else ""
        kept = f" | {progress.skipped:,} kept" if progress.skipped else ""
        rate = f"{progress.calls_per_s:.1f} calls/s, {progress.times_real_time:,.0f}x real time"
        return f"{progress.ended:,} of {progress.calls:,} calls{time_left}{failed}{kept} | {rate}"


def _named(reason: str, session: SessionInput) -> str:
    """A reason that says which call it is about: most name a file of it, others get its name."""
    places = filter(None, (session.recording, *session.paths))
    return reason if any(str(path) in reason for path in places) else f"{session.name}: {reason}"


def shortlist(names: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
    return f"{', '.join(names[:MOST_NAMES])}{more}"


def detectors_screen(found: Sensitivity, measures: Measures) -> list[str]:
    """The lines of the screen about what moves with the detector."""
    return labelled(detector_lines(found, {"": measures}), screen_columns())


def print_run(run: Survey, below: Sequence[str] = ()) -> None:
    """Print a summary of the run, the lines `below`, and its page. A few sessions of one system get a line each."""
    few = len(run.rows) <= options.MOST_LINES and not several(run)
    if few and run.scored:
        columns = screen_columns()
        click.echo("\n".join([run_screen(run, columns), *run_screen_lines(run, columns)]))
        for row in run.rows:
            if row.length_s is None:
                click.echo(filled(f"not scored: {row.call.name}: {row.call.unscored}", columns))
    else:
        click.echo(corpus_screen(run, shutil.get_terminal_size().columns))
    for line in below:
        click.echo(line)
    click.echo(run.corpus.path / INDEX)


def say_next(path: Path) -> None:
    """Print how to compare a run with an earlier one, which it names if one beside it may well be meant."""
    baseline = ""
    for other in runs_beside(path)[:_MOST_BESIDE]:
        baseline = baseline or "OLD"
        with suppress(FdbError, *NOT_OF_FORM):  # the work is done: nothing that lies beside it ends the command
            if _is_baseline(other, path):
                baseline = shlex.quote(str(other))
                break
    if baseline:
        click.echo(f"Next, to hear what changed: fdbcore report {shlex.quote(str(path))} --baseline {baseline}")


def _is_baseline(other: Path, path: Path) -> bool:
    """True if a run is whole and made before the one in `path`, has half of its calls, and the same settings."""
    earlier, made = Run(other), Run(path)
    if any(call.status == WAITING or call.is_unreadable for call in earlier.calls):
        return False
    names, before = ({call.name for call in run.calls} for run in (made, earlier))
    if 2 * len(names & before) < len(names):
        return False
    differing(made, earlier, allowed=False)
    # A replay that only adds something to a run keeps its recordings, so they say how old it is, not its files.
    ages: list[Any] = positions([other.name, path.name]) or [run.created for run in (earlier, made)]
    return bool(ages[0] < ages[1])


def print_json(run: Survey, summary: ReplaySummary, moved: Sensitivity | None) -> None:
    """Print one JSON document call by call: the documents of thousands of calls would not fit into memory."""
    head = json.dumps(summary if moved is None else {**summary, "detectors": moved}, ensure_ascii=False)
    click.echo(f'{head[:-1]}, "sessions": [', nl=False)
    calls = {call.name: call for call in run.corpus.calls}
    for number, name in enumerate(summary["recordings"]):
        reading = calls[name].recording
        text = json.dumps(document(reading, read_scores(reading)), ensure_ascii=False)
        click.echo(f"{', ' if number else ''}{text}", nl=False)
    click.echo("]}")
