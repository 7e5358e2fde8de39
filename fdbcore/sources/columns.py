"""Readers of the cells of a user's columns: as times and as channels, as people and their tools write them.

A column decides where a cell can be read in two ways.
"""

import re
from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import Final

from fdbcore.clock import clock_s
from fdbcore.errors import SettingsError
from fdbcore.runtime.numbers import number_of

_BY_COMMA: Final = re.compile(r"[1-9]\d{0,2}(,\d{3})+(\.\d*)?", re.ASCII)
_BY_POINT: Final = re.compile(r"[1-9]\d{0,2}(\.\d{3})+(,\d*)?", re.ASCII)
_ONE_GROUP: Final = re.compile(r"\d+[.,]\d{3}", re.ASCII)
_MS: Final = 0.001

AGENT_CHANNEL: Final = "agent_channel"
"""The column of a table of calls that says on which channel side B is."""
_FROM_1: Final = {"1": "left", "2": "right"}
_FROM_0: Final = {"0": "left", "1": "right"}


class TimeColumn:
    """A reader of a column's cells: as clock times, or as numbers with or without thousands separators.

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
        """The separator of thousands: a comma or a point; a blank if there is none."""
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


class ChannelColumn:
    """A reader of a column of channels: numbers are from 0 on if it has a 0, which the whole column decides.

    is_ambiguous: it has no other number than 1, which is left if channels count from 1, and right if from 0.
    cells: all of the column; what is no number is kept as it is. SettingsError for a 0 beside a 2 or more; where: the
    place of the column, for that message.
    """

    def __init__(self, cells: Iterable[str], where: str) -> None:
        numbers = {text for text in map(_plain, cells) if text.isdigit()}
        self.is_from_0 = "0" in numbers
        self.is_ambiguous = numbers == {"1"}
        if self.is_from_0 and not numbers <= {*_FROM_0}:
            raise SettingsError(
                f"{where}: expected channels counted from 0 or from 1, got {_told(numbers)}: write left and right"
            )
        self._names = _FROM_0 if self.is_from_0 else _FROM_1

    def name(self, cell: str) -> str:
        """left or right for the number of a channel; any other text as it is, and an empty one for NaN."""
        text = _plain(cell)
        return self._names.get(text, text)


@lru_cache(1000)
def _plain(cell: str) -> str:
    """A cell without blanks; tables write 2 as 2.0, and no value as NaN."""
    text = cell.strip()
    try:
        number = number_of(text)
    except ValueError:
        return "" if text.lower() == "nan" else text
    return str(int(number)) if number.is_integer() and 0 <= number <= 99 else text


def _told(numbers: Collection[str]) -> str:
    return " and ".join(sorted(numbers, key=int))
