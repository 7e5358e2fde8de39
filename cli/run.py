"""`fdbcore run`: runs live calls with systems, records and scores them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fdbcore.errors import FdbError, InputError, SettingsError

from . import options
from .calls_at_once import AUTO, Jobs, jobs_of
from .options import DONE, FAILED
from .suites import SuiteCommand, SuiteName, given

if TYPE_CHECKING:
    from fdbcore.runs.plan import PlannedSystem

    from .run_plan import Wanted

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
    "FILE?latency=normal adds settings. Or the address of another world."
)
JOBS_HELP = (
    "Calls at a time, four per process; with --engine, on each node. auto: as many as `fdbcore doctor --calls` finds "
    "that the machine holds on time."
)
LINE_HELP = (
    "What B hears A over: clean, telephone, noise:20, babble:15, loss:5, jitter:40 or echo:-30. May be repeated: each "
    "case then goes over each line, and the tables show what a line costs."
)


@click.command(cls=SuiteCommand, suite_options="run", short_help="Run live calls with systems, record and score them.")
@click.option("--system", "systems", multiple=True, required=True, metavar="ADDRESS", help=SYSTEM_HELP)
@click.option(
    "--a",
    metavar="ADDRESS",
    help="Side A: any party, such as scripted:FILE or webrtc; beside a --suite that allows it, who plays its users.",
)
@click.option("--clips", multiple=True, metavar="PATH", help=CLIPS_HELP)
@click.option("--suite", type=SuiteName(), help=SUITE_HELP)
@click.option("--data", metavar="DIR", help=DATA_HELP)
@click.option("--tools", metavar="FILE", help=TOOLS_HELP)
@click.option("--line", "lines", multiple=True, metavar="LINE", help=LINE_HELP)
@click.option("--trials", type=options.Whole(1), default=1, show_default=True, help="How often each case is run.")
@click.option("--clock", type=click.Choice(["real", "virtual"]), help="virtual: "
              "run in lockstep, as fast as the system computes; for systems clocked by their input. Compute time does "
              "not count as latency (default: real; virtual where a benchmark does not score timing, and all systems "
              "take a recording and reply once).")  # fmt: skip
@click.option(
    "--max-s",
    type=options.Number(0.01),
    default=600.0,
    show_default=True,
    help="Longest call, in seconds.",
)
@click.option("--jobs", type=Jobs(), default=1, show_default=True, metavar="N|auto", help=JOBS_HELP)
@options.engine("Hold the calls on a Ray cluster that this machine belongs to, on nodes that do nothing else meanwhile")
@click.option("--limit", "limits", multiple=True, metavar="SYSTEM=N", help="Calls at a time with this system.")
@click.option("--again", type=click.Choice(["failed", "invalid", "all"]), help="Run the cases that ended so once more.")
@click.option("--seed", type=options.Whole(), help="Seed of the order of the cases (default: random; it is recorded).")
@options.vad
@options.changes
@click.option("--out", type=options.FILE, help=OUT_HELP)
@click.option("--like", type=options.FILE, metavar="RUN", help="Tell where the settings that systems confirm differ "
              "from those in this run.")  # fmt: skip
@click.option("--max-cost", "max_usd", type=options.Number(0, min_open=True), metavar="USD",
              help="Begin no call that would make the run cost more; the same command with more goes on.")  # fmt: skip
@options.price
@click.option("--first", type=options.Whole(1), metavar="N", help="Run N cases, print what they took and cost, and "
              "ask before the others.")  # fmt: skip
@click.option("--yes", is_flag=True, help="With --first: do not ask.")
@click.option("--no-score", is_flag=True, help="Do not score by the benchmark once all calls have ended.")
@click.option("--local-only", is_flag=True, help="Refuse the run if audio or words would leave this machine "
              "and its network.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Print how many calls, hours and USD this takes; contact no "
              "system and write nothing.")  # fmt: skip
@options.as_json
@options.quiet
@click.pass_context
def run(context: click.Context, /, **values: Any) -> None:  # noqa: ANN401
    """Run live calls with systems, record and score them.

    Side A, a recorded user or any other party, talks with side B, the system. With --suite, the run is then scored as
    by `fdbcore score --suite`, into a folder beside it, if the benchmark does so. Without --out, each run gets a folder
    of its own, and the first line names it. To continue a run that was stopped or killed, give the same command with
    --out and that folder; cases that have ended run again only with --again. Press Ctrl-C once to finish the live calls
    and start no more, twice to end them now.

    Example: fdbcore run --system echo --clips calls/ --clock virtual --max-s 10
    """
    from fdbcore.runtime.redaction import asking_nobody, redacted

    from .run_plan import Wanted

    wanted = Wanted.of(values)
    if wanted.suite is None:
        for option in given(context, ("no_score", *wanted.suite_options)):
            raise click.UsageError(f"{option} needs --suite")
    elif wanted.no_score:
        for option in given(context, [option.name for option in wanted.suite.options.score]):
            raise click.UsageError(f"{option} cannot be combined with --no-score")
    if wanted.suite is not None and wanted.data is None:
        for option in given(context, [option.name for option in wanted.suite.options.data]):
            raise click.UsageError(f"{option} needs --data")
    elif wanted.suite is not None:
        for option in given(context, [option.name for option in wanted.suite.options.run]):
            raise click.UsageError(f"{option} cannot be combined with --data")
    try:
        with asking_nobody() if wanted.dry_run else nullcontext():
            code = _run(wanted)
    except InputError as error:
        raise click.UsageError(redacted(str(error))) from None
    except FdbError as error:
        click.echo(f"fdbcore run: {redacted(str(error))}", err=True)
        code = FAILED
    sys.exit(code)


def _run(wanted: Wanted) -> int:
    """Do what was asked for, and return the exit code. Where a peer joins the first call, the port is open at once."""
    from fdbcore.endpoints.webrtc.endpoint import opened_early
    from fdbcore.models.model_table import PRICES, stated_text
    from fdbcore.recording.files import write_text
    from fdbcore.runs.budget import Budget
    from fdbcore.runs.folder import RunFolder
    from fdbcore.runs.plan import unless_refused

    from .run_calls import Calls
    from .run_costs import Trial, announce, print_costs
    from .run_plan import plan_of, scoring_of, system_of

    like = options.read_run(wanted.like) if wanted.like else None
    if like and wanted.out and wanted.out.resolve() == like.path.resolve():
        raise SettingsError(f"--like {like.path}: expected another run, got the one to hold")
    scoring = scoring_of(wanted)
    executor = options.executor(wanted.engine, None)
    systems = [system_of(text) for text in wanted.systems]
    trial = Trial.of(wanted.first, wanted.yes, wanted.dry_run)
    with _folder_of(wanted, systems) as path, unless_refused(path):
        plan = plan_of(wanted, systems, path)
        held = options.held_calls(executor, wanted.jobs)
        # A node then has a number of its own, and none here counts.
        of_each_node = held is not None and wanted.jobs == AUTO and not wanted.dry_run
        jobs = 1 if of_each_node else jobs_of(wanted.jobs, plan.settings.realtime, wanted.dry_run, wanted.quiet)
        if wanted.dry_run:
            print_costs(RunFolder(path, plan), wanted.again, jobs, wanted.as_json, wanted.max_usd)
            return DONE
        same = f"run the same command {'again' if wanted.out else f'with --out {path}'}"
        if wanted.out is None and not wanted.quiet:
            click.echo(f"fdbcore run: writing to {path}; if it is stopped, {same} to continue", err=True)
        if not wanted.quiet:
            announce(plan)
            if of_each_node and plan.settings.realtime:
                click.echo(
                    "how many calls a node holds on time is measured there first, if not known: two minutes", err=True
                )
        with RunFolder(path, plan) as folder:
            if prices := stated_text():
                write_text(path / PRICES, prices)
            if wanted.again is not None:
                folder.hold_again(wanted.again)
            budget = Budget(wanted.max_usd) if wanted.max_usd else None
            calls = Calls(wanted, folder, jobs, executor, held, same, budget, trial, scoring, like)
            with opened_early(address for case in calls.first for address in case.addresses):
                return calls.run()


def _folder_of(wanted: Wanted, systems: Sequence[PlannedSystem]) -> AbstractContextManager[Path]:
    """The folder of the run: the one that the user named, or a new one; of a dry run, only its path."""
    from .folders import live_name, new_live_folder

    if wanted.out is not None:
        return nullcontext(wanted.out if wanted.out.name.strip(".") else wanted.out.resolve())
    if wanted.again is not None:
        raise SettingsError(f"--again {wanted.again}: expected --out, the folder of the run whose cases to run again")
    return nullcontext(Path(live_name(systems))) if wanted.dry_run else new_live_folder(systems)
