"""Scores of a judge: turn-taking and instruction following of every event, and the family's score of the dialogue.

Full-Duplex-Bench v2 (arXiv 2510.07838) gives both scores per event, and leaves it to the judge what an event is. Here
events are those of the measures: every turn of the system, and every opportunity that it let pass. A judge may say
that it cannot tell. What cannot be used is asked again with the error, and is then unscored, never a zero.

The rubrics ask that reasons quote words that were said, or a time. Words count in quotation marks, or three in a row
without them. Which time a reason should name is not checked.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np
from msgspec import UNSET

from fdbcore.analysis import JudgingSpent
from fdbcore.errors import InputError
from fdbcore.protocols import Judge
from fdbcore.runs import JUDGED, JudgeAnswer, JudgeOptions, JudgeQuestion, JudgeRequest, KeptAnswers
from fdbcore.stats import Floats
from fdbcore.suites.staged.cases import StagedCase
from fdbcore.suites.staged.replies import binned_means, early_means, spans_of
from fdbcore.suites.staged.scenarios import EVENT_SCORES, LEVELS, Family, rubric_of_events, rubric_of_score
from fdbcore.suites.staged.transcription import Heard, judged_dialogue
from fdbcore.types import SIDES

DRAWS: Final = 100
"""Sets of repeats that an interval draws from, of a dialogue that was judged several times."""
WORDS_IN_A_ROW: Final = 3
"""So many of what was said are a quotation without marks; fewer may be chance."""

_TIME: Final = re.compile(r"\d\s*(?:(?:m?s|sec|seconds?)\b|秒)|\d\.\d|\d:\d\d")
_QUOTED: Final = re.compile(
    r"\"([^\"]+)\"|“([^“”]+)”|「([^「」]+)」|『([^『』]+)』|«([^«»]+)»|(?<!\w)['‘]((?:(?!(?<!\w)['‘]).)+?)['’](?!\w)"
)
"""No mark of its own opens within a quotation: so a long reason is read in one go."""
_WORD: Final = re.compile(r"\w+(?:['’]\w+)*")
_REASONS: Final = {name: f"{name}_reason" for name in EVENT_SCORES}

Aspect: TypeAlias = Literal["transcriber", "judge", "rubrics"]


@dataclass(frozen=True, slots=True, eq=False)
class Setup:
    """The transcriber, judge and wording (from 0). aspect, name: how it differs from the main setup; or none."""

    transcriber: str
    judge: Judge | None
    wording: int
    aspect: Aspect | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class OtherSetup:
    """Another setup than the main one. main, other: what differs, in words. values: of each dialogue by its path."""

    aspect: Aspect
    main: str
    other: str
    values: Mapping[Path, Mapping[str, float]]


def setups_of(transcribers: Sequence[str], judges: Sequence[Judge], wordings: Sequence[int]) -> list[Setup]:
    """The main setup, then those that differ from it in one aspect."""
    main = Setup(next(iter(transcribers), ""), next(iter(judges), None), wordings[0])
    return [
        main,
        *(Setup(name, main.judge, main.wording, "transcriber", name) for name in transcribers[1:]),
        *(Setup(main.transcriber, judge, main.wording, "judge", judge.name) for judge in judges[1:]),
        *(Setup(main.transcriber, main.judge, n, "rubrics", f"wording {n + 1}") for n in wordings[1:]),
    ]


def questions_of(
    evidence: Mapping[str, Any], events: Sequence[Mapping[str, Any]], family: Family | None, wording: int
) -> list[JudgeQuestion]:
    """The questions to a judge on one dialogue, see `hearing`. family: None if unknown. wording: of rubrics, from 0."""
    found = []
    if events:
        rubric = rubric_of_events(wording, events)
        found.append(JudgeQuestion(rubric, {**evidence, "events": events}, _check_events))
    if family is not None and family.score is not UNSET:
        rubric = rubric_of_score(family.score, wording)
        points = [point for kind, point in (each.where for each in rubric.questions if len(each.where) == 2)]
        found.append(JudgeQuestion(rubric, evidence, partial(_check_task, points)))
    return found


class PlannedQuestions(NamedTuple):
    """The questions on one dialogue by one setup."""

    setup: Setup
    path: Path
    events: Sequence[Mapping[str, Any]]
    questions: Sequence[JudgeRequest]


def requests_of(
    cases: Sequence[StagedCase],
    heard: Mapping[str, Mapping[Path, Heard]],
    setups: Sequence[Setup],
    families: Mapping[Path, Mapping[str, Family]],
) -> list[PlannedQuestions]:
    """All that judges are asked of dialogues with both sides known, setup by setup. heard: the words by source.
    families: of each run, see `families_of`.
    """
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
            requests = [JudgeRequest(kept[case.path], setup.judge, question) for question in questions]
            planned.append(PlannedQuestions(setup, case.path, dialogue.events, requests))
    return planned


class JudgedDialogues(NamedTuple):
    """The scores of dialogues by setup and path, what all of them took, and what was asked now, in words."""

    by_setup: Mapping[Setup, Mapping[Path, DialogueScores]]
    spent: JudgingSpent
    told: str


def judge_all(
    planned: Sequence[PlannedQuestions], options: JudgeOptions, jobs: int | None, show: Callable[[str], None]
) -> JudgedDialogues:
    """Ask judges what was planned, in that order: if the limit is reached, the first setup is whole."""
    asked = options.ask([each for own in planned for each in own.questions], jobs, show)
    answers = iter(asked.answers)
    found: dict[Setup, dict[Path, DialogueScores]] = {}
    for own in planned:
        questions = [each.question for each in own.questions]
        found.setdefault(own.setup, {})[own.path] = scores_of(questions, [*islice(answers, len(questions))], own.events)
    return JudgedDialogues(found, asked.spent, asked.told)


@dataclass(slots=True)
class DialogueScores:
    """The scores of a dialogue. events: with their scores and reasons, or null. task: its score; None if unscored.

    Of a judge that was asked several times each score is the median. repeats: all scores then, by name, as (events,
    repeats), and of "task_score" as (1, repeats); NaN where there is none. unscored: why scores are missing, a line
    each; partly: why some repeats lack scores that others have, each after how many answers there are. reasons: how
    many have a reason; unquoted: how many of these quote nothing.
    """

    events: list[dict[str, Any]]
    task: dict[str, Any] | None = None
    repeats: dict[str, Floats] = field(default_factory=dict)
    unscored: list[str] = field(default_factory=list)
    partly: list[tuple[str, str]] = field(default_factory=list)
    reasons: int = 0
    unquoted: int = 0

    def values(self) -> dict[str, float]:
        """Means over the scores there are, the same with each missing score at its worst, and over the bins to 75 s."""
        return self._means({name: _medians(each) for name, each in self.repeats.items()})

    def draws(self, seed: Sequence[int]) -> list[dict[str, float]]:
        """The same of DRAWS sets of repeats, each drawn with replacement; none if there are no repeats."""
        n = max((each.shape[1] for each in self.repeats.values()), default=1)
        if n == 1:
            return []
        drawn = np.random.default_rng(seed).integers(0, n, (DRAWS, n))
        return [self._means({name: _medians(each[:, one]) for name, each in self.repeats.items()}) for one in drawn]

    def checked(self, own: dict[str, Any], reasons: Mapping[str, str], evidence: Mapping[str, Any]) -> dict[str, Any]:
        """Scores, with the names of those whose reasons quote nothing as `unquoted`; both are counted.

        reasons: the field of the reason by that of the score. A judge that gives no reasons has no such fields.
        """
        given = [name for name, reason in reasons.items() if own.get(name) is not None and reason in own]
        unquoted = [name for name in given if not quotes(own[reasons[name]], evidence)]
        self.reasons += len(given)
        self.unquoted += len(unquoted)
        return {**own, "unquoted": unquoted} if unquoted else own

    def _means(self, medians: Mapping[str, Floats]) -> dict[str, float]:
        found: dict[str, float] = {}
        for name in EVENT_SCORES:
            scores = medians.get(name, np.zeros(0))
            if (known := ~np.isnan(scores)).any():
                found[name] = float(scores[known].mean())
                found[f"{name}_worst"] = float(np.where(known, scores, 1).mean())
        if set(EVENT_SCORES) <= {*medians}:
            binned = binned_means(spans_of(self.events), np.stack([medians[name] for name in EVENT_SCORES], axis=1))
            found |= early_means(binned)
        if "task_score" in medians and not np.isnan(medians["task_score"][0]):
            found["task_score"] = float(medians["task_score"][0])
        return found


def scores_of(
    questions: Sequence[JudgeQuestion], answers: Sequence[Sequence[JudgeAnswer]], events: Sequence[Mapping[str, Any]]
) -> DialogueScores:
    """The scores of a dialogue by the answers to each of its questions, one a repeat."""
    found = DialogueScores([{**each, "marks": {}} for each in events])
    for question, own in zip(questions, answers, strict=True):
        _tell_missing(found, question, own)
        given = [each.scores for each in own]
        if "events" in question.evidence:
            of_events = [None if of is None else {each["event"]: each for each in of["events"]} for of in given]
            for name in EVENT_SCORES:
                rows = [
                    [None if one is None else one[each["event"]].get(name) for one in of_events]
                    for each in found.events
                ]
                found.repeats[name] = np.array(rows, float)
            for row, event in enumerate(found.events):
                repeats = {name: found.repeats[name][row] for name in EVENT_SCORES}
                scores = _event_scores(event["event"], of_events, repeats)
                event["marks"] = found.checked(scores, _REASONS, question.evidence)
        else:
            values = np.array([[None if scores is None else _task_score(scores) for scores in given]], float)
            found.repeats["task_score"] = values
            task = _task(given, values[0])
            found.task = None if task is None else found.checked(task, {"score": "reason"}, question.evidence)
    return found


def _tell_missing(found: DialogueScores, question: JudgeQuestion, answers: Sequence[JudgeAnswer]) -> None:
    """Tell why scores are missing, each reason once: of all repeats, or of some with how many answers there are."""
    given = [each.scores for each in answers if each.scores is not None]
    refused = Counter(ask for scores in given for ask in set(scores.get("refused", ())))
    left = dict.fromkeys((each.reason for each in answers if each.scores is None), len(given))
    left |= {f"{ask}: refused": len(given) - times for ask, times in refused.items()}
    for reason, n in left.items():
        told = f"{question.rubric.name}: {reason}"
        if n:
            found.partly.append((f"{n} of {len(answers)} answers", told))
        else:
            found.unscored.append(told)


def _event_scores(
    number: int, given: Sequence[Mapping[int, dict[str, Any]] | None], repeats: Mapping[str, Floats]
) -> dict[str, Any]:
    """The scores of an event: those that were given, or of several repeats the medians, each with a reason for it."""
    own = [scores[number] for scores in given if scores is not None]
    if len(given) == 1:
        return own[0] if own else {}
    found: dict[str, Any] = {"event": number}
    for name, values in repeats.items():
        found[name], found[f"{name}_repeats"] = _plain(_medians(values[None])[0]), list(map(_plain, values))
        if (nearest := _nearest(own, name, found[name])) is not None:
            found[f"{name}_reason"] = nearest.get(f"{name}_reason", "")
    return found


def _task(given: Sequence[Mapping[str, Any] | None], values: Floats) -> dict[str, Any] | None:
    """The score of a dialogue, as it was given, or of several repeats the median, with the answer nearest to it."""
    own = [{**scores, "score": _task_score(scores)} for scores in given if scores is not None]
    if not own:
        return None
    if len(given) == 1:
        return own[0]
    median = _plain(_medians(values[None])[0])
    return {**(_nearest(own, "score", median) or own[0]), "score": median, "repeats": list(map(_plain, values))}


def _nearest(given: Sequence[dict[str, Any]], name: str, value: float | None) -> dict[str, Any] | None:
    """The first of those whose score is nearest to a value."""
    known = [each for each in given if each.get(name) is not None]
    return None if value is None or not known else min(known, key=lambda each: abs(each[name] - value))


def _medians(values: Floats) -> Floats:
    """The median of each row (n, repeats) of the scores there are; NaN if there is none."""
    ordered, counts = np.sort(values, axis=1), (~np.isnan(values)).sum(axis=1)  # NaN comes last
    rows = np.arange(len(values))
    lower, upper = (np.clip(at, 0, values.shape[1] - 1) for at in ((counts - 1) // 2, counts // 2))
    medians: Floats = np.where(counts > 0, (ordered[rows, lower] + ordered[rows, upper]) / 2, np.nan)
    return medians


def _plain(score: float) -> float | None:
    """A score as a JSON value."""
    return None if np.isnan(score) else int(score) if float(score).is_integer() else float(score)


def _check_events(scores: Mapping[str, Any], evidence: Mapping[str, Any]) -> None:
    _check_texts("refused", scores.get("refused", []))
    numbers = [each["event"] for each in scores["events"]]
    expected = [each["event"] for each in evidence["events"]]
    if sorted(numbers) != expected:
        raise InputError(f"events: expected each of {expected} once, got {numbers}")
    for each in scores["events"]:
        for name in EVENT_SCORES:
            _check_score(f"event {each['event']}: {name}", each[name], f"{name}_levels" in each)
            _check_texts(f"event {each['event']}: {name}_reason", [each.get(f"{name}_reason", "")])


def _check_task(points: Sequence[str | int], scores: Mapping[str, Any], evidence: Mapping[str, Any]) -> None:
    _check_texts("refused", scores.get("refused", []))
    _check_texts("reason", [scores.get("reason", "")])
    if not points:
        _check_score("score", scores["score"], "score_levels" in scores)
        return
    if set(scores["checks"]) != {*points}:
        got = ", ".join(scores["checks"])[:80] or "none"
        raise InputError(f"checks: expected {', '.join(map(str, points))}, got {got}")
    for name, answer in scores["checks"].items():
        if not (answer is None or isinstance(answer, bool) or (isinstance(answer, float) and 0 <= answer <= 1)):
            raise InputError(f"checks: {name}: expected true, false or null, got {answer!r}")


def _check_score(where: str, score: object, may_be_between: bool) -> None:
    kinds = (int, float) if may_be_between else int
    if score is None or (isinstance(score, kinds) and not isinstance(score, bool) and 1 <= score <= LEVELS):
        return
    raise InputError(f"{where}: expected a whole number from 1 to {LEVELS}, or null, got {score!r}")


def _check_texts(where: str, texts: Sequence[object]) -> None:
    for text in texts:
        if not isinstance(text, str):
            raise InputError(f"{where}: expected a text, got {text!r:.80}")


def _task_score(scores: Mapping[str, Any]) -> float | None:
    """The score of a dialogue; of points the (expected) number of yes, 1 at least, and none if one is not known."""
    if "checks" not in scores:
        score: float | None = scores["score"]
        return score
    answers = list(scores["checks"].values())
    return None if None in answers else max(1, sum(answers))


def quotes(reason: str, evidence: Mapping[str, Any]) -> bool:
    """True if a reason quotes what a judge has read. evidence: as of `hearing.evidence_of`."""
    if _TIME.search(reason):
        return True
    said = [_words(each["words"]) for each in evidence["said"]]
    spaced, close = [f" {' '.join(words)} " for words in said], ["".join(words) for words in said]
    for groups in _QUOTED.findall(reason):
        words = _words("".join(groups))
        has_spaces = all(character < "\u2e80" for character in "".join(words))
        if words and (
            any(f" {' '.join(words)} " in line for line in spaced)
            if has_spaces
            else any("".join(words) in line for line in close)
        ):
            return True
    own = _words(reason)
    return not _rows(own).isdisjoint(row for words in said for row in _rows(words))


def _rows(words: Sequence[str]) -> set[tuple[str, ...]]:
    return {tuple(words[at : at + WORDS_IN_A_ROW]) for at in range(len(words) - WORDS_IN_A_ROW + 1)}


def _words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold().replace("’", "'"))
