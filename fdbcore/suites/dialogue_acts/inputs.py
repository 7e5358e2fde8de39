"""Reads what is to be scored: sets, responses from files and runs, and annotations that models add."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from fdbcore.errors import FdbError, InputError, SettingsError, told_as
from fdbcore.protocols import Model, Transcriber
from fdbcore.registry import model, transcriber
from fdbcore.suites.dialogue_acts import replies
from fdbcore.suites.dialogue_acts.annotate import annotate, references
from fdbcore.suites.dialogue_acts.comparison import ScoringSettings
from fdbcore.suites.dialogue_acts.document import document
from fdbcore.suites.dialogue_acts.records import REFERENCE, Response, jsonl, read_responses
from fdbcore.suites.dialogue_acts.scoring import annotated_by, without
from fdbcore.suites.dialogue_acts.sets import RECORDS, SHIPPED, RecordSet, by_id, read_sets, without_response
from fdbcore.types import Problem
from fdbcore.types.scorecard import Scored
from fdbcore.types.usage import Service

DEFAULT_REQUESTS: Final = 4
ANNOTATIONS, KEPT = "annotations.jsonl", "annotator-replies.jsonl"


def score(
    paths: Sequence[Path], options: Mapping[str, Any], jobs: int | None, out: Path, show: Callable[[str], None]
) -> Scored:
    """The document of all replies, and the replies with their annotations; see `Suite.score`."""
    models, hears = _helpers(options)
    as_given = options["as_given"]
    sets, responses, problems = _material(paths, options["references"], as_given, hears)
    for annotator in models:
        responses, found = _annotated(
            sets, responses, annotator, out / KEPT, options["repeats"], jobs or DEFAULT_REQUESTS, show
        )
        problems += found
    named = [annotator.name for annotator in models]
    content = document(sets, responses, problems, ScoringSettings(as_given), options["published"], named)
    return Scored(content, {ANNOTATIONS: jsonl(responses)})


def services(options: Mapping[str, Any]) -> list[Service]:
    """The servers of the annotators and of the recogniser; see `fdbcore.protocols.suite.Suite.services`."""
    models, hears = _helpers(options)
    return [service for helper in (*models, *([hears] if hears else ())) for service in helper.services()]


def _helpers(options: Mapping[str, Any]) -> tuple[list[Model], Transcriber | None]:
    """The annotators, and the recogniser if there is one."""
    with told_as("--annotator", "model"):
        models = [model(address) for address in options["annotator"]]
    with told_as("--asr", "asr"):
        return models, None if options["asr"] is None else transcriber(options["asr"])


def _material(
    paths: Sequence[Path], references: Sequence[Path], as_given: bool, hears: Transcriber | None
) -> tuple[list[RecordSet], list[Response], list[Problem]]:
    """The sets, the responses, and the problems with their files; a file that cannot be used is one problem."""
    if references and not paths:
        raise SettingsError("expected responses to --references, got none")
    sets, problems = read_sets(references or _own_references(paths) or [SHIPPED], as_given)
    responses: list[Response] = []
    for path in paths or sorted(set(SHIPPED.glob("*.jsonl")) - {SHIPPED / RECORDS}):
        try:
            is_run = path.is_dir()
            read, found = replies.responses_of(path, hears) if is_run else read_responses(path, as_given)
            responses += read
            problems += found
        except SettingsError:
            raise
        except FdbError as error:
            problems.append(Problem(str(path), str(error).removeprefix(f"{path}: ")))
    if not responses:
        reason = f": {problems[-1].where}: {problems[-1].reason}" if problems else ""
        raise InputError(f"expected responses, found none{reason}")
    return sets, responses, problems


def _own_references(paths: Sequence[Path]) -> list[Path]:
    """The records that runs were made with; runs of the same records share them."""
    kept = [path / RECORDS for path in paths if (path / RECORDS).is_file()]
    return list({file.read_bytes(): file for file in reversed(kept)}.values())[::-1]


def _annotated(
    sets: Sequence[RecordSet],
    responses: Sequence[Response],
    annotator: Model,
    kept_in: Path,
    repeats: int,
    jobs: int,
    show: Callable[[str], None],
) -> tuple[list[Response], list[Problem]]:
    """The responses and the reference texts, with annotations of a model; earlier annotations of it are kept.

    Responses that belong to no set, or to several, are not scored, and so not annotated.
    """
    records = by_id(sets)
    asked = [*responses, *references(without_response(records.values(), responses, REFERENCE))]
    open_ones = [r.id in records and not annotated_by(r, annotator.name, repeats) for r in asked]
    found = annotate(
        [without(r, annotator.name) for r, is_open in zip(asked, open_ones, strict=True) if is_open],
        records.values(),
        annotator,
        kept_in,
        repeats=repeats,
        jobs=jobs,
        watch=lambda count, of: show(f"{annotator.name}: {count} of {of} replies annotated"),
    )
    labelled = iter(found.responses)
    return [next(labelled) if is_open else r for r, is_open in zip(asked, open_ones, strict=True)], list(found.problems)
