"""An examiner's progress with its goals: which saying comes next, and what becomes of each goal."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from fdbcore.endpoints.examiner.brief import Brief, Goal

Verdict = Literal["met", "unmet", "not heard", "not reached"]


@dataclass(slots=True)
class Progress:
    """Of one goal. most: how many sayings there are for it, after which it is unmet. sayings: how many were said and
    heard by half or more. since_tick: of the first one, heard or not. is_unheard: nobody listened to an answer.
    verdict: None until the goal is left.
    """

    goal: Goal
    most: int
    sayings: int = 0
    since_tick: int | None = None
    is_unheard: bool = False
    verdict: Verdict | None = None


class Agenda:
    """The goals of a brief in their order. insists: only a met goal leads on, if it can be heard whether it is.

    most: how often a goal is said; None: once for each of its sayings.
    """

    def __init__(self, brief: Brief, insists: bool, most: int | None = None) -> None:
        self.progress: Sequence[Progress] = [Progress(goal, most or len(goal.sayings)) for goal in brief.goals]
        self._insists = insists
        self._at = 0
        self.is_cut = False  # less than half of the last saying was heard: an answer to it decides nothing
        self._is_saying = False  # for the present goal

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
        """True if an answer that does not meet the present goal leaves it unmet."""
        present = self.progress[self._at]
        return not self._insists and present.sayings >= present.most

    @property
    def is_put_once(self) -> bool:
        """True if the present goal was said once, and there is another wording: to break in then leaves no goal."""
        present = self.present
        return present is not None and present.sayings == 1 < present.most and not self.is_cut

    def say(self, tick: int) -> int:
        """The present goal's next saying begins in `tick`; returns its index, 0 if the brief has no words for it."""
        present = self.progress[self._at]
        present.sayings += 1
        self.is_cut, self._is_saying = False, True
        if present.since_tick is None:
            present.since_tick = tick
        return (present.sayings - 1) % max(1, len(present.goal.sayings))

    def ended(self, is_heard: bool) -> None:
        """The saying is over. is_heard: half of it or more was; otherwise it does not count, and is said again.

        What goes on after it is part of it.
        """
        if self._is_saying and not is_heard:
            self.progress[self._at].sayings -= 1
            self.is_cut = True
        self._is_saying = False

    def answered(self, words: str | None, is_whole: bool = True) -> Progress | None:
        """The system has answered, or let its chance pass. Returns the goal if it is left now.

        words: what the system said for the goal; None if nobody listened. is_whole: False if it was broken into.
        """
        present = self.progress[self._at]
        if not self.is_cut and (words is None or not present.goal.heard):
            present.is_unheard = True
            return self._leave("not heard") if is_whole or not self.is_put_once else None
        return self.judged(self.is_met_by(words or ""))

    def is_met_by(self, words: str) -> bool:
        """True if what the system said for it meets the present goal."""
        present = self.present
        return present is not None and not self.is_cut and present.goal.is_met_by(words)

    def judged(self, met: bool) -> Progress | None:
        """Somebody has judged whether the present goal is met. Returns it if it is left now."""
        if self.is_cut:
            return None
        if met:
            return self._leave("met")
        return self._leave("unmet") if self.is_last_saying else None

    def unanswered(self) -> Progress | None:
        """The system said nothing. Returns the goal if it is left now, because all was said for it."""
        if self.progress[self._at].is_unheard and self.is_last_saying:
            return self._leave("not heard")
        return self.judged(False)

    def judge(self, is_met: bool) -> Progress:
        """The present goal is left because somebody else judged it."""
        return self._leave("met" if is_met else "unmet")

    def drop_the_rest(self) -> list[Progress]:
        """No goal is pursued any more; returns those that are left by this."""
        left = list(self.progress[self._at :])
        for each in left:
            each.verdict = "not reached" if each.since_tick is None else "not heard" if each.is_unheard else "unmet"
        self._at, self._is_saying = len(self.progress), False
        return left

    def _leave(self, verdict: Verdict) -> Progress:
        left = self.progress[self._at]
        left.verdict = verdict
        self.is_cut = self._is_saying = False
        self._at += 1
        return left
