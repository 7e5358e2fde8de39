"""What goals that words decide are met without being understood: by words that are said again, and by a refusal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fdbcore.endpoints.examiner.brief import Brief

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


def met_by_floors(brief: Brief) -> list[Sequence[str]]:
    """For each goal which of FLOORS meet it, as answers to the first wordings of this goal and of those before it."""
    refusal = _REFUSALS.get(brief.language, _REFUSALS["en"])
    said: list[str] = []
    found: list[Sequence[str]] = []
    for goal in brief.goals:
        said += goal.sayings[:1]
        words = {PARROT: " ".join(goal.sayings[:1]), RECITER: " ".join(said), REFUSAL: refusal}
        found.append([floor for floor in FLOORS if goal.is_met_by(words[floor])])
    return found
