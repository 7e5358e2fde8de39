"""Has judges mark all dialogues, by each setup of recogniser, judge and wording that was asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fdbcore.endpoints.examiner.brief import Brief
from fdbcore.measures.reading import Reading
from fdbcore.protocols import Judge
from fdbcore.recording.form import converted
from fdbcore.runs.asking import JUDGED, Desk, JudgeQuestion, JudgeRequest, KeptAnswers, ask_each_once, spent_on
from fdbcore.suites.staged.cases import StagedCase
from fdbcore.suites.staged.hearing import Heard
from fdbcore.suites.staged.judging import DialogueMarks, marks_of, questions_of
from fdbcore.suites.staged.turns import closing_tick, events_of, evidence_of
from fdbcore.suites.staged.users import families_of
from fdbcore.suites.staged.variants import Setup
from fdbcore.types import SIDES

if TYPE_CHECKING:
    from fdbcore.analysis.summary_types import JudgingSpent


class JudgedDialogue(NamedTuple):
    """What a judge reads of a dialogue by the words of one source."""

    evidence: Mapping[str, Any]
    events: Sequence[Mapping[str, Any]]


class MarkedDialogues(NamedTuple):
    """The marks of dialogues by setup and path, what all of them took, and what was asked now, in words."""

    by_setup: Mapping[Setup, Mapping[Path, DialogueMarks]]
    spent: JudgingSpent
    told: str


def mark_all(
    cases: Sequence[StagedCase],
    heard: Sequence[Mapping[Path, Heard]],
    judges: Sequence[Judge],
    setups: Sequence[Setup],
    repeats: int,
    desk: Desk,
    jobs: int,
    show: Callable[[str], None],
) -> MarkedDialogues:
    """Let judges mark all dialogues of which both sides are known. heard: the words by each source.

    The setups are asked in their order, so that the first one is whole if the desk stops. Errors as of `ask_each_once`.
    """
    planned = requests_of(cases, heard, judges, setups, repeats)
    requests = [each for own in planned for each in own.requests]
    asked = ask_each_once(requests, desk, jobs, show)
    answers = iter(asked.answers)
    found: dict[Setup, dict[Path, DialogueMarks]] = {setup: {} for setup in setups}
    for own in planned:
        given = [[next(answers) for _ in range(repeats)] for _ in own.questions]
        found[own.setup][own.path] = marks_of(own.questions, given, own.dialogue.events)
    return MarkedDialogues(found, spent_on(requests, repeats, desk.stopped), asked.told)


class PlannedQuestions(NamedTuple):
    """What is asked of one dialogue by one setup: each question so many times as there are repeats."""

    setup: Setup
    path: Path
    dialogue: JudgedDialogue
    questions: Sequence[JudgeQuestion]
    requests: Sequence[JudgeRequest]


def requests_of(
    cases: Sequence[StagedCase],
    heard: Sequence[Mapping[Path, Heard]],
    judges: Sequence[Judge],
    setups: Sequence[Setup],
    repeats: int,
) -> list[PlannedQuestions]:
    """All that judges are to be asked, in the order of the setups; arguments as of `mark_all`."""
    families = {run: families_of(run) for run in dict.fromkeys(case.path.parent for case in cases)}
    kept = {case.path: KeptAnswers(case.path / JUDGED) for case in cases}
    dialogues = [
        {
            case.path: judged_dialogue(case.path, own[case.path])
            for case in cases
            if set(SIDES) <= {*own.get(case.path, ())}
        }
        for own in heard
    ]
    planned = []
    for setup in setups:
        judge = judges[setup.judge]
        for case in cases:
            dialogue = dialogues[setup.transcriber].get(case.path)
            if dialogue is None:
                continue
            family = families[case.path.parent].get(case.family)
            questions = questions_of(dialogue.evidence, dialogue.events, family, setup.wording)
            requests = [
                JudgeRequest(kept[case.path], judge, question, repeat)
                for question in questions
                for repeat in range(repeats)
            ]
            planned.append(PlannedQuestions(setup, case.path, dialogue, questions, requests))
    return planned


def judged_dialogue(path: Path, heard: Heard) -> JudgedDialogue:
    """What a judge reads of the dialogue of a recording, up to A's closing statement."""
    recording = Reading(path)
    brief: Brief = converted(recording.meta["parties"]["A"]["brief"], Brief)
    until = closing_tick([each for each in recording.events if each["side"] == "A"], recording.n_ticks)
    return JudgedDialogue(evidence_of(recording, brief, heard, until), events_of(recording, until))
