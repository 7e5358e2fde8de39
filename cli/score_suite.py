"""`fdbcore score --suite`: scores runs, or files of replies, by the measures of a benchmark."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from fdbcore import clock
from fdbcore.errors import SettingsError
from fdbcore.protocols.suite import WRITTEN_EARLY, Suite

from . import options
from .endings import one_line
from .lazy import TYPED
from .options import DONE, FAILED
from .status import Status

if TYPE_CHECKING:
    from fdbcore.runtime.executor import Executor

DEFAULT_OUT: Final = Path("fdbcore-scores")
SCORES, SCORECARD, PAGE = "scores.json", "scorecard.json", "report.html"


def score_suite(
    suite: Suite,
    paths: Sequence[Path],
    suite_options: Mapping[str, Any],
    jobs: int | None,
    executor: Executor,
    figures: Path | None,
    out: Path | None,
    as_json: bool,
    quiet: bool,
    to_continue: str = "run the same command again to continue",
) -> int:
    """Score by the measures of a benchmark, write the results to `out`, print them, and return the exit code."""
    from msgspec import to_builtins

    from fdbcore.models.model_table import PRICES, recipient, stated_text
    from fdbcore.recording.files import file_sha256, write_text
    from fdbcore.recording.others import replacing
    from fdbcore.report.evidence import of_making, run_of
    from fdbcore.report.scorecard.cases import shown as shown_cases
    from fdbcore.report.scorecard.document import document
    from fdbcore.report.scorecard.drawings import figures as drawn
    from fdbcore.report.scorecard.page import page
    from fdbcore.report.scorecard.screen import screen
    from fdbcore.report.scorecard.tables import tables
    from fdbcore.report.svg.text import without_controls
    from fdbcore.runs.scored_pages import write_scored_pages
    from fdbcore.runs.services import ends_soon
    from fdbcore.runtime.address import is_local
    from fdbcore.runtime.redaction import clean

    out = out or DEFAULT_OUT
    with one_line("fdbcore score", to_continue):
        _check_folder(out, suite)
        services = [service for each in suite.asked(suite_options, paths) for service in each.services()]
        for service in services:
            if not (quiet or is_local(service.host)):
                what = "audio of the calls goes" if service.takes == "audio" else "words of the calls go"
                click.echo(f"fdbcore score: {what} to {recipient(service)}", err=True)
        for line in [] if quiet else ends_soon(services, clock.utc_today()):
            click.echo(f"fdbcore score: {line}", err=True)
        with Status(quiet or as_json) as show:
            with executor.hosting():
                scored = suite.score(paths, suite_options, jobs, out, show)
            content = clean(scored.document)
            card = suite.card(content)
            # On one line, because indenting takes several times as long.
            text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
            rows = json.dumps(to_builtins(document(card, suite.name)), ensure_ascii=False, allow_nan=False, indent=1)
            # SCORES first: it marks the folder as ours, so that a scoring that is killed from here on can be repeated.
            for name, kept in {SCORES: f"{text}\n", SCORECARD: f"{rows}\n", **scored.files}.items():
                write_text(out / name, kept)
            (out / PRICES).unlink(missing_ok=True)
            if prices := stated_text():
                write_text(out / PRICES, prices)
            of_calls = write_scored_pages(card.views, shown_cases(card.cases)[0], out, PAGE, show)
        how = of_making(click.get_current_context().meta[TYPED], {"recordings": run_of(card.cases)})
        card = replace(card, evidence={**card.evidence, **how, "scores.json": f"SHA-256 {file_sha256(out / SCORES)}"})
        for name, shown in {PAGE: page(card, suite, of_calls), **tables(card)}.items():
            write_text(out / name, without_controls(shown))
        if figures is not None:
            drawings = {**drawn(card), **card.views.figures()}
            with replacing(figures) as made:
                for name, figure in drawings.items():
                    write_text(made / name, without_controls(figure))
    if as_json:
        click.echo(json.dumps(scored.document, ensure_ascii=False))
    elif not quiet:
        for line in scored.told:
            click.echo(f"fdbcore score: {line}", err=True)
        width = options.columns()
        click.echo(f"{screen(card, width)}\n\n{out / PAGE}")
    return FAILED if scored.document["problems"] else DONE


def print_expected(
    suite: Suite, paths: Sequence[Path], suite_options: Mapping[str, Any], out: Path | None, quiet: bool
) -> int:
    """Print what scoring would ask of others, and what that costs; return the exit code."""
    from fdbcore.report.format import clock_text, counted, usd_text
    from fdbcore.runs.services import ends_soon
    from fdbcore.runtime.redaction import asking_nobody

    with one_line("fdbcore score", "nothing was asked"), Status(quiet) as show, asking_nobody():
        uses = suite.expected(paths, suite_options, out or DEFAULT_OUT, show)
        services = [service for each in suite.asked(suite_options, paths) for service in each.services()]
        ends = ends_soon(services, clock.utc_today())
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
        click.echo(f"score --suite {suite.name} asks nobody with these options")
        return DONE
    unpriced = [use.name for use in uses if use.usd is None]
    usd = usd_text(sum(use.usd or 0.0 for use in uses)) + (f", without {', '.join(unpriced)}" if unpriced else "")
    click.echo(f"in all about {usd}; what has to be asked again, and what models think, comes on top")
    return DONE


def _check_folder(out: Path, suite: Suite) -> None:
    """Raise SettingsError unless `out` is new, empty, or holds an earlier scoring: nothing else is overwritten."""
    from fdbcore.runs.kept_scores import read_kept_scores

    if not out.exists() or (
        out.is_dir() and {item.name for item in out.iterdir()} <= {*WRITTEN_EARLY, f"{SCORES}.part"}
    ):
        return
    # An earlier version of the schema is scored anew.
    if read_kept_scores(out / SCORES, suite.schema, any_version=True) is None:
        raise SettingsError(
            f"--out {out}: expected a new or empty folder, or one of an earlier score --suite {suite.name}, got "
            "something else"
        )
