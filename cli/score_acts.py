"""`fdbcore score --suite dialogue-acts`: what replies are worth as sequences of weighted dialogue acts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from fdbcore.errors import FdbError, InputError, SettingsError

from . import options
from .endings import one_line
from .options import DONE, FAILED
from .status import status

if TYPE_CHECKING:
    from fdbcore.protocols import Model, Transcriber
    from fdbcore.suites.dialogue_acts.records import Problem, Response
    from fdbcore.suites.dialogue_acts.sets import RecordSet

DEFAULT_OUT: Final = Path("fdbcore-scores")
DEFAULT_REQUESTS: Final = 4
SCORES, ANNOTATIONS, KEPT = "scores.json", "annotations.jsonl", "annotator-replies.jsonl"


@dataclass(frozen=True, slots=True)
class Replies:
    """What is to be scored, and who labels it: see the options of `fdbcore score`."""

    paths: Sequence[Path]
    references: Sequence[Path]
    annotators: Sequence[str]
    asr: str | None
    repeats: int
    jobs: int | None
    as_given: bool


def score_replies(
    replies: Replies, published: bool, figures: Path | None, out: Path | None, as_json: bool, quiet: bool
) -> int:
    """Score replies into `out`, and print the table; the exit code."""
    out = out or DEFAULT_OUT
    with one_line("fdbcore score", "the same command goes on"):
        _refuse_folder(out)
        content, responses = _scored(replies, published, out, quiet or as_json)
        _write(content, responses, out, figures)
    _print(content, out, as_json, quiet)
    return FAILED if content["problems"] else DONE


def _scored(replies: Replies, published: bool, out: Path, quiet: bool) -> tuple[dict[str, Any], list[Response]]:
    """The document of all replies, and these with their annotations."""
    from fdbcore.registry import model, transcriber
    from fdbcore.suites.dialogue_acts.comparison import Settings
    from fdbcore.suites.dialogue_acts.document import document

    models = [model(address) for address in replies.annotators]
    hears = None if replies.asr is None else transcriber(replies.asr)
    sets, responses, problems = _material(replies.paths, replies.references, replies.as_given, hears)
    jobs = replies.jobs or DEFAULT_REQUESTS
    for annotator in models:
        responses, found = _annotated(sets, responses, annotator, out, replies.repeats, jobs, quiet)
        problems += found
    named = [annotator.name for annotator in models]
    return document(sets, responses, problems, Settings(replies.as_given), published, named), responses


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
    from fdbcore.redaction import clean
    from fdbcore.suites.dialogue_acts.page import write_report
    from fdbcore.suites.dialogue_acts.records import jsonl

    content = clean(content)
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
