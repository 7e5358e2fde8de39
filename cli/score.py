"""`fdbcore score`: what the replies of systems are worth, by a suite's measures."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from fdbcore.errors import FdbError, InputError, SettingsError

from . import options
from .options import DONE, FAILED, FILE, INTERRUPTED

if TYPE_CHECKING:
    from fdbcore.protocols import Model
    from fdbcore.suites.dialogue_acts.records import Problem, Response
    from fdbcore.suites.dialogue_acts.sets import RecordSet

REFERENCES_HELP: Final = "Records with their good replies, a set each [default: those of the run, or the shipped set]."
ANNOTATOR_HELP: Final = "Label the replies that lack it, and the reference texts (the ceiling), with this model."


@click.command()
@click.argument("paths", nargs=-1, type=FILE, metavar="[RESPONSES.jsonl|RUN]...")
@click.option("--suite", required=True, type=click.Choice(["dialogue-acts"]))
@click.option("--references", multiple=True, type=FILE, metavar="FILE", help=REFERENCES_HELP)
@click.option("--annotator", "annotators", multiple=True, metavar="VENDOR:NAME", help=ANNOTATOR_HELP)
@click.option("--base-url", metavar="URL", help="Another server that speaks the annotator's API.")
@click.option("--repeats", type=click.IntRange(1), default=1, show_default=True, help="Annotations of each reply.")
@click.option("--jobs", type=click.IntRange(1), default=4, show_default=True, help="Requests at a time.")
@click.option("--as-given", is_flag=True, help="Take importances as they are, whatever they sum to.")
@click.option("--published", is_flag=True, help="Show the paper's figures beside.")
@click.option("--figures", type=FILE, metavar="DIR", help="Write figures for a paper (SVG) into this folder.")
@options.out("fdbcore-scores")
@options.as_json
@options.quiet
def score(
    paths: Sequence[Path],
    suite: str,
    references: Sequence[Path],
    annotators: Sequence[str],
    base_url: str | None,
    repeats: int,
    jobs: int,
    as_given: bool,
    published: bool,
    figures: Path | None,
    out: Path,
    as_json: bool,
    quiet: bool,
) -> None:
    """Score replies as sequences of weighted dialogue acts; write scores.json and report.html.

    Without paths: the shipped set with its authored replies, which needs no key. Else files of responses, and runs of
    several systems; a response belongs to the set that has a record of its id. What cannot be used is named and left
    out, and the exit code is then 1.
    """
    from fdbcore.registry import model
    from fdbcore.suites.dialogue_acts.comparison import Settings
    from fdbcore.suites.dialogue_acts.document import document

    try:
        models = [model(address, base_url) for address in annotators]
        sets, responses, problems = _material(paths, references, as_given)
        for annotator in models:
            responses, found = _annotated(sets, responses, annotator, out, repeats, jobs, quiet or as_json)
            problems += found
        content = document(sets, responses, problems, Settings(as_given), published)
        _write(content, responses, out, figures)
    except InputError as error:
        raise click.UsageError(str(error)) from error
    except FdbError as error:
        click.echo(f"fdbcore score: {error}", err=True)
        sys.exit(FAILED)
    except KeyboardInterrupt:
        click.echo("fdbcore score: interrupted; the same command goes on", err=True)
        sys.exit(INTERRUPTED)
    _print(content, out, as_json, quiet)
    sys.exit(FAILED if content["problems"] else DONE)


def _material(
    paths: Sequence[Path], references: Sequence[Path], as_given: bool
) -> tuple[list[RecordSet], list[Response], list[Problem]]:
    """The sets, the responses, and what is wrong with their files; one file that cannot be used is one problem."""
    from fdbcore.suites.dialogue_acts.records import Problem
    from fdbcore.suites.dialogue_acts.sets import SHIPPED, read_sets

    if references and not paths:
        raise SettingsError("expected responses to --references, got none")
    sets, problems = read_sets(references or _own_references(paths) or [SHIPPED], as_given)
    responses: list[Response] = []
    for path in paths or sorted(set(SHIPPED.glob("*.jsonl")) - {SHIPPED / "records.jsonl"}):
        try:
            read, found = _responses(path, as_given)
            responses += read
            problems += found
        except FdbError as error:
            problems.append(Problem(str(path), str(error).removeprefix(f"{path}: ")))
    if not responses:
        raise InputError(f"{problems[-1].where}: {problems[-1].reason}")
    return sets, responses, problems


def _responses(path: Path, as_given: bool) -> tuple[list[Response], list[Problem]]:
    from fdbcore.suites.dialogue_acts.records import read_responses

    if not path.is_dir():
        return read_responses(path, as_given)
    from fdbcore.suites.dialogue_acts.replies import responses_of

    return responses_of(path)


def _own_references(paths: Sequence[Path]) -> list[Path]:
    """The records that runs were held with."""
    runs = [path for path in paths if path.is_dir()]
    if not runs:
        return []
    from fdbcore.suites.dialogue_acts.replies import records_of

    return list(dict.fromkeys(records for run in runs if (records := records_of(run))))


def _annotated(
    sets: Sequence[RecordSet],
    responses: Sequence[Response],
    annotator: Model,
    out: Path,
    repeats: int,
    jobs: int,
    still: bool,
) -> tuple[list[Response], list[Problem]]:
    """The responses, and the reference texts of their sets, with the annotations of a model."""
    from fdbcore.suites.dialogue_acts.annotate import annotate
    from fdbcore.suites.dialogue_acts.sets import with_references

    records = {record.id: record for of in sets for record in of.records.values()}

    def show(line: str) -> None:
        if not still:
            click.echo(line, err=True)

    asked = with_references(sets, responses)
    return annotate(asked, records, annotator, kept=out, repeats=repeats, jobs=jobs, show=show)


def _write(content: dict[str, Any], responses: Sequence[Response], out: Path, figures: Path | None) -> None:
    from fdbcore.recording import write_json, write_text
    from fdbcore.suites.dialogue_acts.page import write_report
    from fdbcore.suites.dialogue_acts.records import jsonl

    write_json(out / "scores.json", content)
    write_text(out / "annotations.jsonl", jsonl(responses))
    write_report(content, out / "report.html")
    if figures is not None:
        from fdbcore.suites.dialogue_acts.figures import write_figures

        write_figures(content, figures)


def _print(content: dict[str, Any], out: Path, as_json: bool, quiet: bool) -> None:
    from fdbcore.suites.dialogue_acts.screen import screen

    if as_json:
        click.echo(json.dumps(content, ensure_ascii=False))
    elif not quiet:
        click.echo(f"{screen(content, options.columns())}\n\n{out / 'report.html'}")
