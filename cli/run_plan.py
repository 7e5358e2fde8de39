"""What `fdbcore run` shall run: its options, the plan that they make, and how a benchmark scores it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlencode

import click

from fdbcore.errors import SettingsError, told_as
from fdbcore.protocols.suite import Suite
from fdbcore.types import SideA, User

from . import options
from .options import turn_settings

if TYPE_CHECKING:
    from fdbcore.runs.plan import PlannedSystem, RunPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The options of the command, as the user gave them. suite_options: values of those that benchmarks add."""

    systems: Sequence[str]
    a: str | None
    clips: Sequence[str]
    suite: Suite | None
    data: str | None
    tools: str | None
    lines: Sequence[str]
    trials: int
    clock: str | None
    max_s: float
    jobs: int | str
    engine: str | None
    limits: Sequence[str]
    again: str | None
    seed: int | None
    vad: str
    changes: Sequence[str]
    out: Path | None
    like: Path | None
    max_usd: float | None
    first: int | None
    yes: bool
    no_score: bool
    local_only: bool
    dry_run: bool
    as_json: bool
    quiet: bool
    suite_options: Mapping[str, Any]

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """From the values of all options by name."""
        own = {field.name for field in fields(cls)} & values.keys()
        added = {name: value for name, value in values.items() if name not in own}
        return cls(**{name: values[name] for name in own}, suite_options=added)


def plan_of(wanted: Wanted, systems: Sequence[PlannedSystem], path: Path) -> RunPlan:
    """The plan of a run in the folder `path`. InputError and FdbError for what cannot be run, or must not be.

    The data of a benchmark are written beside the folder.
    """
    from fdbcore.runs.budget import check_priced
    from fdbcore.runs.folder import check_same_plan, seed_of
    from fdbcore.runs.plan import clock_of, make_plan, prompted, world_of
    from fdbcore.runs.services import check_local
    from fdbcore.session.converse import LiveSettings

    turns = turn_settings(wanted.changes)
    if wanted.tools is not None:
        options.named(wanted.tools)
    side_a = _side_a(wanted, path)
    settings = LiveSettings(
        wanted.vad,
        turns,
        wanted.max_s,
        realtime=clock_of(wanted.clock, systems, side_a) == "real",
        ends=side_a.ends,
        outlasts_b=side_a.outlasts_b,
    )
    with told_as("--tools", "tools"):
        world = world_of(side_a, wanted.tools)
    plan = make_plan(
        prompted(systems, side_a),
        side_a.users,
        settings,
        trials=wanted.trials,
        seed=seed_of(path) if wanted.seed is None else wanted.seed,
        limits=_limits(wanted.limits, [system.name for system in systems]),
        material=side_a.material,
        world=world,
        lines=wanted.lines,
    )
    plan = replace(plan, n_left_out=len(side_a.problems))
    check_same_plan(path, plan)
    if wanted.local_only:
        check_local(plan)
    if wanted.max_usd is not None:
        check_priced(plan)
    return plan


def system_of(text: str) -> PlannedSystem:
    """A system under test; SettingsError, which names the option, if there can be none at its address."""
    from fdbcore.registry import endpoint
    from fdbcore.runs.plan import PlannedSystem

    with told_as("--system", "system"):
        system = PlannedSystem.of(text)
        endpoint(system.address)
    return system


def _side_a(wanted: Wanted, out: Path) -> SideA:
    from fdbcore.registry import endpoint

    sides = (("--a", wanted.a), ("--clips", wanted.clips), ("--suite", wanted.suite))
    given = [option for option, value in sides if value]
    if given == ["--a", "--suite"] and wanted.suite is not None:
        with told_as("--a", "system"):
            endpoint(str(wanted.a))
        if (played_by := _of_suite(wanted.suite, wanted, out).played_by) is not None:
            return played_by(str(wanted.a))
    if len(given) != 1:
        raise SettingsError(f"expected one of --clips, --suite and --a, got {' and '.join(given) or 'none'}")
    if wanted.suite is not None:
        return _of_suite(wanted.suite, wanted, out)
    if wanted.data is not None:
        raise SettingsError("--data: expected --suite")
    for path in wanted.clips:
        options.named(path)
    if wanted.a is not None:
        with told_as("--a", "system"):
            endpoint(wanted.a)
    return SideA(_recorded(wanted.clips) if wanted.clips else [User("", str(wanted.a))])


def _recorded(clips: Sequence[str]) -> list[User]:
    """The users of all --clips; prints which of them cannot be played."""
    from fdbcore.runs.plan import recorded_users

    users = [user for text in clips for user in recorded_users(text)]
    for user in users:
        if user.problem is not None:
            click.echo(f"fdbcore run: {user.problem}; its cases will be invalid", err=True)
    return users


def _of_suite(suite: Suite, wanted: Wanted, out: Path) -> SideA:
    """Side A of a suite: from --data, or from its shipped data, which is written beside the run.

    A dry run writes shipped data to a temporary folder instead, unless it is already there.
    """
    from fdbcore.runs.plan import shipped_in, side_a_of

    from .status import Status

    data = wanted.data
    set_by = {option.name: wanted.suite_options[option.name] for option in suite.options.data}
    if data is not None and any(set_by.values()):
        settings = urlencode({name: value for name, value in set_by.items() if value})
        data = f"{data}{'&' if '?' in data else '?'}{settings}"
    if wanted.dry_run and data is None:
        if shipped_in(out).is_dir() and not suite.options.run:
            data = str(shipped_in(out))
        else:
            folder = TemporaryDirectory(prefix="fdbcore-users-")
            out = Path(click.get_current_context().with_resource(folder)) / out.name
    with Status(wanted.quiet) as show:
        asked = {option.name: wanted.suite_options[option.name] for option in suite.options.run}
        side_a = side_a_of(suite, data, out, asked, show)
    for where, reason in (*side_a.problems, *side_a.warnings):
        click.echo(f"fdbcore run: {where}: {reason}", err=True)
    return side_a


def scoring_of(wanted: Wanted) -> Mapping[str, Any] | None:
    """The options of scoring by name, if the benchmark scores the run that a user wants, and --no-score is not given.

    InputError for options of scoring that do not fit together, or to this run, before a call is made.
    """
    from fdbcore.models.model_table import recipient
    from fdbcore.runtime.address import is_local

    suite = wanted.suite
    if suite is None or wanted.no_score or not suite.scores_runs:
        return None
    options = {option.name: wanted.suite_options.get(option.name, option.unset) for option in suite.options.score}
    asked = suite.asked(options)
    for each in asked:
        each.check_key()
    services = [service for each in asked for service in each.services()]
    if services and wanted.max_usd is not None:
        raise SettingsError(
            "--max-cost limits calls alone: expected --no-score beside it, then fdbcore score --max-cost"
        )
    if wanted.local_only and (remote := [recipient(service) for service in services if not is_local(service.host)]):
        raise SettingsError(
            f"--local-only: expected nothing to leave this machine or its network, but scoring asks {remote[0]}"
        )
    if wanted.dry_run and services and not (wanted.as_json or wanted.quiet):
        click.echo(
            "what scoring asks is not counted: fdbcore score --dry-run counts it once calls are recorded", err=True
        )
    return options


def _limits(texts: Sequence[str], systems: Collection[str]) -> dict[str, int]:
    limits = {}
    for text in texts:
        name, _, count = text.rpartition("=")
        if not name or not re.fullmatch("[1-9][0-9]{0,8}", count):
            raise SettingsError(f"--limit {text}: expected SYSTEM=N, N at least 1")
        if name not in systems:
            raise SettingsError(f"--limit {text}: expected the name of a system, {', '.join(systems)}")
        if name in limits:
            raise SettingsError(f"--limit {text}: expected each system once, got {name} again")
        limits[name] = int(count)
    return limits
