"""What `fdbcore run` says before it begins: what goes to whom, which models end, and what the run takes."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Self

import click

from fdbcore import clock
from fdbcore.errors import SettingsError

if TYPE_CHECKING:
    from fdbcore.measures.costs import SystemCosts
    from fdbcore.runs.folder import RunFolder
    from fdbcore.runs.plan import Case, RunPlan


def is_terminal() -> bool:
    """Whether there is somebody to ask."""
    return sys.stdin.isatty()


def announce(plan: RunPlan) -> None:
    """Say what of the run goes to whom, and which models have gone or end soon."""
    for line in _announced(plan):
        click.echo(f"fdbcore run: {line}", err=True)


def _announced(plan: RunPlan) -> list[str]:
    from fdbcore.runs.services import endings, recipients

    return [*recipients(plan), *endings(plan, clock.utc_today())]


@dataclass(frozen=True, slots=True)
class Trial:
    """The first cases of a run, after which the user is asked whether to go on. n: how many. yes: do not ask."""

    n: int
    yes: bool

    @classmethod
    def of(cls, n: int | None, yes: bool, dry_run: bool) -> Self | None:
        """The trial that --first asks for, None if none; SettingsError if nobody could be asked."""
        if n is None:
            if yes:
                raise SettingsError("--yes: expected --first N")
            return None
        if not (yes or dry_run or is_terminal()):
            raise SettingsError(f"--first {n}: expected a terminal to ask on, or --yes")
        return cls(n, yes)

    def cases(self, folder: RunFolder) -> Sequence[Case]:
        """The first cases of the plan."""
        return folder.plan.cases[: self.n]

    def goes_on(self, folder: RunFolder) -> bool:
        """Tell what the first cases took and cost, and return whether to run the others too."""
        left = folder.left()
        if not left or any(case in left for case in self.cases(folder)):  # nothing to ask, or they were stopped
            return False
        for line in _told(folder, self.cases(folder), len(left)):
            click.echo(line, err=True)
        try:
            return self.yes or click.confirm(f"Run the other {len(left)}?", err=True)
        except click.Abort:  # Ctrl-C, or the end of the input, is a no
            click.echo(err=True)
            return False


def _told(folder: RunFolder, cases: Sequence[Case], left: int) -> Iterator[str]:
    """What each of the first cases took and cost, and about what those that are left will take and cost."""
    from fdbcore.measures.costs import total
    from fdbcore.recording.run import state_of_case
    from fdbcore.report.format import clock_text, cost_in_short, cost_text, usd_text
    from fdbcore.types import ticks_to_s

    lengths_s = [ticks_to_s(state_of_case(folder.path / case.name).get("n_ticks", 0)) for case in cases]
    costs = [folder.cost(case) for case in cases]
    for case, length_s, cost in zip(cases, lengths_s, costs, strict=True):
        told = [clock_text(length_s), *([cost_in_short(cost.to_json())] if cost else [])]
        yield f"{case.name}: {', '.join(told)}"
    expected = [clock_text(left * sum(lengths_s) / len(cases))]
    if (all_costs := total(costs)) is not None:
        yield f"cost: {cost_text(all_costs.to_json())}"
        expected += ["an unknown sum"] if all_costs.unpriced else [usd_text(left * all_costs.usd / len(cases))]
    yield f"the other {left}, if they are alike: about {' and '.join(expected)}"


def print_costs(folder: RunFolder, again: str | None, slots: int, as_json: bool, max_usd: float | None) -> None:
    """Print calls, audio, wall time and money of each system and in total; only calls that are left cost any.

    max_usd: the limit that the user gave; a line then says whether all of it fits.
    """
    from msgspec import to_builtins

    from fdbcore.measures.costs import RunCosts
    from fdbcore.report.format import NONE, clock_text
    from fdbcore.runs.estimates import ASSUMED, priced_on
    from fdbcore.runs.services import endings, recipients

    plan = folder.plan
    rows = _costs(plan, folder.left(again), slots)
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
    click.echo(f"audio and wall time: of the calls left, without the time to connect; {slots} at a time")
    if is_billed:
        dated = priced_on([service for services in plan.services.values() for service in services])
        click.echo(f"cost: {f'list prices of {dated}; ' if dated else ''}{ASSUMED}")
    if max_usd is not None:
        click.echo(_beside_limit(folder, folder.left(again), max_usd))
    if any(case.user.length_s is None for case in plan.cases):
        click.echo(
            "these are upper limits: a call without a clip ends when a party leaves, or after "
            f"{plan.settings.max_s:g} s"
        )
    for line in _announced(plan):
        click.echo(line)


def _beside_limit(folder: RunFolder, left: Sequence[Case], max_usd: float) -> str:
    """Whether what was spent and what the calls that are left will cost fit a limit in USD; all of them have prices.

    The first call of a run begins under any limit.
    """
    from fdbcore.report.format import usd_text
    from fdbcore.runs.estimates import expected_usd

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
    from fdbcore.measures.costs import SystemCosts
    from fdbcore.runs.estimates import expected_usd
    from fdbcore.runs.runner import expected_wall_s

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
