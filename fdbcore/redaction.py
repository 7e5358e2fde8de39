"""What may be a secret is not shown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_SECRET: Final = re.compile(r"key|token|secret|password|credential", re.IGNORECASE)


def without_secrets(arguments: Sequence[str]) -> list[str]:
    """The words of a command, with *** for the value of each option or variable whose name tells of a secret."""
    shown: list[str] = []
    for before, word in zip(["", *arguments], arguments, strict=False):
        name, sign, _ = word.partition("=")
        if before.startswith("-") and "=" not in before and _SECRET.search(before):
            shown.append("***")
        else:
            shown.append(f"{name}=***" if sign and _SECRET.search(name) else word)
    return shown
