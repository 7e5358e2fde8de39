"""About what scoring the turns of calls would ask of a recogniser and of annotators."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fdbcore.analysis.corpus import Run
from fdbcore.errors import InputError
from fdbcore.protocols import Model, Transcriber
from fdbcore.recording.run import is_recorded
from fdbcore.runs.estimates import expected_usd, expected_use, priced_on, tokens_of
from fdbcore.runs.judge_options import JudgeOptions
from fdbcore.suites.dialogue_acts.models.content_judge import JUDGED, JudgedReply, expected_judging, unheard_reply
from fdbcore.suites.dialogue_acts.records import Record
from fdbcore.suites.dialogue_acts.turns.calls import user_of
from fdbcore.suites.dialogue_acts.turns.references import read_turn_references
from fdbcore.suites.dialogue_acts.turns.scores import prompts_of
from fdbcore.suites.dialogue_acts.turns.spoken import ASIDE, spoken_turns
from fdbcore.suites.dialogue_acts.turns.words import told_texts
from fdbcore.types import SIDES
from fdbcore.types.usage import ExpectedUse, Unit

TOKENS_OF_ACTS = 150
"""About what a model writes for the acts of a turn."""


def expected_turns(
    paths: Sequence[Path],
    options: Mapping[str, Any],
    models: Sequence[Model],
    hears: Transcriber | None,
    judging: JudgeOptions,
    out: Path,
) -> Iterator[ExpectedUse]:
    """The uses at the most, as if nothing had been heard or annotated before. InputError for audio not replayed yet."""
    prompts = prompts_of(options)
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
        used, seconds = hears.services(), sum(lengths_s)
        usd = expected_usd(used, seconds) if seconds else 0.0
        yield ExpectedUse(
            hears.name, "turn", len(lengths_s), len(lengths_s), {"seconds": seconds}, usd, priced_on(used)
        )
    request = prompts.annotation_request("", "", "", 1)
    tokens = tokens_of(request.user) + tokens_of(json.dumps(request.schema))
    for model in models:
        most = (turns + len(good)) * options["repeats"]
        counts: dict[Unit, float] = {"text_in_tokens": most * tokens, "text_out_tokens": most * TOKENS_OF_ACTS}
        yield expected_use(model.name, "annotation", most, most, counts, model.services())
    if judging.judges:
        yield expected_judging([], to_judge, judging, out / JUDGED)
