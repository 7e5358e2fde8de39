"""Checks whether an answer of a model is a record of the benchmark. Errors say what is wrong in words for the model."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any, Final

from fdbcore.errors import InputError
from fdbcore.runtime.json_values import json_value
from fdbcore.suites.dialogue_acts.records import Record
from fdbcore.suites.dialogue_acts.tag_sets import TagSet

KEYS: Final = ("scenario_context", "input", "output", "output_dialogue_acts")

JAPANESE_SHARE: Final = 0.3
"""Least share of kana and kanji among the letters of a Japanese text: it may be full of foreign names."""

NEAR_DUPLICATE: Final = 0.6
"""Two users' words are near-duplicates if this share of their character bigrams, or more, is in both (Jaccard index).

"10分のタイマーをセットして" and "5分のタイマーをセットして" have 0.79; among the 60 shipped requests the most is 0.17.
"""

_SPEAKER: Final = re.compile(r"(?:^|[\n「])[^\S\n]*(?:user|assistant|ユーザー?|アシスタント)\s*[:：]", re.IGNORECASE)
_JAPANESE: Final = re.compile(r"[\u3040-\u30ff\u3005\u3400-\u9fff\uf900-\ufaff]")
_KANA: Final = re.compile(r"[\u3041-\u30fa]")


def parse_json(text: str) -> Any:  # noqa: ANN401
    """The JSON value of an answer; InputError if the answer is anything else."""
    try:
        return json_value(text)
    except ValueError as error:
        raise InputError(f"expected one JSON value and nothing else: {error}") from error


def check_record(
    text: str, item_id: str, topic: str, generator: str, locale: str, tags: TagSet | None = None
) -> Record:
    """The record in a model's answer, with importances that sum to 1. InputError says what is wrong with it.

    Expected: the four KEYS; texts; known acts with importances in [0, 1) (1 for a single act) that sum to 1 within
    SUM_TOLERANCE (tags: None for the acts of the paper); one turn of each side; and Japanese text for a Japanese
    `locale`.
    """
    value = parse_json(text)
    if not isinstance(value, Mapping) or set(value) != set(KEYS):
        found = ", ".join(map(str, value)) if isinstance(value, Mapping) else type(value).__name__
        raise InputError(f"expected an object with the keys {', '.join(KEYS)}, got {found}")
    record = Record.from_json({"id": item_id, "topic": topic, "generator": generator, **value}, tags=tags)
    if record.locale != locale:
        raise InputError(f"input.locale: expected {locale}, got {record.locale}")
    for part, role in (("input", "USER"), ("output", "ASSISTANT")):
        if value[part].get("role", role) != role:
            raise InputError(f"{part}.role: expected {role}, got {value[part]['role']}")
    steps = record.references[0].annotation.steps
    for number, step in enumerate(steps):
        if len(steps) > 1 and step.importance >= 1:
            raise InputError(f"act {number}: expected an importance from 0 to below 1, got {step.importance:g}")
    texts = {
        "scenario_context.background": record.background,
        "input.text": record.user_text,
        "output.text": record.references[0].text,
    }
    for name, words in texts.items():
        if name != "scenario_context.background" and _SPEAKER.search(words):
            raise InputError(f"{name}: expected the words of a single turn, got several with their speakers")
        if locale.partition("-")[0] == "ja":
            _check_japanese(name, words)
    return record


def _check_japanese(name: str, text: str) -> None:
    letters = sum(character.isalpha() for character in text)
    share = len(_JAPANESE.findall(text)) / max(1, letters)
    if share < JAPANESE_SHARE or (name != "input.text" and not _KANA.search(text)):
        raise InputError(f"{name}: expected Japanese, got {text[:40]!r}")


class SeenRequests:
    """The users' requests so far, to find near-duplicates."""

    def __init__(self) -> None:
        self._seen: list[tuple[str, str, int]] = []  # name, words, how many bigrams
        self._with: defaultdict[str, list[int]] = defaultdict(list)  # bigram: which of the seen have it

    def check(self, text: str) -> None:
        """InputError if `text` is a near-duplicate of a request that was added; it names the nearest one."""
        grams = _bigrams(text)
        shared = Counter(index for gram in grams for index in self._with.get(gram, ()))
        scores = {index: count / (len(grams) + self._seen[index][2] - count) for index, count in shared.items()}
        nearest = max(scores, key=lambda index: (scores[index], -index), default=None)
        if nearest is not None and scores[nearest] >= NEAR_DUPLICATE:
            name, words, _ = self._seen[nearest]
            told = f"{name} ({words!r}; {scores[nearest]:.2f} of the character bigrams are in both)"
            raise InputError(f"input.text: expected another request than that of {told}")

    def add(self, name: str, text: str) -> None:
        """Add the request of record `name`."""
        grams = _bigrams(text)
        for gram in grams:
            self._with[gram].append(len(self._seen))
        self._seen.append((name, text, len(grams)))


def _bigrams(text: str) -> frozenset[str]:
    """The bigrams of letters and digits alone, without differences of width and case, which sound the same."""
    letters = "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).lower()))
    return frozenset(letters[start : start + 2] for start in range(max(1, len(letters) - 1)))
