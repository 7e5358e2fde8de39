"""One dialogue on the pages: what became of each goal, and what a judge says of it, as a table and on the timeline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from fdbcore.recording.form import converted
from fdbcore.report.format import counted
from fdbcore.report.html.templates import render
from fdbcore.suites.staged.document import StagedItem
from fdbcore.suites.staged.families import MARKS
from fdbcore.suites.staged.goals import MET, NOT_HEARD, NOT_REACHED, UNMET, GoalResult
from fdbcore.suites.staged.scales import LABELS
from fdbcore.types import TICKS_PER_S, clock_text
from fdbcore.types.remarks import CallRemarks, Remark, RemarkRow
from fdbcore.types.scorecard import ScoredCase

PACKAGE: Final = "fdbcore.suites.staged"
COLUMNS: Final = ("goal", "verdict", "wordings", "from", "to", "heard")
MARK_LABELS: Final = {name: LABELS[name] for name in MARKS}
POOR: Final = 2
"""Marks up to this one are hatched."""
UNMARKED: Final = "–"


def picture(case: ScoredCase) -> str:
    """The goals of a dialogue with what became of each, and its scores, as HTML."""
    item: StagedItem = converted(case.item, StagedItem)
    rows = [
        (
            f"{number}. {goal.goal}",
            [_verdict(goal), str(goal.sayings), _time(goal.start_s), _time(goal.end_s), goal.words or ""],
        )
        for number, goal in enumerate(item.goals, 1)
    ]
    return render("dialogue.html", PACKAGE, columns=COLUMNS, rows=rows, facts=list(_scores(item)))


def remarks(case: ScoredCase) -> CallRemarks:
    """Its goals and its judged events as remarks on spans of the call; its scores as facts."""
    item: StagedItem = converted(case.item, StagedItem)
    facts = [
        ("dialogue", f"{item.scenario} ({item.family}, {item.class_}), trial {item.trial}"),
        ("system", item.system),
        ("examiner", item.pacing),
        *_scores(item),
    ]
    goals = [_of_goal(number, goal) for number, goal in enumerate(item.goals, 1) if goal.start_s is not None]
    rows = [RemarkRow("goals", "from its first wording to the decision; hatched: unmet", goals, is_first=True)]
    if item.events:
        about = f"the judge's marks of each event, 1 to 5; hatched: {POOR} or less; {UNMARKED}: none"
        rows.append(RemarkRow("TT, IF", f"turn-taking and instruction following: {about}", [*_of_events(item)]))
    return CallRemarks(facts, rows)


def _scores(item: StagedItem) -> Iterator[tuple[str, str]]:
    """The scores of the whole dialogue, each with its reason if it has one."""
    measures = item.measures
    verdicts = [goal.verdict for goal in item.goals if not goal.is_recited]
    unknown = f", not known of {verdicts.count(NOT_HEARD)}" if NOT_HEARD in verdicts else ""
    recited = len(item.goals) - len(verdicts)
    left_out = f", {recited} left out that a reciter meets" if recited else ""
    yield "goals met", f"{verdicts.count(MET)} of {len(verdicts)}{unknown}{left_out}"
    for number, goal in enumerate(item.goals, 1):
        if goal.verdict == NOT_REACHED:
            yield f"goal {number} not reached", goal.goal
    for name, label in MARK_LABELS.items():
        if name in measures:
            yield label, f"{measures[name]:.2f} of 5, mean of its events"
    if (task := item.task) is not None:
        yield "task score", " · ".join(_of_task(task))
    if "timing" in measures:
        yield "timing score", f"{measures['timing']:.2f} of 1"
    if item.only_echo:
        yield "outcome", "all that the system said is echo of the examiner"
    if item.reason is not None:
        yield "outcome", item.reason


def _verdict(goal: GoalResult) -> str:
    return f"{goal.verdict} (left out: a reciter meets it)" if goal.is_recited else goal.verdict


def _of_task(task: Mapping[str, Any]) -> Iterator[str]:
    score = task.get("score")
    yield "the judge cannot tell" if score is None else f"{score:g} of 5"
    if checks := task.get("checks"):
        answers = {True: "yes", False: "no", None: "cannot tell"}
        yield ", ".join(f"{name}: {answers[answer]}" for name, answer in checks.items())
    if reason := task.get("reason"):
        yield f"{reason}{_unquoted(task, 'score')}"


def _unquoted(marks: Mapping[str, Any], name: str) -> str:
    """That the reason of a mark quotes nothing, if so."""
    return " (quotes nothing)" if name in marks.get("unquoted", ()) else ""


def _of_goal(number: int, goal: GoalResult) -> Remark:
    start_s, end_s = goal.start_s or 0.0, goal.end_s
    lines = [counted(goal.sayings, "wording"), *([f"heard: {goal.words}"] if goal.words else [])]
    return Remark(
        round(start_s * TICKS_PER_S),
        round((start_s if end_s is None else end_s) * TICKS_PER_S),
        f"{number} {goal.verdict}",
        f"Goal {number}, {goal.verdict}: {goal.goal}",
        lines,
        goal.verdict == UNMET,
    )


def _of_events(item: StagedItem) -> Iterator[Remark]:
    for event in item.events:
        given = {name: event["marks"].get(name) for name in MARKS}
        known = [mark for mark in given.values() if mark is not None]
        shown = {name: UNMARKED if mark is None else f"{mark:g}" for name, mark in given.items()}
        told = ", ".join(f"{label} {shown[name]}" for name, label in MARK_LABELS.items())
        reasons = ((name, label, event["marks"].get(f"{name}_reason")) for name, label in MARK_LABELS.items())
        yield Remark(
            round(event["from_s"] * TICKS_PER_S),
            round(event["to_s"] * TICKS_PER_S),
            ", ".join(shown.values()),
            f"Event {event['event']}, {event['kind']}: {told}",
            [f"{label}{_unquoted(event['marks'], name)}: {reason}" for name, label, reason in reasons if reason],
            any(mark <= POOR for mark in known),
        )


def _time(seconds: float | None) -> str:
    return "" if seconds is None else clock_text(seconds)
