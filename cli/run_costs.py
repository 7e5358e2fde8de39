"""The output of `fdbcore run --dry-run`: how many calls, hours and USD a run takes, and what goes to whom."""

import json
from collections.abc import Sequence
from itertools import accumulate

import click
from msgspec import to_builtins

from fdbcore import clock
from fdbcore.measures.costs import RunCosts, SystemCosts
from fdbcore.report.format import NONE, clock_text, usd_text
from fdbcore.runs.estimates import ASSUMED, expected_usd, priced_on
from fdbcore.runs.folder import RunFolder
from fdbcore.runs.plan import Case, RunPlan
from fdbcore.runs.prepared import PreparedRun
from fdbcore.runs.requests import RunRequest
from fdbcore.runs.runner import expected_wall_s
from fdbcore.runs.services import endings, recipients


def print_costs(ready: PreparedRun, request: RunRequest, as_json: bool) -> None:
    """Print calls, audio, wall time and money of each system and in total; only calls that are left cost any.

    With a limit of its cost, a line says whether all of it fits.
    """
    plan, left = ready.plan, RunFolder(ready.path, ready.plan).left(request.again)
    rows = _costs(plan, left, ready.jobs)
    if as_json:
        costs = RunCosts("fdbcore.costs/1", rows, recipients(plan), endings(plan, clock.utc_today()))
        click.echo(json.dumps(to_builtins(costs), ensure_ascii=False))
        return
    is_billed = bool(recipients(plan))
    billed = f" {'USD':>9}" if is_billed else ""
    click.echo(f"{'system':<32} {'calls':>7} {'left':>7} {'audio':>9} {'wall time':>9}{billed}")
    for name, row in rows.items():
        wall = NONE if row.wall_s is None else clock_text(row.wall_s)
        usd = "unpriced" if row.usd is None else f"{row.usd:.2f}"
        billed = f" {usd:>9}" if is_billed else ""
        click.echo(f"{name:<32} {row.calls:>7} {row.left:>7} {clock_text(row.audio_s):>9} {wall:>9}{billed}")
    click.echo(f"audio and wall time: of the calls left, without the time to connect; {ready.jobs} at a time")
    if is_billed:
        dated = priced_on([service for services in plan.services.values() for service in services])
        click.echo(f"cost: {f'list prices of {dated}; ' if dated else ''}{ASSUMED}")
    if request.max_usd is not None:
        click.echo(_beside_limit(RunFolder(ready.path, plan), left, request.max_usd))
    if any(case.user.length_s is None for case in plan.cases):
        click.echo(
            "these are upper limits: a call without a clip ends when a party leaves, or after "
            f"{plan.settings.max_s:g} s"
        )
    for line in (*recipients(plan), *endings(plan, clock.utc_today())):
        click.echo(line)


def _beside_limit(folder: RunFolder, left: Sequence[Case], max_usd: float) -> str:
    """A sentence on the limit in USD: do past and expected costs fit it? All calls that are left have prices.

    The first call of a run begins under any limit.
    """
    plan = folder.plan
    spent = sum(cost.usd for case in plan.cases if (cost := folder.cost(case)) is not None)
    sums = list(
        accumulate((expected_usd(plan.services_of(case), plan.expected_s(case)) or 0 for case in left), initial=spent)
    )
    fitting = sum(usd <= max_usd for usd in sums[1:])
    held = fitting if spent else max(fitting, 1)
    told = f"--max-cost {max_usd:g}: {usd_text(sums[-1])}{f', {usd_text(spent)} spent of it,' if spent else ''}"
    if fitting == len(left):
        return f"{told} fits"
    return f"{told} does not fit: the run would stop after about {held} of the {len(left)} calls left"


def _costs(plan: RunPlan, all_left: Sequence[Case], slots: int) -> dict[str, SystemCosts]:

    rows: dict[str, SystemCosts] = {}
    for name in [*plan.systems, "all"]:
        left = [case for case in all_left if name in (case.system.name, "all")]
        usd = [expected_usd(plan.services_of(case), plan.expected_s(case)) for case in left]
        calls = sum(name in (case.system.name, "all") for case in plan.cases)
        audio_s = round(sum(map(plan.expected_s, left)), 1)
        wall_s = round(expected_wall_s(plan, left, slots), 1) if plan.settings.realtime else None
        total_usd = None if None in usd else round(sum(filter(None, usd)), 4)
        rows[name] = SystemCosts(calls, len(left), audio_s, wall_s, total_usd)
    return rows
