"""Floors of goals that words decide: a parrot, a reciter, a refusal; and what of the goals then counts."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

import numpy as np
import pytest
from helpers.score_rows import rows, value

from fdbcore.endpoints.examiner.agenda import Verdict
from fdbcore.endpoints.examiner.brief import Brief
from fdbcore.report.scorecard.screen import screen
from fdbcore.suites.staged.card import card
from fdbcore.suites.staged.cases import StagedCase
from fdbcore.suites.staged.document import document
from fdbcore.suites.staged.goals import GoalResult, goal_values, met_by_floors
from fdbcore.suites.staged.rows import RULE, passes, rule_of
from fdbcore.suites.staged.scenario_files import BUILTIN, read_set
from fdbcore.suites.staged.users import brief_of

REFUSALS: Final[Mapping[str, str]] = {
    "builtin": "I'm sorry, but I can't help with that.",
    "builtin-ja": "申し訳ありませんが、それはお手伝いできません。",
}


@cache
def briefs(name: str) -> Sequence[Brief]:
    return [brief_of(scenario) for scenario in read_set(name).scenarios]


def oracle(brief: Brief, name: str) -> Mapping[str, list[bool]]:
    """By floor, whether each goal is met."""
    goals = brief.goals
    return {
        "parrot": [goal.is_met_by(goal.sayings[0]) for goal in goals],
        "reciter": [
            goal.is_met_by("\n".join(each.sayings[0] for each in goals[: number + 1]))
            for number, goal in enumerate(goals)
        ],
        "refusal": [goal.is_met_by(REFUSALS[name]) for goal in goals],
    }


def dialogue(brief: Brief, verdicts: Sequence[Verdict], by_words: bool = True, pacing: str = "slow") -> StagedCase:
    floors = met_by_floors(brief) if by_words else [None] * len(brief.goals)
    goals = [
        GoalResult(goal.goal, verdict, 1, 0.0, 1.0, floors=own)
        for goal, verdict, own in zip(brief.goals, verdicts, floors, strict=True)
    ]
    return StagedCase(
        f"{brief.id}.{pacing}", "s", 1, brief.id, brief.id.partition(".")[0], "any", pacing, brief.language,
        goals, examiner="scripted" if by_words else "llm:m", values=goal_values(goals),
    )  # fmt: skip


def all_met(brief: Brief) -> Sequence[Verdict]:
    return ["met"] * len(brief.goals)


@pytest.mark.parametrize("name", BUILTIN)
def test_the_rows_are_what_parrot_reciter_and_refusal_would_meet(name: str) -> None:
    told = {brief.id: oracle(brief, name) for brief in briefs(name)}
    cases = [dialogue(brief, all_met(brief), pacing=pacing) for pacing in ("slow", "fast") for brief in briefs(name)]
    found = document(cases, [])
    floors = rows(found, "baseline", None)
    assert {(row["condition"], row["system"], row["subset"]) for row in floors} == {
        (pacing, floor, family)
        for pacing in ("slow", "fast")
        for floor in ("parrot", "reciter", "refusal")
        for family in ("", "daily", "correction", "entity", "safety")
    }
    for row in floors:
        own = {id_: each for id_, each in told.items() if row["subset"] in ("", id_.partition(".")[0])}
        met = [each[row["system"]] for each in own.values()]
        assert (row["n"], row["counts"]["goals"], row["counts"]["met"]) == (
            len(own),
            sum(map(len, met)),
            sum(map(sum, met)),
        )
        assert value(row, "all_goals_met") == pytest.approx(np.mean([np.mean(each) for each in met]))
        counted = [
            np.mean([is_met for is_met, is_left_out in zip(each[row["system"]], each["reciter"], strict=True)
                     if not is_left_out])
            for each in own.values() if not all(each["reciter"])
        ]  # fmt: skip
        assert row["measures"]["goals_met"]["n"] == len(counted)
        assert value(row, "goals_met") == pytest.approx(np.mean(counted))
        if row["system"] == "reciter":
            assert value(row, "goals_met") == 0
    assert [(row["counts"]["goals"], row["counts"]["recited"]) for row in rows(found)] == [
        (sum(len(each["reciter"]) for each in told.values()), sum(sum(each["reciter"]) for each in told.values()))
    ] * 2


def test_goals_that_a_reciter_meets_count_in_all_goals_alone() -> None:
    """One that recites scores 0 where others count, and nothing where none do; it passes nowhere by that."""
    is_left_out = {brief.id: oracle(brief, "builtin-ja")["reciter"] for brief in briefs("builtin-ja")}
    for brief in briefs("builtin-ja"):
        left_out = is_left_out[brief.id]
        recites = dialogue(brief, ["met" if each else "unmet" for each in left_out])
        assert recites.values["all_goals_met"] == np.mean(left_out)
        assert recites.values.get("goals_met") == (None if all(left_out) else 0)
        assert passes(recites, rule_of(RULE)) is (None if all(left_out) else False)
        if all(left_out):
            recites.has_task_score, recites.values["task_score"] = True, 4.0
            assert passes(recites, rule_of(RULE)) is True, "the judge's score decides"
            recites.values["task_score"] = 3.0
            assert passes(recites, rule_of(RULE)) is False
        only_others = dialogue(brief, ["unmet" if each else "met" for each in left_out])
        assert only_others.values.get("goals_met") == (None if all(left_out) else 1)
        assert passes(only_others, rule_of("all_goals_met=1")) is not any(left_out)
    assert sum(map(all, is_left_out.values())), "some scenarios are met whole by reciting"


def test_goals_that_a_model_or_nobody_judged_have_no_floors() -> None:
    ours = briefs("builtin")
    by_model = [dialogue(brief, all_met(brief), by_words=False) for brief in ours]
    assert all(case.values["goals_met"] == case.values["all_goals_met"] == 1 for case in by_model)
    unheard = [dialogue(brief, ["not heard"] * len(brief.goals)) for brief in ours]
    for cases in (by_model, unheard):
        found = document(cases, [])
        assert {row.group for row in card(found).rows} == {"system"}
        assert not any("reciter" in row.note for row in card(found).rows)


def test_the_scorecard_has_them_as_baselines_and_tells_what_is_left_out() -> None:
    found = document([dialogue(brief, all_met(brief)) for brief in briefs("builtin")], [])
    made = card(found)
    assert [(row.group, row.system) for row in made.rows] == [
        ("system", "s"), *(("baseline", floor) for floor in ("parrot", "reciter", "refusal"))
    ]  # fmt: skip
    assert {row.subset for row in made.subsets if row.system == "parrot"} == {"daily", "correction", "entity", "safety"}
    counts = rows(found)[0]["counts"]
    assert f"{counts['recited']} of {counts['goals']} goals that a reciter meets are left out" in made.rows[0].note
    reciter = made.rows[2]
    assert (reciter.measures["goals_met"].value, reciter.n) == (0, len(briefs("builtin")))
    assert (
        reciter.note
        == f"says all that the user has said so far; {counts['recited']} of all {counts['goals']} goals met"
    )
    assert {"parrot", "reciter", "refusal", "all goals met"} <= set(made.shown_terms)
    assert all(f"{row.system}: " in screen(made, 100) for row in made.rows)
