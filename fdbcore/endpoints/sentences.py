"""Sentences of an answer that is spoken as it comes."""

import re
from typing import Final

from fdbcore.types import SAMPLE_RATE_HZ

SENTENCE_GAP_SAMPLES: Final = SAMPLE_RATE_HZ // 5
"""The silence between two sentences of an answer."""

_STOP: Final = re.compile(r"([.!?…]+)[\"')\]]*(\s*)|([。！？]+|\n+)")
"""Possible ends of a sentence: marks, and the blanks after them."""


def whole_sentences(text: str) -> tuple[list[str], str]:
    """The sentences that are complete, and the rest."""
    sentences, end = [], 0
    for found in _STOP.finditer(text):
        is_alone = found.start() + len(found[1] or found[3]) == end + 1  # nothing stands before it in its sentence
        if ("\n" in (found[2] or "")) if is_alone else (found[2] or found[3]):
            sentences.append(text[end : found.end()])
            end = found.end()
    return sentences, text[end:]


def is_whole(sentence: str) -> bool:
    """True if it ends as sentences do, rather than where a limit cut it off."""
    ends = [found.end() for found in _STOP.finditer(sentence)]
    return bool(ends) and not has_words(sentence[ends[-1] :])


def has_words(text: str) -> bool:
    """True if there is anything to speak in it."""
    return any(map(str.isalnum, text))


def heard_words(text: str, share: float) -> str:
    """The words of a text of which this share was heard."""
    words = text.split()
    return " ".join(words[: round(len(words) * share)])
