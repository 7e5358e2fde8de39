"""How many live calls at once this machine holds: measured, told, and taken by `fdbcore run --jobs auto`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from fdbcore.errors import SettingsError

if TYPE_CHECKING:
    from fdbcore.types.timing import CallsAtOnce, HeldAtOnce

AUTO = "auto"


class Jobs(click.ParamType):  # type: ignore[type-arg]  # generic in new versions of click alone
    """A number of calls, or "auto" for as many as this machine holds."""

    name = "N|auto"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:  # noqa: ANN401
        """The number, or "auto"."""
        if value == AUTO or (isinstance(value, int) and value >= 1):
            return AUTO if value == AUTO else int(value)
        if re.fullmatch("[1-9][0-9]{0,8}", str(value)):
            return int(value)
        self.fail(f"expected a whole number of at least 1, or {AUTO}, got {value!r}", param, ctx)


def jobs_of(asked: int | str, realtime: bool, dry_run: bool, quiet: bool) -> int:
    """How many calls to hold at a time.

    "auto": on the virtual clock one for each processor; else as many as this machine holds on time, which is measured
    if it is not known. SettingsError if a dry run would have to measure.
    """
    if isinstance(asked, int):
        return asked
    from fdbcore.runs.calls_at_once import known_calls_at_once

    if (known := known_calls_at_once(realtime)) is not None:
        return known
    if dry_run:
        raise SettingsError(f"--jobs {AUTO}: expected this machine to be measured: fdbcore doctor --calls")
    return measure_calls_at_once(quiet).calls


def measure_calls_at_once(quiet: bool) -> CallsAtOnce:
    """Measure it, with a status, or a line for each probe of ten seconds in a log; keep it for the next time."""
    from fdbcore.runs.calls_at_once import calls_at_once, keep

    from .status import Status

    def tell(held: HeldAtOnce) -> None:
        status(_probe(held))
        if not (quiet or status.shows):
            click.echo(_probe(held), err=True)

    if not quiet:
        click.echo("live calls at once: two minutes in which this machine should do nothing else", err=True)
    with Status(quiet) as status:
        found = calls_at_once(tell)
    keep(found)
    return found


def calls_told(found: CallsAtOnce) -> Iterator[str]:
    """What was measured, in lines for a reader."""
    most = found.most
    if not most:
        yield f"live calls at once: none is held on time; {_probe(found.probes[-1])}"
        return
    yield (
        f"live calls at once: {found.calls}, 15 % below the {most} that were held on time for ten seconds; "
        "each had two WebRTC legs, whose peers were here, too"
    )
    more = [held for held in found.probes if held.calls > most]
    yield f"  {_probe(min(more, key=lambda held: held.calls))}"


def _probe(held: HeldAtOnce) -> str:
    return (
        f"{held.calls} calls: {held.missed} of {held.ticks} ticks missed, {held.late} late, "
        f"packets {held.wire_p99_ms:.1f} ms late (p99)"
    )
