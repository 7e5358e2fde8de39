"""`fdbcore score`: scores a run with confidence intervals, or replies by the measures of a suite."""

import json
import sys
from pathlib import Path
from typing import Any, Final

import click

from fdbcore.registry import suites
from fdbcore.runs.requests import SCORE_OPTIONS, ScoreRequest, check_vads

from . import options
from .endings import one_line
from .lazy import TYPED
from .options import DONE, FAILED, FILE
from .status import Status, Teller
from .suites import SuiteCommand, every_suite, given, of_request

_RUN_OPTIONS: Final = ("cluster", "by", "reference", "since")
_SUITE_OPTIONS: Final = ("figures", "dry_run", "price")


@click.command(
    cls=SuiteCommand,
    suite_options="score",
    params=of_request(SCORE_OPTIONS),
    short_help="Score a run with intervals, or a benchmark.",
)
@click.argument("paths", nargs=-1, type=FILE, callback=options.each_once, metavar="[RUN|RESPONSES.jsonl]...")
@click.option("--cluster", metavar="COLUMN", help="Unit that intervals resample (default: the call).")
@click.option("--by", metavar="COLUMN", help="Compare groups of calls that differ in this column.")
@click.option("--reference", type=FILE, metavar="DIR", help="Also show this run, or folder of audio, of people.")
@options.since
@click.option("--dry-run", is_flag=True, help="With --suite: print what models would be asked; ask nobody.")
@options.price
@options.as_json
@options.quiet
@click.pass_context
def score(context: click.Context, /, **values: Any) -> None:  # noqa: ANN401
    """Score a run with confidence intervals, or score replies by a benchmark.

    Without --suite, RUN is a folder made by `fdbcore replay` or `fdbcore run`; by default the newest one in the current
    folder. Its measures are pooled over all calls, with intervals, and written to RUN/scores.json and RUN/scores.html.

    With --suite, runs of several systems, or files of their replies, are scored by the measures of that benchmark; by
    default the replies that ship with it. Input that cannot be used is named and left out, and the exit code is 1.

    Example: fdbcore score RUN --by version --cluster caller
    """
    paths, as_json, quiet, is_dry = (values.pop(name) for name in ("paths", "as_json", "quiet", "dry_run"))
    fields = {name: values.pop(name) for name in SCORE_OPTIONS}
    of_run = {name: values.pop(name) for name in _RUN_OPTIONS}
    suite = fields.pop("suite")
    if suite is None:
        for option in given(context, (*_SUITE_OPTIONS, *values)):
            having = [each.name for each in every_suite() if option in {own.flag for own in each.options.score}]
            raise click.UsageError(f"{option} needs --suite {'|'.join(having or suites())}")
        if len(paths) > 1:
            raise click.UsageError(f"expected one RUN, or --suite {'|'.join(suites())}, got {len(paths)} paths")
        del fields["figures"]
        sys.exit(_score_run(paths[0] if paths else options.newest(), {**fields, **of_run}, as_json, quiet))
    from .score_suite import print_expected, score_suite

    for option in given(context, _RUN_OPTIONS):
        raise click.UsageError(f"{option}: expected it without --suite, for runs of calls")
    request = ScoreRequest(paths, suite=suite.name, options=values, typed=context.meta[TYPED], **fields)
    sys.exit(print_expected(request, quiet) if is_dry else score_suite(request, as_json, quiet))


def _score_run(path: Path, asked: dict[str, Any], as_json: bool, quiet: bool) -> int:
    """Score a run anew, print what holds of it, and return the exit code."""
    from fdbcore.analysis.corpus import Run
    from fdbcore.report.groups.page import SCORES_PAGE
    from fdbcore.report.groups.screen import statements_screen
    from fdbcore.runs.run_scores import score as score_run

    with one_line("fdbcore score", "the new scores of single calls are kept"), Status(quiet or as_json) as status:
        check_vads(asked["vads"])  # before the run is read
        run = Run(path, since=asked.pop("since"))
        options.tell_damaged("fdbcore score", (call for call in run.calls if call.damaged_beside))
        watch = Teller("fdbcore score", status, quiet)
        content = score_run(run, detectors=asked.pop("vads"), **asked, watch=watch)
    if as_json:
        click.echo(json.dumps(content, ensure_ascii=False))
    elif not quiet:
        click.echo(f"{statements_screen(content, options.columns())}\n{(asked['out'] or path) / SCORES_PAGE}")
    for name, reason in content["unread"].items():
        watch.warn(f"{name}: {reason}")
    return FAILED if content["unread"] else DONE
