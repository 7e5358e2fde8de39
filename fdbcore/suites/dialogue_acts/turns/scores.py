"""Scores the turns of any calls: words, acts, good replies by turn, and how the acts are distributed.

Good replies by turn are a table with a row for each good reply of B to a turn of A:

    call,turn,text,acts
    sample,1,残り4分20秒です。,Answer 0.8 Inform 0.2

call: the name of the call, or of the recorded user that several systems talked with. turn: of A, from 1; 0 for what B
says before A first speaks. Several rows for one turn are several good replies, the first of which is the ceiling's.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from msgspec import structs, to_builtins

from fdbcore.analysis import read_quantities, summarise
from fdbcore.errors import InputError, SettingsError
from fdbcore.measures import Reading
from fdbcore.runtime import number_of
from fdbcore.sources import rated_rows
from fdbcore.suites.dialogue_acts.models.annotate import (
    AnnotatedWith,
    Annotating,
    all_took,
    annotate,
    annotated_with,
    references,
)
from fdbcore.suites.dialogue_acts.models.asking import KEPT, ScoringJob
from fdbcore.suites.dialogue_acts.models.content_judge import judge_content
from fdbcore.suites.dialogue_acts.models.prompts import Prompts, folder_of
from fdbcore.suites.dialogue_acts.records import (
    REFERENCE,
    Annotation,
    Lost,
    Record,
    Reference,
    Response,
    jsonl,
    parse_steps,
    quoted,
)
from fdbcore.suites.dialogue_acts.replies import live_reply
from fdbcore.suites.dialogue_acts.scoring.comparison import ScoringSettings
from fdbcore.suites.dialogue_acts.scoring.document import document
from fdbcore.suites.dialogue_acts.sets import RecordSet
from fdbcore.suites.dialogue_acts.tag_sets import TagSet
from fdbcore.suites.dialogue_acts.turns.calls import CallTurns, Turn, TurnActs, turns_of_calls
from fdbcore.suites.dialogue_acts.turns.spoken import ASIDE, SpokenTurn
from fdbcore.suites.dialogue_acts.turns.tables import LiveTiming, TurnsJson, follows, quarters, shares
from fdbcore.types import Problem, Side
from fdbcore.types.scorecard import Scored

SET: Final = "turns"
"""The name of the set of good replies by turn."""
JAPANESE: Final = "ja-JP"
CONTEXT: Final = 6
"""So many turns before what is answered are the background of a turn."""
ANNOTATIONS: Final = "annotations.jsonl"

COLUMNS: Final = ("call", "turn", "text", "acts")
GIVEN: Final = "given"
"""The annotator of the good replies of a table."""

Annotations = Mapping[str, tuple[Annotation, ...]]
"""The annotations of turns, by the ids of `turn_id`."""


class Asked(NamedTuple):
    """A turn of A that B answers: of which call, or with which recorded user, and its number from 1."""

    call: str
    turn: int


def score_turns(paths: Sequence[Path], job: ScoringJob) -> Scored:
    """The document of the turns of calls; see `Suite.score`."""
    if not paths:
        raise SettingsError("--turns: expected runs, recordings or audio, got none")
    options, models = job.options, job.models
    prompts = prompts_of(options)
    given, problems = read_turn_references(options["references"], options["as_given"], prompts.tags)
    calls, lost = turns_of_calls(paths, job, prompts.locale.partition("-")[0])
    problems += lost
    scored = RecordSet(SET, dict(_with_references(calls, given, prompts.locale)), tags=prompts.tags)
    pairs = list(to_annotate(calls))
    labelled: Sequence[Response] = [*(response for _, response in pairs), *references(scored.records.values(), SET)]
    used: list[AnnotatedWith] = []
    again: list[str] = []
    for model in models:
        found = annotate(
            labelled,
            [*(record for record, _ in pairs), *scored.records.values()],
            model,
            job.out / KEPT,
            repeats=options["repeats"],
            jobs=job.jobs,
            prompts=prompts,
            watch=lambda count, most: job.show(f"{count} of {most} turns annotated"),
        )
        labelled = found.responses
        problems += found.problems
        used.append(annotated_with(Annotating(scored, model, prompts), found.usage))
        again += [f"{SET}: {told}" for told in found.told]
    if not models:
        problems.append(Problem("turns", "expected annotations, got none (--annotator has them made)"))
    acts = {response.id: response.annotations for response in labelled}
    ceiling = [response for response in labelled if response.system == REFERENCE]
    responses, unmatched = _responses(calls, given, acts)
    settings = ScoringSettings.of(options)
    content = document([scored], [*responses, *ceiling], [*problems, *unmatched], settings, annotated_with=used)
    content, judged = judge_content(content, [scored], responses, settings, job)
    told_calls = [_with_acts(call, acts) for call in calls]
    turns: TurnsJson = {
        "locale": prompts.locale,
        "calls": told_calls,
        "shares": list(shares(told_calls, prompts.tags.names)),
        "follows": list(follows(told_calls, prompts.tags.names)),
        "quarters": list(quarters(told_calls, prompts.tags.names)),
    }
    timing = list(live_timing([(call.system, call.path) for call in calls]))
    content = structs.replace(content, timing=timing, turns=turns)
    return Scored(to_builtins(content), {ANNOTATIONS: jsonl(labelled)}, [*all_took(used), *again, *judged])


def live_timing(calls: Sequence[tuple[str, str]]) -> Iterator[LiveTiming]:
    """The measures of each system, pooled over its calls. calls: system, and folder of the recording."""
    for system in dict.fromkeys(name for name, _ in calls):
        own = [read_quantities(Reading(Path(path)))[0] for name, path in calls if name == system]
        scored = [quantities for quantities in own if quantities]
        if scored:
            yield {"system": system, "calls": len(scored), "measures": dict(summarise(scored))}


def prompts_of(options: Mapping[str, Any]) -> Prompts:
    """The prompts by which turns are annotated."""
    return Prompts(options["locale"] or JAPANESE, folder_of(options["prompts"]))


def turn_id(call: CallTurns, said: Turn) -> str:
    """The id of a turn among all turns of a document."""
    return f"{call.system}/{call.call}/{said.side}{said.number}"


def to_annotate(calls: Sequence[CallTurns]) -> Iterator[tuple[Record, Response]]:
    """Each turn with words, as a reply to what the other side said last; what was said before is its background."""
    for call in calls:
        for said in call.turns:
            if said.text:
                background, heard = _said_before(
                    [each for each in call.turns if each.start_s < said.start_s], said.side
                )
                name, speaker = turn_id(call, said), call.system if said.side == "B" else f"A of {call.system}"
                yield Record(name, heard, (), background), Response(name, speaker, said.text)


def _said_before(turns: Sequence[Turn], side: Side) -> tuple[str, str]:
    """The text that a side answers that speaks after these turns, after its background."""
    before = [each for each in turns if each.text]
    partner = [each for each in before if each.side != side][-1:]
    told = [each for each in before if each not in partner][-CONTEXT:]
    background = "\n".join(f"{each.side}: {each.text}" for each in told)
    return background, "".join(str(each.text) for each in partner)


def _with_references(
    calls: Sequence[CallTurns], given: Mapping[Asked, tuple[Reference, ...]], locale: str
) -> Iterator[tuple[str, Record]]:
    """The good replies to each turn of A that is there, as a record, with what was said before in the first call."""
    for asked, good in given.items():
        own = [call for call in calls if asked.call in (call.call, call.user)]
        if own:
            starts = ((call, said.start_s) for call in own for said in call.of("A") if said.number == asked.turn)
            call, start_s = next(starts, (own[0], -1.0))
            background, heard = _said_before([each for each in call.turns if each.start_s <= start_s], "B")
            name = f"{asked.call} {asked.turn}"
            yield name, Record(name, heard, good, background, asked.call, locale, user=own[0].user)


def _responses(
    calls: Sequence[CallTurns], given: Mapping[Asked, tuple[Reference, ...]], acts: Annotations
) -> tuple[list[Response], list[Problem]]:
    """B's turn after each turn of A that has good replies, and what of the table fits no call."""
    responses: list[Response] = []
    problems: list[Problem] = []
    for asked in given:
        own = [call for call in calls if asked.call in (call.call, call.user)]
        if not own:
            problems.append(Problem(asked.call, f"turn {asked.turn}: expected a call of this name, got none"))
        for call in own:
            replied = next((each for each in call.turns if answers(each, asked.turn)), None)
            name, where = f"{asked.call} {asked.turn}", call.path
            silent = Response(name, call.system, None, set=SET, trial=call.trial, where=where)
            if asked.turn > len(call.of("A")):
                reason = f"expected turn {asked.turn} of A, got {len(call.of('A'))} turns"
                problems.append(Lost.of(where, reason, (name, call.system)))
            elif replied is None:
                responses.append(replace(silent, reason="no turn of B after it"))
            elif replied.text is None:
                problems.append(Lost.of(where, f"{name}: its words are not known", (name, call.system)))
            else:
                live = live_reply(call.path, (call.of("A")[asked.turn - 1] if asked.turn else None), [replied])
                annotations = acts.get(turn_id(call, replied), ())
                responses.append(replace(silent, text=replied.text, annotations=annotations, live=live))
    return responses, problems


def _with_acts(call: CallTurns, acts: Annotations) -> CallTurns:
    turns = []
    for said in call.turns:
        own = acts.get(turn_id(call, said), ())
        told = [TurnActs(one.annotator, one.repeat, quoted(one.steps, said.text)) for one in own]
        turns.append(structs.replace(said, acts=told))
    return structs.replace(call, turns=turns)


def answers(turn: SpokenTurn | Turn, asked: int) -> bool:
    """True if it is B's reply to a turn of A, by its number from 1; to 0, what B says before A first speaks."""
    return turn.side == "B" and turn.after == asked and turn.part not in ("further", ASIDE)


def read_turn_references(
    paths: Sequence[Path], as_given: bool, tags: TagSet
) -> tuple[Mapping[Asked, tuple[Reference, ...]], list[Problem]]:
    """The good replies by turn, and what is wrong with other rows. as_given, tags: as of `parse_steps`.

    SettingsError for a table that cannot be read, or lacks a column.
    """
    found: dict[Asked, tuple[Reference, ...]] = {}
    problems: list[Problem] = []
    for path in paths:
        for where, row in rated_rows(path, COLUMNS):
            try:
                asked, reference = _row(row, as_given, tags)
                found[asked] = (*found.get(asked, ()), reference)
            except InputError as error:
                problems.append(Problem(where, str(error)))
    return found, problems


def _row(row: Mapping[str, str], as_given: bool, tags: TagSet) -> tuple[Asked, Reference]:
    if empty := [name for name in COLUMNS if not row.get(name)]:
        raise InputError(f"{empty[0]}: expected a text, got none")
    if not re.fullmatch("[0-9]{1,9}", row["turn"]):
        raise InputError(f"turn: expected the number of a turn of A, got {row['turn']!r}")
    words = row["acts"].replace(",", " ").split()
    acts = [{"act": act, "importance": _number(weight)} for act, weight in zip(words[::2], words[1::2], strict=False)]
    if len(words) % 2:
        raise InputError(f"acts: expected an act and its importance in turn, got {row['acts']!r}")
    steps, scaled_from = parse_steps({"steps": acts}, as_given, tags)
    return Asked(row["call"], int(row["turn"])), Reference(row["text"], Annotation(GIVEN, steps, 1, scaled_from))


def _number(text: str) -> float | str:
    """A number; any other text as it is, which is then told to be none."""
    try:
        return number_of(text)
    except ValueError:
        return text
