"""Prepares a run that is asked for: its folder, its plan, who holds its calls, and how its benchmark scores it."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlencode

from fdbcore.errors import SettingsError, told_as
from fdbcore.models.model_table import recipient
from fdbcore.protocols.suite import Suite
from fdbcore.registry import endpoint
from fdbcore.registry import suite as suite_named
from fdbcore.runs.budget import check_priced
from fdbcore.runs.calls_at_once import needed_calls_at_once
from fdbcore.runs.engines import held_calls
from fdbcore.runs.folder import check_same_plan, live_name, new_live_folder, seed_of
from fdbcore.runs.held_here import HeldCalls
from fdbcore.runs.plan import (
    PlannedSystem,
    RunPlan,
    clock_of,
    make_plan,
    prompted,
    recorded_users,
    scores_beside,
    shipped_in,
    side_a_of,
    unless_refused,
    world_of,
)
from fdbcore.runs.requests import RUN_OPTIONS, Place, RunRequest, ScoreRequest, checked, option_values
from fdbcore.runs.services import check_local
from fdbcore.runs.watch import RunWatch
from fdbcore.runtime.address import is_local
from fdbcore.session.converse import LiveSettings
from fdbcore.types import SideA, User


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """A run that can begin. path: its folder, which is there only if it was before or is a new one of no name.

    jobs: calls at a time. hold: what holds them in place of processes of this machine, see `run_cases`. scoring: how
    the benchmark scores the run; None if it does not.
    """

    path: Path
    plan: RunPlan
    jobs: int
    hold: Callable[[Path, LiveSettings], HeldCalls] | None
    scoring: ScoreRequest | None


@contextmanager
def prepared(request: RunRequest, *, is_dry: bool = False) -> Iterator[PreparedRun]:
    """A run that can begin, until the end of the `with` block. Errors as of `fdbcore.run`, before a call is held.

    is_dry: nothing is written, and this machine is not measured.
    """
    watch = request.watch or RunWatch()
    checked(RUN_OPTIONS, request)
    suite = None if request.suite is None else suite_named(request.suite)
    values = _suite_values(suite, request)
    systems = [_system(text) for text in _listed(request.systems)]
    data = None if request.data is None else os.fspath(request.data)
    with ExitStack() as stack:
        path = out = stack.enter_context(_folder(request, systems, is_dry))
        scoring = _scoring(suite, values, request, path, watch if is_dry else None)
        hold = held_calls(request.engine, request.jobs)
        stack.enter_context(unless_refused(path))
        if suite is not None and data is None and is_dry:
            if shipped_in(path).is_dir() and not suite.options.run:
                data = str(shipped_in(path))
            else:
                out = Path(stack.enter_context(TemporaryDirectory(prefix="fdbcore-users-"))) / path.name
        plan = _plan(request, systems, _side_a(request, suite, values, data, out, watch), path)
        check_same_plan(path, plan)
        if request.local_only:
            check_local(plan)
        if request.max_usd is not None:
            check_priced(plan)
        jobs = 1
        if isinstance(request.jobs, int):
            jobs = request.jobs
        elif hold is None:
            jobs = needed_calls_at_once(plan.settings.realtime, watch, may_measure=not is_dry)
        elif plan.settings.realtime:
            watch.note("how many calls a node holds on time is measured there first, if not known: two minutes")
        yield PreparedRun(path, plan, jobs, hold, scoring)


def _listed(given: Place | Sequence[Place]) -> list[str]:
    return [os.fspath(each) for each in ([given] if isinstance(given, str | os.PathLike) else given)]


def _suite_values(suite: Suite | None, request: RunRequest) -> dict[str, Any]:
    """The values of the options of a benchmark by name. SettingsError for those that do not go together."""
    if suite is None:
        if request.suite_options:
            raise SettingsError(f"{next(iter(request.suite_options))}: expected a suite, got none")
        return {}
    own = suite.options
    kinds = {"run": own.run, "data": own.data, "score": own.score if suite.scores_runs else ()}
    values = option_values([option for kind in kinds.values() for option in kind], request.suite_options, suite.name)
    for kind, is_wrong, why in (
        ("data", request.data is None, "needs --data"),
        ("run", request.data is not None, "cannot be combined with --data"),
        ("score", not request.score, "cannot be combined with --no-score"),
    ):
        for option in kinds[kind] if is_wrong else ():
            if values[option.name] != option.unset:
                raise SettingsError(f"{option.flag} {why}")
    return values


def _system(text: str) -> PlannedSystem:
    with told_as("--system", "system"):
        system = PlannedSystem.of(text)
        endpoint(system.address)
    return system


@contextmanager
def _folder(request: RunRequest, systems: Sequence[PlannedSystem], is_dry: bool) -> Iterator[Path]:
    """The folder of the run: the one that is named, or a new one; of a dry run, only its path."""
    if request.out is not None:
        out = Path(request.out)
        yield out if out.name.strip(".") else out.resolve()
        return
    if request.again is not None:
        raise SettingsError(f"--again {request.again}: expected --out, the folder of the run whose cases to run again")
    with nullcontext(Path(live_name(systems))) if is_dry else new_live_folder(systems) as path:
        yield path


def _scoring(
    suite: Suite | None, values: Mapping[str, Any], request: RunRequest, path: Path, dry: RunWatch | None
) -> ScoreRequest | None:
    """The benchmark's scoring of the run; None if it does not score it. dry: is told what a dry run does not count.

    InputError for options of scoring that do not fit together, or to this run, before a call is held.
    """
    if suite is None or not (request.score and suite.scores_runs):
        return None
    options = {option.name: values[option.name] for option in suite.options.score}
    asked = suite.asked(options)
    for each in asked:
        each.check_key()
    services = [service for each in asked for service in each.services()]
    if services and request.max_usd is not None:
        raise SettingsError(
            "--max-cost limits calls alone: expected --no-score beside it, then fdbcore score --max-cost"
        )
    if request.local_only and (remote := [recipient(service) for service in services if not is_local(service.host)]):
        raise SettingsError(
            f"--local-only: expected nothing to leave this machine or its network, but scoring asks {remote[0]}"
        )
    if services and dry is not None:
        dry.note("what scoring asks is not counted: fdbcore score --dry-run counts it once calls are recorded")
    return ScoreRequest(
        path,
        suite=suite.name,
        options=options,
        engine=request.engine,
        out=scores_beside(path),
        watch=request.watch,
        typed=request.typed,
    )


def _side_a(
    request: RunRequest, suite: Suite | None, values: Mapping[str, Any], data: str | None, out: Path, watch: RunWatch
) -> SideA:
    """The users of the run. data: of the benchmark; without them, those that it ships are put beside `out`."""
    given = [flag for flag in ("--a", "--clips", "--suite") if getattr(request, flag[2:])]
    if request.a is not None:
        with told_as("--a", "system"):
            endpoint(request.a)
    if suite is not None and given in (["--suite"], ["--a", "--suite"]):
        side_a = _of_suite(suite, values, data, out, watch)
        if request.a is None:
            return side_a
        if side_a.played_by is not None:
            return side_a.played_by(request.a)
    if len(given) != 1:
        raise SettingsError(f"expected one of --clips, --suite and --a, got {' and '.join(given) or 'none'}")
    if data is not None:
        raise SettingsError("--data: expected --suite")
    if request.a is not None:
        return SideA([User("", request.a)])
    users = [user for clips in _listed(request.clips) for user in recorded_users(clips)]
    for user in users:
        if user.problem is not None:
            watch.warn(f"{user.problem}; its cases will be invalid")
    return SideA(users)


def _of_suite(suite: Suite, values: Mapping[str, Any], data: str | None, out: Path, watch: RunWatch) -> SideA:
    set_by = {option.name: values[option.name] for option in suite.options.data if values[option.name]}
    if data is not None and set_by:
        data = f"{data}{'&' if '?' in data else '?'}{urlencode(set_by)}"
    side_a = side_a_of(suite, data, out, {option.name: values[option.name] for option in suite.options.run}, watch.step)
    for where, reason in (*side_a.problems, *side_a.warnings):
        watch.warn(f"{where}: {reason}")
    return side_a


def _plan(request: RunRequest, systems: Sequence[PlannedSystem], side_a: SideA, path: Path) -> RunPlan:
    settings = LiveSettings(
        request.vad,
        request.settings,
        request.max_s,
        realtime=clock_of(request.clock, systems, side_a) == "real",
        ends=side_a.ends,
        outlasts_b=side_a.outlasts_b,
    )
    with told_as("--tools", "tools"):
        world = world_of(side_a, None if request.tools is None else os.fspath(request.tools))
    plan = make_plan(
        prompted(systems, side_a),
        side_a.users,
        settings,
        trials=request.trials,
        seed=seed_of(path) if request.seed is None else request.seed,
        limits=request.limits,
        material=side_a.material,
        world=world,
        lines=_listed(request.lines),
    )
    return replace(plan, n_left_out=len(side_a.problems))
