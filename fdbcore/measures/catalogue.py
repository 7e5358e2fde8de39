"""All measures by their ids. The module that computes a measure registers it; tables and pages look it up here."""

from typing import Final

from fdbcore.measures import answers, compat, labelled, moments, overlaps, recoveries, timing
from fdbcore.measures.measure import CallMeasure, Column, KindOfMoment, MeasureGroup, Spot, Where

OTHER: Final = MeasureGroup("Other measures")
GROUPS: Final = (answers.GROUP, overlaps.GROUP, labelled.GROUP, timing.TURNS, timing.TIME, compat.GROUP, OTHER)
"""All groups, in the order of the tables."""

MEASURES: Final[dict[str, CallMeasure]] = {
    measure.id: measure
    for module in (answers, overlaps, labelled, recoveries, timing, compat)
    for measure in module.MEASURES
}

MOMENTS: Final[tuple[KindOfMoment, ...]] = moments.KINDS
"""The kinds of moments, in the order of pages."""

TILES: Final[tuple[Where, ...]] = ("call tile", "run tile")


def headlines() -> dict[str, str]:
    """The names, by id, of the headline measures: comparisons and sensitivity use these, as one family of tests."""
    return {name: measure.label for name, measure in MEASURES.items() if measure.compared}


def id_of(name: str) -> str | None:
    """The id of the measure that has this id, or this label in any case, with blanks or underscores; None if none."""
    label = name.lower().replace("_", " ")
    labels = {measure.label.lower(): each for each, measure in MEASURES.items()}
    return name if name in MEASURES else labels.get(label)


def columns() -> dict[str, Column]:
    """The columns of tables of calls, in their order, by the ids of their measures."""
    found = {name: measure.column for name, measure in MEASURES.items() if measure.column}
    return dict(sorted(found.items(), key=lambda item: item[1].place))


def differences() -> dict[str, tuple[str, str]]:
    """The ids of measures that are the difference of two shares of a whole run, with the ids of these shares."""
    return {name: measure.difference_of for name, measure in MEASURES.items() if measure.difference_of}


def spots(where: Where) -> dict[str, list[tuple[str, Spot]]]:
    """The parts of a place: by the title of each line or tile, in their order, with the ids of their measures."""
    found = [(name, spot) for name, measure in MEASURES.items() for spot in _of(measure) if spot.where == where]
    titled: dict[str, list[tuple[str, Spot]]] = {}
    for name, spot in sorted(found, key=lambda part: part[1].order):
        titled.setdefault(spot.title, []).append((name, spot))
    return titled


def _of(measure: CallMeasure) -> tuple[Spot, ...]:
    """The spots of a measure. One with a column alone has lines and tiles of its own, in the order of the columns."""
    if measure.spots or measure.column is None:
        return measure.spots
    order, title = 100 + measure.column.place, measure.label
    brief, whole, large, counted = {
        "values": ("median {median}", "median {interval} | n = {n:,}", "{median}", "of [{n:,}]. "),
        "share": ("{fraction}", "{interval} of {n:,}", "{mean}", "[{count:,}] of [{n:,}](all). "),
    }.get(measure.quantity, ("{mean}", "{interval}", "{mean}", ""))
    if measure.column.is_count:
        brief = whole = large = "{items:,}x"
    return (
        Spot("call", order, title, brief),
        Spot("run", order, title, whole),
        *(
            Spot(where, order, title, f"{counted}{measure.meaning}", "nothing to count", large, gated=True)
            for where in TILES
        ),
    )


def shown_by(kind: KindOfMoment) -> set[str]:
    """The ids of the measures that moments of this kind show."""
    return {name for name, measure in MEASURES.items() if measure.shown and kind.id in measure.shown.kinds}
