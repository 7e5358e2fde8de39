"""`fdbcore score`: the measures of a run with what can be said of them, or what replies are worth by a suite's."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from fdbcore.errors import FdbError, InputError, SettingsError
from fdbcore.registry import SUITES

from . import options
from .options import DONE, FAILED, FILE, INTERRUPTED
from .status import status

if TYPE_CHECKING:
    from fdbcore.protocols import Model, Transcriber
    from fdbcore.suites.dialogue_acts.records import Problem, Response
    from fdbcore.suites.dialogue_acts.sets import RecordSet

DEFAULT_OUT: Final = Path("fdbcore-scores")
DEFAULT_REQUESTS: Final = 4
SCORES, ANNOTATIONS, KEPT = "scores.json", "annotations.jsonl", "annotator-replies.jsonl"
_OF_RUNS: Final = {"cluster": "--cluster", "by": "--by", "sensitivity": "--sensitivity", "reference": "--reference"}
_OF_SUITES: Final = {
    "references": "--references",
    "annotators": "--annotator",
    "asr": "--asr",
    "base_url": "--base-url",
    "repeats": "--repeats",
    "as_given": "--as-given",
    "published": "--published",
    "figures": "--figures",
}
REFERENCES_HELP: Final = "Records with their good replies, a set each [default: those of the run, or the shipped set]."
ANNOTATOR_HELP: Final = "Label the replies that lack it, and the reference texts (the ceiling), with this model."


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
@click.option("--base-url", metavar="URL", help="Another server that speaks the API of these models.")
@click.option("--repeats", type=click.IntRange(1), default=1, show_default=True, help="Annotations of each reply.")
@click.option("--jobs", type=click.IntRange(1), help="Processes, as many as processors; of a suite, requests [4].")
@click.option("--as-given", is_flag=True, help="Take importances as they are, whatever they sum to.")
@click.option("--published", is_flag=True, help="Show the paper's figures beside, which other rules made.")
@click.option("--figures", type=FILE, metavar="DIR", help="Write figures for a paper (SVG) into this folder.")
@click.option("--out", type=FILE, help="Folder of the results [default: RUN; of a suite, fdbcore-scores].")
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
    base_url: str | None,
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
    out, jobs = out or DEFAULT_OUT, jobs or DEFAULT_REQUESTS
    from fdbcore.registry import model, transcriber
    from fdbcore.suites.dialogue_acts.comparison import Settings
    from fdbcore.suites.dialogue_acts.document import document

    try:
        _refuse_folder(out)
        models = [model(address, base_url) for address in annotators]
        hears = None if asr is None else transcriber(asr, base_url)
        sets, responses, problems = _material(paths, references, as_given, hears)
        for annotator in models:
            responses, found = _annotated(sets, responses, annotator, out, repeats, jobs, quiet or as_json)
            problems += found
        named = [annotator.name for annotator in models]
        content = document(sets, responses, problems, Settings(as_given), published, named)
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


def _refuse_others(context: click.Context, suite: str | None) -> None:
    """Options that mean nothing here are a mistake."""
    for name, option in (_OF_RUNS if suite else _OF_SUITES).items():
        if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT:
            needs = "goes without --suite" if suite else "needs --suite dialogue-acts"
            raise click.UsageError(f"{option} {needs}")


def _refuse_folder(out: Path) -> None:
    """SettingsError unless `out` is new, empty, or holds an earlier scoring: nothing else is to be written over."""
    from fdbcore.recording import read_json
    from fdbcore.suites.dialogue_acts.document import DOCUMENT_SCHEMA

    if not out.exists() or (out.is_dir() and {item.name for item in out.iterdir()} <= {KEPT, f"{SCORES}.part"}):
        return
    try:
        content = read_json(out / SCORES)
    except FdbError:
        content = None
    if not isinstance(content, dict) or content.get("schema") != DOCUMENT_SCHEMA:
        raise SettingsError(
            f"--out {out}: expected a new or empty folder, or that of an earlier score --suite dialogue-acts, got "
            "something else"
        )


def _material(
    paths: Sequence[Path], references: Sequence[Path], as_given: bool, hears: Transcriber | None
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
            read, found = _responses(path, as_given, hears)
            responses += read
            problems += found
        except FdbError as error:
            problems.append(Problem(str(path), str(error).removeprefix(f"{path}: ")))
    if not responses:
        reason = f": {problems[-1].where}: {problems[-1].reason}" if problems else ""
        raise InputError(f"expected responses, found none{reason}")
    return sets, responses, problems


def _responses(path: Path, as_given: bool, hears: Transcriber | None) -> tuple[list[Response], list[Problem]]:
    from fdbcore.suites.dialogue_acts.records import read_responses

    if not path.is_dir():
        return read_responses(path, as_given)
    from fdbcore.suites.dialogue_acts.replies import responses_of

    return responses_of(path, hears)


def _own_references(paths: Sequence[Path]) -> list[Path]:
    """The records that runs were held with; runs of the same ones share them."""
    from fdbcore.suites.dialogue_acts.sets import RECORDS

    kept = [path / RECORDS for path in paths if (path / RECORDS).is_file()]
    return list({file.read_bytes(): file for file in reversed(kept)}.values())[::-1]


def _annotated(
    sets: Sequence[RecordSet],
    responses: Sequence[Response],
    annotator: Model,
    out: Path,
    repeats: int,
    jobs: int,
    quiet: bool,
) -> tuple[list[Response], list[Problem]]:
    """The responses, and the reference texts of their sets, with the annotations of a model; it keeps its own so far.

    What no set has alone is not scored, and not annotated either.
    """
    from fdbcore.suites.dialogue_acts.annotate import annotate, references
    from fdbcore.suites.dialogue_acts.records import REFERENCE
    from fdbcore.suites.dialogue_acts.scoring import annotated_by, without
    from fdbcore.suites.dialogue_acts.sets import by_id, without_response

    records = by_id(sets)
    asked = [*responses, *references(without_response(records.values(), responses, REFERENCE))]
    open_ones = [r.id in records and not annotated_by(r, annotator.name, repeats) for r in asked]
    with status(quiet) as show:
        found = annotate(
            [without(r, annotator.name) for r, is_open in zip(asked, open_ones, strict=True) if is_open],
            records.values(),
            annotator,
            out / KEPT,
            repeats=repeats,
            jobs=jobs,
            watch=lambda count, of: show(f"{annotator.name}: {count} of {of} replies annotated"),
        )
    labelled = iter(found.responses)
    return [next(labelled) if is_open else r for r, is_open in zip(asked, open_ones, strict=True)], list(found.problems)


def _write(content: dict[str, Any], responses: Sequence[Response], out: Path, figures: Path | None) -> None:
    from fdbcore.recording import write_text
    from fdbcore.suites.dialogue_acts.page import write_report
    from fdbcore.suites.dialogue_acts.records import jsonl

    # on one line: indented it would take several times as long
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    write_text(out / SCORES, f"{text}\n")
    write_text(out / ANNOTATIONS, jsonl(responses))
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
