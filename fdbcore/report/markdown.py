"""Texts in the Markdown that GitHub, GitLab and others render: nothing in a text is markup."""

import re
from typing import Final

from fdbcore.report.svg.text import without_controls

_MARKUP: Final = re.compile(r"[\\`*_{}\[\]<>|~#&$!^]")
_JOINED: Final = re.compile(
    r"(?<=[@#!~%$&^])(?=\w)|(?<=\bgh-)(?=\d)"  # names that are mentioned, and what is referred to by its number
    r"|(?<=[:/])(?=/)|(?<=www)(?=\.)|(?<=[.:])(?=[^\W\d_])"  # addresses, also those of a host alone; emoji
    r"|^(?=[-+=](?!\d)|\d+[.)](?!\d))",  # lists, and the lines below headings
    re.IGNORECASE,
)
"""Places of word joiners, which stop renderers that look for names and addresses in what is shown, though escaped."""


def escaped(text: str) -> str:
    """A text in one line, without markup, links and mentions."""
    return _MARKUP.sub(r"\\\g<0>", _JOINED.sub("\N{WORD JOINER}", _flat(text)))


def code(text: str) -> str:
    """A text in code, also within a table: nothing in it is markup."""
    flat = _flat(text).replace("|", "\N{FULLWIDTH VERTICAL LINE}") or " "
    ticks = "`" * (max((len(run) for run in re.findall("`+", flat)), default=0) + 1)
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{ticks}{pad}{flat}{pad}{ticks}"


def _flat(text: str) -> str:
    return without_controls(" ".join(text.split()))
