"""What may be a secret is not shown: in addresses, in commands, and in texts that quote them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

HIDDEN: Final = "***"

_WORD: Final = "(?:key|token|secret|passw(?:or)?d|credential)"
_OPTION: Final = rf"(?:-p|--?[\w-]*{_WORD}[\w-]*)"
_VALUE: Final = r"""(?:'[^']*'|"[^"]*"|[^\s'"]+)"""
_IS_SECRET: Final = re.compile(_OPTION, re.IGNORECASE)
_SECRETS: Final = (
    re.compile(r"(?<=://)()[^/@\s]+(?=@)"),  # user and password
    re.compile(r"([?&][^=&\s]+=)[^&\s#'\"]+"),  # values of a query
    re.compile(rf"((?<!\S){_OPTION}(?:=|\s+)){_VALUE}", re.IGNORECASE),  # --api-key VALUE of a command
    re.compile(rf"((?<![\w?&])\w*{_WORD}\w*=){_VALUE}", re.IGNORECASE),  # API_KEY=VALUE
    re.compile(rf"(\bAuthorization:\s*\w+\s+){_VALUE}", re.IGNORECASE),
)


def redacted(text: str) -> str:
    """`text` with *** for what may be secret in its addresses and commands: passwords, values of queries, keys."""
    for secret in _SECRETS:
        text = secret.sub(rf"\1{HIDDEN}", text)
    return text


def without_secrets(arguments: Sequence[str]) -> list[str]:
    """The words of a command, each `redacted`, and *** for what follows an option that tells of a secret."""
    follows = [_IS_SECRET.fullmatch(before) is not None for before in ["", *arguments]]
    return [HIDDEN if hidden else redacted(word) for hidden, word in zip(follows, arguments, strict=False)]
