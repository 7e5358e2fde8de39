"""`fdbcore score`: the measures of a run with what can be said of them, or what replies are worth by a suite's."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from fdbcore.registry import SUITES

from . import options
from .options import FILE

_OF_RUNS: Final = {"cluster": "--cluster", "by": "--by", "sensitivity": "--sensitivity", "reference": "--reference"}
_OF_SUITES: Final = {
    "references": "--references",
    "annotators": "--annotator",
    "asr": "--asr",
    "repeats": "--repeats",
    "as_given": "--as-given",
    "published": "--published",
    "figures": "--figures",
}
REFERENCES_HELP: Final = "Records with their good replies, a set each [default: those of the run, or the shipped set]."
ANNOTATOR_HELP: Final = (
    "Label the replies that lack it, and the reference texts (the ceiling), with this model; "
    "NAME?base_url=URL&key_variable=VARIABLE: at another server, with its own key."
)


@click.command()
@click.argument("paths", nargs=-1, type=FILE, metavar="[RUN|RESPONSES.jsonl]...")
@click.option("--cluster", metavar="COLUMN", help="What intervals resample, of the calls' columns [default: the call].")
@click.option("--by", metavar="COLUMN", help="Compare the calls with one value of this column with those of others.")
@click.option("--sensitivity", is_flag=True, help="Read the activity again under many settings, and both detectors.")
@click.option("--reference", type=FILE, metavar="DIR", help="A run, or a folder of audio, of people: show it beside.")
@click.option("--suite", type=click.Choice(list(SUITES)), help="Score replies by a benchmark's measures instead.")
@click.option("--references", multiple=True, type=FILE, metavar="FILE", help=REFERENCES_HELP)
@click.option("--annotator", "annotators", multiple=True, metavar="VENDOR:NAME", help=ANNOTATOR_HELP)
@click.option("--asr", metavar="VENDOR:NAME", help="Let this model hear the replies of a run that have no text.")
@click.option("--repeats", type=click.IntRange(1), default=1, show_default=True, help="Annotations of each reply.")
@click.option("--jobs", type=click.IntRange(1), help="Processes, as many as processors; of a suite, requests [4].")
@click.option("--as-given", is_flag=True, help="Take importances as they are, whatever they sum to.")
@click.option("--published", is_flag=True, help="Show the paper's figures beside, which other rules made.")
@click.option("--figures", type=FILE, metavar="DIR", help="With --suite: write figures (SVG) for a paper here.")
@click.option(
    "--out", type=FILE, help="Folder of the results; RUN stays as it was [default: RUN; of a suite, fdbcore-scores]."
)
@options.as_json
@options.quiet
@click.pass_context
def score(
    context: click.Context,
    paths: Sequence[Path],
    cluster: str | None,
    by: str | None,
    sensitivity: bool,
    reference: Path | None,
    suite: str | None,
    references: Sequence[Path],
    annotators: Sequence[str],
    asr: str | None,
    repeats: int,
    jobs: int | None,
    as_given: bool,
    published: bool,
    figures: Path | None,
    out: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Score RUN, of `fdbcore replay` or `fdbcore run`, anew: pooled measures with intervals over the right unit.

    With --by, how groups of calls differ: paired where both have the same clusters (or clips of a live run), corrected
    for their number, with the smallest difference that could be seen. Writes RUN/scores.json.

    With --suite dialogue-acts: score replies as sequences of weighted dialogue acts; write scores.json and report.html.
    Without paths: the shipped set with its authored replies, which needs no key. Else files of responses, and runs of
    several systems; a response belongs to the set that has a record of its id. What cannot be used is named and left
    out, and the exit code is then 1.
    """
    _refuse_others(context, suite)
    if suite is None:
        from .score_run import Asked, score_run

        if len(paths) != 1:
            raise click.UsageError(f"expected one RUN, or --suite dialogue-acts, got {len(paths)} paths")
        sys.exit(score_run(paths[0], Asked(cluster, by, sensitivity, reference, jobs), out, as_json, quiet))
    from .score_acts import Replies, score_replies

    replies = Replies(paths, references, annotators, asr, repeats, jobs, as_given)
    sys.exit(score_replies(replies, published, figures, out, as_json, quiet))


def _refuse_others(context: click.Context, suite: str | None) -> None:
    """Options that mean nothing here are a mistake."""
    for name, option in (_OF_RUNS if suite else _OF_SUITES).items():
        if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT:
            needs = "goes without --suite" if suite else "needs --suite dialogue-acts"
            raise click.UsageError(f"{option} {needs}")
