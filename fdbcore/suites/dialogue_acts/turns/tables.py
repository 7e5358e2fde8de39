"""How the acts of turns are distributed, what follows which act, and how that changes over a call.

Everything is computed from the turns of the document, so a reader can compute it again. The weight of an act in a turn
is the sum of its importances there, the mean over annotations of the turn by one annotator.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from fdbcore.stats.bootstrap import bootstrap_ci
from fdbcore.types import SIDES

if TYPE_CHECKING:
    from fdbcore.suites.dialogue_acts.act_types import (
        CallOfTurns,
        QuarterShares,
        SideShares,
        TurnJson,
        WhatFollows,
    )

QUARTERS: Final = 4


def weights(turn: TurnJson, annotator: str, acts: Sequence[str]) -> Mapping[str, float] | None:
    """The weight of each act of a turn as an annotator labels it; None if it did not."""
    own = [one["steps"] for one in turn["acts"] if one["annotator"] == annotator]
    if not own:
        return None
    return {
        act: sum(step["importance"] for steps in own for step in steps if step["act"] == act) / len(own) for act in acts
    }


def annotators_of(calls: Sequence[CallOfTurns]) -> list[str]:
    """Who annotated turns."""
    return list(dict.fromkeys(one["annotator"] for call in calls for turn in call["turns"] for one in turn["acts"]))


def shares(calls: Sequence[CallOfTurns], acts: Sequence[str]) -> Iterator[SideShares]:
    """The acts of each system's side B and of its users' side A. Calls with one recorded user are one cluster."""
    for system, own in _by_system(calls):
        for annotator in annotators_of(own):
            for side in reversed(SIDES):
                found = [
                    (call, weight)
                    for call in own
                    for turn in call["turns"]
                    if turn["side"] == side and (weight := weights(turn, annotator, acts)) is not None
                ]
                if not found:
                    continue
                users = [call["user"] for call, _ in found]
                values = {act: np.array([weight[act] for _, weight in found]) for act in acts}
                estimates = {act: bootstrap_ci(value, users) for act, value in values.items()}
                yield {
                    "system": system,
                    "side": side,
                    "annotator": annotator,
                    "calls": len({call["path"] for call, _ in found}),
                    "turns": len(found),
                    "acts": {
                        act: {
                            "share": float(value.mean()),
                            "ci95": None if (ci := estimates[act].interval) is None else (ci.low, ci.high),
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
    for system, own in _by_system(calls):
        for annotator in annotators_of(own):
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
    for system, own in _by_system(calls):
        for annotator in annotators_of(own):
            for side in reversed(SIDES):
                found: list[list[Mapping[str, float]]] = [[] for _ in range(QUARTERS)]
                for call in own:
                    for turn in call["turns"]:
                        weight = weights(turn, annotator, acts) if turn["side"] == side else None
                        if weight is not None:
                            place = int(QUARTERS * turn["start_s"] / call["length_s"])
                            found[min(place, QUARTERS - 1)].append(weight)
                for number, each in enumerate(found if any(found) else (), 1):
                    means: dict[str, float] = {}
                    for act in acts if each else ():
                        means[act] = sum(weight[act] for weight in each) / len(each)
                    yield {
                        "system": system,
                        "side": side,
                        "annotator": annotator,
                        "quarter": number,
                        "turns": len(each),
                        "acts": means,
                    }


def _by_system(calls: Sequence[CallOfTurns]) -> list[tuple[str, list[CallOfTurns]]]:
    names = dict.fromkeys(call["system"] for call in calls)
    return [(name, [call for call in calls if call["system"] == name]) for name in names]


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
