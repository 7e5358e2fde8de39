"""No secret is shown or written down: neither the values of secret variables, nor what looks like a secret in a text.

A secret variable is one of the environment (a file `.env` included) whose name ends in KEY, TOKEN, SECRET or PASSWORD,
unless it holds a path or a single word of letters, and each that is read by `secret`. Its value is removed as it is,
and as JSON, URLs and base64 write it. Numbers and audio are never touched: what is cleaned are texts, before they
become part of a document.
"""

from __future__ import annotations

import base64
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import IO, Any, Final
from urllib.parse import quote, quote_plus

from fdbcore.errors import SettingsError

HIDDEN: Final = "***"

MIN_SECRET_CHARS: Final = 8
"""A shorter value would be found by chance in texts that do not hold it, so it could not be removed."""

_SECRET_VARIABLE: Final = re.compile(r"(?:.*_)?(?:API_?)?(?:KEY|TOKEN|SECRET|PASSWORD)", re.IGNORECASE)
_NO_SECRET: Final = re.compile(r"[/~.].*|[^\W\d]{1,19}", re.DOTALL)
"""What a variable holds that is none, whatever its name: a path, or a word as in SORT_KEY=recording."""

_SECRET_NAME: Final = re.compile(r"key|token|secret|passwd|password|credential|signature", re.IGNORECASE)
_PLAIN_NAME: Final = re.compile(r".*[_-](?:variable|file|path)", re.IGNORECASE)  # --token-file, key_variable=
_USER: Final = re.compile(r"(?<=://)[^/@\s]+(?=@)")
_NAME: Final = re.compile(r"[\w-]++")
_VALUE: Final = re.compile(r"""'[^']*'|"[^"]*"|[^\s'"]++""")
_QUERY_VALUE: Final = re.compile(r"""[^&\s#'"]++""")
_SPACE: Final = re.compile(r"\s++")
_AUTHORIZATION: Final = re.compile(r"""(\bAuthorization:\s*+\w++\s++)(?:'[^']*'|"[^"]*"|[^\s'"]++)""", re.IGNORECASE)

_read: set[str] = set()
"""The values that `secret` has given out."""


def secret(variable: str) -> str:
    """The secret in a variable of the environment, without the space around it; "" if there is none.

    From now on no text holds it. SettingsError if it is too short for that.
    """
    value = os.environ.get(variable, "").strip()
    if not value:
        return ""
    if len(value) < MIN_SECRET_CHARS:
        expected = f"expected a secret of at least {MIN_SECRET_CHARS} characters"
        raise SettingsError(f"{variable}: {expected}, got {len(value)}: a shorter one cannot be kept out of texts")
    if value not in _read:
        _read.add(value)
        _values.cache_clear()
    return value


def redacted(text: str) -> str:
    """`text` with *** for each known secret, and for what may be one in its addresses and commands."""
    text = _AUTHORIZATION.sub(rf"\1{HIDDEN}", _USER.sub(HIDDEN, without_values(text)))
    kept, end = [], 0
    for start, stop in _named_values(text):
        kept += [text[end:start], HIDDEN]
        end = stop
    return "".join([*kept, text[end:]])


def without_secrets(arguments: Sequence[str]) -> list[str]:
    """The words of a command, each `redacted`, and *** for what follows an option that tells of a secret."""
    follows = [_is_secret_option(before) for before in ["", *arguments]]
    return [HIDDEN if hidden else redacted(word) for hidden, word in zip(follows, arguments, strict=False)]


def without_values(text: str) -> str:
    """`text` with *** for each known secret, however it is written; nothing else is touched."""
    values = _values()
    return values.sub(HIDDEN, text) if values is not None else text


def clean(value: Any) -> Any:  # noqa: ANN401
    """A document of JSON, `without_values` in each of its texts and names; numbers stay."""
    if _values() is None:
        return value
    if isinstance(value, str):
        return without_values(value)
    if isinstance(value, Mapping):
        return {without_values(name) if isinstance(name, str) else name: clean(item) for name, item in value.items()}
    return [clean(item) for item in value] if isinstance(value, list | tuple) else value


class CleanStream:
    """A text stream in which no known secret is written, without a way for bytes; all else is that of `stream`."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write `text` without known secrets; its length."""
        self._stream.write(without_values(text))
        return len(text)

    def writelines(self, lines: Sequence[str]) -> None:
        """Write each of `lines`."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        if name == "buffer":  # click writes to it where the encoding is ASCII, past `write`
            raise AttributeError(name)
        return getattr(self._stream, name)


def write_no_secrets() -> None:
    """From now on nothing that this process prints holds a known secret; a second call changes nothing."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if not isinstance(stream, CleanStream):
            setattr(sys, name, CleanStream(stream))


@cache
def _values() -> re.Pattern[str] | None:
    """Finds the known secrets in all their forms, the longest first; None while there are none.

    The environment is looked at once: a value that comes later is known once it is read by `secret`.
    """
    named = [value.strip() for name, value in os.environ.items() if _SECRET_VARIABLE.fullmatch(name)]
    known = _read.union(value for value in named if not _NO_SECRET.fullmatch(value))
    forms = {form for value in known if len(value) >= MIN_SECRET_CHARS for form in _forms(value)}
    return re.compile("|".join(map(re.escape, sorted(forms, key=len, reverse=True)))) if forms else None


def _forms(value: str) -> Iterator[str]:
    """The value as it is, and as JSON, URLs and base64 hold it."""
    yield value
    for ensure_ascii in (False, True):
        yield json.dumps(value, ensure_ascii=ensure_ascii)[1:-1]
    for written in (quote(value), quote(value, safe=""), quote_plus(value)):
        yield written
        yield re.sub(r"%[0-9A-F]{2}", lambda code: code.group().lower(), written)
    data = value.encode()
    for before in range(3):  # bytes that may stand before it in a group of three, as those of "user:"
        encoded = base64.b64encode(bytes(before) + data).decode()
        whole = encoded[-(-8 * before // 6) : 8 * (before + len(data)) // 6]  # characters that hold its bits alone
        yield whole
        yield whole.replace("+", "-").replace("/", "_")


def _named_values(text: str) -> Iterator[tuple[int, int]]:
    """Where values stand whose name tells of a secret: `--key VALUE`, `KEY=VALUE`, `?key=VALUE`; in linear time."""
    end = 0
    for found in _NAME.finditer(text):
        name, after = found.group(), found.end()
        if found.start() < end:
            continue
        if text.startswith("=", after) and (name == "-p" or _is_secret_name(name)):
            in_query = text[max(0, found.start() - 1) : found.start()] in ("?", "&")
            value = (_QUERY_VALUE if in_query else _VALUE).match(text, after + 1)
        elif _is_secret_option(name) and (found.start() == 0 or text[found.start() - 1].isspace()):
            space = _SPACE.match(text, after)
            value = _VALUE.match(text, space.end()) if space else None
        else:
            continue
        if value is not None:
            yield value.span()
            end = value.end()


def _is_secret_name(name: str) -> bool:
    return bool(_SECRET_NAME.search(name)) and not _PLAIN_NAME.fullmatch(name)


def _is_secret_option(word: str) -> bool:
    return word == "-p" or (word.startswith("-") and _is_secret_name(word))
