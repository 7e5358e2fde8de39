"""`fdbcore export`: recordings in other tools' formats."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from fdbcore.errors import FdbError

FORMATS = ["rttm", "textgrid", "audacity", "csv", "json", "fdb1", "turnbench"]


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--format", "fmt", required=True, type=click.Choice(FORMATS))
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the files; each recording's own by default.")
def export(run: Path, fmt: str, out: Path | None) -> None:
    """Write RUN (a run or one recording of it) in another tool's format.

    That is its turn events; or with fdb1, of a run over clips of Full-Duplex-Bench v1 or v1.5, what each system said
    as output.wav beside the clip's input.wav, for the benchmark's own scoring (by default in RUN/fdb1); or with
    turnbench the moments at which the turn detector knew of turn ends and interruptions, one file of the whole run.
    """
    from fdbcore.recording import recordings_in
    from fdbcore.report.exports import export as export_recordings
    from fdbcore.report.exports import left_out
    from fdbcore.report.fdb1 import caution

    try:
        found = recordings_in(run)
        problems = {recording: problem for recording in found if (problem := left_out(recording, fmt))}
        exported = [recording for recording in found if recording not in problems]
        for path in export_recordings(exported, fmt, out):
            click.echo(path)
    except FdbError as error:
        click.echo(f"fdbcore export: {error}", err=True)
        sys.exit(1)
    for recording, problem in problems.items():
        click.echo(f"fdbcore export: {recording.path}: left out, {problem}", err=True)
    for recording in exported if fmt == "fdb1" else ():
        if (told := caution(recording)) is not None:
            click.echo(f"fdbcore export: {recording.path}: {told}", err=True)
    sys.exit(bool(problems))
