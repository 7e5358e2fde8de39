"""`fdbcore replay`: what happened in a recorded conversation."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fdbcore.errors import FdbError, InputError, SettingsError
from fdbcore.types import TICKS_PER_S

from . import options
from .corpus import say_oddities
from .options import CALL, DONE, FAILED, FILE, INTERRUPTED, Log, changed_settings, screen_columns

if TYPE_CHECKING:
    from fdbcore.corpus_jobs import How
    from fdbcore.recording import Recording
    from fdbcore.sources import SessionInput


@click.command()
@click.argument("paths", nargs=-1, type=CALL)
@click.option("-a", "file_a", type=FILE, help="The file of side A, the examiner or user.")
@click.option("-b", "file_b", type=FILE, help="The file of side B, the system.")
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
    from fdbcore.corpus import CORPUS
    from fdbcore.corpus_inputs import named_files, planned, with_labels
    from fdbcore.corpus_jobs import How
    from fdbcore.corpus_replay import check_run_folder
    from fdbcore.names import Oddities
    from fdbcore.registry import VADS, resolve
    from fdbcore.sources import session_inputs

    from .corpus import replay_calls

    oddities = Oddities()
    try:
        how = How(out, vad, changed_settings(changes), real_time, line_open)
        if vad is not None:
            resolve("vad", VADS, vad)
        named = named_files(paths, oddities)
        sessions = session_inputs(named, file_a, file_b, swap=swap, offset_ms=offset_ms, searched=named != list(paths))
        calls = planned(sessions, meta, oddities)
        if labels is not None:
            calls = with_labels(calls, labels, oddities)
        log = options.read_log(marks, marks_offset_ms, len(calls))
        several = len(calls) > 1 or meta is not None or os.path.isfile(out / CORPUS)
        if several:
            check_run_folder(out, meta, calls)
            if log is not None:
                raise SettingsError(f"--marks {marks}: expected one call alone, got one of a run: use report --call")
    except InputError as error:
        raise click.UsageError(str(error)) from error
    if several:
        sys.exit(replay_calls(calls, how, jobs, oddities, as_json, quiet))
    say_oddities(oddities)
    sys.exit(_replay_alone(calls[0].session, how, log, as_json, quiet))


def _replay_alone(session: SessionInput, how: How, log: Log | None, as_json: bool, quiet: bool) -> int:
    """Replay one session, make its report, and print it; the exit code."""
    path = how.run_path / session.name
    try:
        recording, document = _replayed(session, how, log, show=not (quiet or as_json) and sys.stderr.isatty())
    except FdbError as error:
        click.echo(f"fdbcore replay: {error}", err=True)
        return FAILED
    except KeyboardInterrupt:
        kept = f"; what was read is in {path}" if path.exists() else ""
        click.echo(f"fdbcore replay: interrupted{kept}", err=True)
        return INTERRUPTED
    for damage in recording.damages:
        click.echo(f"fdbcore replay: {damage}; scored what is there", err=True)
    _print(recording, document, as_json, quiet)
    return FAILED if recording.damages else DONE


def _replayed(session: SessionInput, how: How, log: Log | None, show: bool) -> tuple[Recording, dict[str, Any]]:
    from fdbcore.offline import replay_session
    from fdbcore.report.document import document
    from fdbcore.report.html import write_report
    from fdbcore.score import score

    with _progress(session.name, show) as on_tick:
        recording = replay_session(
            session, how.run_path, how.vad, how.changes, how.real_time, on_tick, line_open=how.line_open
        )
    scores = score(recording)
    write_report(recording, scores)
    if log is not None:  # it may be refused, and then the report is there all the same
        log.lay(recording)
        write_report(recording, scores)
    return recording, document(recording, scores)


@contextmanager
def _progress(name: str, show: bool) -> Iterator[Any]:
    """A callback that keeps one line on the terminal up to date, each ten seconds of audio."""

    def on_tick(tick: int, stated_s: float | None) -> None:
        if show and tick % (10 * TICKS_PER_S) == 0:
            of = f" of {stated_s:.0f}" if stated_s else ""
            click.echo(f"\r{name}: {tick // TICKS_PER_S}{of} s", nl=False, err=True)

    yield on_tick
    if show:
        click.echo("\r\x1b[K", nl=False, err=True)


def _print(recording: Recording, document: dict[str, Any], as_json: bool, quiet: bool) -> None:
    from fdbcore.report.screen import screen

    if as_json:
        click.echo(json.dumps(document, ensure_ascii=False))
    elif not quiet:
        from fdbcore.report.marks import screen_lines

        columns = screen_columns()
        log = screen_lines(document["marks"], columns) if document["marks"] else []
        click.echo("\n".join([screen(recording, document, columns), *log, str(recording.path / "report.html")]))
