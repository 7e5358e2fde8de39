"""What is wrong with scenarios of the right form, what they lack so that not everybody can use them, and which repeat
another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final

from msgspec import UNSET

from fdbcore.errors import nearest
from fdbcore.runtime.shape import unexpected
from fdbcore.suites.staged.families import Family
from fdbcore.suites.staged.scenarios import Scenario, StagedGoal, closings
from fdbcore.types import Problem

_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
"""An id is part of file names."""
_LANGUAGE: Final = re.compile(r"[a-z]{2,3}")
UNSPACED: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
"""Kana and Chinese characters: they stand for about half a word each."""
FEWEST_WORDS, MOST_WORDS = 8, 40
"""What one says in one go."""
_MOST_GROUPS: Final = 4
_KEY_AND_VALUE: Final = 2
NEAR: Final = 0.2
"""From this likeness on, two scenarios are near-duplicates; no two of our own reach half of it."""
FEWEST: Final = 10
"""So many sequences they share at least: of goals in a few words, phrases such as "confirm the time" are much."""
_WORDS: Final = 3
_CHARACTERS: Final = 6
"""The length of a sequence; that of Japanese and Chinese, whose words have no spaces between them, in characters."""


def scenario_faults(scenario: Scenario, families: Mapping[str, Family], where: str) -> Iterator[Problem]:
    """Why a scenario cannot be used. where: "FILE: ID"."""
    family = families.get(scenario.family)
    if not _ID.fullmatch(scenario.id):
        yield unexpected(f"{where}: id", "letters, digits, '.', '_' and '-'", scenario.id)
    if family is None:
        near = nearest(scenario.family, families)
        yield Problem(f"{where}: family", f"expected one of {', '.join(families)}, got {scenario.family!r}{near}")
    elif scenario.class_ not in family.class_titles:
        known = ", ".join(family.class_titles)
        near = nearest(scenario.class_, family.class_titles)
        yield Problem(f"{where}: class", f"expected one of {known}, got {scenario.class_!r}{near}")
    for language in scenario.languages:
        if not _LANGUAGE.fullmatch(language):
            yield unexpected(f"{where}: language", "a code of ISO 639-1 such as en", language)
    if not scenario.last_words:
        known = ", ".join(closings())
        yield Problem(f"{where}: closing", f"expected one, as the language is none of {known}; got none")
    limits = scenario.limits
    if limits.turns < len(scenario.goals):
        yield unexpected(f"{where}: limits: turns", f"{len(scenario.goals)} or more, one a goal", limits.turns)
    if limits.max_s <= 0:
        yield unexpected(f"{where}: limits: max_s", "more than 0", limits.max_s)
    for number, goal in enumerate(scenario.goals, 1):
        yield from _goal_faults(goal, f"{where}: goal {number}")
        if not goal.say and any(each.say for each in scenario.goals):
            yield Problem(f"{where}: goal {number}: say", "expected a text, as other goals have one, got none")
    yield from _part_faults(scenario, where)


def _goal_faults(goal: StagedGoal, where: str) -> Iterator[Problem]:
    if (goal.rephrase or goal.probe) and not goal.say:
        yield Problem(f"{where}: say", "expected a text beside rephrase and probe, got none")
    for text in goal.words:
        if goal.words.count(text) > 1:
            yield unexpected(where, "say, rephrase and probe in words of their own", text)
            break
    for number, pair in enumerate(goal.pairs, 1):
        if len(pair) != _KEY_AND_VALUE:
            yield unexpected(f"{where}: pairs {number}", "two groups, of a key and of its value", pair)
    groups = [
        *((f"heard {number}", group) for number, group in enumerate(goal.heard, 1)),
        ("unless", goal.unless),
        *((f"pairs {number}", group) for number, pair in enumerate(goal.pairs, 1) for group in pair),
    ]
    for name, group in groups:
        for phrase in group:
            if phrase != phrase.lower() or phrase != " ".join(phrase.split()) or not re.search(r"\w", phrase):
                yield unexpected(f"{where}: {name}", "words in lower case, with a space between them", phrase)


def _part_faults(scenario: Scenario, where: str) -> Iterator[Problem]:
    count = len(scenario.goals)
    for number, correction in enumerate(scenario.corrections, 1):
        place = f"{where}: correction {number}"
        if not 1 <= correction.stage <= count:
            yield unexpected(f"{place}: stage", f"1 to {count}", correction.stage)
        elif not 1 <= correction.of <= correction.stage:
            yield unexpected(f"{place}: of", f"1 to {correction.stage}", correction.of)
        if correction.after and correction.after == correction.before:
            yield unexpected(f"{place}: after", "another value than before", correction.after)
    for number, reference in enumerate(scenario.references, 1):
        place = f"{where}: reference {number}"
        if not 1 <= reference.stage <= count:
            yield unexpected(f"{place}: stage", f"1 to {count}", reference.stage)
            continue
        say = scenario.goals[reference.stage - 1].say
        if say and reference.says.casefold() not in say.casefold():
            yield unexpected(f"{place}: says", f"words in `say` of goal {reference.stage}", reference.says)
    if scenario.safety is not UNSET and scenario.safety.policy != scenario.class_:
        yield unexpected(f"{where}: safety: policy", f"the class, {scenario.class_}", scenario.safety.policy)


def lacks(scenario: Scenario, family: Family) -> Iterator[str]:
    """What a scenario without faults lacks, and what this means for its use."""
    if not scenario.has_words:
        yield "goals without say: a keyless examiner cannot play it"
    elif not all(goal.heard for goal in scenario.goals):
        yield "goals without heard: a keyless examiner cannot tell whether they are met"
    if not all(goal.met for goal in scenario.goals):
        yield "goals without met: a judge has the goal's text alone"
    if not all(correction.before and correction.after for correction in scenario.corrections):
        yield "corrections without before and after: a judge has the goals' texts alone"
    has = {"correction": scenario.corrections, "reference": scenario.references}
    for part in family.parts:
        if scenario.safety is UNSET if part == "safety" else not has[part]:
            yield f"no {part}, which scenarios of family {family.id} have"
    for number, goal in enumerate(scenario.goals, 1):
        if len(goal.heard) > _MOST_GROUPS:
            yield f"goal {number}: more than {_MOST_GROUPS} groups in heard: fair answers may be missed"
        if goal.say and not FEWEST_WORDS <= (words := word_count(goal.say)) <= MOST_WORDS:
            yield f"goal {number}: say: {words:.0f} words; {FEWEST_WORDS} to {MOST_WORDS} are natural in one go"


def word_count(text: str) -> float:
    """The words of a text; of Japanese and Chinese, two characters are taken for a word. Punctuation is none."""
    spaced = UNSPACED.sub(" ", text).split()
    return len(UNSPACED.findall(text)) / 2 + sum(bool(re.search(r"\w", word)) for word in spaced)


def by_reason(lacking: Iterable[tuple[str, str]]) -> list[str]:
    """A line for each reason, with the ids that it applies to: (id, reason) of each."""
    ids: dict[str, list[str]] = {}
    for id_, reason in lacking:
        ids.setdefault(reason, []).append(id_)
    return [f"{_listed(found)}: {reason}" for reason, found in ids.items()]


def _listed(ids: Sequence[str], most: int = 3) -> str:
    return ", ".join(ids) if len(ids) <= most else f"{len(ids)} scenarios ({', '.join(ids[:most])}, ...)"


def near_duplicates(scenarios: Sequence[Scenario]) -> Iterator[tuple[Scenario, Scenario, float]]:
    """Every two scenarios of one language that are alike by NEAR or more, and share FEWEST sequences of words.

    Each with its likeness: the share of the sequences of the shorter one that the other has too, 0 to 1.
    """
    sequences = [_sequences(scenario) for scenario in scenarios]
    for (a, of_a), (b, of_b) in combinations(zip(scenarios, sequences, strict=True), 2):
        if a.language == b.language and of_a and of_b:
            n_shared = len(of_a & of_b)
            share = n_shared / min(len(of_a), len(of_b))
            if share >= NEAR and n_shared >= FEWEST:
                yield a, b, share


def _sequences(scenario: Scenario) -> set[tuple[str, ...]]:
    texts = [text for goal in scenario.goals for text in (goal.goal, *goal.words)]
    found = set()
    for text in (scenario.role, scenario.background, *texts):
        units = re.findall(rf"{UNSPACED.pattern}|\w+?(?={UNSPACED.pattern}|\b)", text.casefold())
        length = _CHARACTERS if UNSPACED.search(text) else _WORDS
        found |= {tuple(units[start : start + length]) for start in range(len(units) - length + 1)}
    return found
