"""`fdbcore export`: writes recordings in the formats of other tools."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fdbcore.errors import FdbError

from .endings import one_line
from .options import DONE, FAILED, FILE, newest

if TYPE_CHECKING:
    from fdbcore.analysis.corpus import Call

FORMATS = ["rttm", "textgrid", "audacity", "csv", "json", "fdb1", "fdb2", "turnbench"]
FILES_OF_B = {"fdb1": "output.wav", "fdb2": "B.wav"}
"""Of the formats that have the audio of the system: its file."""


@click.command(short_help="Write turn events in the formats of other tools.")
@click.argument("run", type=FILE, required=False)
@click.option("--format", "fmt", required=True, type=click.Choice(FORMATS))
@click.option("--out", type=FILE, help="Output folder (default: the folder of each recording).")
def export(run: Path | None, fmt: str, out: Path | None) -> None:
    """Export the turn events of RUN, a run or one of its recordings, to another tool's format.

    By default RUN is the newest run in the current folder.

    Three formats hold something else. fdb1 is for the scoring scripts of Full-Duplex-Bench: it takes a run over clips
    of v1 or v1.5, and writes each clip's input.wav and what the system said as output.wav (by default into RUN/fdb1).
    fdb2 is for those of v2: it writes both sides of any recordings as A.wav and B.wav, in a folder for each task.
    turnbench is one file for the whole run: the times at which the turn detector knew of turn ends and interruptions.

    Example: fdbcore export RUN --format textgrid
    """
    from fdbcore.analysis.corpus import Run
    from fdbcore.recording.others import replacing
    from fdbcore.report.exports.fdb import caution
    from fdbcore.report.exports.formats import TOGETHER, export_into

    failed = False

    def say(problem: str) -> None:
        nonlocal failed
        failed = True
        click.echo(f"fdbcore export: {problem}", err=True)

    with one_line("fdbcore export", usage=()):
        calls = sorted(Run(run or newest()).calls, key=lambda call: call.name)
    exported: list[Call] = []
    for call in calls:
        if (problem := _why_left_out(call, fmt)) is None:
            exported.append(call)
        else:
            say(f"{call.path}: left out, {problem}")
    written: list[Path] = []
    if exported:
        with one_line("fdbcore export"), replacing(out or exported[0].path.parent) as made:
            for batch in [exported] if fmt in TOGETHER else [[call] for call in exported]:
                try:
                    written += export_into(made, [call.recording for call in batch], fmt, out)
                except FdbError as error:  # the error names its file; the other files are still written
                    say(str(error))
    for path in written:
        click.echo(path)
    for call in exported if fmt in FILES_OF_B else ():
        if (warning := caution(call.recording, FILES_OF_B[fmt])) is not None:
            click.echo(f"fdbcore export: {call.path}: {warning}", err=True)
    sys.exit(FAILED if failed else DONE)


def _why_left_out(call: "Call", fmt: str) -> str | None:
    """The reason why a call of the run is not exported; None if it is.

    A call that failed is left out even if an earlier replay has left a recording under its name."""
    from fdbcore.report.exports.formats import left_out

    try:
        problem = left_out(call.recording, fmt)
    except FdbError as error:
        return call.unscored or str(error)
    stale = call.status in ("failed", "waiting") and call.unscored is not None
    return problem or (call.unscored if stale else None)
