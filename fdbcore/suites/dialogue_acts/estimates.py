"""About what scoring would ask of a recogniser, of annotators and of a judge."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from fdbcore.analysis.corpus import Run
from fdbcore.errors import InputError
from fdbcore.models.cache import KeptModel
from fdbcore.protocols import Model
from fdbcore.recording.run import is_recorded
from fdbcore.runs.estimates import expected_use, tokens_of
from fdbcore.runs.expected_words import expected_hearing
from fdbcore.suites.dialogue_acts.inputs import helpers, material
from fdbcore.suites.dialogue_acts.models.annotate import by_set, first_requests, of_every_set, to_annotate
from fdbcore.suites.dialogue_acts.models.content_judge import (
    JUDGED,
    JudgedReply,
    expected_judging,
    judge_options,
    replies_to_judge,
    unheard_reply,
)
from fdbcore.suites.dialogue_acts.models.hearing import Unheard
from fdbcore.suites.dialogue_acts.records import Record
from fdbcore.suites.dialogue_acts.turns.calls import user_of
from fdbcore.suites.dialogue_acts.turns.references import read_turn_references
from fdbcore.suites.dialogue_acts.turns.scores import KEPT, prompts_of
from fdbcore.suites.dialogue_acts.turns.spoken import ASIDE, spoken_turns, told_texts
from fdbcore.types import SIDES, Request
from fdbcore.types.usage import ExpectedUse, Unit

TOKENS_OF_ACTS: Final = 150
"""About what a model writes for the acts of a reply or a turn."""


def expected(paths: Sequence[Path], options: Mapping[str, Any], out: Path) -> Iterator[ExpectedUse]:
    """What `score` would ask of the recogniser, of each annotator and of the judge; see `Suite.expected`."""
    if options["turns"]:
        yield from _of_turns(paths, options, out)
        return
    chosen, hears = helpers(options)
    judging = judge_options(options)
    unheard = None if hears is None else Unheard(hears.name)
    sets, responses, _ = material(paths, options, unheard)
    lengths_s = [] if unheard is None else unheard.lengths_s
    if hears is not None:
        yield expected_hearing(hears, "reply", lengths_s)
    for task in by_set(chosen, sets, responses, options):
        of, annotator, prompts = task
        asked, open_ones = to_annotate(task, sets, responses, options["repeats"])
        open_responses = [response for response, is_open in zip(asked, open_ones, strict=True) if is_open]
        requests = first_requests(open_responses, of.records.values(), prompts, repeats=options["repeats"])
        with KeptModel(annotator, out / KEPT) as kept:
            left = [request for request in requests if not kept.knows(request)]
        left += [prompts.annotation_request("", "", "", 1)] * (len(lengths_s) * options["repeats"])
        most = len(requests) + len(lengths_s) * options["repeats"]
        yield _annotation(annotator, len(left), most, sum(map(_tokens, left)))
    if judging.judges:
        unheard_replies = [unheard_reply(Record("", "", ()))] * len(lengths_s)
        yield expected_judging(replies_to_judge(sets, responses), unheard_replies, judging, out / JUDGED)


def _of_turns(paths: Sequence[Path], options: Mapping[str, Any], out: Path) -> Iterator[ExpectedUse]:
    """The uses at the most, as if nothing had been heard or annotated before. InputError for audio not replayed yet."""
    chosen, hears = helpers(options)
    judging, models, prompts = judge_options(options), of_every_set(chosen), prompts_of(options)
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
                if asked.call in (call.name, user_of(call)) and any(turn.answers(asked.turn) for turn in spoken)
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
    """What an annotator would be asked: so many texts of so many."""
    counts: dict[Unit, float] = {"text_in_tokens": tokens_in, "text_out_tokens": left * TOKENS_OF_ACTS}
    return expected_use(model.name, "annotation", left, of, counts, model.services())


def _tokens(request: Request) -> float:
    return tokens_of(request.user) + tokens_of(json.dumps(request.schema))
