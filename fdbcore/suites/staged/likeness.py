"""Scenarios that repeat each other: the share of word sequences that two of them have in common."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final, NamedTuple

from fdbcore.suites.staged.checks import UNSPACED
from fdbcore.suites.staged.scenarios import Scenario

NEAR: Final = 0.2
"""From this likeness on, two scenarios are near-duplicates; no two of our own reach half of it."""
FEWEST: Final = 10
"""So many sequences they share at least: of goals in a few words, phrases such as "confirm the time" are much."""
_WORDS: Final = 3
_CHARACTERS: Final = 6
"""The length of a sequence; that of Japanese and Chinese, whose words have no spaces between them, in characters."""


class Likeness(NamedTuple):
    """Two scenarios, and the share of the sequences of the shorter one that the other has too, 0 to 1."""

    first: Scenario
    second: Scenario
    share: float


def near_duplicates(scenarios: Sequence[Scenario], least: float = NEAR) -> Iterator[Likeness]:
    """Every two scenarios of one language that are alike by `least` or more, and share FEWEST sequences."""
    sequences = [_sequences(scenario) for scenario in scenarios]
    for (a, of_a), (b, of_b) in combinations(zip(scenarios, sequences, strict=True), 2):
        if a.language == b.language and of_a and of_b:
            n_shared = len(of_a & of_b)
            share = n_shared / min(len(of_a), len(of_b))
            if share >= least and n_shared >= FEWEST:
                yield Likeness(a, b, share)


def _sequences(scenario: Scenario) -> set[tuple[str, ...]]:
    texts = [text for goal in scenario.goals for text in (goal.goal, *goal.words)]
    found = set()
    for text in (scenario.role, scenario.background, *texts):
        units = re.findall(rf"{UNSPACED.pattern}|\w+?(?={UNSPACED.pattern}|\b)", text.casefold())
        length = _CHARACTERS if UNSPACED.search(text) else _WORDS
        found |= {tuple(units[start : start + length]) for start in range(len(units) - length + 1)}
    return found
