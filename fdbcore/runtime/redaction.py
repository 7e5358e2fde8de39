"""Removes secrets from everything that is shown or written: values of secret variables, and what looks like a secret.

A secret variable is an environment variable (also from a file `.env`) that `secret` has read, or whose name ends in
KEY, TOKEN, SECRET or PASSWORD, unless it holds a path or a single word of letters. Its value is removed in every form:
as it is, and as JSON, URLs and base64 write it. Only texts are cleaned, before they become part of a document; numbers
and audio are never touched. On the screen, characters that a terminal would take for commands are shown as such.
"""

import base64
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import IO, Any, Final
from urllib.parse import quote, quote_plus

from fdbcore.errors import SettingsError

HIDDEN: Final = "***"

MIN_SECRET_CHARS: Final = 8
"""The least length of a secret. A shorter value would appear in other texts by chance, so it cannot be removed."""

ACTING: Final = "\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ud800-\udfff"
"""Characters that act on how a text is shown: controls but the tab and ends of lines, marks and overrides of direction,
and lone surrogates, which are bytes. As a set of a regular expression has them."""
_ACTING: Final = re.compile(f"[{ACTING}]|\r(?!\n)")

_SECRET_VARIABLE: Final = re.compile(r"(?:.*_)?(?:API_?)?(?:KEY|TOKEN|SECRET|PASSWORD)", re.IGNORECASE)
_NO_SECRET: Final = re.compile(r"[/~.].*|[^\W\d]{1,19}", re.DOTALL)
"""Values that are no secrets, whatever the variable's name: a path, or a word as in SORT_KEY=recording."""

_SECRET_NAME: Final = re.compile(r"key|token|secret|passwd|password|credential|signature", re.IGNORECASE)
_PLAIN_NAME: Final = re.compile(r".*[_-](?:variable|file|path)", re.IGNORECASE)  # --token-file, key_variable=
_USER: Final = re.compile(r"(?<=://)[^/@\s]+(?=@)")
_NAME: Final = re.compile(r"[\w-]++")
_VALUE: Final = re.compile(r"""'[^']*'|"[^"]*"|[^\s'"]++""")
_QUERY_VALUE: Final = re.compile(r"""[^&\s#'"]++""")
_SPACE: Final = re.compile(r"\s++")
_AUTHORIZATION: Final = re.compile(r"""(\bAuthorization:\s*+\w++\s++)(?:'[^']*'|"[^"]*"|[^\s'"]++)""", re.IGNORECASE)

_read: set[str] = set()
"""The values that `secret` has returned."""
_asks_nobody: Final = ContextVar("asks_nobody", default=False)


def secret(variable: str) -> str:
    """The secret in an environment variable, stripped of white space; "" if the variable is empty or missing.

    From now on it is removed from every text. SettingsError if it is too short for that.
    """
    value = os.environ.get(variable, "").strip()
    if not value:
        return ""
    if len(value) < MIN_SECRET_CHARS:
        expected = f"expected a secret of at least {MIN_SECRET_CHARS} characters"
        raise SettingsError(f"{variable}: {expected}, got {len(value)}: a shorter one cannot be removed from texts")
    if value not in _read:
        _read.add(value)
        _values.cache_clear()
    return value


@contextmanager
def asking_nobody() -> Iterator[None]:
    """In the `with` block nothing is sent to anybody, so it needs no key and no SDK. It holds for this thread alone."""
    before = _asks_nobody.set(True)
    try:
        yield
    finally:
        _asks_nobody.reset(before)


def needs_keys() -> bool:
    """True if a key that is missing is an error: everywhere but in a block of `asking_nobody`."""
    return not _asks_nobody.get()


def redacted(text: str) -> str:
    """`text` with *** in place of each known secret, and of what may be a secret in its addresses and commands."""
    text = _AUTHORIZATION.sub(rf"\1{HIDDEN}", _USER.sub(HIDDEN, without_values(text)))
    kept, end = [], 0
    for start, stop in _named_values(text):
        kept += [text[end:start], HIDDEN]
        end = stop
    return "".join([*kept, text[end:]])


def without_secrets(arguments: Sequence[str]) -> list[str]:
    """The words of a command, each `redacted`, with *** in place of the value of an option named like a secret."""
    follows = [_is_secret_option(before) for before in ["", *arguments]]
    return [HIDDEN if hidden else redacted(word) for hidden, word in zip(follows, arguments, strict=False)]


def without_values(text: str) -> str:
    """`text` with *** in place of each known secret, in whatever form; nothing else is touched."""
    values = _values()
    return values.sub(HIDDEN, text) if values is not None else text


def on_screen(text: str) -> str:
    """`text` as it may be printed: `visible`, and without known secrets."""
    return visible(without_values(text))


def visible(text: str) -> str:
    """`text` with ACTING characters as JSON writes them (`\\u001b`); so JSON stays the same."""
    return text if text.isprintable() else _ACTING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def clean(value: Any) -> Any:  # noqa: ANN401
    """A JSON document with `without_values` applied to each text and name; numbers stay."""
    if _values() is None:
        return value
    if isinstance(value, str):
        return without_values(value)
    if isinstance(value, Mapping):
        return {without_values(name) if isinstance(name, str) else name: clean(item) for name, item in value.items()}
    return [clean(item) for item in value] if isinstance(value, list | tuple) else value


class CleanStream:
    """A text stream that removes known secrets from what is written, and what a terminal would take for a command.

    It takes no bytes; otherwise it is `beneath`. What draws on a terminal writes there, and cleans its texts itself.
    drawn: what adds codes of its own to a clean text.
    """

    def __init__(self, beneath: IO[str], drawn: Callable[[str], str] = str) -> None:
        self.beneath = beneath
        self._drawn = drawn

    def write(self, text: str) -> int:
        """Write `text` as `on_screen` has it, and drawn; return the length of `text`, as a text stream does."""
        self.beneath.write(self._drawn(on_screen(text)))
        return len(text)

    def writelines(self, lines: Sequence[str]) -> None:
        """Write each of `lines`."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        if name == "buffer":  # click would write to it, past `write`, if the encoding is ASCII
            raise AttributeError(name)
        return getattr(self.beneath, name)


def write_no_secrets(drawn_on: Callable[[IO[str]], Callable[[str], str]] = lambda stream: str) -> None:
    """Remove known secrets from all that this process prints from now on. A second call changes nothing.

    drawn_on: how a stream shows a clean text.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if not isinstance(stream, CleanStream):
            setattr(sys, name, CleanStream(stream, drawn_on(stream)))


@cache
def _values() -> re.Pattern[str] | None:
    """A pattern for the known secrets in all their forms, the longest first; None while there are none.

    The environment is read once; a value that is set later is known once `secret` reads it.
    """
    named = [value.strip() for name, value in os.environ.items() if _SECRET_VARIABLE.fullmatch(name)]
    known = _read.union(value for value in named if not _NO_SECRET.fullmatch(value))
    forms = {form for value in known if len(value) >= MIN_SECRET_CHARS for form in forms_of(value)}
    return re.compile("|".join(map(re.escape, sorted(forms, key=len, reverse=True)))) if forms else None


def forms_of(value: str) -> Iterator[str]:
    """The value as it is, and as JSON, URLs and base64 write it."""
    yield value
    for ensure_ascii in (False, True):
        yield json.dumps(value, ensure_ascii=ensure_ascii)[1:-1]
    for written in (quote(value), quote(value, safe=""), quote_plus(value)):
        yield written
        yield re.sub(r"%[0-9A-F]{2}", lambda code: code.group().lower(), written)
    data = value.encode()
    # Base64 codes groups of three bytes, so the form depends on how many bytes ("user:") precede it in its group.
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + data).decode()
        whole = encoded[-(-8 * before // 6) : 8 * (before + len(data)) // 6]  # characters with bits of the value only
        yield whole
        yield whole.replace("+", "-").replace("/", "_")


def _named_values(text: str) -> Iterator[tuple[int, int]]:
    """The spans of values whose names suggest a secret: `--key VALUE`, `KEY=VALUE`, `?key=VALUE`; in linear time."""
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
