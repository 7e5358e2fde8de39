"""Times as people and their tools write them, read in one way. A column decides where a cell can be read in two."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from fdbcore.errors import SettingsError
from fdbcore.runtime.numbers import number_of

_CLOCK: Final = re.compile(r"(?:(\d{1,9}):)?(\d{1,9}):(\d{1,9}(?:\.\d*)?)", re.ASCII)
_BY_COMMA: Final = re.compile(r"[1-9]\d{0,2}(,\d{3})+(\.\d*)?", re.ASCII)
_BY_POINT: Final = re.compile(r"[1-9]\d{0,2}(\.\d{3})+(,\d*)?", re.ASCII)
_ONE_GROUP: Final = re.compile(r"\d+[.,]\d{3}", re.ASCII)
_MS: Final = 0.001


def clock_s(text: str) -> float | None:
    """The seconds of a clock time such as 3:40, 00:02.8 or 1:02:03.5; None if a text is none.

    ValueError for minutes or seconds from 60 on after a colon.
    """
    found = _CLOCK.fullmatch(text)
    if found is None:
        return None
    hours, minutes, seconds = (float(part or 0) for part in found.groups())
    if seconds >= 60 or (found[1] and minutes >= 60):
        raise ValueError(f"{'minutes' if seconds < 60 else 'seconds'} below 60 after a colon")
    return 3600 * hours + 60 * minutes + seconds


class TimeColumn:
    """How the cells of a column are read: as clock times, or as numbers with or without thousands separators.

    cells: all of the column. unit_s: seconds in one of its numbers. SettingsError if its cells can be read in two ways
    (2,793 s, or 2793 s); where: the place of the column, for that message.
    """

    def __init__(self, cells: Iterable[str], unit_s: float, where: str) -> None:
        self._unit_s = unit_s
        numbers = [cell.strip() for cell in cells if ":" not in cell]
        self._thousands = self._separator(numbers, where)

    def seconds(self, cell: str) -> float | None:
        """The time in a cell; None if it is empty or NaN. ValueError if it holds something else."""
        text = cell.strip()
        if not text or text.lower() == "nan":
            return None
        if ":" in text:
            clock = clock_s(text.replace(",", "."))
            if clock is None:
                raise ValueError(f"{text[:60]!r} is no time")
            return clock
        form = {",": _BY_COMMA, ".": _BY_POINT}.get(self._thousands)
        if form is not None and self._thousands in text:
            if not form.fullmatch(text):  # 2,5 where others have 2,793.5
                raise ValueError(f"{text[:60]!r} has no thousands where they are parted")
            text = text.replace(self._thousands, "")
        return number_of(text.replace(",", ".")) * self._unit_s

    def _separator(self, numbers: list[str], where: str) -> str:
        """What stands between thousands: a comma or a point; a blank if nothing does."""
        marked = [number for number in numbers if "," in number or "." in number]
        commas = [number for number in marked if "," in number]
        if any(number.rfind(".") > number.rfind(",") >= 0 for number in marked):
            return ","  # 2,793.5
        if any(number.rfind(",") > number.find(".") >= 0 for number in marked):
            return "."  # 2.793,5
        if commas:
            if not all(map(_BY_COMMA.fullmatch, commas)):
                return " "
            has_points = any("." in number for number in marked)
            if self._unit_s == _MS or has_points or any(number.count(",") > 1 for number in commas):
                return ","
        elif not marked or self._unit_s != _MS or not all(map(_BY_POINT.fullmatch, marked)):
            return " "
        elif any(number.count(".") > 1 for number in marked):
            return "."
        if any(number.isdigit() and len(number) > 3 for number in numbers):
            return " "  # 1500: thousands stand without a separator here
        example = next(filter(_ONE_GROUP.fullmatch, marked))
        unit = "ms" if self._unit_s == _MS else "s"
        small, large = example.replace(",", "."), re.sub("[.,]", "", example)
        raise SettingsError(
            f"{where}: expected times that can be read in one way, got {example!r}, which may be {small} or {large} "
            f"{unit}: write them without separators of thousands, and with a decimal point"
        )
