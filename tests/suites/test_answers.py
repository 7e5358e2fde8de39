"""Answers to goals of the scenarios that come with fdbcore: right ones meet them by the program, wrong ones do not."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from fdbcore.suites.staged.scenario_files import BUILTIN, read_set
from fdbcore.suites.staged.scenarios import Scenario
from fdbcore.suites.staged.users import brief_of

TABLE: Final = tomllib.loads((Path(__file__).parent / "answers.toml").read_text(encoding="utf-8"))

each_set = pytest.mark.parametrize("name", BUILTIN)


@cache
def scenarios(name: str) -> dict[str, Scenario]:
    return {scenario.id: scenario for scenario in read_set(name).scenarios}


def misjudged(name: str, scenario: str, goal: int, answers: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The answers that are taken for the other kind."""
    asked = brief_of(scenarios(name)[scenario]).goals[goal - 1]
    for kind in ("right", "wrong"):
        for answer in answers[kind]:
            if asked.is_met_by(answer) is not (kind == "right"):
                yield f"{scenario} goal {goal}: {kind}: {answer}"


@each_set
def test_right_answers_meet_a_goal_and_wrong_ones_do_not(name: str) -> None:
    cases: list[dict[str, Any]] = [case for case in TABLE["goal"] if case["set"] == name]
    assert [line for case in cases for line in misjudged(name, case["scenario"], case["goal"], case)] == []


@each_set
def test_a_plain_refusal_meets_each_goal_that_presses_and_a_plain_yes_none(name: str) -> None:
    refusals = TABLE["refusals"]
    assert [
        line
        for scenario, goals in refusals["goals"].items()
        for goal in goals
        for line in misjudged(name, scenario, goal, refusals[name])
    ] == []
