"""The dialogues of runs, as they are scored: none counts twice, and a name means one system."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
from msgspec import Meta, Struct, field

from fdbcore.analysis import LostCall, held_calls, read_or_lost, what_decides
from fdbcore.endpoints import PACINGS, SCRIPTED, Brief
from fdbcore.errors import InputError, RecordingError
from fdbcore.measures import (
    Dialogue,
    Examined,
    Quantity,
    Reading,
    ScoredMoment,
    Share,
    Values,
    examined_in,
    fault,
    headlines,
    items_of,
    recovery_quantities,
    stop_share,
    stops,
    timing_quantities,
    timing_scores,
)
from fdbcore.recording import (
    EVENTS,
    KeptLabels,
    PlannedCase,
    PlannedRun,
    converted,
    outcome_in,
    read_plan,
    state_of_case,
)
from fdbcore.suites.staged.goals import GoalResult, goal_values, goals_of
from fdbcore.types import TICKS_PER_S, Problem
from fdbcore.types.examiner_events import ENDS, GOAL, SAID, SAYS, SPOKE_FIRST

TIMING: Final = tuple(name for name in headlines() if name != "response_latency_ms")
"""The measures of timing that are scales here: what runs are compared by. Answer times have a scale of their own."""

PLANTED: Final = (
    stop_share("interruption"), stop_share("distraction"), "b_selectivity",
    "b_recovery_latency_ms_per_labelled_interruption",
)  # fmt: skip
"""The same of those that need what the examiner planted: its interruptions and backchannels."""

BY_CHANCE: Final = {
    f"{name}_by_chance": name
    for name in ("b_stopped_within_2s_per_long_a_onset", stop_share("interruption"), stop_share("distraction"))
}
"""Stop rates of a system that hears nothing, each with the measure that it stands beside."""

PROVEN: Final = (
    "left_role", "off_script", "unstated", "closed_early", "in_pause", "cut_in", "not_yielded", "too_soon", "too_late",
    "contradicted", "deaf", "stalled", "muted",
)  # fmt: skip
"""Counts on an examiner, each with its proof; fields of `Examined`."""

_LONGEST_PAUSE_TICKS: Final = 3 * TICKS_PER_S
"""Within one saying."""


class ExaminerProof(Struct, frozen=True):
    """The place in a recording where something shows. what: the event, in words."""

    tick: int
    what: str


class StagedExamined(Struct, frozen=True):
    """The behaviour of a dialogue's examiner."""

    opened: Annotated[bool | None, Meta(description="it spoke before the system; null if neither spoke")]
    sayings: Annotated[int, Meta(description="what it said for goals, and its closing statement")]
    reactions_ms: list[int]
    fault: Annotated[str | None, Meta(description="why the call is invalid by the rule, if it is not held to it")]
    proofs: Annotated[dict[str, list[ExaminerProof]], Meta(description="by what is counted of an examiner")]

    @classmethod
    def of(cls, found: Examined) -> "StagedExamined":
        """An examiner in one call."""
        proofs = {name: [ExaminerProof(each.tick, each.what) for each in getattr(found, name)] for name in PROVEN}
        given = {name: own for name, own in proofs.items() if own}
        return cls(found.opened, found.sayings, list(found.reactions_ms), fault(found), given)


class StagedItem(Struct):
    """A dialogue."""

    call: Annotated[str, Meta(description="folder of its recording")]
    system: str
    trial: int
    scenario: str
    family: str
    class_: str
    pacing: str
    language: str
    goals: Sequence[GoalResult]
    examiner: Annotated[str, Meta(description="who plays side A; different ones are never put together")] = SCRIPTED
    reason: Annotated[str | None, Meta(description="why it ended early")] = None
    spoke_first: Annotated[bool, Meta(description="the system spoke before the examiner had opened")] = False
    only_echo: Annotated[bool, Meta(description="all that the system said is echo of the examiner")] = False
    examined: Annotated[StagedExamined | None, Meta(description="null: it cannot be told")] = None
    values: Annotated[dict[str, float], Meta(description="by scale; what is not known is left out")] = field(
        name="measures", default_factory=dict
    )
    events: Annotated[list[dict[str, Any]], Meta(description="those that a judge marked, with its reasons")] = []
    task: Annotated[dict[str, Any] | None, Meta(description="the judge's score of the dialogue, with its reason")] = (
        None
    )


class StagedCase(StagedItem):
    """A dialogue while it is scored.

    seed: of the examiner; examination: what it did. has_task_score: a judge was asked for the score of its family, and
    may have left it out. draws: of one that was judged several times, its judged values by other sets of repeats, which
    its interval draws from.
    """

    seed: int = 0
    examination: Examined | None = None
    has_task_score: bool = False
    draws: Sequence[dict[str, float]] = ()
    moments: Sequence[ScoredMoment] = ()

    @property
    def path(self) -> Path:
        """The folder of its recording."""
        return Path(self.call)

    @property
    def item(self) -> StagedItem:
        """The dialogue as it was scored."""
        return StagedItem(*(getattr(self, name) for name in StagedItem.__struct_fields__))

    @property
    def is_recited(self) -> bool:
        """True if a reciter meets all of its goals: then it has no goals met."""
        return bool(self.goals) and all(goal.is_recited for goal in self.goals)


def dialogues_of(
    runs: Sequence[Path], show: Callable[[str], None]
) -> tuple[list[StagedCase], list[LostCall], list[Problem]]:
    """The dialogues of runs that are scored, the others, and copies. InputError for two systems of one name."""
    plans = {run: read_plan(run) for run in runs}
    _refuse_namesakes(plans)
    cases: list[StagedCase] = []
    lost: list[LostCall] = []
    for run, plan in plans.items():
        own, own_lost = cases_of(run, plan, show)
        cases += own
        lost += own_lost
    return _without_copies(cases, lost)


def _refuse_namesakes(plans: Mapping[Path, PlannedRun]) -> None:
    """InputError if runs of a scenario call different systems by one name; over others they may differ in part."""
    systems = {run: plan["plan"]["systems"] for run, plan in plans.items()}
    scenarios = {
        run: {case.get("columns", {}).get("scenario") for case in plan["cases"]} for run, plan in plans.items()
    }
    for one, other in combinations(plans, 2):
        if not scenarios[one] & scenarios[other]:
            continue
        for name in systems[one].keys() & systems[other].keys():
            a, b = what_decides(systems[one][name]), what_decides(systems[other][name])
            if a != b:
                differs = ", ".join(sorted(key for key in a.keys() | b.keys() if a.get(key) != b.get(key)))
                raise InputError(
                    f"{one}, {other}: expected one system named {name}, got two that differ ({differs}):"
                    " score each run alone, or hold one again under another name (--system NAME=ADDRESS)"
                )


def _without_copies(
    cases: Sequence[StagedCase], lost: Sequence[LostCall]
) -> tuple[list[StagedCase], list[LostCall], list[Problem]]:
    """The calls without copies of a recording that is among them, and what is left out by this."""
    first: dict[tuple[str, str, str], Path] = {}
    problems = []
    calls: list[StagedCase | LostCall] = [*cases, *lost]
    for each in calls:
        meta = state_of_case(each.path)
        if "created" in meta:
            kept = first.setdefault((each.system, each.path.name, meta["created"]), each.path)
            if kept != each.path:
                problems.append(Problem(str(each.path), f"left out: it is the same recording as {kept}"))
    left_out = {problem.where for problem in problems}
    return (
        [case for case in cases if str(case.path) not in left_out],
        [case for case in lost if str(case.path) not in left_out],
        problems,
    )


def cases_of(run: Path, plan: PlannedRun, show: Callable[[str], None]) -> tuple[list[StagedCase], list[LostCall]]:
    """The dialogues of a run that are scored, silent ones too, and the others."""
    found: list[StagedCase] = []
    lost: list[LostCall] = []
    for path, planned in held_calls(run, plan, lost, show):
        with read_or_lost(path, planned, lost):
            found.append(_case(path, planned))
    return found, lost


def place_of(lost: LostCall) -> tuple[str, str]:
    """The pacing and the examiner of a call that is not scored."""
    return lost.columns.get("pacing", ""), lost.columns.get("examiner", SCRIPTED)


def examiner_of(party: Mapping[str, Any]) -> str:
    """The name of who plays side A, as the examiner describes itself; with who opens, if that is not by its pacing."""
    name = _actor_of(party)
    pacing = party.get("pacing", {})
    known = PACINGS.get(pacing.get("name", ""))
    opens = pacing.get("opens")
    return name if known is None or opens in (None, known.opens) else f"{name}, opens: {opens}"


def _actor_of(party: Mapping[str, Any]) -> str:
    actor = party.get("actor", SCRIPTED)
    return actor if isinstance(actor, str) else str(actor["name"])


def _case(path: Path, planned: PlannedCase) -> StagedCase:
    outcome, recording = outcome_in(path), Reading(path)
    examiner = recording.meta["parties"]["A"]
    if examiner["kind"] != "examiner":
        raise InputError(f"expected an examiner at side A, got {examiner['kind']}")
    brief: Brief = converted(examiner["brief"], Brief)
    recording.check()
    refuse_damaged_events(recording, len(brief.goals))
    events = [event for event in recording.events if event["side"] == "A"]
    goals = list(goals_of(brief, events, recording.n_ticks, _actor_of(examiner)))
    values, columns, examination = goal_values(goals), planned.get("columns", {}), examined_in(recording)
    case = StagedCase(
        call=str(path),
        system=planned["system"],
        trial=planned["trial"],
        scenario=brief.id,
        family=columns.get("family", brief.id.partition(".")[0]),
        class_=columns.get("class", ""),
        pacing=examiner["pacing"]["name"],
        language=brief.language,
        goals=goals,
        examiner=examiner_of(examiner),
        reason=outcome["reason"] if outcome else None,
        spoke_first=any(event["kind"] == SPOKE_FIRST for event in events),
        only_echo=bool(recording.suspect_spans["B"]) and not len(recording.dialogue.ipus["B"]),
        seed=examiner["seed"],
        examined=None if examination is None else StagedExamined.of(examination),
        values=values,
        examination=examination,
    )
    _time(case, recording.dialogue)
    if recording.labels is not None:
        case.values.update(_planted(recording.dialogue, recording.labels))
    return case


def refuse_damaged_events(recording: Reading, n_goals: int) -> None:
    """RecordingError if events.jsonl does not tell all that the examiner did.

    Recordings of earlier versions do not say how many lines it had. Its end may be missing where it had none: the
    system left, or time was up. Then its last words are the last told.
    """
    events = [event for event in recording.events if event["side"] == "A"]
    _refuse_gaps(events, n_goals)
    closes = ((each["kind"], each.get("what")) for each in events)  # earlier examiners only say their closing statement
    if not any(kind == ENDS or (kind, what) == (SAYS, "closing") for kind, what in closes):
        _refuse_untold_speech(recording, [event for event in events if event["kind"] in (SAYS, SAID)])


def _refuse_gaps(events: Sequence[Mapping[str, Any]], n_goals: int) -> None:
    """RecordingError if it leaves goals out of order, or does not stop before it says the next."""
    left, speaks = 0, False
    for event in events:
        at = f" at {event['tick'] / TICKS_PER_S:.2f} s"
        if event["kind"] == GOAL:
            left += 1
            if event["goal"] != left:
                raise _damaged(f"the end of goal {left}", f": goal {event['goal']} ends{at}")
        elif event["kind"] == SAYS:
            if speaks:
                raise _damaged("the end of what the examiner says", f" before it speaks again{at}")
            if "goal" in event and event["goal"] != left + 1:
                raise _damaged(f"the end of goal {left + 1}", f": goal {event['goal']} is said{at}")
        elif event["kind"] == SAID and not speaks:
            raise _damaged("the begin of what the examiner says", f": it stops{at}")
        elif event["kind"] == ENDS and left < n_goals:
            raise _damaged(f"the end of goal {left + 1}", f": the examiner ends{at}")
        if event["kind"] in (SAYS, SAID):
            speaks = event["kind"] == SAYS


def _refuse_untold_speech(recording: Reading, events: Sequence[Mapping[str, Any]]) -> None:
    """RecordingError if the examiner speaks after its last event, or falls silent while it should still speak."""
    last_tick = events[-1]["tick"] if events else -1
    spoken = recording.dialogue.ipus["A"]
    untold = spoken[spoken[:, 0] > last_tick]
    if events and events[-1]["kind"] == SAYS:
        starts, ends = [*untold[:, 0], recording.n_ticks], [last_tick, *untold[:, 1]]
        is_untold = any(start - end > _LONGEST_PAUSE_TICKS for start, end in zip(starts, ends, strict=True))
    else:
        is_untold = len(untold) > 0
    if is_untold:
        raise _damaged("what the examiner does", f" from {max(last_tick, 0) / TICKS_PER_S:.2f} s on")


def _damaged(what: str, where: str = "") -> RecordingError:
    return RecordingError(f"{EVENTS}: {what} is missing or damaged{where}")


def _time(case: StagedCase, dialogue: Dialogue) -> None:
    """Take in the timing of B, from its turn events and from what the examiner broke off."""
    quantities = timing_quantities(dialogue)
    case.moments = timing_scores(dialogue)
    if case.moments:
        case.values["timing"] = float(np.mean([each.score for each in case.moments]))
    if dialogue.sayings:
        case.values["talked_over"] = len(dialogue.cut_short) / len(dialogue.sayings)
    for scale, measure in {"answer_ms": "response_latency_ms", **{name: name for name in TIMING}}.items():
        if (value := _figure(quantities[measure])) is not None:
            case.values[scale] = value
    case.values.update(_by_chance(quantities))


def _by_chance(quantities: Mapping[str, Quantity]) -> Iterator[tuple[str, float]]:
    """The scales of BY_CHANCE, where there was something to stop for."""
    for scale, name in BY_CHANCE.items():
        quantity = quantities.get(name)
        if isinstance(quantity, Share) and quantity.n and quantity.chance is not None:
            yield scale, float(quantity.chance)


def _planted(dialogue: Dialogue, labels: KeptLabels) -> dict[str, float]:
    """B's reactions to what the examiner planted: its stops, their difference, and when it speaks again."""
    quantities = stops(dialogue, labels) | recovery_quantities(dialogue, labels, None)
    found = {name: value for name in PLANTED if name in quantities and (value := _figure(quantities[name])) is not None}
    interruption, distraction, selectivity, _ = PLANTED
    if interruption in found and distraction in found:
        found[selectivity] = found[interruption] - found[distraction]
    return found | dict(_by_chance(quantities))


def _figure(quantity: Quantity) -> float | None:
    """A quantity of one dialogue as a number: the median of values, a share or a rate."""
    items, middle = items_of(quantity), np.median if isinstance(quantity, Values) else np.mean
    return float(middle(items)) if items else None
