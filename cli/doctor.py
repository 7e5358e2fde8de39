"""`fdbcore doctor`: whether this machine keeps time, and whether a system can be had."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from fdbcore.errors import FdbError, SettingsError

from . import options
from .options import DONE, FAILED


@click.command()
@click.argument("systems", nargs=-1, metavar="[SYSTEM]...")
@options.as_json
def doctor(systems: tuple[str, ...], as_json: bool) -> None:
    """Test the timing of this machine, and probe each SYSTEM: connect, wait until it is ready, leave.

    Exits with 1 if the timing self-test fails or a system cannot be had.
    """
    from fdbcore.redaction import redacted
    from fdbcore.registry import endpoint
    from fdbcore.selftest import timing_selftest, verdict

    try:
        parties = {redacted(address): endpoint(address) for address in systems}
    except SettingsError as error:
        raise click.UsageError(redacted(str(error))) from None
    found = timing_selftest()
    if not as_json:
        click.echo(verdict(found))
    probes = {}
    for address, party in parties.items():
        probes[address] = _probe(party)
        if not as_json:
            click.echo(_line(address, probes[address]))
    if as_json:
        click.echo(json.dumps({"timing": found, "systems": probes}, ensure_ascii=False))
    sane = found["passed"] is not False and all(probe["ready"] for probe in probes.values())
    sys.exit(DONE if sane else FAILED)


def _probe(party: Any) -> dict[str, Any]:  # noqa: ANN401
    """Whether the party got ready, in how many seconds, and what it says of itself; or why not."""
    from fdbcore.clock import now_ns
    from fdbcore.redaction import redacted

    started_ns = now_ns()
    try:
        party.open("B")
        return {"ready": True, "seconds": (now_ns() - started_ns) / 1e9, "party": dict(party.describe())}
    except FdbError as error:
        return {"ready": False, "why_not": redacted(str(error))}
    finally:
        party.close()


def _line(address: str, probe: dict[str, Any]) -> str:
    return f"{address}: " + (f"ready in {probe['seconds']:.2f} s" if probe["ready"] else probe["why_not"])
