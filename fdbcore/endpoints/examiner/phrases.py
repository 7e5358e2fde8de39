"""Phrases that words say and mean: whole words and numbers, neither denied nor replaced, each in its role."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, product, repeat
from typing import Final, TypeAlias

from fdbcore.endpoints.examiner.denials import (
    Denial,
    denies,
    is_dropped,
    is_in_doubt,
    is_not_this,
    is_otherwise,
    is_past,
    is_refrained,
    is_twice_denied,
)
from fdbcore.endpoints.examiner.numerals import alike, with_digits

Alternatives: TypeAlias = Sequence[str]
Pair: TypeAlias = Sequence[Alternatives]
"""The alternatives of a key, and those of its value."""

_UNSPACED: Final = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
"""Kana and Chinese characters: words of such scripts are not set apart by spaces, so each character is a word here."""
_NO_SPACES: Final = re.compile(f"[{_UNSPACED}]")
_LETTER: Final = rf"(?![{_UNSPACED}\d_])\w"
_WORD: Final = re.compile(
    rf"\d+:\d\d(?:am|pm)?|\d+(?:am|pm|th)(?!{_LETTER})|\d+(?:\.\d+)?|[{_UNSPACED}]|(?:{_LETTER})+|[,.;:!?、。…—]"
)
_ACCENT: Final = re.compile("[\u0300-\u036f]")
_SPELLINGS: Final = tuple(
    (re.compile(pattern), written)
    for pattern, written in (
        ("\N{RIGHT SINGLE QUOTATION MARK}", "'"),
        (r"\bcannot\b|\bcan't\b", "can not"),
        (r"\bwon't\b", "will not"),
        (r"n't\b", " not"),
        (r"'ll\b", " will"),
        (r"'ve\b", " have"),
        (r"'re\b", " are"),
        (r"'m\b", " am"),
        (r"\b(it|that|there|here|what|who|where|how|he|she)'s\b", r"\1 is"),
        (r"(?<=\w)'s\b", ""),
        (r"(?<=[a-z])'(?=[a-z])", ""),
    )
)
_ENDINGS: Final = tuple(
    (re.compile(pattern), written)
    for pattern, written in (
        (r"(?<=..)ies?$", "y"),
        (r"(?<=ch|sh|ss|zz|.x)es$", ""),
        (r"(?<=[a-z]{3})(?<![sui])s$", ""),
    )
)
_PARTICLES: Final = frozenset("up off out down back away".split())
_SPELT_OUT: Final = range(4, 17)
"""Numbers with so many digits are said in parts, too."""
_MOST_BETWEEN: Final = 3
"""So many words may stand between a verb and its particle."""
_NEXT: Final = re.compile(r" \.(?! (?:neither|none of|で も|た だ|ま あ|っ て 言)\b)")
"""The sentence's end, unless the next one takes it back."""
_SENTENCE_ENDS: Final = frozenset(".;!?。…")


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of a text in normal form, and what stands before each: "", "," or "."."""

    words: tuple[str, ...]
    stops: tuple[str, ...]

    def places(self, phrase: str, surely: bool) -> Iterator[tuple[int, int]]:
        """Places of a phrase in the text: its first word, and the one after its last. "Pick up" is in "pick it up"."""
        sought = _words(phrase).words
        if not all(word in self.words or word[0].isdigit() for word in sought):
            return
        gaps = range(_MOST_BETWEEN + 1 if sought[1:] and sought[-1] in _PARTICLES else 1)
        for start, gap in product(range(len(self.words) - len(sought) + 1 if sought else 0), gaps):
            end = start + len(sought) + gap
            there = (*self.words[start : end - gap - 1], *self.words[end - 1 : end])
            if len(there) == len(sought) and all(map(alike, sought, there, repeat(surely))):
                stops = self.stops[start + 1 : end]
                if "." not in stops and not (any(stops) and _NO_SPACES.search(phrase)):
                    yield start, end
        if len(sought) == 1 and len(sought[0]) in _SPELT_OUT and sought[0].isdecimal():
            yield from self._spelt_out(sought[0])

    def _spelt_out(self, digits: str) -> Iterator[tuple[int, int]]:
        """Places where the text says a long number in parts: 4 7 29."""
        for start, length in product(range(len(self.words)), range(2, len(digits) + 1)):
            if "".join(self.words[start : start + length]) == digits:
                yield start, min(start + length, len(self.words))

    def meant(self, phrase: str, *denials: Denial) -> list[tuple[int, int]]:
        """Places of a phrase in the text that none of these denies. One that itself denies is meant as it stands."""
        places = self.places(phrase, surely=is_in_doubt in denials)
        if denies(_words(phrase).words, phrase):
            denials = (is_twice_denied, is_otherwise)
        return [place for place in places if not self._is_denied(*place, denials)]

    def _is_denied(self, start: int, end: int, denials: Sequence[Denial]) -> bool:
        before = f"{self._text(0, start)} {self.stops[start]}".rpartition(" .")[2].rstrip()
        after = _NEXT.split(self._text(end, len(self.words)), maxsplit=1)[0].replace(" .", " ,")
        of_number = (is_in_doubt,) if self.words[start][0].isdigit() and is_dropped in denials else ()
        return any(each(before, after) for each in (*denials, *of_number))

    def ended_before(self, place: int, ends: str) -> int:
        """The number of these ends that stand before a word."""
        return sum(stop in ends for stop in self.stops[: place + 1] if stop)

    def _text(self, start: int, end: int) -> str:
        pairs = zip(self.stops[start:end], self.words[start:end], strict=True)
        return "".join(f" {stop} {word}" if stop else f" {word}" for stop, word in pairs)


def is_said(words: str, heard: Sequence[Alternatives], unless: Alternatives = (), pairs: Sequence[Pair] = ()) -> bool:
    """True if words say and mean a phrase of each group of `heard`, none of `unless`, and each key with its own value.

    Case, punctuation and the width of characters do not count, nor does it how numbers and times are written. A phrase
    that is denied or replaced ("not X", "from X to Y", "Xではなく") is not meant, nor, unless `heard` has phrases that
    deny, one that is left out ("I skipped X"). False if nothing is demanded.
    """
    said = _words(words)
    if not heard and not pairs:
        return False
    demands_denial = any(denies(_words(phrase).words, phrase) for group in heard for phrase in group)
    denials = (is_not_this, is_dropped, *(() if demands_denial else (is_refrained,)))
    return (
        all(any(said.meant(phrase, *denials) for phrase in group) for group in heard)
        and not any(
            said.meant(phrase, is_not_this, is_dropped, is_refrained, is_past, is_in_doubt) for phrase in unless
        )
        and _roles_fit(said, pairs)
    )


@lru_cache(maxsize=2**15)
def _words(text: str) -> _Words:
    plain = unicodedata.normalize("NFKC", _ACCENT.sub("", unicodedata.normalize("NFD", text.casefold())))
    for pattern, written in _SPELLINGS:
        plain = pattern.sub(written, plain)
    words, stops, stop = [], [], ""
    for word in _WORD.findall(with_digits(plain)):
        if word[0].isalnum():
            words.append(_stem(word))
            stops.append(stop)
        stop = "" if word[0].isalnum() else "." if word in _SENTENCE_ENDS or stop == "." else ","
    return _Words(tuple(words), tuple(stops))


def _stem(word: str) -> str:
    """A word without the ending of the plural."""
    for pattern, written in _ENDINGS:
        word = pattern.sub(written, word)
    return word


@dataclass(frozen=True, slots=True)
class _Mention:
    """A place at which a key or a value is said. of: the alternatives that it is one of."""

    start: int
    end: int
    is_key: bool
    of: frozenset[Alternatives]


def _roles_fit(said: _Words, pairs: Sequence[Pair]) -> bool:
    """True if each key that is said has its own value next to it, not that of another key; each value is said.

    If no key is said, the values have to stand in their order.
    """
    known = [(tuple(key), tuple(value)) for key, value in pairs]
    mentions = _mentions(said, known)
    keys = {each for mention in mentions if mention.is_key for each in mention.of}
    values = [mention.of for mention in mentions if not mention.is_key]
    if not keys:
        return list(dict.fromkeys(values)) == [frozenset({value}) for _, value in known]
    links = sorted(_links(said, mentions), key=lambda link: abs(link[0].start - link[1].start))
    for key, value in known:
        others = {other for its_key, other in known if its_key != key} - {value}
        own = [of.of for its_key, of in links if key in its_key.of and of.of & (others | {value})]
        if not (own and value in own[0] if key in keys else any(value in of for of in values)):
            return False
    return True


def _mentions(said: _Words, pairs: Sequence[tuple[Alternatives, Alternatives]]) -> list[_Mention]:
    """The keys and values that are meant, in their order; of those that overlap, the longest."""
    found: dict[tuple[int, int, bool], set[Alternatives]] = {}
    for pair in pairs:
        for is_key, group in zip((True, False), pair, strict=True):
            denials = (is_not_this,) if is_key else (is_not_this, is_dropped)
            for start, end in (place for phrase in group for place in said.meant(phrase, *denials)):
                found.setdefault((start, end, is_key), set()).add(group)
    kept: list[_Mention] = []
    for (start, end, is_key), of in sorted(found.items(), key=lambda each: each[0][0] - each[0][1]):
        if all(end <= each.start or each.end <= start for each in kept):
            kept.append(_Mention(start, end, is_key, frozenset(of)))
    return sorted(kept, key=lambda each: each.start)


def _links(said: _Words, mentions: Sequence[_Mention]) -> Iterator[tuple[_Mention, _Mention]]:
    """Keys with their values: first those of one clause, of the others those of one sentence, then the rest."""
    for ends in (",.", ".", ""):
        left = []
        for _, own in groupby(mentions, key=lambda each: said.ended_before(each.start, ends)):
            unit = list(own)
            if len({each.is_key for each in unit}) == 1:
                left += unit
            else:
                yield from _linked(unit)
        mentions = left


def _linked(mentions: Sequence[_Mention]) -> Iterator[tuple[_Mention, _Mention]]:
    """Runs of keys and of values alternate, and belong together two by two.

    As many values as keys belong together in their order; otherwise each to all. Of a last run without a partner, the
    run before gives the last one: "Max in five and in seven Hugo".
    """
    runs = [list(run) for _, run in groupby(mentions, key=lambda each: each.is_key)]
    if len(runs) > 2 and len(runs) % 2 and len(runs[-2]) > 1:
        runs[-1:] = [[runs[-2].pop()], runs[-1]]
    for one, other in zip(runs[::2], runs[1::2], strict=False):
        keys, values = (one, other) if one[0].is_key else (other, one)
        yield from zip(keys, values, strict=True) if len(keys) == len(values) else product(keys, values)
