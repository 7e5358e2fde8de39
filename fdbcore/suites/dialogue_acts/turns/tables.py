"""The distribution of the acts of turns, what follows which act, and how that changes over a call.

Everything is computed from the turns of the document, so a reader can compute it again. The weight of an act in a turn
is the sum of its importances there, the mean over annotations of the turn by one annotator.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Final, TypedDict

import numpy as np
from msgspec import Meta

from fdbcore.analysis import Measures
from fdbcore.stats import bootstrap_ci
from fdbcore.suites.dialogue_acts.scoring.scores import condition_of
from fdbcore.suites.dialogue_acts.turns.calls import CallTurns, Turn
from fdbcore.types import SIDES
from fdbcore.types.scorecard import Figure, ScoreRow, scaled_interval

QUARTERS: Final = 4
NO_REPLY: Final = "no reply"


class TurnsJson(TypedDict):
    """The turns of calls, and how their acts are distributed, in %: an act's figure is its mean importance per turn."""

    locale: str
    calls: Sequence[CallTurns]
    shares: Annotated[list[ScoreRow], Meta(description="of sides; calls of one recorded user are resampled together")]
    follows: Annotated[list[ScoreRow], Meta(description="what B says next after an act of A, the subset")]
    quarters: Annotated[list[ScoreRow], Meta(description="of turns that begin in a quarter of their calls")]


class LiveTiming(TypedDict):
    """The timing measures of a system, pooled over the calls in which its replies were given."""

    system: str
    calls: int
    measures: Measures


def weights(turn: Turn, annotator: str, acts: Sequence[str]) -> Mapping[str, float] | None:
    """The weight of each act of a turn as an annotator labels it; None if it did not."""
    own = [one.steps for one in turn.acts if one.annotator == annotator]
    if not own:
        return None
    return {act: sum(step.importance for steps in own for step in steps if step.act == act) / len(own) for act in acts}


def shares(calls: Sequence[CallTurns], acts: Sequence[str]) -> Iterator[ScoreRow]:
    """The acts of each system's side B and of its users' side A. Calls with one recorded user are one cluster."""
    for system, condition, found in _sides(calls, acts):
        users = [call.user for call, _, _ in found]
        figures, counts = {}, {"calls": len({call.path for call, _, _ in found})}
        for act in acts:
            values = np.array([weight[act] for _, _, weight in found])
            ci95 = scaled_interval(bootstrap_ci(values, users).interval, 100)
            figures[act] = Figure(100 * float(values.mean()), None, ci95)
            counts[f"turns with {act}"] = int((values > 0).sum())
        yield ScoreRow(condition, "system", system, len(found), figures, counts=counts)


def follows(calls: Sequence[CallTurns], acts: Sequence[str]) -> Iterator[ScoreRow]:
    """For each act of A: what B's reply to such turns is.

    A turn of A that B did not answer before A's next one has no reply. A's last turn in a call counts only if B
    answered it: the call may have ended before.
    """
    for system, annotator, own in _by_annotator(calls):
        pairs = [pair for call in own for pair in _answered(call, annotator, acts)]
        for act in acts:
            having = [(asked[act], replied) for asked, replied in pairs if asked[act] > 0]
            total = sum(weight for weight, _ in having)
            if having:
                said = {
                    other: sum(weight * replied[other] for weight, replied in having if replied) / total
                    for other in acts
                }
                said[NO_REPLY] = sum(weight for weight, replied in having if not replied) / total
                figures = {name: Figure(100 * share) for name, share in said.items()}
                yield ScoreRow(condition_of("after A", annotator), "system", system, len(having), figures, subset=act)


def quarters(calls: Sequence[CallTurns], acts: Sequence[str]) -> Iterator[ScoreRow]:
    """The acts of each side in the quarters of calls, by where turns begin."""
    for system, condition, found in _sides(calls, acts):
        begun = [min(int(QUARTERS * turn.start_s / call.length_s), QUARTERS - 1) for call, turn, _ in found]
        for quarter in range(QUARTERS):
            own = [weight for (_, _, weight), number in zip(found, begun, strict=True) if number == quarter]
            figures = {act: Figure(100 * (sum(weight[act] for weight in own) / len(own))) for act in acts if own}
            yield ScoreRow(condition, "system", system, len(own), figures, subset=f"quarter {quarter + 1}")


def _sides(
    calls: Sequence[CallTurns], acts: Sequence[str]
) -> Iterator[tuple[str, str, list[tuple[CallTurns, Turn, Mapping[str, float]]]]]:
    """Each system and side with turns that an annotator labels: these with their calls and the weights of acts."""
    for system, annotator, own in _by_annotator(calls):
        for side in reversed(SIDES):
            found = [
                (call, turn, weight)
                for call in own
                for turn in call.turns
                if turn.side == side and (weight := weights(turn, annotator, acts)) is not None
            ]
            if found:
                yield system, condition_of(f"{side}'s turns", annotator), found


def _by_annotator(calls: Sequence[CallTurns]) -> Iterator[tuple[str, str, Sequence[CallTurns]]]:
    """Each system with each annotator of its turns, and its calls."""
    for system in dict.fromkeys(call.system for call in calls):
        own = [call for call in calls if call.system == system]
        acts = (one for call in own for turn in call.turns for one in turn.acts)
        yield from ((system, annotator, own) for annotator in dict.fromkeys(one.annotator for one in acts))


def _answered(
    call: CallTurns, annotator: str, acts: Sequence[str]
) -> Iterator[tuple[Mapping[str, float], Mapping[str, float]]]:
    """The weights of each turn of A with those of B's reply; empty for no reply. Without what is not annotated."""
    of_a = [turn for turn in call.turns if turn.side == "A"]
    replies = {turn.after: turn for turn in call.turns if turn.side == "B" and turn.part == "reply"}
    for turn in of_a:
        asked, reply = weights(turn, annotator, acts), replies.get(turn.number)
        if asked is None:
            continue
        if reply is None:
            if turn is not of_a[-1]:
                yield asked, {}
        elif (replied := weights(reply, annotator, acts)) is not None:
            yield asked, replied
