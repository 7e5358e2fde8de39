"""What a judge is asked: how a reply fits an interruption (v1), and what the system did after an overlap (v1.5).

The rubrics are in our own words. An answer that cannot be used is asked again, and is then missing, never a zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from fdbcore.protocols import Judge
from fdbcore.runs.asking import JUDGED, Desk, JudgeQuestion, JudgeRequest, KeptAnswers, ask_all
from fdbcore.suites.fdb_v1.calls import HeardSample, by_clean
from fdbcore.suites.fdb_v1.hearing import Said, lines
from fdbcore.suites.fdb_v1.measures import BEHAVIOURS
from fdbcore.suites.fdb_v1.samples import INTERRUPTION, V1, Version
from fdbcore.types import Problem, Rubric, object_schema

BEST: Final = 5
RATING: Final = Rubric(
    "rating",
    "A user interrupted a voice system. You get what the labels say of the conversation before, and of the "
    "interruption, and what the system then said, by a speech recogniser. Rate how well that fits the interruption, "
    "as an integer from 0 to 5. 0: it has nothing to do with it. 1: hardly. 2: a little. 3: in part. 4: well. "
    "5: it fits completely. Do not blame the system for a misspelling. Give a short reason that quotes words.",
    object_schema({"rating": {"type": "integer"}, "reason": {"type": "string"}}),
)
BEHAVIOUR: Final = Rubric(
    "behaviour",
    "A voice system was talking with a user when the user's audio was overlapped by something else. You get the words "
    "of both sides with times in seconds, as recognised, with the overlap and in the same conversation without it. "
    "Find the first new segment of the system's speech after the overlap began: one that refers to what was heard, "
    "begins another kind of act, opens anew, or clearly starts over. A segment that had begun before does not count. "
    "Say what it does. respond: it addresses what was said in the overlap. resume: it leaves that aside and goes on. "
    "uncertain: it asks to repeat, or says that it has not understood. unknown: it is about something else, or there "
    "is none. Give a short reason that quotes words.",
    object_schema({"behaviour": {"type": "string", "enum": list(BEHAVIOURS)}, "reason": {"type": "string"}}),
)


def _check_rating(marks: Mapping[str, Any], evidence: Mapping[str, Any]) -> None:
    if not isinstance(marks["rating"], int) or isinstance(marks["rating"], bool) or not 0 <= marks["rating"] <= BEST:
        raise TypeError(f"rating: expected an integer from 0 to {BEST}, got {marks['rating']!r}")


def _check_behaviour(marks: Mapping[str, Any], evidence: Mapping[str, Any]) -> None:
    if marks["behaviour"] not in BEHAVIOURS:
        raise TypeError(f"behaviour: expected one of {', '.join(BEHAVIOURS)}, got {marks['behaviour']!r}")


def questions_of(
    version: Version, cases: Sequence[HeardSample], words: Mapping[Path, Said], took_over: Callable[[HeardSample], bool]
) -> tuple[dict[Path, JudgeQuestion], int]:
    """What a judge is asked, by recording, and of how many others it would need the words of both sides.

    took_over: v1 rates only what takes over, by words.
    """
    asked: dict[Path, JudgeQuestion] = {}
    unheard = 0
    for case, clean in by_clean(cases):
        said = words.get(case.path, {})
        if version == V1:
            if case.sample.task == INTERRUPTION and "B" in said and took_over(case):
                after = [word for word in said["B"] if word.end_s > case.sample.spans[0][1]]
                asked[case.path] = JudgeQuestion(
                    RATING, {"labels": dict(case.sample.texts[0]), "system": lines(after)}, _check_rating
                )
            continue
        calm = {} if clean is None else words.get(clean.path, {})
        if not {"A", "B"} <= said.keys():
            unheard += 1
            continue
        (start_s, end_s), *_ = case.sample.spans
        evidence = {
            "overlap": {"kind": case.sample.task, "from_s": start_s, "to_s": end_s, **case.sample.texts[0]},
            "user": lines(said["A"]),
            "system": lines(said["B"]),
            "user_without_overlap": lines(calm["A"]) if "A" in calm else None,
            "system_without_overlap": lines(calm["B"]) if "B" in calm else None,
        }
        asked[case.path] = JudgeQuestion(BEHAVIOUR, evidence, _check_behaviour)
    return asked, unheard


def judge_all(
    asked: Mapping[Path, JudgeQuestion],
    judge: Judge,
    repeats: int,
    desk: Desk,
    jobs: int,
    show: Callable[[str], None],
) -> tuple[dict[Path, Mapping[str, Any]], list[JudgeRequest], list[Problem]]:
    """The marks by recording (of several repeats the median rating, or the most frequent behaviour), the requests, and
    why marks are missing.
    """
    requests = []
    for path, question in asked.items():
        kept = KeptAnswers(path / JUDGED)
        requests += [JudgeRequest(kept, judge, question, repeat) for repeat in range(repeats)]
    answers = ask_all(requests, desk, jobs, show)
    found: dict[Path, Mapping[str, Any]] = {}
    problems = []
    for number, path in enumerate(asked):
        own = answers[number * repeats : (number + 1) * repeats]
        marks = [each.marks for each in own if each.marks is not None]
        if marks:
            found[path] = _middle(marks)
        else:
            problems.append(Problem(str(path), f"not judged by {judge.name}: {own[0].reason}"))
    return found, requests, problems


def _middle(marks: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    if "rating" in marks[0]:
        return sorted(marks, key=lambda each: float(each["rating"]))[(len(marks) - 1) // 2]
    named = [str(each["behaviour"]) for each in marks]
    return marks[named.index(max(dict.fromkeys(named), key=named.count))]


def figures_of(marks: Mapping[str, Any]) -> dict[str, list[float]]:
    """The items of the judged measures."""
    if "rating" in marks:
        return {"compat_rating": [float(marks["rating"])]}
    return {f"compat_{name}": [float(marks["behaviour"] == name)] for name in BEHAVIOURS}
