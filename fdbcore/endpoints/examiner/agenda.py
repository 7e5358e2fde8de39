"""How far an examiner is with its goals: which saying comes next, and what becomes of each goal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from fdbcore.endpoints.examiner.brief import Brief, Goal

Verdict = Literal["met", "unmet", "not heard", "not reached"]


@dataclass(slots=True)
class Progress:
    """Of one goal. most: how many sayings there are for it, after which it is unmet. sayings: how many were said.

    since_tick: of the first one. verdict: None until the goal is left.
    """

    goal: Goal
    most: int
    sayings: int = 0
    since_tick: int | None = None
    verdict: Verdict | None = None


class Agenda:
    """The goals of a brief in their order. insists: only a met goal leads on, if it can be heard whether it is.

    most: how often a goal is said; None: once for each of its sayings.
    """

    def __init__(self, brief: Brief, insists: bool, most: int | None = None) -> None:
        self.progress: Sequence[Progress] = [Progress(goal, most or len(goal.sayings)) for goal in brief.goals]
        self._insists = insists
        self._at = 0
        self._is_cut = False  # the present saying broke off before half of it was said

    @property
    def present(self) -> Progress | None:
        """The goal that is pursued now; None once all are left."""
        return self.progress[self._at] if self._at < len(self.progress) else None

    @property
    def number(self) -> int:
        """Of the present goal, from 1."""
        return self._at + 1

    @property
    def following(self) -> Progress | None:
        """The goal after the present one."""
        return self.progress[self._at + 1] if self._at + 1 < len(self.progress) else None

    @property
    def is_last_saying(self) -> bool:
        """Whether an answer that does not meet the present goal leaves it unmet."""
        present = self.progress[self._at]
        return not self._insists and present.sayings >= present.most

    def say(self, tick: int) -> int:
        """The present goal's next saying begins in `tick`; returns its index, 0 if the brief has no words for it."""
        present = self.progress[self._at]
        present.sayings += 1
        self._is_cut = False
        if present.since_tick is None:
            present.since_tick = tick
        return (present.sayings - 1) % max(1, len(present.goal.sayings))

    def cut(self) -> None:
        """The saying broke off before half of it was said: an answer to it decides nothing while others are left."""
        self._is_cut = True

    def answered(self, words: str | None) -> Progress | None:
        """The system has answered, or let its chance pass. Returns the goal if it is left now.

        words: what the system said for the goal; None if nobody listened.
        """
        present = self.progress[self._at]
        if self._is_cut and present.sayings < present.most:
            return None
        if words is None or not present.goal.heard:
            return self._leave("not heard")
        return self.judged(present.goal.is_met_by(words))

    def judged(self, met: bool) -> Progress | None:
        """Somebody has judged whether the present goal is met. Returns it if it is left now."""
        if met:
            return self._leave("met")
        return self._leave("unmet") if self.is_last_saying else None

    def unanswered(self) -> Progress | None:
        """The system said nothing. Returns the goal if it is left now, because all was said for it."""
        return self.judged(False)

    def judge(self, is_met: bool) -> Progress:
        """The present goal is left because somebody else judged it."""
        return self._leave("met" if is_met else "unmet")

    def drop_the_rest(self) -> list[Progress]:
        """No goal is pursued any more; returns those that are left by this."""
        left = list(self.progress[self._at :])
        for each in left:
            each.verdict = "unmet" if each.sayings else "not reached"
        self._at = len(self.progress)
        return left

    def _leave(self, verdict: Verdict) -> Progress:
        left = self.progress[self._at]
        left.verdict = verdict
        self._at += 1
        return left
