"""The channels of a column, as people and recognisers number them: from 1, or from 0."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import Final

from fdbcore.errors import SettingsError
from fdbcore.runtime.numbers import number_of

AGENT_CHANNEL: Final = "agent_channel"
"""The column of a table of calls that says on which channel side B is."""
_FROM_1: Final = {"1": "left", "2": "right"}
_FROM_0: Final = {"0": "left", "1": "right"}


class ChannelColumn:
    """How the numbers of a column of channels are read: from 0 on if it has a 0, which the whole column decides.

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
