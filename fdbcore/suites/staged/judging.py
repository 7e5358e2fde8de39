"""Marks of a judge: turn-taking and instruction following of every event, and the family's score of the dialogue.

Full-Duplex-Bench v2 (arXiv 2510.07838) gives both marks per event, and leaves it to the judge what an event is. Here
events are those of the measures: every turn of the system, and every opportunity that it let pass. A judge may say
that it cannot tell. What cannot be used is asked again with the error, and is then unscored, never a zero.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from fdbcore.endpoints.examiner.brief import Brief
from fdbcore.errors import InputError, RefusalError
from fdbcore.measures.reading import Reading
from fdbcore.protocols import Judge, Transcriber
from fdbcore.recording.files import read_json, write_json
from fdbcore.suites.staged.families import LEVELS, Family, RubricWording
from fdbcore.suites.staged.turns import SystemEvent, closing_tick, events_of, said_by_a, said_by_b
from fdbcore.types import Rubric

JUDGED: Final = "derived/judged.json"
"""The marks of a dialogue by what was asked, so that no judge is asked twice."""
TRIES: Final = 2
MARKS: Final = ("turn_taking", "instruction_following")

Check: TypeAlias = Callable[[Mapping[str, Any], Mapping[str, Any]], None]
"""Raises InputError, KeyError or TypeError if marks cannot be used; it gets the evidence, too."""

_TASK: Final = (
    "You judge how a voice system behaved in a spoken dialogue with a user. You get the user's goals, what both said "
    "with times in seconds from the start, and numbered events of the system. Overlapping times mean that both spoke. "
    "The words are by a speech recogniser: do not blame the system for a misspelling. Quote in each reason the words "
    "or the times that it rests on. If you cannot tell, give null."
)
_MARK: Final = {"type": ["integer", "null"]}
_REASON: Final = {"type": "string"}


@dataclass(slots=True)
class DialogueMarks:
    """The marks of a dialogue. events: with their marks and reasons, or null. task: its score; None if unscored.

    unscored: why marks are missing, a line each.
    """

    events: list[dict[str, Any]]
    task: dict[str, Any] | None = None
    unscored: list[str] = field(default_factory=list)

    def values(self) -> dict[str, float]:
        """Means over the marks there are, and the same with each missing mark at its worst."""
        found: dict[str, float] = {}
        for mark in MARKS:
            marks = [each["marks"].get(mark) for each in self.events]
            if known := [each for each in marks if each is not None]:
                found[mark] = float(np.mean(known))
                found[f"{mark}_worst"] = float(np.mean([1 if each is None else each for each in marks]))
        if self.task is not None and self.task.get("score") is not None:
            found["task_score"] = float(self.task["score"])
        return found


def judge_dialogue(
    path: Path, family: Family | None, judge: Judge, transcriber: Transcriber, wording: int = 0
) -> DialogueMarks:
    """The marks of one dialogue. family: None if it is not known. wording: which of the rubrics' wordings to use.

    PartyError if the judge or the recogniser is not available.
    """
    recording = Reading(path)
    brief = Brief.from_json(recording.meta["parties"]["A"]["brief"])
    of_a = [each for each in recording.events if each["side"] == "A"]
    until = closing_tick(of_a, recording.n_ticks)
    events = events_of(recording, until)
    spans = [(each.start_tick, each.end_tick) for each in events if each.kind != "no answer"]
    said = [*said_by_a(of_a, until), *said_by_b(path, spans, brief.language, transcriber)]
    evidence = {
        "user": brief.role,
        "goals": [{"goal": goal.goal, "met_if": goal.met} for goal in brief.goals],
        "said": [each.to_json() for each in sorted(said, key=lambda each: each.start_tick)],
    }
    return _Asking(path, judge).judged(evidence, events, family, wording)


class _Asking:
    """Asks a judge about one dialogue, and keeps its answers with the recording."""

    def __init__(self, path: Path, judge: Judge) -> None:
        self._path, self._judge = path / JUDGED, judge
        self._kept: dict[str, Any] = read_json(self._path) if self._path.is_file() else {}

    def judged(
        self, evidence: Mapping[str, Any], events: Sequence[SystemEvent], family: Family | None, wording: int
    ) -> DialogueMarks:
        numbered = [each.to_json(number) for number, each in enumerate(events, 1)]
        found = DialogueMarks([{**each, "marks": {}} for each in numbered])
        if events:
            marks = self._ask(_rubric_of_events(wording), {**evidence, "events": numbered}, found, _check_events)
            for each in marks["events"] if marks else ():
                found.events[each["event"] - 1]["marks"] = each
        if family is not None and family.rubric:
            marks = self._ask(_rubric_of_family(family, wording), evidence, found, _check_task)
            found.task = None if marks is None else {**marks, "score": _task_score(marks)}
        return found

    def _ask(
        self, rubric: Rubric, evidence: Mapping[str, Any], found: DialogueMarks, check: Check
    ) -> dict[str, Any] | None:
        """The marks, or None, with the reason among what is unscored."""
        asked, reason = dict(evidence), ""
        for _ in range(TRIES):
            key = hashlib.sha256(
                json.dumps([self._judge.name, rubric.text, rubric.schema, asked], sort_keys=True).encode()
            ).hexdigest()[:32]
            try:
                marks = self._kept[key] if key in self._kept else self._judge.mark(rubric, asked)
                check(marks, evidence)
            except RefusalError as error:
                reason = f"declined: {error}"
                break
            except (InputError, KeyError, TypeError, ValueError) as error:
                reason = str(error)
                asked = {**evidence, "your_last_answer_could_not_be_used": reason}
                continue
            if key not in self._kept:
                self._kept[key] = marks
                write_json(self._path, self._kept)
            return dict(marks)
        found.unscored.append(f"{rubric.name}: {reason}")
        return None


def _check_events(marks: Mapping[str, Any], evidence: Mapping[str, Any]) -> None:
    numbers = [each["event"] for each in marks["events"]]
    expected = [each["event"] for each in evidence["events"]]
    if sorted(numbers) != expected:
        raise InputError(f"events: expected each of {expected} once, got {numbers}")
    for each in marks["events"]:
        for mark in MARKS:
            _check_mark(f"event {each['event']}: {mark}", each[mark])


def _check_task(marks: Mapping[str, Any], evidence: Mapping[str, Any]) -> None:
    if "checks" not in marks:
        _check_mark("score", marks["score"])


def _check_mark(where: str, mark: object) -> None:
    if mark is not None and not (isinstance(mark, int) and 1 <= mark <= LEVELS):
        raise InputError(f"{where}: expected a whole number from 1 to {LEVELS}, or null, got {mark!r}")


@cache
def _rubrics() -> Mapping[str, Sequence[RubricWording]]:
    text = (files("fdbcore.suites.staged") / "data" / "rubrics.toml").read_text(encoding="utf-8")
    return {
        name: [RubricWording(each["ask"], tuple(each["levels"]), ()) for each in wordings]
        for name, wordings in tomllib.loads(text).items()
    }


def _rubric_of_events(wording: int) -> Rubric:
    """Both marks of every event."""
    parts = [f"{name}: {_levels(_wording(_rubrics()[name], wording))}" for name in MARKS]
    marks = {name: each for mark in MARKS for name, each in ((mark, _MARK), (f"{mark}_reason", _REASON))}
    event = _object({"event": {"type": "integer"}, **marks})
    text = "\n\n".join((_TASK, "Mark every event, by its number, from 1 to 5:", *parts))
    return Rubric("events", text, _object({"events": {"type": "array", "items": event}}))


def _rubric_of_family(family: Family, wording: int) -> Rubric:
    """The score of the whole dialogue: one of five levels, or points that are answered with yes or no."""
    chosen = _wording(family.rubric, wording)
    if chosen.levels:
        text = f"{_TASK}\n\nScore the whole dialogue from 1 to 5. {_levels(chosen)}"
        return Rubric(family.score, text, _object({"score": _MARK, "reason": _REASON}))
    points = "\n".join(f"{point.id}: {point.ask}" for point in chosen.checks)
    answers = {point.id: {"type": ["boolean", "null"]} for point in chosen.checks}
    text = f"{_TASK}\n\n{chosen.ask}\n{points}"
    return Rubric(family.score, text, _object({"checks": _object(answers), "reason": _REASON}))


def _task_score(marks: Mapping[str, Any]) -> int | None:
    """The score of a dialogue; of points the number of yes, 1 at least, and none if the judge could not tell one."""
    if "checks" not in marks:
        score: int | None = marks["score"]
        return score
    answers = list(marks["checks"].values())
    return None if None in answers else max(1, answers.count(True))


def _wording(wordings: Sequence[RubricWording], number: int) -> RubricWording:
    return wordings[min(number, len(wordings) - 1)]


def _levels(wording: RubricWording) -> str:
    return "\n".join((wording.ask, *(f"{level}: {text}" for level, text in enumerate(wording.levels, 1))))


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON Schema of an object that has these fields and no others, as vendors' strict modes want it."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
