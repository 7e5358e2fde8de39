"""Turns a scores document of staged dialogues into a scorecard, and shows single dialogues on the pages.

They have what became of each goal, and what a judge says of it, as a table and on the timeline.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from msgspec import to_builtins
from msgspec.structs import replace

from fdbcore.recording import converted
from fdbcore.report import counted, judging_took, number_text, render, scales_of, static, verdicts
from fdbcore.results import scorecard
from fdbcore.suites.staged import results_view
from fdbcore.suites.staged.cases import StagedItem
from fdbcore.suites.staged.curves import sentences
from fdbcore.suites.staged.document import StagedDocument, StagedJudging, statements
from fdbcore.suites.staged.goals import MET, NOT_HEARD, NOT_REACHED, UNMET, GoalResult
from fdbcore.suites.staged.replies import EXAMINER
from fdbcore.suites.staged.rows import EVENTS_MEAN, FAMILIES_MEAN, LABELS, SCALES, TERMS
from fdbcore.suites.staged.scenarios import MARKS
from fdbcore.types import TICKS_PER_S, clock_text
from fdbcore.types.remarks import CallRemarks, Remark, RemarkRow
from fdbcore.types.scorecard import Scorecard, ScoredCase, ScoreRow, SuiteViews

OURS: Final = "The examiner is ours: these rows do not stand beside published ones of another examiner and judge."
PUBLISHED: Final = (
    "What was published is of another examiner, other scenarios and another judge: it is shown beside, and nothing is "
    "tested against it. It has task scores, and turn-taking and instruction following from 0 to 75 s."
)

COLUMNS: Final = ("goal", "verdict", "wordings", "from", "to", "heard")
MARK_LABELS: Final = {name: LABELS[name] for name in MARKS}
POOR: Final = 2
"""Marks up to this one are hatched."""
UNMARKED: Final = "–"


class StagedViews(SuiteViews):
    """Passing, curves, what other transcribers, judges and wordings say, and the examiners; dialogues drawn."""

    def __init__(self, document: StagedDocument, card: Scorecard) -> None:
        self._document, self._card = document, card

    def details(self, width: int) -> Sequence[Sequence[str]]:
        """Means of families, passing, what other transcribers, judges and wordings say, and the examiners."""
        return results_view.details(self._document, self._card, width)

    def section(self) -> str:
        """Pass rates of systems, curves over time and by goal, what other setups say; the examiners themselves."""
        return results_view.section(self._document)

    def style(self) -> str:
        """The style of curves."""
        return static("results.css", __package__)

    def picture(self, case: ScoredCase) -> str:
        """The goals of a dialogue with what became of each, and its scores, as HTML."""
        item: StagedItem = converted(case.item, StagedItem)
        rows = [
            (
                f"{number}. {goal.goal}",
                [verdict, str(goal.sayings), _time(goal.start_s), _time(goal.end_s), goal.words or ""],
            )
            for number, goal in enumerate(item.goals, 1)
            for verdict in (f"{goal.verdict} (left out: a reciter meets it)" if goal.is_recited else goal.verdict,)
        ]
        return render("dialogue.html", __package__, columns=COLUMNS, rows=rows, facts=list(_scores(item)))

    def remarks(self, case: ScoredCase) -> CallRemarks:
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
            about = f"the judge's scores of each event, 1 to 5; hatched: {POOR} or less; {UNMARKED}: none"
            rows.append(RemarkRow("TT, IF", f"turn-taking and instruction following: {about}", [*_of_events(item)]))
        return CallRemarks(facts, rows)


def card(stored: Mapping[str, Any]) -> Scorecard:
    """The scorecard of a document as it is stored. A condition is a pacing of the examiner."""
    document: StagedDocument = converted(stored, StagedDocument)
    settings = document.settings
    is_ours = any(each.examiner != EXAMINER for each in document.conditions.values())
    systems = dict.fromkeys(item.system for item in document.items)
    pacings = dict.fromkeys(each.pacing for each in document.conditions.values())
    found = scorecard(
        "Staged dialogues",
        stored,
        SCALES,
        dict(_conditions(document)),
        {item.call for item in document.items},
        caption="Staged dialogues with an automated examiner; means over scenarios, CI: bootstrap over scenarios.",
        test=f"paired differences on the same scenarios; p by sign flips; Holm over {settings.family} comparisons",
        detectable=f"the least true difference found with power {settings.power:.0%} at this n",
        notes=(PUBLISHED,) if document.published else (OURS,) if is_ours else (),
        facts=[
            f"{len({item.scenario for item in document.items})} scenarios",
            f"systems: {', '.join(systems)}",
            f"pacing: {', '.join(pacings)}",
        ],
        subsets_by="family",
        conditions_by="pacing",
        terms=TERMS,
        evidence={"heard by": settings.transcriber or "the examiner", "judged by": settings.judge or "nobody"},
    )
    took = [] if document.judging is None else [_took(document.judging)]
    found = dataclasses.replace(
        found,
        rows=list(map(_shown, found.rows)),
        subsets=[_shown(row) for row in found.subsets if _says_more(row, document.rows)],
        statements=[
            *_told(found, dict(_conditions(document))),
            *sentences(document.findings),
            *statements(document.variants),
            *took,
        ],
        cases=list(_cases(document)),
    )
    return dataclasses.replace(found, views=StagedViews(document, found))


def _conditions(document: StagedDocument) -> Iterator[tuple[str, str]]:
    """The headings of the conditions, a pacing and an examiner each; then of what was published."""
    for name, each in document.conditions.items():
        yield name, each.heading
    if beside := document.published:
        for row in document.rows:
            if row.group == "published":
                pacing = row.condition.removeprefix("published ")
                yield row.condition, f"{pacing} examiner, {beside.label} ({beside.conditions}; means of families)"


def _told(card: Scorecard, headings: Mapping[str, str]) -> Iterator[str]:
    """Scores under each pacing, and which system is better: "Slow examiner: timing score a 0.98, b 0.80. ...".

    Pacings of one system are compared in sentences of their own.
    """
    for condition, heading in headings.items():
        rows = [row for row in card.rows if (row.condition, row.group) == (condition, "system")]
        names = [row.system for row in rows]
        known = [scale for scale in scales_of(card, rows) if scale.main]
        if not known:
            continue
        scores = [
            f"{scale.label} "
            + ", ".join(
                f"{row.system} {number_text(value, scale)}"
                for row in rows
                if (value := row.figure(scale).value) is not None
            )
            for scale in known
        ]
        compared = [each for each in card.differences if each.condition == condition and each.a in names]
        few = [
            f"Which is better cannot be told: {each}."
            for each in dict.fromkeys(filter(None, (one.too_few(card.level) for one in compared)))
        ]
        better = few or list(verdicts(dataclasses.replace(card, differences=compared), condition, names))
        yield " ".join([f"{heading.capitalize()}: {'; '.join(scores)}.", *better])


def _shown(row: ScoreRow) -> ScoreRow:
    """A row as the scorecard has it: how many dialogues a mean is over stands in the note of its row."""
    return replace(row, measures={name: replace(figure, n=None) for name, figure in row.measures.items()})


def _says_more(row: ScoreRow, rows: Sequence[ScoreRow]) -> bool:
    """True if a subset says more than others: means over families and events do, where there are intervals."""
    if row.group != "overall":
        return True
    own = [
        each for each in rows if each.group == "system" and (each.condition, each.system) == (row.condition, row.system)
    ]
    ns = {each.subset: each.n or 0 for each in own}
    return (row.subset == EVENTS_MEAN and ns[""] > 1) or (row.subset == FAMILIES_MEAN and min(ns.values()) > 1)


def _cases(document: StagedDocument) -> Iterator[ScoredCase]:
    names = {(each.pacing, each.examiner): name for name, each in document.conditions.items()}
    trials = max((item.trial for item in document.items), default=1)
    for item in document.items:
        verdicts = [goal.verdict for goal in item.goals]
        yield ScoredCase(
            names[item.pacing, item.examiner],
            item.system,
            item.scenario,
            ", ".join(_outcome(item, verdicts)),
            item.values,
            subset=item.family,
            note=f"trial {item.trial}" if trials > 1 else "",
            lang="en",
            tags={"goal": tuple(dict.fromkeys(verdicts)), "class": (item.class_,)},
            words=[goal.words or "" for goal in item.goals],
            item=cast("Mapping[str, Any]", to_builtins(item)),
            recording=item.call,
        )


def _outcome(item: StagedItem, verdicts: Sequence[str]) -> Iterator[str]:
    """The fate of the goals, or where nobody knows it how the system answered; the worst event of a judged one."""
    if {*verdicts} != {NOT_HEARD}:
        yield f"goals: {', '.join(verdicts)}"
    elif "timing" in item.values:
        yield f"{LABELS['timing']} {item.values['timing']:.2f}"
    marks = [(mark, event) for event in item.events for name in MARKS if (mark := event["marks"].get(name)) is not None]
    if marks:
        mark, event = min(marks, key=lambda each: each[0])
        yield f"worst event {mark:g} of 5 at {clock_text(event['from_s'])}"


def _took(judging: StagedJudging) -> str:
    """The cost of judging, in a sentence or two."""
    reasons = counted(judging["reasons"], "reason")
    unquoted = f" {judging['unquoted']:,} of {reasons} quote neither words nor a time." if judging["unquoted"] else ""
    return judging_took(judging, "these dialogues") + unquoted


def _scores(item: StagedItem) -> Iterator[tuple[str, str]]:
    """The scores of the whole dialogue, each with its reason if it has one."""
    measures = item.values
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


def _of_task(task: Mapping[str, Any]) -> Iterator[str]:
    score = task.get("score")
    yield "the judge cannot tell" if score is None else f"{score:g} of 5"
    if checks := task.get("checks"):
        answers = {True: "yes", False: "no", None: "cannot tell"}
        yield ", ".join(f"{name}: {answers[answer]}" for name, answer in checks.items())
    if reason := task.get("reason"):
        yield f"{reason}{_unquoted(task, 'score')}"


def _unquoted(marks: Mapping[str, Any], name: str) -> str:
    """A remark that the reason of a mark quotes nothing, if so."""
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
