"""`fdbcore export`: recordings in other tools' formats."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fdbcore.errors import FdbError

from .options import DONE, FAILED, FILE

if TYPE_CHECKING:
    from fdbcore.analysis.corpus import Call

FORMATS = ["rttm", "textgrid", "audacity", "csv", "json", "fdb1", "turnbench"]


@click.command()
@click.argument("run", type=FILE)
@click.option("--format", "fmt", required=True, type=click.Choice(FORMATS))
@click.option("--out", type=FILE, help="Folder for the files; each recording's own by default.")
def export(run: Path, fmt: str, out: Path | None) -> None:
    """Write RUN (a run or one recording of it) in another tool's format.

    That is its turn events; or with fdb1, of a run over clips of Full-Duplex-Bench v1 or v1.5, what each system said
    as output.wav beside the clip's input.wav, for the benchmark's own scoring (by default in RUN/fdb1); or with
    turnbench the moments at which the turn detector knew of turn ends and interruptions, one file of the whole run.
    """
    from fdbcore.analysis.corpus import Run
    from fdbcore.report.exports.fdb_v1 import caution
    from fdbcore.report.exports.formats import TOGETHER
    from fdbcore.report.exports.formats import export as export_recordings

    failed = False

    def say(problem: str) -> None:
        nonlocal failed
        failed = True
        click.echo(f"fdbcore export: {problem}", err=True)

    try:
        calls = sorted(Run(run).calls, key=lambda call: call.name)
    except FdbError as error:
        click.echo(f"fdbcore export: {error}", err=True)
        sys.exit(FAILED)
    exported: list[Call] = []
    for call in calls:
        if (problem := _why_not(call, fmt)) is None:
            exported.append(call)
        else:
            say(f"{call.path}: left out, {problem}")
    for batch in [exported] if fmt in TOGETHER else [[call] for call in exported]:
        try:
            for path in export_recordings([call.recording for call in batch], fmt, out):
                click.echo(path)
        except FdbError as error:  # it names what it is about; the others are written all the same
            say(str(error))
    for call in exported if fmt == "fdb1" else ():
        if (told := caution(call.recording)) is not None:
            click.echo(f"fdbcore export: {call.path}: {told}", err=True)
    sys.exit(FAILED if failed else DONE)


def _why_not(call: Call, fmt: str) -> str | None:
    """Why a call of the run has no place in the export, also where an earlier replay has left a recording of its name.

    None if it has one."""
    from fdbcore.report.exports.formats import left_out

    try:
        problem = left_out(call.recording, fmt)
    except FdbError as error:
        return call.unscored or str(error)
    stale = call.status in ("failed", "waiting") and call.unscored is not None
    return problem or (call.unscored if stale else None)
