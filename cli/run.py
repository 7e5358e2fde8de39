"""`fdbcore run`: runs live calls with systems, records and scores them."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from fdbcore.errors import FdbError, InputError, SettingsError, told_as
from fdbcore.protocols.suite import Suite
from fdbcore.types import SideA, User

from . import options
from .options import DONE, FAILED, INTERRUPTED, screen_columns, turn_settings
from .suites import SuiteCommand, SuiteName, given

if TYPE_CHECKING:
    from fdbcore.analysis.summary_types import CaseCounts, RunSummary, SystemSummary
    from fdbcore.runs.budget import Budget
    from fdbcore.runs.folder import RunFolder
    from fdbcore.runs.plan import PlannedSystem

    from .run_costs import Trial

SYSTEM_HELP = (
    "Side B, a system under test: its address, or NAME=ADDRESS. May be repeated; systems then take turns. "
    "livekit:// is experimental."
)
SUITE_HELP = "Side A: the users of this benchmark, from --data or from the data that ships with it."
DATA_HELP = "With --suite: folder of spoken data; DIR?tail_s=30 adds settings of the clips."
CLIPS_HELP = (
    "Side A: recorded users, in a folder or a list of files; PATH?level_dbov=-26&tail_s=5 adds settings. May be "
    "repeated."
)
OUT_HELP = (
    "Folder of the run; of a run that was stopped, to continue it (default: a new folder, fdbcore-live-TIME-SYSTEM)."
)

TOOLS_HELP = (
    "What the systems may call: a Python file of functions, or a JSON file of schemas with commands; "
    "FILE?latency=normal adds settings."
)


@click.command(
    cls=SuiteCommand, suite_options="run_options", short_help="Run live calls with systems, record and score them."
)
@click.option("--system", "systems", multiple=True, required=True, metavar="ADDRESS", help=SYSTEM_HELP)
@click.option("--a", metavar="ADDRESS", help="Side A: any party, such as scripted:FILE or webrtc.")
@click.option("--clips", multiple=True, metavar="PATH", help=CLIPS_HELP)
@click.option("--suite", type=SuiteName(), help=SUITE_HELP)
@click.option("--data", metavar="DIR", help=DATA_HELP)
@click.option("--tools", metavar="FILE", help=TOOLS_HELP)
@click.option("--trials", type=click.IntRange(1), default=1, show_default=True, help="How often each case is run.")
@click.option("--clock", type=click.Choice(["real", "virtual"]), default="real", show_default=True, help="virtual: "
              "run in lockstep, as fast as the system computes; for systems clocked by their input. Compute time does "
              "not count as latency.")  # fmt: skip
@click.option(
    "--max-s",
    type=click.FloatRange(0.01),
    callback=options.finite,
    default=600.0,
    show_default=True,
    help="Longest call, in seconds.",
)
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Calls at a time, four per process.")
@click.option("--limit", "limits", multiple=True, metavar="SYSTEM=N", help="Calls at a time with this system.")
@click.option("--again", type=click.Choice(["failed", "invalid", "all"]), help="Run the cases that ended so once more.")
@click.option("--seed", type=int, help="Seed of the order of the cases (default: random; it is recorded).")
@options.vad
@options.changes
@click.option("--out", type=options.FILE, help=OUT_HELP)
@click.option("--max-cost", "max_usd", type=click.FloatRange(0, min_open=True), callback=options.finite, metavar="USD",
              help="Begin no call that would make the run cost more; the same command with more goes on.")  # fmt: skip
@click.option("--first", type=click.IntRange(1), metavar="N", help="Run N cases, print what they took and cost, and "
              "ask before the others.")  # fmt: skip
@click.option("--yes", is_flag=True, help="With --first: do not ask.")
@click.option("--local-only", is_flag=True, help="Refuse the run if audio or words would leave this machine "
              "and its network.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Print how many calls, hours and USD this takes; contact no "
              "system and write nothing.")  # fmt: skip
@options.as_json
@options.quiet
@click.pass_context
def run(
    context: click.Context,
    /,
    systems: Sequence[str],
    a: str | None,
    clips: Sequence[str],
    suite: Suite | None,
    data: str | None,
    tools: str | None,
    trials: int,
    clock: str,
    max_s: float,
    jobs: int,
    limits: Sequence[str],
    again: str | None,
    seed: int | None,
    vad: str,
    changes: Sequence[str],
    out: Path | None,
    max_usd: float | None,
    first: int | None,
    yes: bool,
    local_only: bool,
    dry_run: bool,
    as_json: bool,
    quiet: bool,
    **suite_options: Any,  # noqa: ANN401
) -> None:
    """Run live calls with systems, record and score them.

    Side A, a recorded user or any other party, talks with side B, the system. Without --out, each run gets a folder of
    its own, and the first line names it. To continue a run that was stopped or killed, give the same command with --out
    and that folder; cases that have ended run again only with --again. Press Ctrl-C once to finish the live calls and
    start no more, twice to end them now.

    Example: fdbcore run --system echo --clips calls/ --clock virtual --max-s 10
    """
    from fdbcore.runs.budget import Budget, check_priced
    from fdbcore.runs.folder import RunFolder, check_same_plan, seed_of
    from fdbcore.runs.plan import make_plan, prompted, world_of
    from fdbcore.runs.services import check_local
    from fdbcore.runtime.redaction import redacted
    from fdbcore.session.converse import LiveSettings

    from .run_costs import Trial, announce, print_costs

    for option in given(context, tuple(suite_options)) if suite is None or data is not None else ():
        raise click.UsageError(f"{option} needs --suite, without --data")
    try:
        settings = LiveSettings(vad, turn_settings(changes), max_s, realtime=clock == "real")
        if tools is not None:
            options.named(tools)
        named = [_system(text) for text in systems]
        with _folder_of(named, out, again, dry_run) as path:
            side_a = _side_a(a, clips, suite, data, suite_options, path, quiet, dry_run)
            with told_as("--tools", "tools"):
                world = world_of(side_a, tools)
            plan = make_plan(
                prompted(named, side_a),
                side_a.users,
                settings,
                trials=trials,
                seed=seed_of(path) if seed is None else seed,
                limits=_limits(limits, [system.name for system in named]),
                material=side_a.material,
                world=world,
            )
            check_same_plan(path, plan)
            if local_only:
                check_local(plan)
            if max_usd is not None:
                check_priced(plan)
            trial = Trial.of(first, yes, dry_run)
            if dry_run:
                print_costs(RunFolder(path, plan), again, jobs, as_json)
                return
            to_continue = f"run the same command {'again' if out else f'with --out {path}'} to continue"
            if out is None and not quiet:
                click.echo(f"fdbcore run: writing to {path}; if it is stopped, {to_continue}", err=True)
            if not quiet:
                announce(plan)
            with RunFolder(path, plan) as folder:
                if again is not None:
                    folder.hold_again(again)
                code = _run(folder, jobs, as_json, quiet, to_continue, Budget(max_usd) if max_usd else None, trial)
    except InputError as error:
        raise click.UsageError(redacted(str(error))) from None
    except FdbError as error:
        click.echo(f"fdbcore run: {redacted(str(error))}", err=True)
        code = FAILED
    sys.exit(code)


def _folder_of(
    systems: Sequence[PlannedSystem], out: Path | None, again: str | None, dry_run: bool
) -> AbstractContextManager[Path]:
    """The folder of the run: the one that the user named, or a new one; of a dry run, only its path."""
    from .folders import live_name, new_live_folder

    if out is not None:
        return nullcontext(out)
    if again is not None:
        raise SettingsError(f"--again {again}: expected --out, the folder of the run whose cases to run again")
    return nullcontext(Path(live_name(systems))) if dry_run else new_live_folder(systems)


def _side_a(
    a: str | None,
    clips: Sequence[str],
    suite: Suite | None,
    data: str | None,
    suite_options: Mapping[str, Any],
    out: Path,
    quiet: bool,
    dry_run: bool,
) -> SideA:
    from fdbcore.registry import endpoint

    given = [option for option, value in (("--a", a), ("--clips", clips), ("--suite", suite)) if value]
    if len(given) != 1:
        raise SettingsError(f"expected one of --clips, --suite and --a, got {' and '.join(given) or 'none'}")
    if suite is not None:
        return _suite(suite, data, suite_options, out, quiet, dry_run)
    if data is not None:
        raise SettingsError("--data: expected --suite")
    for path in clips:
        options.named(path)
    if a is not None:
        with told_as("--a", "system"):
            endpoint(a)
    return SideA(_recorded(clips) if clips else [User("", str(a))])


def _recorded(clips: Sequence[str]) -> list[User]:
    """The users of all --clips; prints which of them cannot be played."""
    from fdbcore.runs.plan import recorded_users

    users = [user for text in clips for user in recorded_users(text)]
    for user in users:
        if user.problem is not None:
            click.echo(f"fdbcore run: {user.problem}; its cases will be invalid", err=True)
    return users


def _suite(
    suite: Suite, data: str | None, suite_options: Mapping[str, Any], out: Path, quiet: bool, dry_run: bool
) -> SideA:
    """Side A of a suite: from `data`, or from its shipped data, which is written beside the run.

    A dry run writes shipped data to a temporary folder instead, unless it is already there.
    """
    from fdbcore.runs.plan import shipped_in, side_a_of

    from .status import Status

    if dry_run and data is None:
        if shipped_in(out).is_dir() and not suite.run_options:
            data = str(shipped_in(out))
        else:
            folder = TemporaryDirectory(prefix="fdbcore-users-")
            out = Path(click.get_current_context().with_resource(folder)) / out.name
    with Status(quiet) as show:
        asked = {option.name: suite_options[option.name] for option in suite.run_options}
        side_a = side_a_of(suite, data, out, asked, show)
    for where, reason in side_a.problems:
        click.echo(f"fdbcore run: {where}: {reason}", err=True)
    return side_a


def _system(text: str) -> PlannedSystem:
    """A system under test; SettingsError, which names the option, if there can be none at its address."""
    from fdbcore.registry import endpoint
    from fdbcore.runs.plan import PlannedSystem

    with told_as("--system", "system"):
        system = PlannedSystem.of(text)
        endpoint(system.address)
    return system


def _limits(texts: Sequence[str], systems: Collection[str]) -> dict[str, int]:
    limits = {}
    for text in texts:
        name, _, count = text.rpartition("=")
        if not name or not count.isdecimal() or int(count) == 0:
            raise SettingsError(f"--limit {text}: expected SYSTEM=N, N at least 1")
        if name not in systems:
            raise SettingsError(f"--limit {text}: expected the name of a system, {', '.join(systems)}")
        limits[name] = int(count)
    return limits


def _run(
    folder: RunFolder,
    jobs: int,
    as_json: bool,
    quiet: bool,
    to_continue: str,
    budget: Budget | None,
    trial: Trial | None,
) -> int:
    """Run the cases that are left, score all recordings, print the results, and return the exit code.

    to_continue: what to do if the run is stopped. trial: the cases to run before the user is asked.
    """
    from fdbcore.runs.live import measure_timing
    from fdbcore.runs.runner import GO_ON, NOW, run_cases
    from fdbcore.runs.selftest import verdict
    from fdbcore.runs.summary import summarise

    from .progress import Display

    lines = not (quiet or as_json)
    display = Display(folder, lines)
    hold = partial(run_cases, folder, jobs=jobs, watch=display, asked=display.asked, budget=budget)
    failures: list[str] = []
    try:
        with display:
            if folder.left() and folder.plan.settings.realtime:
                found = measure_timing(folder)
                if lines or not found["passed"]:
                    click.echo(verdict(found), err=True)
            elif lines and not folder.left():
                click.echo("all cases have ended; to run cases again: --again failed, invalid or all", err=True)
            hold(only=trial.cases(folder) if trial else None)
        if trial is not None and trial.goes_on(folder):
            with display:
                hold()
    except FdbError as error:
        failures.append(str(error))
        click.echo(f"fdbcore run: {error}", err=True)
    finished = display.asked() == GO_ON or not folder.left()
    try:
        if display.asked() < NOW:
            failures += _score(folder, lines)
            _print(folder, summarise(folder), as_json, quiet)
    except KeyboardInterrupt:
        finished = False
    if not finished:
        left = f"{len(folder.left())} of {len(folder.plan.cases)} cases left"
        click.echo(f"fdbcore run: interrupted, {left}; {to_continue}", err=True)
        return INTERRUPTED
    if folder.left() and not failures:
        why = f"{budget.why_not}, " if budget is not None and not budget.allows(0) else ""
        higher = "with a higher --max-cost or none, " if why else ""
        left = f"{len(folder.left())} of {len(folder.plan.cases)} cases left"
        click.echo(f"fdbcore run: {why}{left}; {higher}{to_continue}", err=True)
    all_done = all((outcome := folder.outcome(case)) and outcome["kind"] == "done" for case in folder.plan.cases)
    return DONE if all_done and not failures else FAILED


def _score(folder: RunFolder, show: bool) -> list[str]:
    """Score recordings that have no scores yet; returns the errors, after printing them."""
    from fdbcore.runs.summary import score_cases

    from .status import Status

    try:
        with Status(not show) as status:
            for recording in score_cases(folder):
                status(f"scoring {recording.name}")
    except FdbError as error:
        click.echo(f"fdbcore run: {error}", err=True)
        return [str(error)]
    return []


def _print(folder: RunFolder, summary: RunSummary, as_json: bool, quiet: bool) -> None:
    """Write the page of a single case, or the tables and index.html of several, and print the results."""
    from fdbcore.report.format import cost_text
    from fdbcore.session.converse import NOT_COUNTED

    silent = as_json or quiet
    if as_json:
        printed: RunSummary = {
            **summary,
            "cases": [{**case.to_json(), "outcome": folder.outcome(case)} for case in folder.plan.cases],
        }
        click.echo(json.dumps(printed, ensure_ascii=False))
    if not silent and not folder.plan.settings.realtime:
        click.echo(f"virtual clock: {NOT_COUNTED}")
    if not silent:
        _print_outcomes(summary["systems"])
        if "cost" in summary:
            click.echo(f"cost: {cost_text(summary['cost'])}")
    _write_pages(folder, silent or _is_text_only(folder))
    if not silent and folder.plan.material is not None:
        lead = "the replies are text; score them with " if _is_text_only(folder) else ""
        click.echo(f"{lead}fdbcore score --suite {folder.plan.material.suite} {folder.path}")


def _is_text_only(folder: RunFolder) -> bool:
    """Whether every case that is done was answered in text alone, so that there is no turn-taking to measure."""
    from fdbcore.session.converse import IN_TEXT

    outcomes = [outcome for case in folder.plan.cases if (outcome := folder.outcome(case)) is not None]
    return {outcome["reason"] for outcome in outcomes if outcome["kind"] == "done"} == {IN_TEXT}


def _print_outcomes(systems: Mapping[str, SystemSummary]) -> None:
    """Print how the cases of each system ended; of several systems only the reasons, as a table shows the counts."""
    from fdbcore.report.terminal import filled

    for name, found in systems.items():
        lines = [f"{name}: {counts_text(found['cases'])}"] if len(systems) == 1 else []
        lead = "  " if lines else f"{name}: "
        lines += [f"{lead}{count} {reason}" for reason, count in found["reasons"].items()]
        for line in lines:
            click.echo(filled(line, screen_columns(), "    "))


def _write_pages(folder: RunFolder, silent: bool) -> None:
    from fdbcore.recording.files import REPORT
    from fdbcore.report.call.screen import screen
    from fdbcore.runs.live import write_pages

    from .corpus import on_written, print_run
    from .status import Status

    shown = write_pages(folder, on_written(Status(silent)))
    if silent:
        return
    if shown is None:
        click.echo(folder.path)
    elif isinstance(shown, tuple):
        click.echo(screen(*shown, screen_columns()))
        click.echo(shown[0].path / REPORT)
    else:
        print_run(shown)


def counts_text(counts: CaseCounts) -> str:
    """How many cases have ended, and how: "38 of 40 cases ended: 36 done, 1 failed, 1 invalid"."""
    kinds = f"{counts['done']} done, {counts['failed']} failed, {counts['invalid']} invalid"
    again = f"; {counts['again']} run more than once" if counts["again"] else ""
    return f"{counts['planned'] - counts['left']} of {counts['planned']} cases ended: {kinds}{again}"
