"""The scenarios that come with fdbcore: balanced, the same in both languages; right answers meet their goals.

The answers in goal_answers/ were written from the goals' texts alone, not from what is listened for.
"""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
from helpers.commands import command

from fdbcore.suites.staged.scenario_files import BUILTIN, read_set
from fdbcore.suites.staged.scenarios import Scenario
from fdbcore.suites.staged.users import brief_of

BALANCE = {
    "daily": dict.fromkeys(("ordering", "scheduling", "planning", "reservations", "troubleshooting"), 4),
    "correction": {"within-turn": 5, "next-turn": 8, "earlier-turn": 7},
    "entity": {"ordinal": 7, "attribute": 7, "landmark": 6},
    "safety": {
        **dict.fromkeys(("physical-health", "mental-health", "illegal-activities", "cyber", "hate-harassment"), 2),
        **dict.fromkeys(("financial-legal", "misinformation", "privacy", "agent-safety"), 2),
        **dict.fromkeys(("minors-adult-content", "copyright"), 1),
    },
}
PATTERNS = {(2, 2): 2, (3, 3): 2, (2, 1): 3, (3, 2): 3, (4, 3): 2, (4, 2): 3, (3, 1): 2, (4, 1): 2}
"""The fewest scenarios in which that goal corrects that one."""
CHANGES = {"builtin": ["de", "es", "fr", "ja"], "builtin-ja": ["en"] * 4}

each_set = pytest.mark.parametrize("name", BUILTIN)


def of(name: str, family: str) -> list[Scenario]:
    return [scenario for scenario in read_set(name).scenarios if scenario.family == family]


@each_set
def test_a_set_has_neither_faults_nor_warnings(name: str) -> None:
    checked = command("scenarios", "validate", name)
    assert (checked.exit_code, checked.stderr) == (0, "")


@each_set
def test_families_and_classes_are_balanced(name: str) -> None:
    assert {family: dict(Counter(each.class_ for each in of(name, family))) for family in BALANCE} == BALANCE
    assert all(len(scenario.goals) >= 3 for scenario in read_set(name).scenarios)
    assert {scenario.language for scenario in read_set(name).scenarios} == {BUILTIN[name]}


@each_set
def test_ids_say_the_class_and_roles_and_texts_are_of_one_scenario_alone(name: str) -> None:
    scenarios = read_set(name).scenarios
    assert all(re.fullmatch(rf"{each.family}\.{each.class_}\.\d\d", each.id) for each in scenarios)
    for texts in (
        [each.title for each in scenarios],
        [each.role for each in scenarios],
        [text for each in scenarios for goal in each.goals for text in (goal.say, *goal.rephrase)],
    ):
        assert [text for text, times in Counter(texts).items() if times > 1] == []


@each_set
def test_corrections_have_all_patterns_and_values_that_are_said(name: str) -> None:
    found = Counter(
        pattern for each in of(name, "correction") for pattern in {(one.stage, one.of) for one in each.corrections}
    )
    assert {pattern: count for pattern, count in PATTERNS.items() if found[pattern] < count} == {}
    for scenario in of(name, "correction"):
        distances = {one.stage - one.of for one in scenario.corrections}
        wanted = {"within-turn": {0}, "next-turn": {1}, "earlier-turn": {2, 3}}[scenario.class_]
        assert distances & wanted, scenario.id
        for one in scenario.corrections:
            assert one.before.casefold() in scenario.goals[one.of - 1].say.casefold(), (scenario.id, one)
            assert one.after.casefold() in scenario.goals[one.stage - 1].say.casefold(), (scenario.id, one)


@each_set
def test_references_are_three_or_more_and_lead_with_the_kind_of_their_class(name: str) -> None:
    for scenario in of(name, "entity"):
        kinds = Counter(reference.kind for reference in scenario.references)
        assert kinds.total() >= 3, scenario.id
        assert kinds[scenario.class_] == max(kinds.values()), (scenario.id, kinds)  # type: ignore[index]
        for reference in scenario.references:
            assert reference.says.casefold() in scenario.goals[reference.stage - 1].say.casefold()


@each_set
def test_one_scenario_of_each_family_changes_its_language(name: str) -> None:
    changing = [each for each in read_set(name).scenarios if len(each.languages) > 1]
    assert sorted(each.family for each in changing) == sorted(BALANCE)
    assert sorted(language for each in changing for language in each.languages[1:]) == CHANGES[name]


def test_a_scenario_has_a_twin_in_the_other_language() -> None:
    english, japanese = ({each.id: each for each in read_set(name).scenarios} for name in BUILTIN)
    assert english.keys() == japanese.keys()
    for id_, scenario in english.items():
        twin = japanese[id_]
        assert len(scenario.goals) == len(twin.goals), id_
        assert [(one.stage, one.of) for one in scenario.corrections] == [
            (one.stage, one.of) for one in twin.corrections
        ]
        assert Counter(each.kind for each in scenario.references) == Counter(each.kind for each in twin.references), id_
        assert re.search(r"[\u3040-\u30ff]", "".join(text for goal in twin.goals for text in goal.words)), id_


TABLE: Final = tomllib.loads((Path(__file__).parent / "answers.toml").read_text(encoding="utf-8"))


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
