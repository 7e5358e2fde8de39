"""Says in plain words which system is better, or that this cannot be decided."""

from collections.abc import Iterator, Sequence
from typing import Final

from fdbcore.report import counted, fitted, p_value
from fdbcore.suites.dialogue_acts.page.phrases import mean, span
from fdbcore.suites.dialogue_acts.scoring.comparison import CONTENT
from fdbcore.suites.dialogue_acts.scoring.document import ActsDocument
from fdbcore.types.scorecard import NO_FIGURE, Difference, Figure, Scorecard, ScoreRow

MOST_COLUMNS: Final = 60  # of a name within a sentence
NOT_TRUTH: Final = (
    "The acts of replies are judged here, not their truth: a wrong temperature and the right one are both an Answer."
)


def leads(card: Scorecard, document: ActsDocument) -> list[str]:
    """One statement per condition, which names its condition if there are several; then what a judge says of the
    content, or that nobody was asked.
    """
    found = list(dict.fromkeys(row.condition for row in card.rows if row.group != "published"))
    statements: list[str] = []
    for condition in found:
        text = " ".join(_statement(card, condition))
        statements.append(f"On {fitted(condition, 2 * MOST_COLUMNS)}: {text}" if len(found) > 1 else text)
    last = [NOT_TRUTH] if document.judging is None else _judged(document, document.judging["judge"], card.level)
    return [*statements, *last] if statements else ["Nothing was scored."]


def _judged(document: ActsDocument, judge: str, level: float) -> Iterator[str]:
    """The judge's verdicts on content, a statement a set: the shares, and the tests of the best against the others."""
    judged = [row for row in document.rows if CONTENT.id in row.measures]
    several = len({of.name for of in document.sets for row in judged if row.condition in of.conditions}) > 1
    for of in document.sets:
        rows: dict[str, ScoreRow] = {}
        for row in (row for row in judged if row.condition in of.conditions):
            rows.setdefault(row.system, row)
        if rows:
            on = f"On {fitted(of.name, MOST_COLUMNS)}: " if several else ""
            shares = "; in ".join(map(_content, rows.values()))
            best = max(rows, key=lambda system: rows[system].measures[CONTENT.id].value or 0.0)
            first = [one for one in document.differences if one.condition == of.conditions[0]]
            own = [one for one in first if one.measure == CONTENT.id and best in (one.a, one.b)]
            told = f"{on}The judge {judge} finds the content right, beside the acts, in {shares}."
            yield " ".join([told, *(_apart(one, level) for one in own if one.n)])


def _apart(one: Difference, level: float) -> str:
    """A statement on two systems: does a judge find the content of one right more often than that of the other?"""
    difference, records = one.difference or 0.0, counted(one.n, "record")
    ahead, other = map(_named, (one.a, one.b) if difference >= 0 else (one.b, one.a))
    if one.differing == 0:
        return f"Its verdicts on {ahead} and {other} are the same on {_each(records, one.n)}."
    by = f"{_points(abs(difference))} points"
    if one.ci95:
        low, high = one.ci95 if difference >= 0 else (-one.ci95[1], -one.ci95[0])
        by += f", 95 % interval {_points(low)} to {_points(high)}"
    by += f", {records}, p (Holm) {p_value(one.p_corrected)}"
    if one.p_corrected is not None and one.p_corrected < 1 - level:
        return f"By its verdicts, {ahead} is right more often than {other} ({by})."
    return f"Whether {ahead} or {other} is right more often cannot be told ({by})."


def _points(percent: float) -> str:
    """A difference of shares in points of a hundred."""
    return f"{percent:z.1f}".replace("-", "−")


def _content(row: ScoreRow) -> str:
    found, n = row.measures[CONTENT.id], row.counts["content_unscored"]
    unscored = f", {n} unscored" if n else ""
    if found.value is None:
        return f"no reply of {_named(row.system)}, as it gave no verdict{unscored}"
    low_high = f", 95 % interval {found.ci95[0]:.1f} to {found.ci95[1]:.1f} %" if found.ci95 else ""
    share = f"{found.value:.1f} %{low_high}"
    return f"{row.counts['right']} of {counted(found.n or 0, 'reply')} of {_named(row.system)} ({share}{unscored})"


def _statement(card: Scorecard, condition: str) -> Iterator[str]:
    rows = [row for row in card.rows if row.condition == condition]
    systems = [row for row in rows if row.group == "system" and row.n]
    if not systems:
        yield "No system was scored."
    elif len(systems) == 1:
        yield from _alone(systems[0], rows)
    else:
        yield from _ranking(card, systems)


def _named(system: str) -> str:
    """The name of a system within a sentence."""
    return f"“{fitted(system, MOST_COLUMNS)}”"


def _wed(row: ScoreRow) -> Figure:
    return row.measures.get("wed", NO_FIGURE)


def _alone(row: ScoreRow, rows: Sequence[ScoreRow]) -> Iterator[str]:
    wed = _wed(row)
    interval = f" (95 % interval {span(wed.ci95)})" if wed.ci95 else ""
    yield (
        f"{_named(row.system)} is at a mean distance (WED) of {mean(wed.value)} from the reference replies{interval}, "
        f"over {counted(row.n or 0, 'record')}; 0 is the same acts in the same order."
    )
    marks = [f"{other.system} {mean(_wed(other).value)}" for other in rows if other.group != "system" and other.n]
    if marks:
        yield f"For comparison: {', '.join(marks)}."


def _ranking(card: Scorecard, systems: Sequence[ScoreRow]) -> Iterator[str]:
    """systems: the systems of one condition, the one with the smallest distance first."""
    best, condition = systems[0].system, systems[0].condition
    own = [one for one in card.differences if one.condition == condition and best in (one.a, one.b)]
    by_wed = [one for one in own if one.measure == "wed" and one.n]
    apart = [_other(one, best) for one in own if one.measure == "wed" and not one.n]
    beaten = [one for one in by_wed if card.better(one) == best]
    if len(beaten) == len(by_wed) == 1:
        yield (
            f"{_named(best)} answers better than {_named(_other(beaten[0], best))}: its distance from the "
            f"reference replies (WED) is lower by {_by(beaten[0])}."
        )
    elif beaten:
        others = "; ".join(f"than that of {_named(_other(one, best))} by {_by(one)}" for one in beaten)
        rank = "best" if len(beaten) == len(by_wed) and not apart else "better than some"
        yield f"{_named(best)} answers {rank}: its distance from the reference replies (WED) is lower {others}."
    for one in by_wed:
        if card.better(one) is None:
            yield _undecided(one, card)
    if apart:
        least = mean(_wed(systems[0]).value)
        alike = [row.system for row in systems if row.system in apart and mean(_wed(row).value) == least]
        ahead = f"{_named(best)} has the least distance (WED)."
        if alike:
            ahead = f"{' and '.join(map(_named, (best, *alike)))} are at the same least distance (WED)."
        yield (
            f"{ahead} But no record is scored both for {_named(best) if alike else 'it'} and for "
            f"{', '.join(map(_named, apart))}, so they cannot be compared."
        )
    yield from _other_way(card, best, [one for one in own if one.measure == "wlcs" and one.n])


def _undecided(one: Difference, card: Scorecard) -> str:
    """The reason why neither of two systems is called better: they never differ, or this many records cannot tell."""
    what = "record" if one.clusters is None else "turn"
    records = counted(one.n, what)
    if one.is_equal:
        return (
            f"{_named(one.a)} and {_named(one.b)} do not differ: on {_each(records, one.n)} both are at the same "
            f"distance (WED) from the reference replies. So these {what}s do not show how great a difference would be "
            "found."
        )
    ahead, other = (one.a, one.b) if (one.difference or 0) < 0 else (one.b, one.a)
    text = f"Nobody can tell from {records} whether {_named(ahead)} or {_named(other)} answers better. "
    if _is_0(one):
        text += f"Their mean distances (WED) from the reference replies differ by {_by(one)}."
    else:
        text += f"The first is nearer to the reference replies: its distance (WED) is lower by {_by(one)}."
    if one.ci95 and min(one.ci95) * max(one.ci95) > 0:
        made = counted(len(card.differences), "comparison")
        text += f" But corrected for the {made} made here, p is {p_value(one.p_corrected)}."
    if few := one.too_few(card.level):
        text += f" {few[0].upper()}{few[1:]}."
    elif one.detectable is not None:
        found = f"a true difference of {mean(one.detectable)} is found four times in five"
        text += f" With {records}, {found}."
    return text


def _each(records: str, n: int) -> str:
    return f"each of {records}" if n > 1 else records


def _is_0(one: Difference) -> bool:
    """True if a difference is shown as 0."""
    return mean(abs(one.difference or 0.0)) == mean(0.0)


def _other_way(card: Scorecard, best: str, compared: Sequence[Difference]) -> Iterator[str]:
    """A reply of one act can have all of the weighted LCS, so that measure may prefer the other system."""
    ahead = [one for one in compared if one.difference and not _is_0(one) and (one.difference > 0) != (one.a == best)]
    if ahead:
        others = "; ".join(
            f"{_named(_other(one, best))} is ahead of {_named(best)} by {_by(one)}"
            f"{', which may be chance' if card.better(one) is None else ''}"
            for one in ahead
        )
        yield (
            f"By weighted LCS alone, {others}. That measure counts what a reply has in common with the reference, and "
            "not what it leaves out."
        )


def _by(one: Difference) -> str:
    """The lead of the better system: a difference above 0, whatever the order of the two."""
    value = one.difference or 0.0
    limits = one.ci95 and (one.ci95 if value > 0 else [-one.ci95[1], -one.ci95[0]])
    interval = f"95 % interval {span(limits)}, " if limits else ""
    return f"{mean(abs(value))} ({interval}n = {one.n})"


def _other(one: Difference, system: str) -> str:
    return one.b if one.a == system else one.a
