"""What `fdbcore run` says before it begins: what goes to whom, which models end, and what the run takes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from fdbcore.clock import utc_today

if TYPE_CHECKING:
    from fdbcore.recording.run_types import RunCosts, SystemCosts
    from fdbcore.runs.folder import RunFolder
    from fdbcore.runs.plan import Case, RunPlan


def announce(plan: RunPlan) -> None:
    """Say what of the run goes to whom, and which models have gone or end soon."""
    for line in _announced(plan):
        click.echo(f"fdbcore run: {line}", err=True)


def _announced(plan: RunPlan) -> list[str]:
    from fdbcore.runs.services import endings, recipients

    return [*recipients(plan), *endings(plan, utc_today())]


def print_costs(folder: RunFolder, again: str | None, slots: int, as_json: bool) -> None:
    """Print calls, audio, wall time and money of each system and in total; only calls that are left cost any."""
    from fdbcore.report.format import NONE, clock_text
    from fdbcore.runs.estimates import ASSUMED, priced_on
    from fdbcore.runs.services import endings, recipients

    plan = folder.plan
    rows = _costs(plan, folder.left(again), slots)
    if as_json:
        costs: RunCosts = {
            "schema": "fdbcore.costs/1",
            "systems": rows,
            "recipients": recipients(plan),
            "endings": endings(plan, utc_today()),
        }
        click.echo(json.dumps(costs, ensure_ascii=False))
        return
    is_billed = bool(recipients(plan))
    billed = f" {'USD':>9}" if is_billed else ""
    click.echo(f"{'system':<32} {'calls':>7} {'left':>7} {'audio':>9} {'wall time':>9}{billed}")
    for name, row in rows.items():
        wall = NONE if row["wall_s"] is None else clock_text(row["wall_s"])
        usd = "unpriced" if row["usd"] is None else f"{row['usd']:.2f}"
        billed = f" {usd:>9}" if is_billed else ""
        click.echo(f"{name:<32} {row['calls']:>7} {row['left']:>7} {clock_text(row['audio_s']):>9} {wall:>9}{billed}")
    click.echo(f"audio and wall time: of the calls left, without the time to connect; {slots} at a time")
    if is_billed:
        dated = priced_on([service for services in plan.services.values() for service in services])
        click.echo(f"cost: {f'list prices of {dated}; ' if dated else ''}{ASSUMED}")
    if any(case.user.length_s is None for case in plan.cases):
        click.echo(
            "these are upper limits: a call without a clip ends when a party leaves, or after "
            f"{plan.settings.max_s:g} s"
        )
    for line in _announced(plan):
        click.echo(line)


def _costs(plan: RunPlan, all_left: Sequence[Case], slots: int) -> dict[str, SystemCosts]:
    from fdbcore.runs.estimates import expected_usd
    from fdbcore.runs.runner import expected_wall_s

    rows: dict[str, SystemCosts] = {}
    for name in [*plan.systems, "all"]:
        left = [case for case in all_left if name in (case.system.name, "all")]
        usd = [expected_usd(plan.services_of(case), plan.expected_s(case)) for case in left]
        rows[name] = {
            "calls": sum(name in (case.system.name, "all") for case in plan.cases),
            "left": len(left),
            "audio_s": round(sum(map(plan.expected_s, left)), 1),
            "wall_s": round(expected_wall_s(plan, left, slots), 1) if plan.settings.realtime else None,
            "usd": None if None in usd else round(sum(filter(None, usd)), 4),
        }
    return rows
