"""`fdbcore score --suite`: prints what a benchmark says of systems, or what it would ask of others."""

import json

import click
from msgspec.structs import replace

from fdbcore.report.format import clock_text, counted, usd_text
from fdbcore.report.scorecard.screen import screen
from fdbcore.runs.requests import ScoreRequest
from fdbcore.runs.suite_scores import SuiteScores, expected_uses, scored
from fdbcore.runs.watch import Watch
from fdbcore.runtime.redaction import asking_nobody

from . import options
from .endings import one_line
from .options import DONE, FAILED
from .status import Status, Teller


def score_suite(request: ScoreRequest, as_json: bool, quiet: bool) -> int:
    """Score by the measures of a benchmark, print the results, and return the exit code."""
    with one_line("fdbcore score", "run the same command again to continue"), Status(quiet or as_json) as status:
        watch = Teller("fdbcore score", status, quiet)
        found = scored(replace(request, watch=watch))
    if as_json:
        click.echo(json.dumps(found.document, ensure_ascii=False))
    elif not quiet:
        print_scores(found, watch)
    return FAILED if found.document["problems"] else DONE


def print_scores(found: SuiteScores, watch: Watch) -> None:
    """Print what the scoring did, the scorecard, and its page."""
    for line in found.told:
        watch.note(line)
    click.echo(f"{screen(found.card, options.columns())}\n\n{found.page}")


def print_expected(request: ScoreRequest, quiet: bool) -> int:
    """Print what scoring would ask of others, and what that costs; return the exit code."""
    with one_line("fdbcore score", "nothing was asked"), Status(quiet) as status, asking_nobody():
        uses, ends = expected_uses(replace(request, watch=Teller("fdbcore score", status, quiet)))
    for use in uses:
        tokens = ((use.counts.get("text_in_tokens"), "in"), (use.counts.get("text_out_tokens"), "out"))
        told = [f"{use.left:,} of {counted(use.of, use.what)} left"]
        told += [f"{clock_text(seconds)} of audio"] if (seconds := use.counts.get("seconds")) else []
        told += [f"{count:,.0f} tokens {way}" for count, way in tokens if count]
        dated = f" at list prices of {use.priced_on}" if use.usd and use.priced_on else ""
        told += ["unpriced" if use.usd is None else f"{usd_text(use.usd)}{dated}"]
        click.echo(f"{use.name}: {', '.join(told)}")
    for line in ends:
        click.echo(line)
    if not uses:
        click.echo(f"score --suite {request.suite} asks nobody with these options")
        return DONE
    unpriced = [use.name for use in uses if use.usd is None]
    usd = usd_text(sum(use.usd or 0.0 for use in uses)) + (f", without {', '.join(unpriced)}" if unpriced else "")
    click.echo(f"in all about {usd}; what has to be asked again, and what models think, comes on top")
    return DONE
