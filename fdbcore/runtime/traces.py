"""Removes what a server shows of the keys that it was sent: parts of them, also in other letters."""

import re
from collections.abc import Iterable
from functools import lru_cache
from html import unescape
from typing import Final

from fdbcore.runtime.redaction import HIDDEN, forms_of, without_values

PART_CHARS: Final = 6
CODED_CHARS: Final = 8
"""So many characters of a key in a row show a part of it, as they are and in other letters: fewer would be in words."""

_CODED: Final = re.compile(r"&#\w{1,8};?|&\w{1,30};|(?:%|\\x)[0-9a-f]{2}|\\u[0-9a-f]{4}", re.IGNORECASE | re.ASCII)
_LETTER: Final = re.compile(rf"{_CODED.pattern}|[\w-]", re.IGNORECASE | re.ASCII)
_OTHER: Final = re.compile(r"[^\w-]+", re.ASCII)
_MASKED: Final = re.compile(r"\w\*{3}|\*{3}\w")


def without_traces(text: str, keys: Iterable[str]) -> str:
    """`text` of a server that got `keys`: without known secrets, and with "…" for each word that shows part of a key.

    A part is PART_CHARS characters in a row, whatever stands between them, also as HTML, URLs and JSON code them; in
    other capitals, backwards, in hex or base64 CODED_CHARS. So is what is left of a masked word ("sk-ab***yz").
    """
    keys = tuple(filter(None, keys))
    for key in keys:  # first: what codes a secret may be within one
        text = text.replace(key, HIDDEN)
    text = without_values(text)
    if not keys or not (HIDDEN in text or _CODED.search(text) or _found(_OTHER.sub("", text), keys)):
        return text
    read = [(each, found.start()) for found in _LETTER.finditer(text) for each in _OTHER.sub("", _decoded(found[0]))]
    shows = bytearray(len(text))
    for first, last in _found("".join(each for each, _ in read), keys):
        start, end = read[first][1], read[last][1] + 1
        shows[start:end] = b"\1" * (end - start)

    def shown(word: re.Match[str]) -> str:
        return "…" if 1 in shows[word.start() : word.end()] or _MASKED.search(word[0]) else word[0]

    return re.sub(r"\S+", shown, text)


def _decoded(letter: str) -> str:
    return unescape(letter) if letter[0] == "&" else chr(int(letter.lstrip("%\\xXuU"), 16)) if letter[1:] else letter


def _found(letters: str, keys: tuple[str, ...]) -> list[tuple[int, int]]:
    """Places where a part of a key stands in letters, digits, hyphens and underscores: its first and its last one."""
    return [
        (first, first + size - 1)
        for cased, size, known in zip((letters, letters.lower()), (PART_CHARS, CODED_CHARS), _parts(keys), strict=True)
        for first in range(len(cased) - size + 1)
        if cased[first : first + size] in known
    ]


@lru_cache(64)
def _parts(keys: tuple[str, ...]) -> tuple[set[str], set[str]]:
    """The parts of the keys as they are, and in other letters."""
    others = [form.lower() for key in keys for form in (*forms_of(key), key[::-1], key.encode().hex())]
    return _runs(keys, PART_CHARS), _runs(others, CODED_CHARS)


def _runs(texts: Iterable[str], size: int) -> set[str]:
    letters = (_OTHER.sub("", text) for text in texts)
    return {text[at : at + size] for text in letters for at in range(len(text) - size + 1)}
