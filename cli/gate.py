"""`fdbcore gate init`: writes a file of gates to begin with."""

from pathlib import Path

import click

from .endings import one_line
from .options import FILE, quiet, read_run


class _Gates(click.Group):
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments name. Who names a run instead is told what decides its gates."""
        if self.get_command(ctx, args[0]) is None:
            raise click.UsageError(
                f"expected init, got {args[0]}; gates are decided by: fdbcore report RUN --gate FILE"
            )
        return super().resolve_command(ctx, args)


@click.group(cls=_Gates, short_help="Make a file of limits that releases must keep.")
def gate() -> None:
    """Make a file of gates, the limits that releases must keep.

    `fdbcore report RUN --gate gates.toml` decides them.

    Example: fdbcore gate init RUN
    """


@gate.command()
@click.argument("run", type=FILE)
@click.option("--out", type=FILE, default=Path("gates.toml"), show_default=True, help="The file to write.")
@quiet
def init(run: Path, out: Path, quiet: bool) -> None:
    """Write a file of gates to begin with.

    It has the published limits that fdbcore ships. Each has its source, and the value of RUN as a comment. The file
    must not exist yet.

    Example: fdbcore gate init RUN
    """
    with one_line("fdbcore gate init", "nothing is written"):
        if out.exists():
            raise click.UsageError(f"{out}: exists already, and is kept; choose another file with --out")
        from fdbcore.analysis.gate_file import DEFAULTS
        from fdbcore.analysis.gates import gate as decide
        from fdbcore.recording.files import write_text
        from fdbcore.report.comparison.starter import starter

        write_text(out, starter(decide(read_run(run), DEFAULTS), str(out)))
        if not quiet:
            click.echo(f"{out}\nNext: fdbcore report {run} --gate {out}")
