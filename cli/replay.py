"""`fdbcore replay`: measures recorded conversations."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from fdbcore.errors import FdbError, InputError, MissingExtraError, SettingsError
from fdbcore.types import TICKS_PER_S, clock_text

from . import options
from .corpus import by_detectors, check_usable, detectors_screen, say_oddities
from .options import CALL, DONE, FAILED, FILE, INTERRUPTED, changed_settings, screen_columns
from .status import Status

if TYPE_CHECKING:
    from fdbcore.measures.reading import Reading
    from fdbcore.report.call.document import Document
    from fdbcore.runs.replay_jobs import ReplaySettings
    from fdbcore.sources.sessions import SessionInput

SHOWN_EVERY_TICKS: Final = 10 * TICKS_PER_S
"""Interval at which the progress of one call is shown, on the timeline of the call."""


@click.command(short_help="Measure recorded calls.")
@click.argument("paths", nargs=-1, type=CALL)
@click.option("-a", "file_a", type=FILE, help="Audio file of side A, the user or examiner.")
@click.option("-b", "file_b", type=FILE, help="Audio file of side B, the system. Two channels of a file for one "
              "side are mixed.")  # fmt: skip
@click.option("--pair", nargs=2, metavar="A B", help="Each call has two files: patterns for side A and side B, such as "
              "'*-caller.wav' '*-agent.wav'.")  # fmt: skip
@click.option("--swap", is_flag=True, help="Exchange the two sides.")
@click.option("--offset-ms", type=options.Whole(), default=0, help="Start B this much later (negative: start A later).")
@click.option("--vad", "vads", multiple=True, callback=options.known_vad, help="Voice activity detector: silero "
              "(default), energy, webrtc, or MODULE:CLASS of your own; recordings keep their own. Give it again "
              "to see which measures move with another.")  # fmt: skip
@options.changes
@click.option("--real-time", is_flag=True, help="Run on the live clock: same results, plus a timing certificate.")
@click.option(
    "--count-bad-input", is_flag=True, help="Recordings count, too, whose sides are mixed, exchanged or out of step."
)
@click.option("--line-open", is_flag=True, help="B could answer until the end: A did not hang up after its last turn.")
@click.option(
    "--from", "start", metavar="TIME", help="Leave out what comes before: 12.5, 0:12 or, from the end, -1:00."
)
@click.option("--to", "end", metavar="TIME", help="Leave out what comes after, such as the good-bye: 3:40 or -0:10.")
@click.option("--jobs", type=options.Whole(1), help="Sessions replayed at a time (default: one per processor).")
@click.option("--engine", metavar="ray[://HOST:PORT]", help="Replay several sessions on a Ray cluster.")
@click.option("--store", metavar="URL", help="With --engine, if the machines do not all see --out: an object store "
              "that calls go through, such as s3://BUCKET/FOLDER.")  # fmt: skip
@click.option("--meta", type=FILE, help="CSV table about the calls, joined by path or file name. Its column "
              "agent_channel says which channel is B; measure_from, measure_to and leave_out (0:00-0:12; 1:30-2:05) "
              "say what to leave out; marks_file, marks_offset_ms or marks_started_at, and marks_session are about the "
              "agent's log.")  # fmt: skip
@click.option("--labels", type=FILE, help="Labels by people: a CSV, TextGrid, RTTM or Audacity file, or a folder of "
              "them.")  # fmt: skip
@options.marks
@click.option("--out", type=FILE, default=Path("fdbcore-run"), show_default=True, help="Output folder of the run.")
@options.as_json
@options.quiet
def replay(
    vads: Sequence[str],
    changes: Sequence[str],
    real_time: bool,
    line_open: bool,
    count_bad_input: bool,
    start: str | None,
    end: str | None,
    jobs: int | None,
    engine: str | None,
    store: str | None,
    out: Path,
    as_json: bool,
    quiet: bool,
    **named_by: Any,  # noqa: ANN401 - the other options, as NamedInput has them
) -> None:
    """Measure turn-taking in recorded conversations: who spoke when, and how the system (B) behaves.

    Each of PATHS is one session: a stereo file (left A, right B), a folder with input.wav (A) and output.wav (B) or
    with A.wav and B.wav, or a recording or a run made by fdbcore, which keeps its settings. Exactly two mono files are
    sides A and B of one session. Any other folder is searched for sessions, a pattern ('calls/*.wav') is expanded, and
    a list (.txt) has one path per line.

    Each session gets its own folder in --out, with a recording and a page, report.html. Several sessions also get
    tables and a common page, index.html; run the same command again to replay only new sessions. If --out
    already holds several sessions, a single one gets tables and index.html too, and replaces them there.

    Example: fdbcore replay calls/ --out RUN
    """
    from fdbcore.recording.run import is_replayed
    from fdbcore.runs.engines import executor_of
    from fdbcore.runs.replay_jobs import ReplaySettings
    from fdbcore.runs.store import Store
    from fdbcore.sources.agent_logs import read_log
    from fdbcore.sources.calls import NamedInput, named_calls
    from fdbcore.sources.left_out import measured_between
    from fdbcore.sources.names import Oddities

    from .corpus import replay_calls

    oddities = Oddities()
    try:
        executor = executor_of(engine, jobs)
        vad = vads[0] if vads else None
        settings = ReplaySettings(out, vad, changed_settings(changes), real_time, line_open, count_bad_input, store)
        named = NamedInput(**named_by, leave_out=measured_between(start, end))
        if named.pair is not None and named.is_by_side:
            raise SettingsError("give --pair, or -a FILE and -b FILE, not both")
        calls = named_calls(named, oddities)
        several = len(calls) > 1 or named.pair is not None or named.meta is not None or is_replayed(out)
        if several:
            from fdbcore.runs.replay_many import check_run_folder

            check_run_folder(out, named.meta, calls)
            if store is not None:
                Store(store).check()
        elif store is not None:
            raise SettingsError("--store: expected several calls, got one, which this machine replays itself")
        elif (log := calls[0].session.log) is not None:
            read_log(log.path, log.session)
    except (InputError, MissingExtraError) as error:
        raise click.UsageError(str(error)) from error
    if several:
        sys.exit(replay_calls(calls, settings, executor, oddities, as_json, quiet, vads[1:]))
    say_oddities(oddities)
    sys.exit(_replay_alone(calls[0].session, settings, as_json, quiet, vads[1:]))


def _replay_alone(
    session: SessionInput, settings: ReplaySettings, as_json: bool, quiet: bool, others: Sequence[str]
) -> int:
    """Replay one session, write its report, print the results, and return the exit code."""
    from fdbcore.recording.places import located
    from fdbcore.report.agent_logs import refusal

    path = settings.run_path / session.name
    try:
        check_usable(others)
        reading, document = _replay(session, settings, quiet or as_json, others)
    except FdbError as error:
        click.echo(f"fdbcore replay: {error}", err=True)
        return FAILED
    except KeyboardInterrupt:
        kept = f"; the part read so far is in {path}" if path.exists() else ""
        click.echo(f"fdbcore replay: interrupted{kept}", err=True)
        return INTERRUPTED
    for damage in reading.damages:
        click.echo(f"fdbcore replay: {damage}; the readable part is scored", err=True)
    log = document["marks"]
    refused = log is not None and log["refused"] is not None
    if log is not None and refused:
        click.echo(f"fdbcore replay: {located(reading.path, str(log['source']))}: {refusal(log)}", err=True)
    _print(reading, document, as_json, quiet)
    return FAILED if reading.damages or refused else DONE


def _replay(
    session: SessionInput, settings: ReplaySettings, quiet: bool, others: Sequence[str]
) -> tuple[Reading, Document]:
    from fdbcore.analysis.corpus import Call, Run
    from fdbcore.analysis.score import score
    from fdbcore.report.call.document import page_document
    from fdbcore.report.call.page import write_report
    from fdbcore.runs.replay import replay_session
    from fdbcore.runtime.executor import ThisProcess

    with Status(quiet) as status:
        reading = replay_session(session, settings, _shown(session.name, status.step))
        status(f"{reading.name}: writing its page")
        content = page_document(reading, score(reading))
        if others and not content["unscored"]:
            alone = Run(reading.path, [Call(session.name, reading.path)])
            try:
                content["detectors"] = by_detectors(alone, others, ThisProcess())
            except FdbError:
                write_report(reading, content)  # the first detector's decisions stay
                raise
        write_report(reading, content)
    return reading, content


def _shown(name: str, step: Callable[[str, float, float | None], None]) -> Callable[[float | None, int], None]:
    """A callback that shows how far a replay is: on_tick(length of the call as its files state it in s, tick)."""
    from fdbcore.clock import now_ns

    began_ns = now_ns()

    def on_tick(stated_s: float | None, tick: int) -> None:
        done_s = tick / TICKS_PER_S
        if not tick or tick % SHOWN_EVERY_TICKS:
            return
        elapsed_s = (now_ns() - began_ns) / 1e9
        text = f"{name}: {clock_text(done_s)}"
        if stated_s and stated_s >= done_s:
            left_s = elapsed_s * (stated_s - done_s) / done_s
            text += f" of {clock_text(stated_s)} | {clock_text(left_s)} left"
        text += f" | {done_s / elapsed_s:,.0f}x real time"
        step(text, done_s, stated_s)

    return on_tick


def _print(reading: Reading, document: Document, as_json: bool, quiet: bool) -> None:
    from fdbcore.report.call.screen import screen

    if as_json:
        from fdbcore.recording.files import json_pieces

        click.echo("".join(json_pieces(document)))
    elif not quiet:
        from fdbcore.report.agent_logs import screen_lines

        columns = screen_columns()
        log = screen_lines(document["marks"], columns) if document["marks"] else []
        moved = detectors_screen(document["detectors"], document["measures"]) if "detectors" in document else []
        click.echo("\n".join([screen(reading, document, columns), *log, *moved, str(reading.path / "report.html")]))
