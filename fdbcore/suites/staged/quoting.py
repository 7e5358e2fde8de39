"""Whether a judge's reason quotes anything, as the rubrics ask: words that were said, or a time.

Words count in quotation marks, or three in a row without them. Which time a reason should name is not checked.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, Final

WORDS_IN_A_ROW: Final = 3
"""So many of what was said are a quotation without marks; fewer may be chance."""

_TIME: Final = re.compile(r"\d\s*(?:(?:m?s|sec|seconds?)\b|秒)|\d\.\d|\d:\d\d")
_QUOTED: Final = re.compile(
    r"\"([^\"]+)\"|“([^“”]+)”|「([^「」]+)」|『([^『』]+)』|«([^«»]+)»|(?<!\w)['‘]((?:(?!(?<!\w)['‘]).)+?)['’](?!\w)"
)
"""No mark of its own opens within a quotation: so a long reason is read in one go."""
_WORD: Final = re.compile(r"\w+(?:['’]\w+)*")


def quotes(reason: str, evidence: Mapping[str, Any]) -> bool:
    """Whether a reason quotes what a judge has read. evidence: as of `turns.evidence_of`."""
    if _TIME.search(reason):
        return True
    said = [_words(each["words"]) for each in evidence["said"]]
    spaced, close = [f" {' '.join(words)} " for words in said], ["".join(words) for words in said]
    for groups in _QUOTED.findall(reason):
        words = _words("".join(groups))
        has_spaces = all(character < "\u2e80" for character in "".join(words))
        if words and (
            any(f" {' '.join(words)} " in line for line in spaced)
            if has_spaces
            else any("".join(words) in line for line in close)
        ):
            return True
    own = _words(reason)
    return not _rows(own).isdisjoint(row for words in said for row in _rows(words))


def _rows(words: Sequence[str]) -> set[tuple[str, ...]]:
    return {tuple(words[at : at + WORDS_IN_A_ROW]) for at in range(len(words) - WORDS_IN_A_ROW + 1)}


def _words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold().replace("’", "'"))
