"""How often the program takes right answers to goals for wrong ones, and wrong ones for right ones.

The answers in goal_answers/ were written from the goals' texts alone, not from what is listened for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from fdbcore.suites.staged.scenario_files import BUILTIN, read_set
from fdbcore.suites.staged.users import brief_of

FOLDER: Final = Path(__file__).parent / "goal_answers"
SETS: Final = {language: name for name, language in BUILTIN.items()}
MOST_ACCEPTED: Final[Mapping[tuple[str, ...], float]] = {("wrong", "wrong_role"): 0.1, ("wrong_role",): 0.25}
MOST_REJECTED: Final = 0.05

each_language = pytest.mark.parametrize("language", SETS)


@cache
def judged(language: str) -> dict[str, list[tuple[str, bool]]]:
    """The answers of each kind, and whether they are accepted."""
    goals = {scenario.id: brief_of(scenario).goals for scenario in read_set(SETS[language]).scenarios}
    found: dict[str, list[tuple[str, bool]]] = {"right": [], "wrong": [], "wrong_role": []}
    for line in lines(language):
        answer = json.loads(line)
        goal = goals[answer["scenario"]][answer["goal"] - 1]
        label = f"{answer['scenario']} goal {answer['goal']}: {answer['says']}"
        found[answer["kind"]].append((label, goal.is_met_by(answer["says"])))
    return found


def lines(language: str) -> Iterator[str]:
    for path in sorted(FOLDER.glob(f"{language}.*.jsonl")):
        yield from path.read_text(encoding="utf-8").splitlines()


@each_language
def test_right_answers_are_seldom_rejected(language: str) -> None:
    right = judged(language)["right"]
    rejected = [label for label, accepted in right if not accepted]
    assert len(right) == 160
    assert len(rejected) <= MOST_REJECTED * len(right), "\n".join(rejected)


@each_language
def test_wrong_answers_are_seldom_accepted(language: str) -> None:
    for kinds, most in MOST_ACCEPTED.items():
        wrong = [each for kind in kinds for each in judged(language)[kind]]
        accepted = [label for label, accepted in wrong if accepted]
        assert len(wrong) == 80 * len(kinds)
        assert len(accepted) <= most * len(wrong), "\n".join(accepted)
