"""The types of acts, of replies in calls and of turns, as the documents of the suite have them.

They need msgspec, and are for type checkers and for the schemas: nothing at run time imports this module.
"""

from __future__ import annotations

from typing import Annotated, NotRequired, TypeAlias, TypedDict

from msgspec import Meta

from fdbcore.suites.dialogue_acts.turns.spoken import Part
from fdbcore.types import Side

Interval: TypeAlias = Annotated[tuple[float, float] | None, Meta(description="95 %; null where there is none")]


class ActJson(TypedDict):
    """An act of a reply. importance: its share of the reply."""

    act: str
    importance: float
    words: NotRequired[Annotated[str, Meta(description="that it stands for, as the annotator quotes them")]]
    is_quote: NotRequired[Annotated[bool, Meta(description="false where the reply does not have these words")]]
    rationale: NotRequired[str]


class SaidApartJson(TypedDict):
    """What a live party said beside its reply."""

    part: Annotated[str, Meta(description="before its reply, in a further turn, or aside")]
    start_s: float
    end_s: float
    text: Annotated[str | None, Meta(description="null if its words are not known")]


class LiveReplyJson(TypedDict):
    """Where a reply lies in its call."""

    call: Annotated[str, Meta(description="the folder of the recording")]
    start_s: Annotated[float | None, Meta(description="null if there is no reply")]
    end_s: float | None
    after_s: Annotated[float | None, Meta(description="from the end of the user's turn; negative if both spoke")]
    apart: list[SaidApartJson]


class TurnActs(TypedDict):
    """The acts of a turn as one annotator labels them."""

    annotator: str
    repeat: int
    steps: list[ActJson]


class TurnJson(TypedDict):
    """A turn of a side."""

    side: Side
    number: Annotated[int, Meta(description="among the turns of its side in the call, from 1")]
    part: Annotated[
        Part, Meta(description="before the other side's first turn, the first after one of them, or a further one")
    ]
    after: Annotated[int, Meta(description="how many turns of the other side had begun before it")]
    start_s: float
    end_s: float
    text: Annotated[str | None, Meta(description="null if its words are not known")]
    words_by: Annotated[str, Meta(description='"told" by the party itself, or the recogniser that heard them')]
    acts: list[TurnActs]


class CallOfTurns(TypedDict):
    """A call with its turns, in their order."""

    system: str
    call: str
    user: str
    path: str
    length_s: float
    turns: list[TurnJson]
    asides: Annotated[dict[Side, int], Meta(description="stretches of speech that took no floor; they have no acts")]


class ActShare(TypedDict):
    """How much of the turns an act is."""

    share: Annotated[float, Meta(description="mean importance per turn")]
    ci95: Interval
    turns: Annotated[float, Meta(description="share of the turns that have the act")]


class SideShares(TypedDict):
    """The acts of a side of the calls of a system. ci95: resamples calls, those with one recorded user together."""

    system: str
    side: Side
    annotator: str
    calls: int
    turns: Annotated[int, Meta(description="that are annotated")]
    acts: dict[str, ActShare]


class WhatFollows(TypedDict):
    """What B's next turn is after an act of A, weighted by the importance of that act in A's turn."""

    system: str
    annotator: str
    act: str
    turns: Annotated[int, Meta(description="of A that have the act, and whose answer is known")]
    next: Annotated[dict[str, float], Meta(description="shares of what B says then; with no_reply they sum to 1")]
    no_reply: float


class QuarterShares(TypedDict):
    """The acts of the turns of a side that begin in one quarter of their calls."""

    system: str
    side: Side
    annotator: str
    quarter: int
    turns: int
    acts: Annotated[dict[str, float], Meta(description="mean importance per turn; empty without turns")]


class TurnsJson(TypedDict):
    """The turns of calls, and how their acts are distributed."""

    locale: str
    calls: list[CallOfTurns]
    shares: list[SideShares]
    follows: list[WhatFollows]
    quarters: list[QuarterShares]
