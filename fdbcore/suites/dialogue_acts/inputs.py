"""Reads what is to be scored: sets, responses from files and runs, and annotations that models add."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fdbcore.errors import FdbError, InputError, SettingsError, told_as
from fdbcore.protocols import Transcriber, UsesServers
from fdbcore.registry import transcriber
from fdbcore.runtime.redaction import clean
from fdbcore.suites.dialogue_acts import replies
from fdbcore.suites.dialogue_acts.models.annotate import (
    Named,
    all_took,
    annotate_set,
    annotated_with,
    by_set,
    named,
    of_every_set,
)
from fdbcore.suites.dialogue_acts.models.content_judge import judge_content, judge_options
from fdbcore.suites.dialogue_acts.models.hearing import TalliedTranscriber, Unheard, hearing_took
from fdbcore.suites.dialogue_acts.models.prompts import folder_of
from fdbcore.suites.dialogue_acts.page.languages import ENGLISH, check_language
from fdbcore.suites.dialogue_acts.page.paper import paper_files
from fdbcore.suites.dialogue_acts.records import Response, jsonl, read_responses
from fdbcore.suites.dialogue_acts.scoring.comparison import ScoringSettings
from fdbcore.suites.dialogue_acts.scoring.document import document
from fdbcore.suites.dialogue_acts.sets import GENERATED, RECORDS, SHIPPED, RecordSet, read_sets, sets_of_runs
from fdbcore.suites.dialogue_acts.turns.scores import ANNOTATIONS, KEPT, live_timing, score_turns
from fdbcore.types import Problem
from fdbcore.types.scorecard import Scored

if TYPE_CHECKING:
    from fdbcore.suites.dialogue_acts.document_types import AnnotatedWith

DEFAULT_REQUESTS: Final = 4


def score(
    paths: Sequence[Path], options: Mapping[str, Any], jobs: int | None, out: Path, show: Callable[[str], None]
) -> Scored:
    """The document of all replies, and the replies with their annotations; see `Suite.score`."""
    chosen, recogniser = helpers(options)
    hears = None if recogniser is None else TalliedTranscriber(recogniser)
    scored = _scored(paths, options, chosen, hears, jobs or DEFAULT_REQUESTS, out, show)
    content, told = dict(scored.document), list(scored.told)
    if options["page_language"] != ENGLISH:
        content["page_language"] = options["page_language"]
    if hears is not None:
        content["heard_with"] = heard = hears.heard()
        told.insert(0, hearing_took(heard))
    return replace(scored, document=content, told=told)


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
    sets, responses, problems = material(paths, options, hears)
    used: list[AnnotatedWith] = []
    again: list[str] = []
    for task in by_set(chosen, sets, responses, options):
        responses, found = annotate_set(task, sets, responses, out / KEPT, options["repeats"], jobs, show)
        problems += found.problems
        used.append(annotated_with(task, found.usage))
        again += [f"{task.set.name}: {told}" for told in found.told]
    settings = ScoringSettings.of(options)
    content = document(sets, responses, problems, settings, options["published"], used)
    calls = [(response.system, response.live["call"]) for response in responses if response.live is not None]
    if timing := list(live_timing(calls)):
        content["timing"] = timing
    judged = judge_content(content, sets, responses, settings, judging, out, jobs, show)
    files = {ANNOTATIONS: jsonl(responses), **paper_files(clean(content))}
    return Scored(content, files, [*all_took(used), *again, *judged])


def asked(paths: Sequence[Path], options: Mapping[str, Any]) -> list[UsesServers]:
    """The annotators, the judges and the transcriber; see `fdbcore.protocols.suite.Suite.asked`."""
    chosen, hears = helpers(options)
    models = [one.model for one in chosen]
    if (
        not options["turns"]
        and all(one.set for one in chosen)
        and any(map(_is_generated, (*paths, *options["references"])))
    ):
        sets, responses, _ = material(paths, options, Unheard(""))
        models = list({task.model.name: task.model for task in by_set(chosen, sets, responses, options)}.values())
    return [*models, *judge_options(options).judges, *([hears] if hears else ())]


def _is_generated(path: Path) -> bool:
    """Whether a run or a set has a maker, who may be asked."""
    return ((path if path.is_dir() else path.parent) / GENERATED).is_file()


def helpers(options: Mapping[str, Any]) -> tuple[list[Named], Transcriber | None]:
    """The annotators that the user names, and the recogniser if there is one."""
    chosen = named(options)
    with told_as("--asr", "asr"):
        return chosen, None if options["asr"] is None else transcriber(options["asr"])


def material(
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
