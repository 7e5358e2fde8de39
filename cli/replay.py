"""`fdbcore replay`: what happened in a recorded conversation."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fdbcore.errors import FdbError, InputError, SettingsError
from fdbcore.types import TICKS_PER_S

from . import options
from .corpus import say_oddities
from .options import CALL, DONE, FAILED, FILE, INTERRUPTED, Log, changed_settings, screen_columns
from .status import Status

if TYPE_CHECKING:
    from fdbcore.measures.reading import Reading
    from fdbcore.report.call.document_types import Document
    from fdbcore.runs.replay_jobs import ReplaySettings
    from fdbcore.sources.sessions import SessionInput


@click.command()
@click.argument("paths", nargs=-1, type=CALL)
@click.option("-a", "file_a", type=FILE, help="The file of side A, the examiner or user.")
@click.option("-b", "file_b", type=FILE, help="The file of side B, the system.")
@click.option(
    "--pair", nargs=2, metavar="A B", help="Each call has two files: '*-caller.wav' '*-agent.wav', A's pattern first."
)
@click.option("--swap", is_flag=True, help="Exchange the sides.")
@click.option("--offset-ms", type=int, default=0, help="Let B begin that much later (negative: A).")
@click.option("--vad", help="Voice activity: silero (the default) or energy. Recordings keep their own.")
@options.changes
@click.option("--real-time", is_flag=True, help="Run on the live clock: the same results, and a timing certificate.")
@click.option("--line-open", is_flag=True, help="B could answer until the end: A did not hang up after its last turn.")
@click.option("--jobs", type=click.IntRange(1), help="Processes that replay several sessions; as many as processors.")
@click.option("--meta", type=FILE, help="A CSV table of the calls, joined by path and file name; agent_channel swaps.")
@click.option("--labels", type=FILE, help="What people have labelled: CSV, TextGrid, RTTM, Audacity, a folder of them.")
@options.marks
@options.out("fdbcore-run")
@options.as_json
@options.quiet
def replay(
    paths: Sequence[Path],
    file_a: Path | None,
    file_b: Path | None,
    pair: tuple[str, str] | None,
    swap: bool,
    offset_ms: int,
    vad: str | None,
    changes: Sequence[str],
    real_time: bool,
    line_open: bool,
    jobs: int | None,
    meta: Path | None,
    labels: Path | None,
    marks: Path | None,
    marks_offset_ms: float | None,
    out: Path,
    as_json: bool,
    quiet: bool,
) -> None:
    """Say who spoke when, and how the system (B) behaves, in recorded conversations.

    PATHS are stereo files (left A, right B), a session each; or exactly two mono files by name, A and B of one
    session; or folders with input.wav (A) and output.wav (B); or recordings, or runs of them, which keep their
    settings. Other folders are searched, a pattern ('calls/*.wav') is looked up, and a list (.txt) has a path a line.
    Each session's folder under --out gets the recording. A single session gets report.html; several get tables and
    index.html for all of them, and the same command again only replays what is new. Into a folder of several, one goes
    the way of several: the run is then of that one.
    """
    from fdbcore.recording.run import is_replayed
    from fdbcore.registry import VADS, resolve
    from fdbcore.runs.replay_jobs import ReplaySettings
    from fdbcore.runs.replay_many import check_run_folder
    from fdbcore.sources.calls import named_calls
    from fdbcore.sources.names import Oddities

    from .corpus import replay_calls

    oddities = Oddities()
    try:
        settings = ReplaySettings(out, vad, changed_settings(changes), real_time, line_open)
        if vad is not None:
            resolve("vad", VADS, vad)
        if pair is not None and (file_a is not None or file_b is not None):
            raise SettingsError("give --pair, or -a FILE and -b FILE, not both")
        calls = named_calls(
            paths, oddities, file_a, file_b, swap=swap, offset_ms=offset_ms, pair=pair, meta=meta, labels=labels
        )
        log = options.read_log(marks, marks_offset_ms, len(calls))
        several = len(calls) > 1 or pair is not None or meta is not None or is_replayed(out)
        if several:
            check_run_folder(out, meta, calls)
            if log is not None:
                raise SettingsError(f"--marks {marks}: expected one call alone, got one of a run: use report --call")
    except InputError as error:
        raise click.UsageError(str(error)) from error
    if several:
        sys.exit(replay_calls(calls, settings, jobs, oddities, as_json, quiet))
    say_oddities(oddities)
    sys.exit(_replay_alone(calls[0].session, settings, log, as_json, quiet))


def _replay_alone(session: SessionInput, settings: ReplaySettings, log: Log | None, as_json: bool, quiet: bool) -> int:
    """Replay one session, make its report, and print it; the exit code."""
    path = settings.run_path / session.name
    try:
        reading, document = _replayed(session, settings, log, quiet or as_json)
    except FdbError as error:
        click.echo(f"fdbcore replay: {error}", err=True)
        return FAILED
    except KeyboardInterrupt:
        kept = f"; what was read is in {path}" if path.exists() else ""
        click.echo(f"fdbcore replay: interrupted{kept}", err=True)
        return INTERRUPTED
    for damage in reading.damages:
        click.echo(f"fdbcore replay: {damage}; scored what is there", err=True)
    _print(reading, document, as_json, quiet)
    return FAILED if reading.damages else DONE


def _replayed(
    session: SessionInput, settings: ReplaySettings, log: Log | None, quiet: bool
) -> tuple[Reading, Document]:
    from fdbcore.analysis.score import score
    from fdbcore.report.call.document import document
    from fdbcore.report.call.page import write_report
    from fdbcore.runs.replay import replay_session

    with Status(quiet) as status:

        def on_tick(stated_s: float | None, tick: int) -> None:
            if tick % (10 * TICKS_PER_S) == 0:
                of = f" of {stated_s:.0f}" if stated_s else ""
                status(f"{session.name}: {tick // TICKS_PER_S}{of} s", tick / TICKS_PER_S, stated_s)

        reading = replay_session(
            session,
            settings.run_path,
            settings.vad,
            settings.changes,
            settings.real_time,
            on_tick,
            line_open=settings.line_open,
        )
    content = document(reading, score(reading))
    write_report(reading, content)
    if log is not None:  # it may be refused, and then the report is there all the same
        content["marks"] = log.lay(reading)
        write_report(reading, content)
    return reading, content


def _print(reading: Reading, document: Document, as_json: bool, quiet: bool) -> None:
    from fdbcore.report.call.screen import screen

    if as_json:
        click.echo(json.dumps(document, ensure_ascii=False))
    elif not quiet:
        from fdbcore.report.call.agent_log import screen_lines

        columns = screen_columns()
        log = screen_lines(document["marks"], columns) if document["marks"] else []
        click.echo("\n".join([screen(reading, document, columns), *log, str(reading.path / "report.html")]))
