"""Lines of commands on a terminal: errors break between words, and verdicts have a colour."""

import os
import re
import sys
from collections.abc import Callable
from textwrap import wrap
from typing import IO, Final

_COLOURS: Final = {"!!": "31;1", "FAIL": "31;1", "PASS": "32;1", "UNDECIDED": "33;1"}
_COLOURED: Final = re.compile(r"(?<![^\s(])(?:!!|FAIL|PASS|UNDECIDED)(?=\s|$)")


def drawn_on(stream: IO[str]) -> Callable[[str], str]:
    """A text without codes for a stream: as it is, unless the stream is a terminal."""
    if not stream.isatty():
        return str
    is_plain = "NO_COLOR" in os.environ or os.environ.get("TERM", "dumb") == "dumb"
    shown = str if is_plain else coloured
    return (lambda text: shown(_wrapped(text, stream))) if stream is sys.stderr else shown


def coloured(text: str) -> str:
    """A text with the words of verdicts in colour; JSON stays as it is."""
    if text.startswith(("{", "[")):
        return text
    return _COLOURED.sub(lambda found: f"\x1b[{_COLOURS[found[0]]}m{found[0]}\x1b[0m", text)


def _wrapped(text: str, terminal: IO[str]) -> str:
    """A text whose lines break between words, where the terminal would break them anywhere."""
    columns = os.get_terminal_size(terminal.fileno()).columns or sys.maxsize
    lines = (
        wrap(line, columns, break_long_words=False, break_on_hyphens=False) if len(line) > columns else [line]
        for line in text.split("\n")
    )
    return "\n".join(part for parts in lines for part in parts)
