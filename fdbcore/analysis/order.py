"""The order in which readers expect things: values in time or as versions, and the cases of a run."""

import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Final

from fdbcore.recording.meta import PlannedCase
from fdbcore.recording.run import PlannedRun
from fdbcore.sources.clips import natural_order

DAY_LENGTH: Final = len("2026-11-23")
MONTH_LENGTH: Final = len("2026-11")
_DATE: Final = re.compile(r"\d{4}-\d\d(-\d\d.*)?")
_VERSION: Final = re.compile(
    r"(?P<prefix>(?:v|ver|version|r|rel|release|build)?[ ._-]?)(?P<numbers>\d+(?:\.\d+)*)", re.IGNORECASE
)


def positions(names: Sequence[str]) -> list[float] | None:
    """The place of each name on an axis, if all are dates or all are versions; None otherwise.

    Dates ("2026-11-23", with or without a time, or "2026-11") stand at their day. Versions ("v2", "1.10", "release-7",
    all with the same text before the numbers) stand at their rank, so that v10 comes after v2.
    """
    if len(names) < 2:
        return None
    days = [_day(name) for name in names]
    if None not in days:
        return [day for day in days if day is not None]
    versions = [_VERSION.fullmatch(name) for name in names]
    found = [version for version in versions if version is not None]
    if len(found) < len(names) or len({version["prefix"] for version in found}) > 1:
        return None
    keys = [tuple(map(int, version["numbers"].split("."))) for version in found]
    ranks = {key: float(rank) for rank, key in enumerate(sorted({*keys}))}
    return [ranks[key] for key in keys]


def in_order(names: Collection[str]) -> list[str]:
    """The names by their positions if they have some, otherwise by the alphabet."""
    ordered = sorted(names)
    at = positions(ordered)
    return ordered if at is None else [name for _, name in sorted(zip(at, ordered, strict=True))]


def planned_cases(run: PlannedRun) -> list[PlannedCase]:
    """The cases of a run by system, in the order in which the systems were named, then by name.

    The order in which they were held hangs on the seed, so no table and no sign of a difference may follow it.
    """
    places = {name: place for place, name in enumerate(run["plan"]["systems"])}
    return sorted(run["cases"], key=lambda case: (places[case["system"]], natural_order(case["name"])))


def _day(name: str) -> float | None:
    """The number of the day of a date; None for any other text."""
    if _DATE.fullmatch(name):
        with suppress(ValueError):
            return float(datetime.fromisoformat(f"{name}-01" if len(name) == MONTH_LENGTH else name).toordinal())
    return None


def by_day(values: Collection[str], most: int) -> dict[str, str]:
    """The name of the group of each value: its day, if all are dates; its month, if there would be more than `most`
    groups; otherwise the value itself."""
    if not values or any(_day(value) is None for value in values):
        return {value: value for value in values}
    length = DAY_LENGTH if len({value[:DAY_LENGTH] for value in values}) <= most else MONTH_LENGTH
    return {value: value[:length] for value in values}
