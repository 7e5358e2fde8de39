"""Systems that are better than others, in sentences: the first that a reader of a scorecard wants to know."""

from collections.abc import Iterator, Sequence
from typing import Final

from fdbcore.report.format import p_value
from fdbcore.report.scorecard.screen import number_text
from fdbcore.types.scorecard import Difference, Scorecard

MOST: Final = 3
"""Names that a sentence has, at most."""


def verdicts(card: Scorecard, condition: str, systems: Sequence[str], by: str = "") -> Iterator[str]:
    """Differences between two systems; of more, which are better by the scale `by`, or the first main one."""
    compared = [one for one in card.differences if one.condition == condition]
    if len(systems) == 2:
        yield from _of_two(card, compared)
        return
    first = next((one for one in card.scales if one.main and one.direction and by in ("", one.id)), None)
    told = [(card.better(one), {one.a, one.b}) for one in compared if first is not None and one.measure == first.id]
    losers = {
        system: [each for each in systems if each != system and (system, {system, each}) in told] for system in systems
    }
    for system, own in losers.items():
        if own and first is not None:
            yield f"{system} is better than {first_of(own)} in {first.label}."
    if told and first is not None and not any(losers.values()):
        yield f"No two of them can be told apart by {first.label}."


def _of_two(card: Scorecard, compared: Sequence[Difference]) -> Iterator[str]:
    """ "right is better than stale in passed (by 0.200, p 0.047)."."""
    by_winner: dict[str, list[Difference]] = {}
    for one in compared:
        if winner := card.better(one):
            by_winner.setdefault(winner, []).append(one)
    for winner, own in by_winner.items():
        loser = own[0].b if winner == own[0].a else own[0].a
        yield f"{winner} is better than {loser} in {first_of([_measured(card, one) for one in own])}."
    if compared and not by_winner:
        yield f"Which of {compared[0].a} and {compared[0].b} is better cannot be told."


def _measured(card: Scorecard, one: Difference) -> str:
    scale = card.scale(one.measure)
    unit = "points" if scale.unit == "%" else scale.unit
    by = f"{number_text(abs(one.difference or 0.0), scale)} {unit}".strip()
    return f"{scale.label} (by {by}, p {p_value(one.p_corrected)})"


def first_of(names: Sequence[str], most: int = MOST) -> str:
    """The first of the names: "a", "a and b", "a, b, c and 5 more"."""
    *others, last = [*names[:most], *([f"{len(names) - most:,} more"] if len(names) > most else [])]
    return f"{', '.join(others)} and {last}" if others else last
