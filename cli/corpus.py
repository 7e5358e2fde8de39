"""`fdbcore replay` with several sessions: shows progress, writes tables and a page, prints a summary."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from fdbcore.errors import FdbError

from . import options
from .options import DONE, FAILED, INTERRUPTED, screen_columns
from .status import Status

if TYPE_CHECKING:
    from fdbcore.analysis.corpus import Run
    from fdbcore.analysis.sensitivity import Sensitivity
    from fdbcore.analysis.summaries import Measures
    from fdbcore.analysis.survey import ReplaySummary, Survey
    from fdbcore.runs.pages import OnCall
    from fdbcore.runs.replay_jobs import ReplayResult, ReplaySettings
    from fdbcore.runs.replay_many import ReplayProgress
    from fdbcore.runtime.executor import Executor
    from fdbcore.sources.calls import PlannedCall
    from fdbcore.sources.names import Oddities
    from fdbcore.sources.sessions import SessionInput

MOST_NAMES: Final = 5
_LOOK_CALLS: Final = 50
_MOST_BESIDE: Final = 5  # runs that are looked at for one to compare with


def replay_calls(
    calls: Sequence[PlannedCall],
    settings: ReplaySettings,
    executor: Executor,
    oddities: Oddities,
    as_json: bool,
    quiet: bool,
    others: Sequence[str] = (),
) -> int:
    """Replay several calls, write their tables and page, print a summary, and return the exit code.

    others: detectors to compare with.
    """
    from fdbcore.analysis.corpus import Run
    from fdbcore.runs.pages import summary_of, write_results
    from fdbcore.runs.replay_many import replay_corpus

    display = _Display(quiet or as_json, [call.session for call in calls])
    for call in calls:
        if call.error is not None:
            display.failed(f"{call.session.name}: {call.error}")
    try:
        check_usable(others)
        replay_corpus(calls, settings, executor, oddities, display)
        display.status.clear()
        display.tell_mono()
        say_oddities(oddities)
        corpus = Run(settings.run_path)
        try:
            moved = by_detectors(corpus, others, executor) if others and corpus.scored else None
        except FdbError:  # the first detector's decisions stay
            write_results(corpus, executor=executor, on_call=on_written(display.status))
            raise
        run = write_results(corpus, executor=executor, on_call=on_written(display.status), detectors=moved)
        if as_json:
            _print_json(run, summary_of(run), moved)
        elif not quiet:
            print_run(run, detectors_screen(moved, run.measures) if moved else [])
            _say_next(settings.run_path)
    except FdbError as error:
        display.status.clear()
        click.echo(f"fdbcore replay: {error}", err=True)
        return FAILED
    except KeyboardInterrupt:
        display.status.clear()
        click.echo(f"fdbcore replay: interrupted{display.so_far()}; run the same command again to continue", err=True)
        return INTERRUPTED
    return FAILED if display.failures else DONE


def on_written(status: Status) -> OnCall:
    """A callback that shows of how many calls the tables and the pages are written."""

    def on_call(what: str, done: int, calls: int) -> None:
        if done == calls:
            status.clear()
        elif done % _LOOK_CALLS == 0:
            status(f"{what}: {done:,} of {calls:,} calls", done, calls)

    return on_call


class _Display:
    """Shows how far the replay is: live on a terminal, elsewhere one line per minute. Prints one line per failure."""

    def __init__(self, quiet: bool, sessions: Sequence[SessionInput]) -> None:
        self.failures = 0
        self._sessions = sessions
        self.status = Status(quiet)
        self._progress: ReplayProgress | None = None
        self._mono: list[str] = []

    def __call__(self, progress: ReplayProgress, ended: ReplayResult | None) -> None:
        from fdbcore.sources.sessions import MONO

        self._progress = progress
        if ended is not None and ended.status in ("failed", "damaged"):
            scored = "; the readable part is scored" if ended.status == "damaged" else ""
            reason = f"{_named(ended.reason or '', self._sessions[ended.number])}{scored}"
            if MONO in reason:
                self._mono.append(reason)
            else:
                self.failed(reason)
        self.status.step(self._line(progress), progress.ended, progress.calls)

    def failed(self, text: str) -> None:
        """Count a failure and print its line, unless there were too many."""
        self.failures += 1
        self.status.clear()
        if self.failures <= options.MOST_LINES:
            click.echo(f"fdbcore replay: {text}", err=True)
        elif self.failures == options.MOST_LINES + 1:
            click.echo("fdbcore replay: more calls failed; calls.csv lists them all", err=True)

    def tell_mono(self) -> None:
        """Say which files have one channel: one as any other failure, several in one line with what to do."""
        from fdbcore.sources.sessions import MONO

        if len(self._mono) < 2:
            for reason in self._mono:
                self.failed(reason)
            return
        self.failures += len(self._mono)
        names = [Path(reason.partition(f": {MONO}")[0]).name for reason in self._mono]
        click.echo(
            f"fdbcore replay: {len(names):,} files have one channel ({shortlist(names)}): if two of them are the sides "
            "of a call, say how their names differ, A's first: --pair '*-caller.wav' '*-agent.wav'",
            err=True,
        )

    def so_far(self) -> str:
        """The number of calls that have ended, as a part of a sentence."""
        return f", {self._progress.ended:,} of {self._progress.calls:,} calls ended" if self._progress else ""

    def _line(self, progress: ReplayProgress) -> str:
        from fdbcore.report.format import clock_text

        time_left = "" if progress.left_s is None else f" | {clock_text(progress.left_s)} left"
        failed = f" | {self.failures:,} failed" if self.failures else ""
        kept = f" | {progress.skipped:,} kept" if progress.skipped else ""
        rate = f"{progress.calls_per_s:.1f} calls/s, {progress.times_real_time:,.0f}x real time"
        return f"{progress.ended:,} of {progress.calls:,} calls{time_left}{failed}{kept} | {rate}"


def _named(reason: str, session: SessionInput) -> str:
    """A reason that says which call it is about: most name a file of it, others get its name."""
    places = filter(None, (session.recording, *session.paths))
    return reason if any(str(path) in reason for path in places) else f"{session.name}: {reason}"


def say_oddities(oddities: Oddities) -> None:
    """Print one line per kind of input that did not fit, with some of its names."""
    for what, names in oddities.found.items():
        click.echo(f"fdbcore replay: {what}: {len(names):,}: {shortlist(names)}", err=True)


def shortlist(names: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
    return f"{', '.join(names[:MOST_NAMES])}{more}"


def check_usable(detectors: Sequence[str]) -> None:
    """SettingsError or MissingExtraError for one that cannot be used: before a long replay, not after it."""
    from fdbcore.session.vad import make_vads
    from fdbcore.types import SAMPLE_RATE_HZ

    for name in detectors:
        make_vads(name, (SAMPLE_RATE_HZ, SAMPLE_RATE_HZ))


def by_detectors(run: Run, others: Sequence[str], executor: Executor) -> Sensitivity:
    """Figures of other detectors for the scored calls of a run."""
    from fdbcore.analysis.groups import CallGroup
    from fdbcore.analysis.sensitivity import sensitivity

    assert run.settings is not None
    return sensitivity([CallGroup("", run.scored, [])], run.settings, executor, detectors=others, alone=True)


def detectors_screen(found: Sensitivity, measures: Measures) -> list[str]:
    """The lines of the screen about what moves with the detector."""
    from fdbcore.report.groups.detectors import detector_lines
    from fdbcore.report.terminal import labelled

    return labelled(detector_lines(found, {"": measures}), screen_columns())


def print_run(run: Survey, below: Sequence[str] = ()) -> None:
    """Print a summary of the run, the lines `below`, and its page. A few sessions of one system get a line each."""
    from fdbcore.analysis.systems import several
    from fdbcore.report.agent_logs import run_screen_lines
    from fdbcore.report.call.screen import run_screen
    from fdbcore.report.html.templates import INDEX
    from fdbcore.report.run.screen import corpus_screen
    from fdbcore.report.terminal import filled

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


def _say_next(path: Path) -> None:
    """Print how to compare a run with the newest complete one beside it that has calls of its names, if any."""
    from fdbcore.analysis.comparison import differing
    from fdbcore.analysis.corpus import Run
    from fdbcore.recording.form import NOT_OF_FORM
    from fdbcore.recording.run import WAITING, runs_beside

    for other in runs_beside(path)[:_MOST_BESIDE]:
        with suppress(FdbError, *NOT_OF_FORM):  # the work is done: nothing that lies beside it ends the command
            earlier = Run(other)
            if any(call.status == WAITING or call.is_unreadable for call in earlier.calls):
                continue
            made = Run(path)
            if {call.name for call in made.calls}.isdisjoint(call.name for call in earlier.calls):
                continue
            differing(made, earlier, allowed=False)
            run, baseline = (shlex.quote(str(each)) for each in (path, other))
            click.echo(f"Next, to hear what changed: fdbcore report {run} --baseline {baseline}")
            return


def _print_json(run: Survey, summary: ReplaySummary, moved: Sensitivity | None) -> None:
    """Print one JSON document call by call: the documents of thousands of calls would not fit into memory."""
    from fdbcore.analysis.score import read_scores
    from fdbcore.report.call.document import document

    head = json.dumps(summary if moved is None else {**summary, "detectors": moved}, ensure_ascii=False)
    click.echo(f'{head[:-1]}, "sessions": [', nl=False)
    calls = {call.name: call for call in run.corpus.calls}
    for number, name in enumerate(summary["recordings"]):
        reading = calls[name].recording
        text = json.dumps(document(reading, read_scores(reading)), ensure_ascii=False)
        click.echo(f"{', ' if number else ''}{text}", nl=False)
    click.echo("]}")
