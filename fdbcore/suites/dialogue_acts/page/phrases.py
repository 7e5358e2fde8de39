"""Explains the scores of the suite in words, without formulas, and says what the page says in other languages."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Final

from fdbcore.errors import SettingsError
from fdbcore.report import NONE, Wording
from fdbcore.runtime import shipped_toml
from fdbcore.suites.dialogue_acts.records import Step
from fdbcore.suites.dialogue_acts.scoring.alignment import Operation
from fdbcore.suites.dialogue_acts.scoring.scores import ActsItem
from fdbcore.types.scorecard import PageWords

PACKAGE: Final = "fdbcore.suites.dialogue_acts"
"""The package with the style sheets, the templates and the words of the page."""
ENGLISH: Final = "en"
OTHERS: Final = ("ja",)
"""The other languages of the page: data/page.LANGUAGE.toml says what it says, by its English."""

PARTS: Final = {"insertion": "missing", "deletion": "redundant", "substitution": "swapped"}
"""The parts of a distance (WED), in the order in which they are shown."""

OPERATIONS: Final = {"match": "kept", **PARTS}
"""Changes of an act, in a reader's words; the paper's names say how a reply becomes the reference."""

MOST: Final = 8  # acts that a sentence names


def weight(value: float) -> str:
    """An importance or a cost: "0.85", "0.475"."""
    text = f"{value:.3f}"
    return text.removesuffix("0")


def mean(value: float | None) -> str:
    """A mean, a standard deviation or a limit of an interval, as the paper prints them: "0.662"."""
    return NONE if value is None else f"{value:.3f}".replace("-", "−")


def span(limits: Sequence[float] | None) -> str:
    """An interval: "0.512 to 0.601"."""
    return " to ".join(map(mean, limits)) if limits else NONE


def acts_of(item: ActsItem) -> tuple[Sequence[Step], Sequence[Step]]:
    """The steps of the reference that counts, and of the reply."""
    return item.reference.steps, item.response.steps


def steps_of(item: ActsItem) -> Iterator[tuple[Operation, Step | None, Step | None, float]]:
    """Each step of the alignment: the acts of the reference and of the reply that it takes, if any, and its cost."""
    references, replies = acts_of(item)
    for step in item.path:
        asked, given = step.reference_index, step.prediction_index
        yield (
            step.operation,
            None if asked is None else references[asked],
            None if given is None else replies[given],
            step.cost,
        )


def headline(item: ActsItem) -> str:
    """The distance as a sum: "Distance (WED) 1.05 = 0.35 missing + 0.70 redundant"."""
    scores = item.scores
    parts = [f"{weight(scores[name])} {word}" for name, word in PARTS.items() if scores[name]]
    return f"Distance (WED) {weight(scores['wed'])}" + (f" = {' + '.join(parts)}" if parts else "")


def reasons(item: ActsItem) -> list[str]:
    """Reasons for the values of the distance (WED) and the overlap (weighted LCS): a sentence each."""
    if not item.response.steps:
        return ["No reply, so all of the reference is missing and nothing is in common."]
    missing = [asked for operation, asked, _, _ in steps_of(item) if asked and operation == "insertion"]
    redundant = [given for operation, _, given, _ in steps_of(item) if given and operation == "deletion"]
    sentences = []
    if missing:
        sentences.append(f"{weight(item.scores['insertion'])} of the reference is missing: {_listed(missing)}.")
    if redundant:
        sentences.append(f"{weight(item.scores['deletion'])} of the reply is redundant: {_listed(redundant)}.")
    if swapped := _swapped(item):
        sentences.append(swapped)
    return [*(sentences or ["Every act is there, in order, and nothing else: a distance of 0."]), _common(item)]


def _swapped(item: ActsItem) -> str:
    pairs = [
        (asked, given, cost)
        for operation, asked, given, cost in steps_of(item)
        if asked and given and operation == "substitution"
    ]
    whole = sum(asked.importance + given.importance for asked, given, _ in pairs) / 2
    total = item.scores["substitution"]
    half = "half of both weights" + (", less for related acts" if whole > total + 1e-9 else "")
    swaps = [f"{given.act} instead of {asked.act} {weight(cost)}" for asked, given, cost in pairs]
    return f"{weight(total)} for acts swapped ({half}): {_first(swaps)}." if swaps else ""


def _common(item: ActsItem) -> str:
    scores = item.scores
    if not scores["wlcs"]:
        return "In common, in the same order: nothing (weighted LCS 0.00)."
    text = (
        f"In common, in the same order: {weight(scores['wlcs'])} of the reply (weighted LCS), "
        f"{weight(scores['recall'])} of the reference (recall)"
    )
    kept = sum(given.importance for operation, _, given, _ in steps_of(item) if given and operation == "match")
    if kept < scores["wlcs"] - 1e-9:
        text += f"; the cheapest alignment, drawn here, keeps {weight(kept)} of the reply"
    return f"{text}."


def _listed(acts: Sequence[Step]) -> str:
    return _first([f"{act.act} {weight(act.importance)}" for act in acts])


def _first(texts: Sequence[str]) -> str:
    """The first of the texts, and how many more there are."""
    more = f" and {len(texts) - MOST} more" if len(texts) > MOST else ""
    return ", ".join(texts[:MOST]) + more


def check_language(language: str) -> None:
    """SettingsError for a language that the page does not speak."""
    if language not in (ENGLISH, *OTHERS):
        raise SettingsError(f"--page-language: expected {ENGLISH} or {', '.join(OTHERS)}, got {language}")


@cache
def page_words(language: str) -> PageWords | None:
    """The words of this suite's page in a language; None for English."""
    return None if language == ENGLISH else PageWords(language, shipped_toml(PACKAGE, f"data/page.{language}.toml"))


@cache
def sayer(language: str) -> Callable[[str], str]:
    """A function that says a sentence in a language. Pictures need it, as they break their sentences into lines."""
    found = page_words(language)
    return str if found is None else Wording(*found).text
