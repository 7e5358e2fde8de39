"""Text cells of CSV, written so that no spreadsheet takes one for a formula, and read again as they were.

What acts on how a text is shown, such as controls and overrides of direction, is written and read as `\\u001b`.
"""

import re
from typing import Final

from fdbcore.runtime.redaction import visible

_NUMBER: Final = r" *[+-]?(?:\d+(?:[.,]\d+)*|[.,]\d+)(?:[eE][+-]?\d+)? *%? *(?![\s\S])"
FORMULA: Final = rf"'*(?!'|{_NUMBER})(?:[\t\r\n]|[\s\ufeff\x1c-\x1f\x85]*[=+\-@＝＋－＠])"
"""The beginning of a text that a spreadsheet would take for a formula, also for scripts of pages; numbers are none.

Marks before it are part of it, so that a text which itself begins with one is read as it was, too.
"""
_FORMULA: Final = re.compile(FORMULA)
_WRITTEN: Final = re.compile(r"\\u([0-9a-f]{4})")
_BACKSLASH: Final = "\\u005c"


def marked(cell: object) -> object:
    """A cell as it is written: a text is `visible`, with the mark ' before one that begins like a FORMULA."""
    if not isinstance(cell, str):
        return cell
    text = visible(_WRITTEN.sub(rf"\{_BACKSLASH}u\1", cell))  # such a mark in the text itself is no character of it
    return f"'{text}" if _FORMULA.match(text) else text


def unmarked(cell: str) -> str:
    """The text that `marked` wrote as `cell`."""
    text = cell[1:] if cell.startswith("'") and _FORMULA.match(cell, 1) else cell
    return _WRITTEN.sub(_character, text)


def _character(written: re.Match[str]) -> str:
    """The character that `marked` wrote so; what it never writes stays, as does what no name or file may hold."""
    character = chr(int(written[1], 16))
    taken = written[0] == _BACKSLASH or (visible(character) == written[0] and character != "\0")
    return character if taken and not "\ud800" <= character <= "\udfff" else written[0]
