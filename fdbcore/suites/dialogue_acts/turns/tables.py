"""How the acts of turns are distributed, what follows which act, and how that changes over a call.

Everything is computed from the turns of the document, so a reader can compute it again. The weight of an act in a turn
is the sum of its importances there, the mean over annotations of the turn by one annotator.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from fdbcore.stats.bootstrap import bootstrap_ci
from fdbcore.types import SIDES, Side

if TYPE_CHECKING:
    from fdbcore.suites.dialogue_acts.act_types import CallOfTurns, QuarterShares, SideShares, TurnJson, WhatFollows

QUARTERS: Final = 4


def weights(turn: TurnJson, annotator: str, acts: Sequence[str]) -> Mapping[str, float] | None:
    """The weight of each act of a turn as an annotator labels it; None if it did not."""
    own = [one["steps"] for one in turn["acts"] if one["annotator"] == annotator]
    if not own:
        return None
    return {
        act: sum(step["importance"] for steps in own for step in steps if step["act"] == act) / len(own) for act in acts
    }


def shares(calls: Sequence[CallOfTurns], acts: Sequence[str]) -> Iterator[SideShares]:
    """The acts of each system's side B and of its users' side A. Calls with one recorded user are one cluster."""
    for system, annotator, side, found in _sides(calls, acts):
        users = [call["user"] for call, _, _ in found]
        values = {act: np.array([weight[act] for _, _, weight in found]) for act in acts}
        yield {
            "system": system,
            "side": side,
            "annotator": annotator,
            "calls": len({call["path"] for call, _, _ in found}),
            "turns": len(found),
            "acts": {
                act: {
                    "share": float(value.mean()),
                    "ci95": bootstrap_ci(value, users).interval,
                    "turns": float((value > 0).mean()),
                }
                for act, value in values.items()
            },
        }


def follows(calls: Sequence[CallOfTurns], acts: Sequence[str]) -> Iterator[WhatFollows]:
    """For each act of A: what B's reply to such turns is.

    A turn of A that B did not answer before A's next one has no reply. A's last turn in a call counts only if B
    answered it: the call may have ended before.
    """
    for system, annotator, own in _by_annotator(calls):
        pairs = [pair for call in own for pair in _answered(call, annotator, acts)]
        for act in acts:
            having = [(asked[act], replied) for asked, replied in pairs if asked[act] > 0]
            total = sum(weight for weight, _ in having)
            if not having:
                continue
            yield {
                "system": system,
                "annotator": annotator,
                "act": act,
                "turns": len(having),
                "next": {
                    other: sum(weight * replied[other] for weight, replied in having if replied) / total
                    for other in acts
                },
                "no_reply": sum(weight for weight, replied in having if not replied) / total,
            }


def quarters(calls: Sequence[CallOfTurns], acts: Sequence[str]) -> Iterator[QuarterShares]:
    """The acts of each side in the quarters of calls, by where turns begin."""
    for system, annotator, side, found in _sides(calls, acts):
        begun = [min(int(QUARTERS * turn["start_s"] / call["length_s"]), QUARTERS - 1) for call, turn, _ in found]
        for quarter in range(QUARTERS):
            own = [weight for (_, _, weight), number in zip(found, begun, strict=True) if number == quarter]
            yield {
                "system": system,
                "side": side,
                "annotator": annotator,
                "quarter": quarter + 1,
                "turns": len(own),
                "acts": {act: sum(weight[act] for weight in own) / len(own) for act in acts if own},
            }


def _sides(
    calls: Sequence[CallOfTurns], acts: Sequence[str]
) -> Iterator[tuple[str, str, Side, list[tuple[CallOfTurns, TurnJson, Mapping[str, float]]]]]:
    """Each system, annotator and side that has annotated turns: these with their calls and the weights of acts."""
    for system, annotator, own in _by_annotator(calls):
        for side in reversed(SIDES):
            found = [
                (call, turn, weight)
                for call in own
                for turn in call["turns"]
                if turn["side"] == side and (weight := weights(turn, annotator, acts)) is not None
            ]
            if found:
                yield system, annotator, side, found


def _by_annotator(calls: Sequence[CallOfTurns]) -> Iterator[tuple[str, str, list[CallOfTurns]]]:
    """Each system with each annotator of its turns, and its calls."""
    for system in dict.fromkeys(call["system"] for call in calls):
        own = [call for call in calls if call["system"] == system]
        acts = (one for call in own for turn in call["turns"] for one in turn["acts"])
        yield from ((system, annotator, own) for annotator in dict.fromkeys(one["annotator"] for one in acts))


def _answered(
    call: CallOfTurns, annotator: str, acts: Sequence[str]
) -> Iterator[tuple[Mapping[str, float], Mapping[str, float]]]:
    """The weights of each turn of A with those of B's reply; empty for no reply. Without what is not annotated."""
    of_a = [turn for turn in call["turns"] if turn["side"] == "A"]
    replies = {turn["after"]: turn for turn in call["turns"] if turn["side"] == "B" and turn["part"] == "reply"}
    for turn in of_a:
        asked, reply = weights(turn, annotator, acts), replies.get(turn["number"])
        if asked is None:
            continue
        if reply is None:
            if turn is not of_a[-1]:
                yield asked, {}
        elif (replied := weights(reply, annotator, acts)) is not None:
            yield asked, replied
