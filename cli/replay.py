"""`fdbcore replay`: what happened in a recorded conversation."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fdbcore.errors import FdbError, SettingsError
from fdbcore.types import TICKS_PER_S

from . import options
from .options import DONE, FAILED, FILE, INTERRUPTED, changed_settings

if TYPE_CHECKING:
    from fdbcore.recording import Recording
    from fdbcore.sources import SessionInput


@click.command()
@click.argument("paths", nargs=-1, type=FILE)
@click.option("-a", "file_a", type=FILE, help="The file of side A, the examiner or user.")
@click.option("-b", "file_b", type=FILE, help="The file of side B, the system.")
@click.option("--swap", is_flag=True, help="Exchange the sides.")
@click.option("--offset-ms", type=int, default=0, help="Let B begin that much later (negative: A).")
@click.option("--vad", help="Voice activity: silero (the default) or energy. Recordings keep their own.")
@options.changes
@click.option("--real-time", is_flag=True, help="Run on the live clock: the same results, and a timing certificate.")
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
    out: Path,
    as_json: bool,
    quiet: bool,
) -> None:
    """Say who spoke when, and how the system (B) behaves, in recorded conversations.

    PATHS are stereo files (left A, right B), a session each; or exactly two mono files, A and B of one session; or
    folders with input.wav (A) and output.wav (B); or recordings, or runs of them, which keep their settings.
    Each session's folder under --out gets the recording and report.html.
    """
    from fdbcore.registry import VADS, resolve
    from fdbcore.sources import session_inputs

    try:
        settings = changed_settings(changes)
        if vad is not None:
            resolve("vad", VADS, vad)
        sessions = session_inputs(paths, file_a, file_b, swap=swap, offset_ms=offset_ms)
    except SettingsError as error:
        raise click.UsageError(str(error)) from error
    show_progress = not (quiet or as_json) and sys.stderr.isatty()
    documents, recordings, failures, interrupted = [], [], [], False
    for session in sessions:
        try:
            recording, document = _replay_one(session, out, vad, settings, real_time, show_progress)
        except FdbError as error:
            failures.append(str(error))
            click.echo(f"fdbcore replay: {error}", err=True)
        except KeyboardInterrupt:
            kept = f"; what was read is in {out / session.name}" if (out / session.name).exists() else ""
            click.echo(f"fdbcore replay: interrupted{kept}", err=True)
            failures.append(f"{session.name}: interrupted")
            interrupted = True
            break
        else:
            recordings.append(recording)
            documents.append(document)
            for damage in damages(recording):
                failures.append(damage)
                click.echo(f"fdbcore replay: {damage}; scored what is there", err=True)
    _print(recordings, documents, failures, len(sessions), as_json, quiet)
    sys.exit(INTERRUPTED if interrupted else FAILED if failures else DONE)


def damages(recording: Recording) -> list[str]:
    """What is missing from the files of a recording, a line each."""
    files = recording.meta["source"]["files"]
    return [f"{file['path']}: {file['damage']}" for file in files if file["damage"]]


def _replay_one(
    session: SessionInput, out: Path, vad: str | None, changes: Mapping[str, int], real_time: bool, show_progress: bool
) -> tuple[Recording, dict[str, Any]]:
    from fdbcore.offline import replay_session
    from fdbcore.report.document import document
    from fdbcore.report.html import write_report
    from fdbcore.score import score

    with _progress(session.name, show_progress) as on_tick:
        recording = replay_session(session, out, vad, changes, real_time, on_tick)
    scores = score(recording)
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


def _print(
    recordings: list[Recording],
    documents: list[dict[str, Any]],
    failures: list[str],
    asked: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """One session: its screen or document. Several: the run's, which is also kept beside them as summary.json."""
    from fdbcore.recording import write_json
    from fdbcore.report.screen import run_screen, screen
    from fdbcore.score import summary

    if asked == 1 and as_json and documents:
        click.echo(json.dumps(documents[0], ensure_ascii=False))
    elif asked == 1 and recordings and not quiet and not as_json:
        click.echo(f"{screen(recordings[0], documents[0])}\n{recordings[0].path / 'report.html'}")
    elif asked > 1 and recordings:
        pooled = summary(recordings) | {"failed": failures}
        write_json(recordings[0].path.parent / "summary.json", pooled)
        if as_json:
            click.echo(json.dumps(pooled | {"sessions": documents}, ensure_ascii=False))
        elif not quiet:
            click.echo(run_screen(recordings, pooled["measures"]))
