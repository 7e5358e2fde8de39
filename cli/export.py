"""`fdbcore export`: recordings in other tools' formats."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from fdbcore.errors import FdbError


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--format", "fmt", required=True, type=click.Choice(["rttm", "textgrid", "audacity", "csv", "json"]))
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the files; each recording's own by default.")
def export(run: Path, fmt: str, out: Path | None) -> None:
    """Write the turn events of RUN (a run or one recording of it) in another tool's format."""
    from fdbcore.recording import recordings_in
    from fdbcore.report.exports import export as export_recordings

    try:
        found = recordings_in(run)
        whole = [recording for recording in found if recording.meta["status"] == "complete"]
        for path in export_recordings(whole, fmt, out):
            click.echo(path)
    except FdbError as error:
        click.echo(f"fdbcore export: {error}", err=True)
        sys.exit(1)
    for recording in found:
        if recording not in whole:
            status, reason = recording.meta["status"], recording.meta.get("reason")
            click.echo(
                f"fdbcore export: {recording.path}: left out, expected complete, got {status}: {reason}", err=True
            )
    sys.exit(len(whole) < len(found))
