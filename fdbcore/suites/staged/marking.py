"""What a judge reads of a dialogue, with the events at which the system is judged.

Judges mark all dialogues by each setup of recogniser, judge and wording that was asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from fdbcore.analysis import JudgingSpent
from fdbcore.endpoints import Brief
from fdbcore.measures import Reading, Spans, fto, lines_of, opportunities_in, turn_start
from fdbcore.recording import Transcript, converted
from fdbcore.runs import JUDGED, Desk, JudgeQuestion, JudgeRequest, KeptAnswers, ask_each_once, spent_on
from fdbcore.suites.staged.cases import StagedCase
from fdbcore.suites.staged.judging import DialogueMarks, marks_of, questions_of
from fdbcore.suites.staged.users import families_of
from fdbcore.suites.staged.variants import Setup
from fdbcore.types import SIDES, TICK_MS, TICKS_PER_S, Side, other_side
from fdbcore.types.examiner_events import SAID, SAYS

Heard: TypeAlias = Mapping[Side, Transcript]
"""The transcripts of a dialogue; a side that nobody asked for, or that has no words, is missing."""

PAUSE_TICKS: Final = TICKS_PER_S
"""A shorter silence of a side in which the other says nothing may lie within a sentence."""


class JudgedDialogue(NamedTuple):
    """What a judge reads of a dialogue by the words of one source."""

    evidence: Mapping[str, Any]
    events: Sequence[Mapping[str, Any]]


class MarkedDialogues(NamedTuple):
    """The marks of dialogues by setup and path, what all of them took, and what was asked now, in words."""

    by_setup: Mapping[Setup, Mapping[Path, DialogueMarks]]
    spent: JudgingSpent
    told: str


class PlannedQuestions(NamedTuple):
    """What is asked of one dialogue by one setup: each question so many times as there are repeats."""

    setup: Setup
    path: Path
    events: Sequence[Mapping[str, Any]]
    questions: Sequence[JudgeQuestion]
    requests: Sequence[JudgeRequest]


def mark_all(
    planned: Sequence[PlannedQuestions], repeats: int, desk: Desk, jobs: int, show: Callable[[str], None]
) -> MarkedDialogues:
    """Ask judges what was planned, in that order: if the desk stops, the first setup is whole. See `ask_each_once`."""
    requests = [each for own in planned for each in own.requests]
    asked = ask_each_once(requests, desk, jobs, show)
    answers = iter(asked.answers)
    found: dict[Setup, dict[Path, DialogueMarks]] = {}
    for own in planned:
        given = [[next(answers) for _ in range(repeats)] for _ in own.questions]
        found.setdefault(own.setup, {})[own.path] = marks_of(own.questions, given, own.events)
    return MarkedDialogues(found, spent_on(requests, repeats, desk.stopped), asked.told)


def requests_of(
    cases: Sequence[StagedCase], heard: Mapping[str, Mapping[Path, Heard]], setups: Sequence[Setup], repeats: int
) -> list[PlannedQuestions]:
    """All that judges are asked of dialogues with both sides known, setup by setup. heard: the words by source."""
    families = {run: families_of(run) for run in {case.path.parent for case in cases}}
    kept = {case.path: KeptAnswers(case.path / JUDGED) for case in cases}
    dialogues = {
        (name, case.path): judged_dialogue(case.path, own[case.path])
        for name, own in heard.items()
        for case in cases
        if set(SIDES) <= {*own.get(case.path, ())}
    }
    planned = []
    for setup in setups:
        for case in cases:
            dialogue = dialogues.get((setup.transcriber, case.path))
            if dialogue is None or setup.judge is None:
                continue
            family = families[case.path.parent].get(case.family)
            questions = questions_of(dialogue.evidence, dialogue.events, family, setup.wording)
            requests = [
                JudgeRequest(kept[case.path], setup.judge, question, repeat)
                for question in questions
                for repeat in range(repeats)
            ]
            planned.append(PlannedQuestions(setup, case.path, dialogue.events, questions, requests))
    return planned


def judged_dialogue(path: Path, heard: Heard) -> JudgedDialogue:
    """What a judge reads of the dialogue of a recording, up to A's closing statement."""
    recording = Reading(path)
    brief: Brief = converted(recording.meta["parties"]["A"]["brief"], Brief)
    until = closing_tick(recording.events, recording.n_ticks)
    return JudgedDialogue(evidence_of(recording, brief, heard, until), events_of(recording, until))


def evidence_of(recording: Reading, brief: Brief, heard: Mapping[Side, Transcript], until_tick: int) -> dict[str, Any]:
    """What a judge reads of a dialogue beside its events: the goals, and what both said, up to A's closing statement.

    heard: the words of both sides; those that most likely nobody said are left out. A is the user, B the system.
    """
    said = [each for side in SIDES for each in _said(recording, heard[side], until_tick)]
    return {
        "user": brief.role,
        "goals": [{"goal": goal.goal, "met_if": goal.met} for goal in brief.goals],
        "said": sorted(said, key=itemgetter("from_s")),
    }


def events_of(recording: Reading, until_tick: int) -> list[dict[str, Any]]:
    """Every turn of B and every opportunity that it let pass, up to A's closing statement, as a judge reads them.

    after_the_user_s: the delay of an answer, from the end of A's turn.
    """
    dialogue = recording.dialogue
    found = opportunities_in(dialogue)
    delays = {turn_start(each): fto(each) / TICKS_PER_S for each in (*found.answered, *found.premature)}
    kinds = {turn_start(each): "answer" for each in found.answered}
    kinds |= {turn_start(each): "cuts the user off" for each in found.premature}
    turns = [each for each in dialogue.events if each.kind == "turn" and each.side == "B"]
    both = dialogue.speaking["A"] & dialogue.speaking["B"]

    def event(kind: str, start_tick: int, end_tick: int, both_ticks: int = 0) -> dict[str, Any]:
        starts_s, ends_s, both_s = (ticks / TICKS_PER_S for ticks in (start_tick, end_tick, both_ticks))
        return {"kind": kind, "from_s": starts_s, "to_s": ends_s, "both_speak_s": both_s}

    events = []
    for each in turns:
        start, end = each.start_tick, each.end_tick or recording.n_ticks
        told = event(kinds.get(start, "takes the floor"), start, end, int(both[start:end].sum()))
        events.append({**told, "after_the_user_s": delays[start]} if start in delays else told)
    events += [event("no answer", each.start_tick, each.end_tick or each.start_tick) for each in found.missed]
    judged = sorted((each for each in events if each["from_s"] < until_tick / TICKS_PER_S), key=itemgetter("from_s"))
    return [{"event": number, **each} for number, each in enumerate(judged, 1)]


def closing_tick(events: Sequence[Mapping[str, Any]], n_ticks: int) -> int:
    """When A's closing statement begins; the end of the dialogue if there is none."""
    return next(
        (each["tick"] for each in events if each["kind"] == SAYS and each["side"] == "A" and each["what"] == "closing"),
        n_ticks,
    )


def _said(recording: Reading, heard: Transcript, until_tick: int) -> list[dict[str, Any]]:
    """What a side said, a stretch of speech with its short pauses each; A's last before it broke off is marked."""
    kept = [
        word
        for word in heard.words
        if not word.is_doubtful and (word.start_ms + word.end_ms) // 2 < until_tick * TICK_MS
    ]
    said = [
        {
            "who": "user" if heard.side == "A" else "system",
            "from_s": each["start_tick"] / TICKS_PER_S,
            "to_s": each["end_tick"] / TICKS_PER_S,
            "words": each["text"],
        }
        for each in lines_of(replace(heard, words=tuple(kept)), _stretches(recording, heard.side))
    ]
    if heard.side == "B":
        return said
    cuts = [each["tick"] for each in recording.events if each["kind"] == SAID and each["said_ms"] < each["of_ms"]]
    for tick in cuts:
        if before := [each for each in said if each["from_s"] < tick / TICKS_PER_S]:
            before[-1]["broken_off"] = True
    return said


def _stretches(recording: Reading, side: Side) -> Spans:
    """The IPUs of a side, (n, 2) in ticks, joined over pauses in which neither the other speaks nor A begins anew."""
    other = recording.dialogue.speaking[other_side(side)]
    begun = [each["tick"] for each in recording.events if each["kind"] == SAYS]
    found: list[list[int]] = []
    for start, end in recording.dialogue.ipus[side].tolist():
        since = found[-1][1] if found else start - PAUSE_TICKS
        if start - since >= PAUSE_TICKS or other[since:start].any() or any(since <= tick <= start for tick in begun):
            found.append([start, end])
        else:
            found[-1][1] = end
    return np.array(found, np.int64).reshape(-1, 2)
