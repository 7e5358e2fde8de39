"""Sentences of an answer that is spoken as it comes."""

from __future__ import annotations

import re
from typing import Final

from fdbcore.types import SAMPLE_RATE_HZ

SENTENCE_GAP_SAMPLES: Final = SAMPLE_RATE_HZ // 5
"""The silence between two sentences of an answer."""

_SENTENCE: Final = re.compile(r".+?(?:[.!?…]+[\"')\]]*\s+|[。！？]+|\n+)", re.DOTALL)
"""A sentence that is known to be complete, because something follows it."""


def whole_sentences(text: str) -> tuple[list[str], str]:
    """The sentences that are complete, and the rest."""
    sentences, end = [], 0
    for found in _SENTENCE.finditer(text):
        sentences.append(found[0])
        end = found.end()
    return sentences, text[end:]


def has_words(text: str) -> bool:
    """Whether there is anything to speak in it."""
    return any(map(str.isalnum, text))


def heard_words(text: str, share: float) -> str:
    """The words of a text of which this share was heard."""
    words = text.split()
    return " ".join(words[: round(len(words) * share)])
