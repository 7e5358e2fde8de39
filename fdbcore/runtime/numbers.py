"""Numbers that others wrote, read in one way: Python itself also takes `1_000`, `nan`, `١٢` and 400 digits."""

import re
import sys
from typing import Any, Final

_NUMBER: Final = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[-+]?[0-9]+)?", re.IGNORECASE)
_WHOLE: Final = re.compile(r"[-+]?[0-9]{1,15}")


def number_of(value: object) -> float:
    """The finite number that a text states, in ASCII with a decimal point, or that JSON holds; else ValueError."""
    number: Any = float(value) if isinstance(value, str) and _NUMBER.fullmatch(value.strip()) else value
    if type(number) not in (int, float) or not abs(number) <= sys.float_info.max:
        raise ValueError(f"{repr(value)[:60]} is no finite number")
    return float(number)


def whole_of(text: str) -> int:
    """The whole number that a text states, of at most 15 digits in ASCII; else ValueError."""
    if not _WHOLE.fullmatch(text.strip()):
        raise ValueError(f"{repr(text)[:60]} is no whole number")
    return int(text)
