"""Systems with one planted fault each: every fault moves the scores that name it, and leaves the others."""

from collections.abc import Sequence
from typing import Any

import pytest
from fakes import staff
from helpers.commands import printed
from helpers.score_rows import rows, value
from helpers.staged_runs import NEEDS_VOICE, hold_staff, staff_at_work

from fdbcore.suites.staged.cases import BY_CHANCE
from fdbcore.suites.staged.rows import SCALES

pytestmark = NEEDS_VOICE
TAIL_MS = 80
"""How long the examiner's voice dies away below what a party hears as its end."""
MEASURES = [scale.id for scale in SCALES]
SAID = ("goals_met", "all_goals_met", "wordings", "probes")


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The document of three runs: faults of words in all scenarios, those of timing in one, and a fast examiner."""
    folder = tmp_path_factory.mktemp("faults")
    energy, timed = ("--vad", "energy"), ("talks-over", "late", "never-answers", "opens")
    with staff_at_work(folder) as hears:
        runs = [
            hold_staff(folder / "words", "slow", systems(*staff.WRONG), *energy, scenarios=staff.FAIR),
            hold_staff(folder / "timed", "slow", systems(*timed, suffix=".one"), *energy),
            hold_staff(folder / "fast", "fast", systems("never-yields", how="long=1", suffix=".fast"), *energy),
        ]
        return printed("score", "--suite", "staged", *runs, "--transcriber", hears, "--out", folder / "s")


def systems(*faults: str, how: str = "", suffix: str = "") -> dict[str, str]:
    """A good system, and one with each fault."""
    return {f"{fault or 'good'}{suffix}": f"fault={fault}&{how}" for fault in ("", *faults)}


def row(scores: dict[str, Any], system: str, family: str = "", pacing: str = "slow") -> dict[str, Any]:
    (found,) = (each for each in rows(scores, subset=family) if (each["system"], each["condition"]) == (system, pacing))
    return {**found["counts"], **{name: value(found, name) for name in MEASURES}}


def moved(bad: dict[str, Any], good: dict[str, Any]) -> set[str]:
    """What differs of two rows but time a goal, talk share and what chance does, which follow from the length of the
    answers, too."""
    names = {*MEASURES, "silent", "spoke_first"} - {"goal_s", "b_talk_share", *BY_CHANCE}
    return {name for name in names if bad[name] != good[name] and bad[name] != pytest.approx(good[name], abs=0.02)}


def counted_goals(scores: dict[str, Any], scenario: str) -> Sequence[int]:
    """The numbers of the goals that a reciter does not meet."""
    goals = next(item["goals"] for item in scores["items"] if item["scenario"] == scenario)
    return [number for number, goal in enumerate(goals, 1) if "reciter" not in goal["floors"]]


def test_the_floors_are_those_of_the_scenarios_under_each_examiner(scores: dict[str, Any]) -> None:
    found = {(each["condition"], each["system"]): each for each in rows(scores, "baseline")}
    assert len(found) == 6
    assert (found["slow", "reciter"]["n"], found["fast", "reciter"]["n"]) == (3, 1)
    for pacing, scenarios in (("slow", staff.FAIR), ("fast", [staff.CORRECTION])):
        goals, left_out = 4 * len(scenarios), sum(4 - len(counted_goals(scores, name)) for name in scenarios)
        assert found[pacing, "reciter"]["counts"] == {"goals": goals, "met": left_out}
        of_good = row(scores, "good.fast" if pacing == "fast" else "good", pacing=pacing)
        assert (of_good["goals"], of_good["recited"]) == (goals, left_out)


@pytest.mark.parametrize("fault", staff.WRONG)
def test_wrong_words_cost_goals_of_their_family_alone(scores: dict[str, Any], fault: str) -> None:
    scenario, wrong = staff.WRONG[fault]
    for family in ("correction", "entity", "safety"):
        good, bad = row(scores, "good", family), row(scores, fault, family)
        assert good["goals_met"] == 1
        if scenario.startswith(family):
            counted = counted_goals(scores, scenario)
            assert bad["goals_met"] == sum(goal not in wrong for goal in counted) / len(counted)
            assert bad["all_goals_met"] == 1 - len(wrong) / 4
            assert moved(bad, good) == {"goals_met", "all_goals_met"}
        else:
            assert not moved(bad, good)
    assert row(scores, fault)["timing"] == row(scores, "good")["timing"] == 1


def test_faults_of_timing_move_what_names_them(scores: dict[str, Any]) -> None:
    good = row(scores, "good.one")
    assert (good["timing"], good["goals_met"], good["talked_over"]) == (1, 1, 0)

    late = row(scores, "late.one")
    assert moved(late, good) == {"timing", "answer_ms"}
    assert (late["timing"], late["answer_ms"]) == (0, pytest.approx(4000, abs=TAIL_MS))

    opens = row(scores, "opens.one")
    assert moved(opens, good) == {"spoke_first"}

    never = row(scores, "never-answers.one")
    # It is asked again in other words, and nothing it does not say can meet a goal.
    assert moved(never, good) == {"silent", "timing", "answered_per_turn", "no_response_per_turn", "answer_ms", *SAID}
    assert (never["silent"], never["timing"], never["answered_per_turn"], never["goals_met"]) == (1, 0, 0, 0)
    assert (never["no_response_per_turn"], never["b_talk_share"]) == (1, 0)
    assert (never["probes"], good["probes"]) == (1, 0), "the last of three wordings of each goal"

    over = row(scores, "talks-over.one")
    # The examiner breaks off, and has to say it again; what was cut is not answered, or only in part.
    floor = {"b_onset_in_overlap_per_a_speech_min", "overlap_s_per_min"}
    assert moved(over, good) >= {"timing", "talked_over", "premature_per_turn", "wordings", *floor}
    assert good["overlap_s_per_min"] == good["b_onset_in_overlap_per_a_speech_min"] == 0
    assert not moved(over, good) & {"silent", "spoke_first"}
    assert over["timing"] < 0.15
    assert over["talked_over"] > 0.7
    assert over["goals_met"] <= 1


def test_who_never_yields_is_told_by_the_timing_score(scores: dict[str, Any]) -> None:
    good, stubborn = row(scores, "good.fast", pacing="fast"), row(scores, "never-yields.fast", pacing="fast")
    # The examiner itself breaks off, and says it again.
    stops = "b_stopped_within_2s_per_long_a_onset"
    yields = "b_stopped_within_2s_per_labelled_interruption"
    distracted, selective = "b_stopped_within_2s_per_labelled_distraction", "b_selectivity"
    recovery = "b_recovery_latency_ms_per_labelled_interruption"
    named = {"timing", stops, yields, selective}
    # Nothing recovers that never stopped, and an answer that was over anyway looks like a stop now and then.
    # Its dialogue lasts longer, and ends at the limit of time before the last goal.
    follows = {*SAID, "overlap_s_per_min", "answer_ms", recovery, distracted}
    assert named <= moved(stubborn, good) <= named | follows
    assert stubborn["answer_ms"] == pytest.approx(good["answer_ms"], abs=TAIL_MS)
    assert (good[stops], good[yields]) == (1, 1)
    chance = good[f"{distracted}_by_chance"]
    assert good[distracted] == pytest.approx(chance, abs=0.25), "only where its answer was over soon"
    assert good[selective] == pytest.approx(1 - good[distracted])
    assert good[recovery] == pytest.approx(700, abs=60 + TAIL_MS), "as after any other turn of the examiner"
    assert stubborn[distracted] < 0.1
    assert stubborn[selective] == pytest.approx(stubborn[yields] - stubborn[distracted])
    assert stubborn[yields] < 0.2, "only where its answer was over soon"
    slow = row(scores, "good.one")
    assert {slow[name] for name in (yields, distracted, selective, recovery)} == {None}, "slow plants nothing"
    assert stubborn[stops] < 0.3, "only where its answer was over soon"
    assert stubborn["overlap_s_per_min"] > good["overlap_s_per_min"]
    assert good["timing"] > 0.8
    assert stubborn["timing"] < good["timing"] - 0.1
    assert good["goals_met"] == 1


def test_whatever_the_system_does_the_examiner_keeps_to_its_brief_and_pacing(scores: dict[str, Any]) -> None:
    for item in scores["items"]:
        assert item["examined"]["fault"] is None
        assert not set(item["examined"]["proofs"]) - {"contradicted"}, item["call"]
    slow, fast = scores["examiners"]
    assert (slow["pacing"], fast["pacing"], slow["invalid"], fast["invalid"]) == ("slow", "fast", 0, 0)
    assert slow["not_opened"] == sum(item["examined"]["opened"] is False for item in scores["items"]) == 1
    assert 1500 <= slow["reactions"]["median_ms"] <= 1800
    assert slow["reactions"]["promised_ms"] == [1500, 1800]
    assert fast["reactions"]["promised_ms"] == [1500, 1600]
