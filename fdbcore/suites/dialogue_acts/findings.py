"""Says in plain words which system is better, or that this cannot be decided."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fdbcore.report.format import p_value
from fdbcore.suites.dialogue_acts.words import mean, span
from fdbcore.types.scorecard import NO_FIGURE, Difference, Figure, Scorecard, ScoreRow


def leads(card: Scorecard) -> list[str]:
    """One statement per condition; each names its condition if there are several."""
    found = list(dict.fromkeys(row.condition for row in card.rows if row.group != "published"))
    statements = []
    for condition in found:
        text = " ".join(_statement(card, condition))
        statements.append(f"On {condition}: {text}" if len(found) > 1 else text)
    return statements or ["Nothing was scored."]


def _statement(card: Scorecard, condition: str) -> Iterator[str]:
    rows = [row for row in card.rows if row.condition == condition]
    systems = [row for row in rows if row.group == "system" and row.n]
    if not systems:
        yield "No system was scored."
    elif len(systems) == 1:
        yield from _alone(systems[0], rows)
    else:
        yield from _ranking(card, systems)


def _wed(row: ScoreRow) -> Figure:
    return row.figures.get("wed", NO_FIGURE)


def _alone(row: ScoreRow, rows: Sequence[ScoreRow]) -> Iterator[str]:
    wed = _wed(row)
    interval = f" (95 % interval {span(wed.interval)})" if wed.interval else ""
    yield (
        f"{row.system} is at a mean distance (WED) of {mean(wed.value)} from the reference replies{interval}, "
        f"over {row.n} records; 0 is the same acts in the same order."
    )
    marks = [f"{other.system} {mean(_wed(other).value)}" for other in rows if other.group != "system" and other.n]
    if marks:
        yield f"For comparison: {', '.join(marks)}."


def _ranking(card: Scorecard, systems: Sequence[ScoreRow]) -> Iterator[str]:
    """systems: the systems of one condition, the one with the smallest distance first."""
    best, condition = systems[0].system, systems[0].condition
    own = [one for one in card.differences if one.condition == condition and best in (one.a, one.b)]
    by_wed = [one for one in own if one.scale == "wed" and one.n]
    apart = [_other(one, best) for one in own if one.scale == "wed" and not one.n]
    beaten = [one for one in by_wed if card.better(one) == best]
    if len(beaten) == len(by_wed) == 1:
        yield (
            f"{best} answers better than {_other(beaten[0], best)}: its distance from the reference replies (WED) is "
            f"lower by {_by(beaten[0])}."
        )
    elif beaten:
        others = "; ".join(f"than that of {_other(one, best)} by {_by(one)}" for one in beaten)
        rank = "best" if len(beaten) == len(by_wed) and not apart else "better than some"
        yield f"{best} answers {rank}: its distance from the reference replies (WED) is lower {others}."
    for one in by_wed:
        if card.better(one) is None:
            yield _undecided(one, card)
    if apart:
        yield (
            f"{best} has the least distance (WED), but no record is scored for it and {', '.join(apart)} alike: "
            f"whether it answers better than {'that' if len(apart) == 1 else 'those'} cannot be told."
        )
    yield from _other_way(card, best, [one for one in own if one.scale == "wlcs" and one.n])


def _undecided(one: Difference, card: Scorecard) -> str:
    ahead, other = (one.a, one.b) if (one.value or 0) < 0 else (one.b, one.a)
    text = (
        f"Whether {ahead} answers better than {other} cannot be told from {one.n} records: its distance from the "
        f"reference replies (WED) is lower by {_by(one)}"
    )
    if one.interval and min(one.interval) * max(one.interval) > 0:
        text += f", but p is {p_value(one.p_corrected)} when corrected for the {len(card.differences)} comparisons made"
    if few := one.too_few(card.level):
        text += f"; {few}"
    elif one.detectable is not None:
        text += f"; so few show only differences of about {mean(one.detectable)} or more (four times in five)"
    return f"{text}."


def _other_way(card: Scorecard, best: str, compared: Sequence[Difference]) -> Iterator[str]:
    """A reply of one act can have all of the weighted LCS, so that measure may prefer the other system."""
    ahead = [one for one in compared if one.value and (one.value > 0) != (one.a == best)]
    if ahead:
        others = "; ".join(
            f"{_other(one, best)} would be ahead of {best} by {_by(one)}"
            f"{', which cannot be told from chance' if card.better(one) is None else ''}"
            for one in ahead
        )
        yield (
            f"By weighted LCS alone {others}: that measure counts what a reply has in common with the reference, and "
            "not what it leaves out."
        )


def _by(one: Difference) -> str:
    """By how much the better system is ahead: a difference above 0, whatever the order of the two."""
    value = one.value or 0.0
    limits = one.interval and (one.interval if value > 0 else [-one.interval[1], -one.interval[0]])
    interval = f"95 % interval {span(limits)}, " if limits else ""
    return f"{mean(abs(value))} ({interval}n = {one.n})"


def _other(one: Difference, system: str) -> str:
    return one.b if one.a == system else one.a
