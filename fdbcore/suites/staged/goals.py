"""Results of a dialogue's goals, by the events of its examiner; those that are cut off or damaged are refused.

Goals that words decide may be met without being understood, by words that are said again and by a refusal: FLOORS.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Final

import numpy as np
from msgspec import Meta, Struct

from fdbcore.endpoints import SCRIPTED, Brief, Verdict
from fdbcore.measures import sayings_of
from fdbcore.types import TICKS_PER_S, Span
from fdbcore.types.examiner_events import GOAL, SAYS

MET: Final = "met"
UNMET: Final = "unmet"
NOT_HEARD: Final = "not heard"
NOT_REACHED: Final = "not reached"

_REFUSALS: Final = {
    "en": "I'm sorry, but I can't help with that.",
    "ja": "申し訳ありませんが、それはお手伝いできません。",
}
PARROT, RECITER, REFUSAL = "parrot", "reciter", "refusal"
FLOORS: Final = {
    PARROT: "says the user's last words",
    RECITER: "says all that the user has said so far",
    REFUSAL: f"always says “{_REFUSALS['en']}”, or the same in Japanese",
}
"""Each with what it does, in words."""


class GoalResult(Struct, frozen=True):
    """The result of a goal. start_s, end_s: from its first wording to the decision; null if it was not said.

    Sayings that were not heard by half or more count as none, and as no probes.
    """

    goal: str
    verdict: Verdict
    sayings: Annotated[int, Meta(description="wordings that it took")] = 0
    start_s: float | None = None
    end_s: float | None = None
    words: Annotated[
        str | None, Meta(description="what a transcriber heard of B after the call, where nobody listened during it")
    ] = None
    probes: Annotated[int | None, Meta(description="of them, those that ask for what is missing; null: not known")] = (
        None
    )
    floors: Annotated[
        list[str] | None, Meta(description="which of parrot, reciter, refusal meet it; null: words do not decide it")
    ] = None

    @property
    def is_recited(self) -> bool:
        """True if a reciter meets it: it does not count in goals met."""
        return RECITER in (self.floors or ())

    @property
    def ticks(self) -> Span | None:
        """From its first wording to the decision; None if it was not said."""
        if self.start_s is None or self.end_s is None:
            return None
        return round(self.start_s * TICKS_PER_S), round(self.end_s * TICKS_PER_S)


def goals_of(brief: Brief, events: Sequence[Mapping[str, Any]], n_ticks: int, actor: str) -> Iterator[GoalResult]:
    """The goals as the examiner (`actor`) logged them; one not left at the end was not reached, or not met."""
    left = {event["goal"]: event for event in events if event["kind"] == GOAL}
    floors = met_by_floors(brief) if actor == SCRIPTED else [None] * len(brief.goals)
    for number, (goal, own_floors) in enumerate(zip(brief.goals, floors, strict=True), 1):
        said, heard = wordings_of(events, number), heard_wordings(events, number)
        if not said and number not in left:
            yield GoalResult(goal.goal, NOT_REACHED, floors=own_floors)
            continue
        event = left.get(number, {"verdict": UNMET, "sayings": len(heard), "tick": n_ticks})
        start_s, end_s = (said[0]["tick"] / TICKS_PER_S, event["tick"] / TICKS_PER_S) if said else (None, None)
        probes = None
        if goal.probes and actor == SCRIPTED:
            probes = sum(each["saying"] == len(goal.sayings) for each in heard)
        yield GoalResult(goal.goal, event["verdict"], event["sayings"], start_s, end_s, None, probes, own_floors)


def wordings_of(events: Sequence[Mapping[str, Any]], number: int) -> list[Mapping[str, Any]]:
    """The events with which the examiner began to say something for a goal (its number, from 1)."""
    return [event for event in events if event["kind"] == SAYS and event.get("goal") == number]


def heard_wordings(events: Sequence[Mapping[str, Any]], number: int) -> list[Mapping[str, Any]]:
    """The same of those that were heard by half or more."""
    unheard = {each.start_tick for each in sayings_of(events) if not each.is_heard}
    return [event for event in wordings_of(events, number) if event["tick"] not in unheard]


def goal_values(goals: Sequence[GoalResult]) -> dict[str, float]:
    """Shares of goals met, where all are known; wordings, probes and seconds a goal that was said."""
    found: dict[str, float] = {}
    if all(goal.verdict != NOT_HEARD for goal in goals):
        shared = {"goals_met": [goal for goal in goals if not goal.is_recited], "all_goals_met": goals}
        found |= {name: sum(goal.verdict == MET for goal in own) / len(own) for name, own in shared.items() if own}
    said = [(goal, ticks) for goal in goals if (ticks := goal.ticks) is not None]
    if said:
        found["wordings"] = float(np.mean([goal.sayings for goal, _ in said]))
        if probes := [goal.probes for goal, _ in said if goal.probes is not None]:
            found["probes"] = float(np.mean(probes))
        found["goal_s"] = float(np.mean([(end - start) / TICKS_PER_S for _, (start, end) in said]))
    return found


def met_by_floors(brief: Brief) -> list[list[str]]:
    """For each goal which of FLOORS meet it, as answers to the first wordings of this goal and of those before it."""
    refusal = _REFUSALS.get(brief.language, _REFUSALS["en"])
    said: list[str] = []
    found = []
    for goal in brief.goals:
        said += goal.sayings[:1]
        words = {PARROT: " ".join(goal.sayings[:1]), RECITER: " ".join(said), REFUSAL: refusal}
        found.append([floor for floor in FLOORS if goal.is_met_by(words[floor])])
    return found
