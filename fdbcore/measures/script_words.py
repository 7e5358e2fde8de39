"""A check that what an examiner said belongs to its brief, by the words alone.

It is lenient: an actor may put a goal in words of its own, so one word of weight that the brief has is enough.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

LEAST_WORDS: Final = 3
"""The words of weight below which a text ("Yes, that one.") belongs to any brief."""
STEM: Final = 5
"""Words that begin with the same so many letters are taken for one."""

LEAVES: Final = (
    "as an ai", "as a language model", "i am an ai", "i'm an ai", "i am a language model", "i'm a language model",
    "how can i help you", "how may i help you", "how can i assist you", "how may i assist you", "how can i help today",
    "anything else i can help", "anything else i can assist", "glad i could help",
    "aiとして", "言語モデル", "私はai", "どのようなご用件", "お手伝いできることはありますか", "ご用件をお伺い",
)  # fmt: skip
"""Phrases of an assistant: who plays the person and says one has left its role, unless its brief has the phrase."""

_COMMON: Final = frozenset(
    "about actually after again also already and another any anything are back been before being bring but can could "
    "course did does doing don't each else even every fine first for from get gets getting give going good got great "
    "had has have hear hello here his her how into isn't it's its just know let let's like little long look made make "
    "many maybe mean might more most much must need next not nothing now okay only other our out over please quite "
    "really right said same say see shall she should some something still such sure take tell than thank thanks that "
    "that's the their them then there these they thing think this those though through time too two under until very "
    "wait want was way well were what what's when where which while who will with would yeah yes you you're "
    "your".split()
)
_TOKEN: Final = re.compile(r"[\u30a1-\u30fa\u30fc]{2,}|[\u3400-\u9fff]+|[^\W_\u3040-\u30ff\u3400-\u9fff]+(?:'\w+)*")
_UNSPACED: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")


def brief_texts(brief: Mapping[str, Any]) -> Iterator[str]:
    """Every text of a brief, as meta.json has it."""
    yield from (brief["role"], brief["background"], brief["closing"])
    for goal in brief["goals"]:
        yield from (goal["goal"], goal["met"], *goal["sayings"], *(each for group in goal["heard"] for each in group))


def is_of(text: str, texts: Collection[str]) -> bool:
    """True if a text is one of `texts`, has a word of weight that they have, or has fewer than LEAST_WORDS of them."""
    words = _weighty(text)
    return text in texts or len(words) < LEAST_WORDS or bool(words & _weighty(" ".join(texts)))


def role_left(text: str, texts: Iterable[str]) -> str | None:
    """The first phrase of LEAVES that the text has and none of `texts`; None if there is none."""
    said, known = _plain(text), _plain(" ".join(texts))
    return next((phrase for phrase in LEAVES if phrase in said and phrase not in known), None)


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    return re.sub(r"\s+", " ", folded)


def _weighty(text: str) -> set[str]:
    """The beginnings of words that mean something: not the common ones, no Hiragana; pairs of Chinese characters."""
    found: set[str] = set()
    for token in _TOKEN.findall(_plain(text)):
        if _UNSPACED.search(token):
            is_katakana = "\u30a0" < token[0] < "\u3100"
            found |= {token} if is_katakana else {token[at : at + 2] for at in range(len(token) - 1)}
        elif (len(token) > 2 or token.isdigit()) and token not in _COMMON:
            found.add(token[:STEM])
    return found
