"""`fdbcore run`: runs live calls with systems, records and scores them."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fdbcore.errors import SettingsError
from fdbcore.runs.requests import RUN_OPTIONS, RunRequest

from . import options
from .endings import one_line
from .lazy import TYPED
from .options import DONE
from .suites import SuiteCommand, given, of_request, suite_options

if TYPE_CHECKING:
    from fdbcore.analysis.corpus import Run


@click.command(
    cls=SuiteCommand,
    suite_options="run",
    params=of_request(RUN_OPTIONS),
    short_help="Run live calls with systems, record and score them.",
)
@click.option("--like", type=options.FILE, metavar="RUN", help="Tell where confirmed settings differ from this run's.")
@options.price
@click.option("--yes", is_flag=True, help="With --first: do not ask.")
@click.option("--dry-run", is_flag=True, help="Print calls, hours and USD; contact no system.")
@options.as_json
@options.quiet
@click.pass_context
def run(context: click.Context, /, **values: Any) -> None:  # noqa: ANN401
    """Run live calls with systems, record and score them.

    Side A, a recorded user or any other party, talks with side B, the system. The same command with --out and the
    folder of a run that was stopped goes on. Press Ctrl-C once to finish the live calls, twice to end them now.

    Example: fdbcore run --system echo --clips calls/ --clock virtual --max-s 10
    """
    from msgspec.structs import replace

    from fdbcore.runs.live import hold
    from fdbcore.runs.prepared import prepared
    from fdbcore.runtime.redaction import asking_nobody

    from .run_costs import print_costs
    from .run_screen import RunScreen
    from .status import Status

    as_json, quiet, is_dry, yes = (values.pop(name) for name in ("as_json", "quiet", "dry_run", "yes"))
    if values["suite"] is None:
        for option in given(context, ("score", *suite_options(context))):
            raise click.UsageError(f"{option} needs --suite")
    with one_line("fdbcore run"), Status(quiet or as_json) as status:
        like = _other_run(values.pop("like"), values["out"])
        request = _request(values)
        if request.first is None and yes:
            raise SettingsError("--yes: expected --first N")
        if request.first is not None and not (yes or is_dry or is_terminal()):
            raise SettingsError(f"--first {request.first}: expected a terminal to ask on, or --yes")
        screen = RunScreen(status, request.out is None, like, not yes, as_json, quiet or (is_dry and as_json))
        request = replace(request, watch=screen)
        if is_dry:
            with asking_nobody(), prepared(request, is_dry=True) as ready:
                print_costs(ready, request, as_json)
            sys.exit(DONE)
        try:
            held = hold(request)
        except KeyboardInterrupt:
            if not screen.has_begun:
                raise
            held = None
        sys.exit(screen.ends(held))


def is_terminal() -> bool:
    """True if there is somebody to ask."""
    return sys.stdin.isatty()


def _other_run(path: Path | None, out: Path | None) -> Run | None:
    """The run in a folder; SettingsError if it is the one to hold."""
    like = options.read_run(path) if path else None
    if like and out and out.resolve() == like.path.resolve():
        raise SettingsError(f"--like {path}: expected another run, got the one to hold")
    return like


def _request(values: dict[str, Any]) -> RunRequest:
    """The run that the user asks for, by the values of the options."""
    own = {name: values.pop(name) for name in RUN_OPTIONS}
    suite = own.pop("suite")
    own["settings"], own["limits"] = options.turn_settings(own["settings"]), _limits(own["limits"])
    own["score"] = not own["score"]
    return RunRequest(
        **own,
        suite=suite and suite.name,
        suite_options={} if suite is None else values,
        typed=click.get_current_context().meta[TYPED],
    )


def _limits(texts: Sequence[str]) -> dict[str, int]:
    limits = {}
    for text in texts:
        name, _, count = text.rpartition("=")
        if not name or not re.fullmatch("[1-9][0-9]{0,8}", count):
            raise SettingsError(f"--limit {text}: expected SYSTEM=N, N at least 1")
        if name in limits:
            raise SettingsError(f"--limit {text}: expected each system once, got {name} again")
        limits[name] = int(count)
    return limits
