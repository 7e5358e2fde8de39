"""Reads what is to be scored: sets, responses from files and runs, and annotations that models add."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fdbcore.audio.speech import RECOGNISER_RATE_HZ
from fdbcore.errors import FdbError, InputError, SettingsError, told_as
from fdbcore.models.cache import KeptModel
from fdbcore.protocols import Judge, Model, Transcriber
from fdbcore.registry import transcriber
from fdbcore.runs.estimates import expected_usd, expected_use, priced_on, tokens_of
from fdbcore.runtime.redaction import clean
from fdbcore.suites.dialogue_acts import replies
from fdbcore.suites.dialogue_acts.models.annotate import Annotated, annotate, first_requests, references
from fdbcore.suites.dialogue_acts.models.annotators import (
    Annotating,
    Named,
    all_took,
    annotated_with,
    by_set,
    named,
    of_every_set,
)
from fdbcore.suites.dialogue_acts.models.content_judge import (
    JUDGED,
    expected_judging,
    judge_content,
    judge_options,
    replies_to_judge,
    unheard_reply,
)
from fdbcore.suites.dialogue_acts.models.hearing import TalliedTranscriber, hearing_took
from fdbcore.suites.dialogue_acts.models.prompts import folder_of
from fdbcore.suites.dialogue_acts.page.languages import ENGLISH, check_language
from fdbcore.suites.dialogue_acts.page.paper import paper_files
from fdbcore.suites.dialogue_acts.records import REFERENCE, Record, Response, jsonl, read_responses
from fdbcore.suites.dialogue_acts.scoring.comparison import ScoringSettings
from fdbcore.suites.dialogue_acts.scoring.document import document
from fdbcore.suites.dialogue_acts.scoring.scores import annotated_by, without
from fdbcore.suites.dialogue_acts.sets import (
    GENERATED,
    RECORDS,
    SHIPPED,
    RecordSet,
    own_responses,
    owners,
    read_sets,
    sets_of_runs,
    without_response,
)
from fdbcore.suites.dialogue_acts.turns.estimates import expected_turns
from fdbcore.suites.dialogue_acts.turns.scores import live_timing, score_turns
from fdbcore.types import Problem
from fdbcore.types.scorecard import Scored
from fdbcore.types.usage import ExpectedUse, Service, Unit

if TYPE_CHECKING:
    from fdbcore.suites.dialogue_acts.document_types import AnnotatedWith

DEFAULT_REQUESTS: Final = 4
TOKENS_OF_ACTS: Final = 150
"""About what a model writes for the acts of a reply."""
ANNOTATIONS, KEPT = "annotations.jsonl", "annotator-replies.jsonl"


def score(
    paths: Sequence[Path], options: Mapping[str, Any], jobs: int | None, out: Path, show: Callable[[str], None]
) -> Scored:
    """The document of all replies, and the replies with their annotations; see `Suite.score`."""
    chosen, recogniser = _helpers(options)
    hears = None if recogniser is None else TalliedTranscriber(recogniser)
    scored = _scored(paths, options, chosen, hears, jobs or DEFAULT_REQUESTS, out, show)
    content = {**scored.document, **_page_language(options)}
    if hears is None:
        return replace(scored, document=content)
    heard = hears.heard()
    return replace(scored, document={**content, "heard_with": heard}, told=[hearing_took(heard), *scored.told])


def _scored(
    paths: Sequence[Path],
    options: Mapping[str, Any],
    chosen: Sequence[Named],
    hears: Transcriber | None,
    jobs: int,
    out: Path,
    show: Callable[[str], None],
) -> Scored:
    judging = judge_options(options)
    check_language(options["page_language"])
    if options["turns"]:
        return score_turns(paths, options, of_every_set(chosen), hears, judging, jobs, out, show)
    as_given = options["as_given"]
    sets, responses, problems = _material(paths, options, hears)
    used: list[AnnotatedWith] = []
    again: list[str] = []
    for task in by_set(chosen, sets, responses, options["prompts"], options["locale"]):
        responses, found = _annotated(task, sets, responses, out / KEPT, options["repeats"], jobs, show)
        problems += found.problems
        used.append(annotated_with(task, found.usage))
        again += [f"{task.set.name}: {told}" for told in found.told]
    judged = None
    if judging.judges:
        to_judge = replies_to_judge(sets, responses)
        judged = judge_content(to_judge, judging, out / JUDGED, jobs, show)
    settings = ScoringSettings(as_given, not options["unmerged"], options["first_reference"], options["partial_credit"])
    content = document(sets, responses, problems, settings, options["published"], used)
    calls = [(response.system, response.live["call"]) for response in responses if response.live is not None]
    if timing := list(live_timing(calls)):
        content["timing"] = timing
    if judged is not None:
        judged.put_into(content, sets, settings)
    files = {ANNOTATIONS: jsonl(responses), **paper_files(clean(content))}
    return Scored(content, files, [*all_took(used), *again, *(() if judged is None else judged.told)])


def _page_language(options: Mapping[str, Any]) -> dict[str, str]:
    """The language of the page, as a document has it: not if it is English."""
    language = options["page_language"]
    return {} if language == ENGLISH else {"page_language": language}


class _Unheard(Transcriber):
    """Hears nothing, but adds up what a recogniser would be sent. What that one has heard before is still taken."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lengths_s: list[float] = []

    def transcribe(self, wav: bytes, language: str) -> str:
        self.lengths_s.append(len(wav) / 2 / RECOGNISER_RATE_HZ)
        raise InputError("expected the words of B, got speech that nobody has heard yet")


def expected(paths: Sequence[Path], options: Mapping[str, Any], out: Path) -> Iterator[ExpectedUse]:
    """What `score` would ask of the recogniser, of each annotator and of the judge; see `Suite.expected`."""
    chosen, hears = _helpers(options)
    judging = judge_options(options)
    if options["turns"]:
        yield from expected_turns(paths, options, of_every_set(chosen), hears, judging, out)
        return
    unheard = None if hears is None else _Unheard(hears.name)
    sets, responses, _ = _material(paths, options, unheard)
    lengths_s = [] if unheard is None else unheard.lengths_s
    if hears is not None:
        left_s, used = sum(lengths_s), hears.services()
        usd = expected_usd(used, left_s) if left_s else 0.0
        yield ExpectedUse(
            hears.name, "reply", len(lengths_s), len(lengths_s), {"seconds": left_s}, usd, priced_on(used)
        )
    for task in by_set(chosen, sets, responses, options["prompts"], options["locale"]):
        of, annotator, prompts = task
        asked, open_ones = _to_annotate(task, sets, responses, options["repeats"])
        open_responses = [response for response, is_open in zip(asked, open_ones, strict=True) if is_open]
        requests = first_requests(open_responses, of.records.values(), prompts, repeats=options["repeats"])
        with KeptModel(annotator, out / KEPT) as kept:
            left = [request for request in requests if not kept.knows(request)]
        left += [prompts.annotation_request("", "", "", 1)] * (len(lengths_s) * options["repeats"])
        tokens_in = sum(tokens_of(request.user) + tokens_of(json.dumps(request.schema)) for request in left)
        counts: dict[Unit, float] = {"text_in_tokens": tokens_in, "text_out_tokens": len(left) * TOKENS_OF_ACTS}
        most = len(requests) + len(lengths_s) * options["repeats"]
        yield expected_use(annotator.name, "annotation", len(left), most, counts, annotator.services())
    if judging.judges:
        unheard_replies = [unheard_reply(Record("", "", ()))] * len(lengths_s)
        yield expected_judging(replies_to_judge(sets, responses), unheard_replies, judging, out / JUDGED)


def services(paths: Sequence[Path], options: Mapping[str, Any]) -> list[Service]:
    """The servers of the annotators, the judge and the recogniser; see `fdbcore.protocols.suite.Suite.services_of`."""
    chosen, hears = _helpers(options)
    models: list[Model | Judge] = [one.model for one in chosen]
    if (
        not options["turns"]
        and all(one.set for one in chosen)
        and any(map(_is_generated, (*paths, *options["references"])))
    ):
        sets, responses, _ = _material(paths, options, _Unheard(""))
        models = list(
            {
                task.model.name: task.model
                for task in by_set(chosen, sets, responses, options["prompts"], options["locale"])
            }.values()
        )
    helpers = (*models, *judge_options(options).judges, *([hears] if hears else ()))
    return [service for helper in helpers for service in helper.services()]


def _is_generated(path: Path) -> bool:
    """Whether a run or a set has a maker, who may be asked."""
    return ((path if path.is_dir() else path.parent) / GENERATED).is_file()


def _helpers(options: Mapping[str, Any]) -> tuple[list[Named], Transcriber | None]:
    """The annotators that the user names, and the recogniser if there is one."""
    chosen = named(options)
    with told_as("--asr", "asr"):
        return chosen, None if options["asr"] is None else transcriber(options["asr"])


def _material(
    paths: Sequence[Path], options: Mapping[str, Any], hears: Transcriber | None
) -> tuple[list[RecordSet], list[Response], list[Problem]]:
    """The sets, the responses, and the problems with their files; a file that cannot be used is one problem."""
    references: Sequence[Path] = options["references"]
    as_given, hearing = options["as_given"], replies.Hearing(hears, options["whole_call"])
    if references and not paths:
        raise SettingsError("expected responses to --references, got none")
    own = sets_of_runs(paths)
    sets, problems = read_sets(references or _one_each(own) or [SHIPPED], as_given, own, folder_of(options["prompts"]))
    responses: list[Response] = []
    for path in paths or sorted(set(SHIPPED.glob("*.jsonl")) - {SHIPPED / RECORDS}):
        try:
            is_run = path.is_dir()
            read, found = (
                replies.responses_of(path, hearing) if is_run else read_responses(path, as_given, sets[0].tags)
            )
            of = own.get(path / RECORDS, "")
            responses += [replace(response, set=of) for response in read] if of else read
            problems += found
        except SettingsError:
            raise
        except FdbError as error:
            problems.append(Problem(str(path), str(error).removeprefix(f"{path}: ")))
    if not responses:
        reason = f": {problems[-1].where}: {problems[-1].reason}" if problems else ""
        raise InputError(f"expected responses, found none{reason}")
    return sets, responses, problems


def _one_each(names: Mapping[Path, str]) -> list[Path]:
    """The first of the files of each set."""
    return list({name: file for file, name in reversed(list(names.items()))}.values())[::-1]


def _to_annotate(
    task: Annotating, sets: Sequence[RecordSet], responses: Sequence[Response], repeats: int
) -> tuple[list[Response], list[bool]]:
    """The responses and the reference texts of a set, and which of them a model has yet to label by these prompts."""
    of, annotator, prompts = task
    unread = without_response(of.records.values(), own_responses(of, sets, responses), REFERENCE)
    asked = [*responses, *references(unread, of.name)]
    rules = prompts.annotation_hash
    return asked, [owners(sets, r) == [of] and not annotated_by(r, annotator.name, repeats, rules) for r in asked]


def _annotated(
    task: Annotating,
    sets: Sequence[RecordSet],
    responses: Sequence[Response],
    kept_in: Path,
    repeats: int,
    jobs: int,
    show: Callable[[str], None],
) -> tuple[list[Response], Annotated]:
    """The responses and the reference texts of a set, with annotations of a model, and how these were made.

    Its earlier ones by the same prompts are kept, those by others replaced. Responses that belong to no set, or to
    several, are not scored, and so not annotated.
    """
    of, annotator, prompts = task
    asked, open_ones = _to_annotate(task, sets, responses, repeats)
    found = annotate(
        [without(r, annotator.name) for r, is_open in zip(asked, open_ones, strict=True) if is_open],
        of.records.values(),
        annotator,
        kept_in,
        repeats=repeats,
        jobs=jobs,
        prompts=prompts,
        watch=lambda count, most: show(f"{annotator.name}: {count} of {most} replies annotated"),
    )
    labelled = iter(found.responses)
    merged = [next(labelled) if is_open else r for r, is_open in zip(asked, open_ones, strict=True)]
    return merged, found
