"""Reads what is to be scored, has models add annotations and verdicts, and says about what these would be asked."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from msgspec import structs, to_builtins

from fdbcore.analysis import Run
from fdbcore.errors import FdbError, InputError, SettingsError
from fdbcore.models import KeptModel
from fdbcore.protocols import Model, Transcriber, UsesServers
from fdbcore.recording import is_recorded
from fdbcore.runs import expected_hearing, expected_use, tokens_of
from fdbcore.runtime import clean
from fdbcore.suites.dialogue_acts import replies
from fdbcore.suites.dialogue_acts.models.annotate import (
    AnnotatedWith,
    all_took,
    annotate_set,
    annotated_with,
    by_set,
    first_requests,
    to_annotate,
)
from fdbcore.suites.dialogue_acts.models.asking import DEFAULT_REQUESTS, KEPT, ScoringJob
from fdbcore.suites.dialogue_acts.models.content_judge import (
    JUDGED,
    JudgedReply,
    expected_judging,
    judge_content,
    replies_to_judge,
    unheard_reply,
)
from fdbcore.suites.dialogue_acts.models.prompts import folder_of
from fdbcore.suites.dialogue_acts.page.paper import paper_files
from fdbcore.suites.dialogue_acts.page.phrases import check_language
from fdbcore.suites.dialogue_acts.records import Record, Response, jsonl, read_responses
from fdbcore.suites.dialogue_acts.scoring.comparison import ScoringSettings
from fdbcore.suites.dialogue_acts.scoring.document import document, read
from fdbcore.suites.dialogue_acts.sets import GENERATED, RECORDS, SHIPPED, RecordSet, read_sets, sets_of_runs
from fdbcore.suites.dialogue_acts.turns.calls import user_of
from fdbcore.suites.dialogue_acts.turns.scores import (
    ANNOTATIONS,
    answers,
    live_timing,
    prompts_of,
    read_turn_references,
    score_turns,
)
from fdbcore.suites.dialogue_acts.turns.spoken import ASIDE, HeardTally, hearing_took, spoken_turns, told_texts
from fdbcore.types import SIDES, Problem, Request
from fdbcore.types.scorecard import Scored
from fdbcore.types.usage import ExpectedUse, Unit

TOKENS_OF_ACTS: Final = 150
"""Tokens that a model writes for the acts of a reply or a turn, about."""


def score(
    paths: Sequence[Path], options: Mapping[str, Any], jobs: int | None, out: Path, show: Callable[[str], None]
) -> Scored:
    """The document of all replies, and the replies with their annotations; see `Suite.score`."""
    job = ScoringJob.of(options)
    check_language(options["page_language"])
    hears = None if job.transcriber is None else HeardTally(job.transcriber.name, job.transcriber)
    job = replace(job, transcriber=hears, out=out, jobs=jobs or DEFAULT_REQUESTS, show=show)
    scored = (score_turns if options["turns"] else _score_replies)(paths, job)
    content, told = {**scored.document, "page_language": options["page_language"]}, list(scored.told)
    if hears is not None:
        content["heard_with"] = to_builtins(hears.heard())
        told.insert(0, hearing_took(hears.heard()))
    return replace(scored, document=content, told=told)


def _score_replies(paths: Sequence[Path], job: ScoringJob) -> Scored:
    sets, responses, problems = material(paths, job.options, job.transcriber)
    used: list[AnnotatedWith] = []
    again: list[str] = []
    for task in by_set(job, sets, responses):
        responses, found = annotate_set(task, sets, responses, job)
        problems += found.problems
        used.append(annotated_with(task, found.usage))
        again += [f"{task.set.name}: {told}" for told in found.told]
    settings = ScoringSettings.of(job.options)
    content = document(sets, responses, problems, settings, job.options["published"], used)
    calls = [(response.system, response.live.call) for response in responses if response.live is not None]
    content, judged = judge_content(content, sets, responses, settings, job)
    made = to_builtins(structs.replace(content, timing=list(live_timing(calls))))
    files = {ANNOTATIONS: jsonl(responses), **paper_files(read(clean(made)))}
    return Scored(made, files, [*all_took(used), *again, *judged])


def material(
    paths: Sequence[Path], options: Mapping[str, Any], hears: Transcriber | None
) -> tuple[list[RecordSet], list[Response], list[Problem]]:
    """The sets, the responses, and the problems with their files; a file that cannot be used is one problem."""
    references: Sequence[Path] = options["references"]
    as_given, hearing = options["as_given"], replies.Hearing(hears, options["whole_call"])
    if references and not paths:
        raise SettingsError("expected responses to --references, got none")
    own = sets_of_runs(paths)
    firsts = list({name: file for file, name in reversed(own.items())}.values())[::-1]  # of the files of each set
    sets, problems = read_sets(references or firsts or [SHIPPED], as_given, own, folder_of(options["prompts"]))
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


def asked(options: Mapping[str, Any], paths: Sequence[Path] = ()) -> list[UsesServers]:
    """The annotators, the judges and the transcriber; see `fdbcore.protocols.suite.Suite.asked`."""
    job = ScoringJob.of(options)
    models = [one.model for one in job.annotators]
    if (
        not options["turns"]
        and all(one.set for one in job.annotators)
        and any(map(_is_generated, (*paths, *options["references"])))
    ):
        sets, responses, _ = material(paths, options, HeardTally("", None))
        models = list({task.model.name: task.model for task in by_set(job, sets, responses)}.values())
    return [*models, *job.judging.judges, *([job.transcriber] if job.transcriber else ())]


def _is_generated(path: Path) -> bool:
    """True if a run or a set has a maker, who may be asked."""
    return ((path if path.is_dir() else path.parent) / GENERATED).is_file()


def expected(
    paths: Sequence[Path], options: Mapping[str, Any], out: Path, show: Callable[[str], None]
) -> Iterator[ExpectedUse]:
    """Expected requests to the transcriber, to each annotator and to the judge; see `Suite.expected`."""
    if options["turns"]:
        yield from _expected_of_turns(paths, options, out)
        return
    job = ScoringJob.of(options)
    hears, judging = job.transcriber, job.judging
    unheard = None if hears is None else HeardTally(hears.name, None)
    sets, responses, _ = material(paths, options, unheard)
    lengths_s = [] if unheard is None else unheard.lengths_s
    if hears is not None:
        yield expected_hearing(hears, "reply", lengths_s)
    for task in by_set(job, sets, responses):
        of, annotator, prompts = task
        asked, open_ones = to_annotate(task, sets, responses, options["repeats"])
        open_responses = [response for response, is_open in zip(asked, open_ones, strict=True) if is_open]
        requests = first_requests(open_responses, of.records, prompts, options["repeats"])
        with KeptModel(annotator, out / KEPT) as kept:
            left = [request for request in requests if not kept.knows(request)]
        left += [prompts.annotation_request("", "", "", 1)] * (len(lengths_s) * options["repeats"])
        most = len(requests) + len(lengths_s) * options["repeats"]
        yield _annotation(annotator, len(left), most, sum(map(_tokens, left)))
    if judging.judges:
        unheard_replies = [unheard_reply(Record("", "", ()))] * len(lengths_s)
        yield expected_judging(replies_to_judge(sets, responses), unheard_replies, judging, out / JUDGED)


def _expected_of_turns(paths: Sequence[Path], options: Mapping[str, Any], out: Path) -> Iterator[ExpectedUse]:
    """The uses at the most, as if nothing had been heard or annotated before. InputError for audio not replayed yet."""
    job = ScoringJob.of(options)
    hears, judging, models, prompts = job.transcriber, job.judging, job.models, prompts_of(options)
    good, _ = read_turn_references(options["references"], options["as_given"], prompts.tags)
    lengths_s: list[float] = []
    to_judge: list[JudgedReply] = []
    turns = 0
    for path in paths:
        if not is_recorded(path):
            raise InputError(f"{path}: expected a run to count the turns of, got audio: fdbcore replay makes one")
        for call in (call for call in Run(path).calls if call.unscored is None):
            spoken = spoken_turns(call.recording)
            turns += sum(turn.part != ASIDE for turn in spoken)
            to_judge += [
                unheard_reply(Record(asked.call, "", replies, locale=prompts.locale))
                for asked, replies in good.items()
                if asked.call in (call.name, user_of(call)) and any(answers(turn, asked.turn) for turn in spoken)
            ]
            for side in SIDES:
                own = [turn for turn in spoken if turn.side == side]
                if not any(told_texts(call.recording, side, own)):
                    lengths_s += [turn.end_s - turn.start_s for turn in own if turn.part != ASIDE]
    if hears is not None:
        yield expected_hearing(hears, "turn", lengths_s)
    most = (turns + len(good)) * options["repeats"]
    tokens_in = most * _tokens(prompts.annotation_request("", "", "", 1))
    yield from (_annotation(model, most, most, tokens_in) for model in models)
    if judging.judges:
        yield expected_judging([], to_judge, judging, out / JUDGED)


def _annotation(model: Model, left: int, of: int, tokens_in: float) -> ExpectedUse:
    """The requests to an annotator: so many texts of so many."""
    counts: dict[Unit, float] = {"text_in_tokens": tokens_in, "text_out_tokens": left * TOKENS_OF_ACTS}
    return expected_use(model.name, "annotation", left, of, counts, model.services())


def _tokens(request: Request) -> float:
    return tokens_of(request.user) + tokens_of(json.dumps(request.schema))
