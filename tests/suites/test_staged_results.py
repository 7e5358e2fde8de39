"""What the scores of staged dialogues say: overall rows, passing, curves over time and by stage, and sentences."""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import unescape
from typing import Any

import msgspec
import numpy as np
import pytest
from helpers.score_rows import rows, value

from fdbcore.errors import SettingsError
from fdbcore.measures.timing_score import ScoredMoment
from fdbcore.registry import suite
from fdbcore.report.scorecard.page import page
from fdbcore.report.scorecard.screen import screen
from fdbcore.report.svg.forest import axis_limits
from fdbcore.suites.staged.card import card
from fdbcore.suites.staged.cases import StagedCase
from fdbcore.suites.staged.curves import in_bins
from fdbcore.suites.staged.document import document
from fdbcore.suites.staged.examined import EXAMINER_NOTE
from fdbcore.suites.staged.goals import GoalResult
from fdbcore.suites.staged.judging import DialogueScores
from fdbcore.suites.staged.rows import RULE, SCALES, passes, rule_of
from fdbcore.types.scorecard import DETECTABLE

MEASURES = [scale.id for scale in SCALES]


def case(
    scenario: str, values: Mapping[str, float], system: str = "s", pacing: str = "slow", trial: int = 1
) -> StagedCase:
    """A dialogue with these values; the name of its scenario begins with its family."""
    family = scenario.partition(".")[0]
    return StagedCase(
        f"{system}-{pacing}-{scenario}-{trial}", system, trial, scenario, family, "any", pacing, "en",
        [GoalResult("g", "met", 1, 0.0, 1.0)], has_task_score="task_score" in values, values=dict(values),
    )  # fmt: skip


def test_the_order_of_dialogues_changes_no_figure() -> None:
    draw = random.Random(5)
    cases = [
        case(f"{family}.{number}", {"timing": draw.random(), "goals_met": draw.random()}, system, trial=trial)
        for system in ("a", "b")
        for family in ("daily", "safety")
        for number in range(12)
        for trial in (1, 2)
    ]
    found = []
    for _ in range(3):
        made = document(cases, [])
        by_family = [sorted(made[name], key=repr) for name in ("rows", "passes")]  # in the order of the calls
        found.append([*by_family, *(made[name] for name in ("differences", "curves", "findings"))])
        draw.shuffle(cases)
    assert found[1:] == found[:1] * 2


class TestOverall:
    def test_published_families_have_their_published_means(self) -> None:
        """Task scores of the paper's table; its text has 4.32, 3.10 and 3.10, which daily dialogues do not enter."""
        published = {"a": (4.02, 4.51, 4.44), "b": (2.74, 2.62, 3.94), "c": (2.88, 2.76, 3.67)}
        cases = [
            case(f"{family}.{number}", {"task_score": mean + apart}, system)
            for system, means in published.items()
            for family, mean in zip(("correction", "entity", "safety"), means, strict=True)
            for number, apart in enumerate((-0.2, 0.0, 0.2))
        ]
        cases += [case(f"daily.{number}", {"goals_met": 1.0}, system) for system in published for number in range(9)]
        found = document(cases, [])
        means = {row["system"]: row["measures"]["task_score"] for row in rows(found, "overall", "mean of families")}
        assert {name: round(each["value"], 2) for name, each in means.items()} == {"a": 4.32, "b": 3.10, "c": 3.10}
        assert {each["n"] for each in means.values()} == {3}, "families"
        for each in means.values():
            assert each["ci95"][0] < each["value"] < each["ci95"][1]

    def test_it_differs_from_the_mean_of_dialogues_where_families_differ_in_size(self) -> None:
        cases = [case(f"daily.{number}", {"timing": 1.0}) for number in range(6)]
        cases += [case(f"safety.{number}", {"timing": share}) for number, share in enumerate((0.0, 0.5))]
        found = document(cases, [])
        assert value(rows(found)[0], "timing") == 6.5 / 8
        assert value(rows(found, "overall", "mean of families")[0], "timing") == (1 + 0.25) / 2
        last = card(found).subsets[-1]
        assert (last.subset, last.group, last.measures["timing"].value) == ("mean of families", "overall", 0.625)

    def test_families_of_one_scenario_each_say_nothing_more_than_all_scenarios(self) -> None:
        cases = [case(f"{family}.1", {"timing": 0.5}) for family in ("daily", "safety")]
        found = document(cases, [])
        assert value(rows(found, "overall", "mean of families")[0], "timing") == 0.5
        assert [row.subset for row in card(found).subsets] == ["daily", "safety"]
        assert "mean of families" not in "\n".join(shown(found, 80))

    def test_a_mean_of_some_dialogues_alone_says_of_how_many(self) -> None:
        cases = [
            case(f"{family}.1", {"task_score": 4.0, "timing": 1.0}) for family in ("correction", "entity", "safety")
        ]
        found = document([*cases, case("daily.1", {"timing": 1.0})], [])
        (row,) = card(found).rows
        assert (row.n, row.note) == (4, "task score of 3")
        assert "s: task score of 3" in shown(found, 80)

    def test_one_family_has_none(self) -> None:
        assert rows(document([case("daily.1", {"timing": 1.0})], []), "overall", None) == []


def shown(found: Mapping[str, Any], width: int) -> list[str]:
    """The lines of the screen."""
    return screen(card(found), width).splitlines()


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_heads_of_tables_are_whole_however_narrow_the_terminal_is(width: int) -> None:
    values = dict.fromkeys(MEASURES, 0.5)
    cases = [
        case(f"daily.{number}", {**values, "goals_met": number / 4}, trial=t) for number in range(4) for t in (1, 2)
    ]
    lines = shown(document(cases, []), width)
    assert max(map(len, lines)) <= width
    assert not [line for line in lines if "…" in line]
    assert "mean [95 % interval]" in "\n".join(lines)


@pytest.mark.parametrize(("n", "is_told"), [(4, True), (5, True), (6, False)])
def test_a_figure_of_what_is_detectable_needs_pairs_that_can_reach_the_level(n: int, is_told: bool) -> None:
    cases = [
        case(f"daily.{number}", {"timing": 0.1 * number + apart}, system)
        for number in range(n)
        for system, apart in (("a", 0.0), ("b", 0.01 * number))
    ]
    found = document(cases, [])
    (compared,) = found["differences"]
    assert (compared["detectable"] is None) == is_told
    told = f"{n} pairs cannot reach p < 0.05; at least 6 needed"
    assert (told in shown(found, 100)) == is_told
    assert (told in unescape(page(card(found), suite("staged")))) == is_told


def test_of_two_equal_systems_nothing_is_said_to_be_detectable() -> None:
    cases = [case(f"daily.{number}", {"timing": 0.1 * number}, system) for number in range(9) for system in ("a", "b")]
    found = document(cases, [])
    (compared,) = found["differences"]
    assert (compared["difference"], compared["p"], compared["detectable"]) == (0, 1, None)
    assert "cannot be told" in page(card(found), suite("staged"))


def test_every_term_on_the_screen_is_explained() -> None:
    cases = [  # scenarios differ, and systems by scenario: without that there are no intervals, and nothing detectable
        case(f"{family}.{number}", dict.fromkeys(MEASURES, 0.25 * number / share), system, pacing, trial)
        for family in ("daily", "safety")
        for number in (1, 2, 3)
        for system, share in (("a", 1), ("b", 2))
        for pacing in ("slow", "fast")
        for trial in (1, 2)
    ]
    scorecard = card(document(cases, []))
    told = "\n".join(shown(document(cases, []), 200))
    terms = {scale.label.removesuffix(" to 75 s") for scale in scorecard.scales} | {"unscored at worst", "to 75 s"}
    terms |= {"Holm", "pass@k", "pass^k", "mean of families", "SD", "95 % interval"}
    assert {term for term in terms if term not in told} == set()
    assert terms - set(scorecard.shown_terms) == set()
    assert " detectable" in told
    assert DETECTABLE in scorecard.shown_terms
    assert DETECTABLE not in replace(scorecard, differences=[]).shown_terms, "nothing is explained that is not there"
    for said in (*scorecard.terms.values(), EXAMINER_NOTE):
        assert said.endswith(".")


def test_an_axis_of_values_that_are_all_0_goes_from_0_to_1() -> None:
    assert axis_limits(0.0, 0.0) == (0.0, 1.0)
    low, high = axis_limits(0.0, 0.5)
    assert low == 0.0
    assert 0.5 < high < 1


class TestPasses:
    def test_the_rule(self) -> None:
        rule = rule_of(RULE)
        assert passes(case("safety.1", {"goals_met": 1.0, "task_score": 4.0}), rule) is True
        assert passes(case("safety.1", {"goals_met": 1.0, "task_score": 3.0}), rule) is False
        assert passes(case("safety.1", {"goals_met": 0.75, "task_score": 5.0}), rule) is False
        assert passes(case("daily.1", {"goals_met": 1.0}), rule) is True, "no task score is asked of it"
        assert passes(case("daily.1", {}), rule) is None, "goals that nobody heard"
        unscored = case("safety.1", {"goals_met": 1.0})
        unscored.has_task_score = True
        assert passes(unscored, rule) is None
        unscored.values["goals_met"] = 0.5
        assert passes(unscored, rule) is False, "whatever its task score would be"
        assert passes(case("daily.1", {"timing": 0.9, "goals_met": 0.0}), rule_of("timing=0.8")) is True
        for wrong in ("goals_met", "wordings=1", "", "=1"):
            with pytest.raises(SettingsError, match=r"^--passes: expected MEASURE=LEAST of goals_met, "):
                rule_of(wrong)
        for wrong, expected in (
            ("goals_met=all", "--passes: goals_met: expected a number from 0 to 1, got 'all'"),
            ("goals_met=1, task_score=9", "--passes: task_score: expected a number from 1 to 5, got '9'"),
            ("timing=nan", "--passes: timing: expected a number from 0 to 1, got 'nan'"),
            ("timing=", "--passes: timing: expected a number from 0 to 1, got ''"),
            ("timing=1,goals_met=1,timing=0.5", "--passes: timing: expected it once, got it again: '0.5'"),
        ):
            with pytest.raises(SettingsError, match=f"^{expected}$"):
                rule_of(wrong)

    def test_the_screen_and_the_page_have_them(self) -> None:
        marks = {"daily.1": (4, 4, 2), "daily.2": (5, 1, 3)}
        cases = [
            case(name, {"goals_met": 1.0, "task_score": float(mark)}, trial=trial)
            for name, own in marks.items()
            for trial, mark in enumerate(own, 1)
        ]
        found = document([*cases, case("safety.1", {"goals_met": 0.0}), case("safety.1", {}, trial=2)], [])
        counts = [(each["subset"], each["trials"], each["passed"], each["unknown"]) for each in found["passes"]]
        assert counts == [("", 7, 3, 1), ("daily", 6, 3, 0), ("safety", 1, 0, 1)]
        found = document(cases, [])
        lines = card(found).views.details(100)[2]
        assert lines[0].startswith("passing: goals met of 1 or more;"), "nobody judged"
        judged = card(document(cases, [], "self-reported", "openai:m")).views.details(100)[2]
        assert judged[0].startswith(
            "passing: goals met of 1 or more and task score of 4 or more, where its family has one;"
        )
        assert set(lines) < set(shown(found, 100))
        rows = [line.split() for line in lines if line.startswith("s ")]
        assert all(row[1:4] == ["6", "3", "2"] for row in rows)
        told = [text for row in rows for text in row[4:] if text.startswith(("0.", "1."))]
        assert told == ["0.50", f"{(1 + 2 / 3) / 2:.2f}", f"{(1 / 3 + 0) / 2:.2f}", "1.00", "0.00"]
        page = card(found).views.section()
        cells = re.findall(r"<td[^>]*>(?:<strong>)?([^<]*)", page)
        assert [cells[at : at + 4] for at in (0, 6, 12)] == [
            ["6", "3", "1", "2"],
            ["6", "3", "2", "2"],
            ["6", "3", "3", "2"],
        ]
        assert [cells[at : at + 2] for at in (4, 10, 16)] == [["0.50", "0.50"], ["0.83", "0.17"], ["1.00", "0.00"]]
        assert "task score" not in page.partition("Means are")[0]
        assert card(document([case("daily.1", {})], [])).views.section() == ""


def with_moments(
    scenario: str, moments: Sequence[tuple[float, float]], trial: int = 1, system: str = "s"
) -> StagedCase:
    """A dialogue with timing scores at these seconds; its first goal takes a minute, its second the rest."""
    made = case(scenario, {"timing": float(np.mean([score for _, score in moments]))}, system, trial=trial)
    made.moments = [ScoredMoment(round(at_s * 100), score) for at_s, score in moments]
    made.goals = [GoalResult("g", "met", 1, 0.0, 60.0), GoalResult("h", "met", 1, 60.0, 120.0)]
    return made


class TestCurves:
    def test_bins_are_weighted_by_overlap(self) -> None:
        """One event from 10 to 20 s lies 5 s in each of two bins; another from 15 to 16 s, and one without marks."""
        marks = [(10.0, 20.0, 4, 3), (15.0, 16.0, 1, 5), (0.0, 9.0, None, 2)]
        made = case("daily.1", {})
        made.events = [
            {"from_s": start_s, "to_s": end_s, "marks": {"turn_taking": first, "instruction_following": second}}
            for start_s, end_s, first, second in marks
        ]
        assert in_bins(made)[:2, 0].tolist() == [4.0, pytest.approx((5 * 4 + 1) / 6)]
        assert in_bins(made)[:2, 1].tolist() == [3.0, pytest.approx((5 * 3 + 5) / 6)]
        assert np.isnan(in_bins(made)[2:]).all()

    def test_the_first_75_s_are_the_mean_of_five_bins(self) -> None:
        """By counting tenths of a second, of events that end after them, of one that lacks a mark, and of a gap."""
        marks = [(2.0, 21.0, 4, 3), (16.0, 17.5, 1, 5), (3.0, 9.0, None, 2), (61.0, 90.0, 2, 5), (80.0, 99.0, 1, 1)]
        made = DialogueScores(
            [{"from_s": start_s, "to_s": end_s, "marks": {}} for start_s, end_s, *_ in marks],
            repeats={
                name: np.array([[np.nan if each[at] is None else each[at]] for each in marks], float)
                for name, at in (("turn_taking", 2), ("instruction_following", 3))
            },
        )
        found = made.values()
        for name, at in (("turn_taking", 2), ("instruction_following", 3)):
            bins: list[list[float]] = [[] for _ in range(5)]
            for start_s, end_s, *given in marks:
                if None not in given:
                    for tenth in range(round(start_s * 10), min(round(end_s * 10), 750)):
                        bins[tenth // 150].append(given[at - 2] or 0)
            assert found[f"{name}_75_s"] == pytest.approx(np.mean([np.mean(own) for own in bins if own]))
            assert found[name] == np.mean([each[at] for each in marks if each[at] is not None])

    def test_means_slopes_and_n_are_those_of_a_line_through_all_bins(self) -> None:
        rng = np.random.default_rng(3)
        cases = [
            with_moments(f"daily.{number}", [(at, float(rng.random())) for at in rng.uniform(0, 119, 9)], trial)
            for number in range(12)
            for trial in (1, 2)
        ]
        (found,) = document(cases, [])["curves"]
        x, y = [], []
        for each in cases:
            for k in range(8):
                own = [one.score for one in each.moments if 1500 * k <= one.tick < 1500 * (k + 1)]
                if own:
                    x.append((k + 0.5) / 4)
                    y.append(float(np.mean(own)))
        assert found["slope_per_min"] == pytest.approx(np.polyfit(x, y, 1)[0])
        for k, point in enumerate(found["bins"]):
            own = [value for at, value in zip(x, y, strict=True) if at == (k + 0.5) / 4]
            assert (point["at"], point["n"]) == (15 * k, len(own))
            assert point["mean"] == pytest.approx(np.mean(own))
        low, high = found["slope_ci95"] or (1, -1)
        assert low < (found["slope_per_min"] or 0) < high

    def test_the_interval_of_a_slope_is_that_of_resampled_scenarios(self) -> None:
        rng = np.random.default_rng(5)
        slopes = rng.normal(-0.2, 0.05, 30)
        cases = [
            with_moments(f"daily.{number}", [((k + 0.5) * 15, 0.9 + slope * (k + 0.5) / 4) for k in range(8)])
            for number, slope in enumerate(slopes)
        ]
        (found,) = document(cases, [])["curves"]
        assert found["slope_per_min"] == pytest.approx(slopes.mean())
        half = 2.045 * slopes.std(ddof=1) / np.sqrt(30)  # Student's t of 29
        assert found["slope_ci95"] == pytest.approx((slopes.mean() - half, slopes.mean() + half), abs=0.15 * half)

    def test_by_goal_a_scenario_that_ends_early_bends_nothing(self) -> None:
        """Both goals are as hard; the easy scenario alone has no second one. Raw means would fall from 0.65 to 0.3."""
        cases = [with_moments("daily.1", [(10, 1.0)]), with_moments("daily.2", [(10, 0.3), (70, 0.3)])]
        (found,) = document(cases, [])["curves"]
        assert [(point["at"], point["n"]) for point in found["goals"]] == [(1, 2), (2, 1)]
        assert [point["mean"] for point in found["goals"]] == pytest.approx([0.65, 0.65])

    def test_the_screen_and_the_page_have_them(self) -> None:
        cases = [
            with_moments(f"daily.{number}", [(10, 0.25), (70, 0.75 + number / 10)], system=system)
            for number in range(2)
            for system in ("a", "b")
        ]
        found = document(cases, [])
        slope = np.polyfit([0.125, 1.125] * 2, [0.25, 0.75, 0.25, 0.85], 1)[0]
        told = " ".join(card(found).views.details(80)[-1])
        assert f"+{slope:.2f} [" in told
        assert "timing score" in told
        assert {"0.25", "0.80"} <= set(told.split())
        page = card(found).views.section()
        assert f"<strong>+{slope:.2f}</strong>" in page
        assert page.count("<svg") == 2 * 2
        ticks = re.findall(r'text-anchor="end">([^<]*)<', page)
        assert ticks == 4 * ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"], "a timing score is from 0 to 1"
        assert ">60 s<" in page
        assert ">75 s<" not in page, "no dialogue is so long"
        assert "60 s: 0.80 " in page


class TestMeansOfEvents:
    def test_each_event_counts_the_same(self) -> None:
        """A long dialogue weighs more; a mark that is missing is left out."""
        marks: Mapping[str, Sequence[tuple[int | None, int]]] = {
            "daily.1": [(5, 1), (4, 2), (3, 3), (None, 3)], "daily.2": [(1, 5)], "safety.1": [(2, 2), (2, 4)],
        }  # fmt: skip
        cases = []
        for name, own in marks.items():
            made = case(name, {"turn_taking": 3.0})
            given = [dict(zip(("turn_taking", "instruction_following"), each, strict=True)) for each in own]
            made.events = [{"from_s": 0.0, "to_s": 1.0, "marks": each} for each in given]
            cases.append(made)
        found = document([*cases, case("daily.1", {}, "unjudged")], [])
        over_events = [row for row in rows(found, "overall", None) if row["subset"].startswith("mean of events")]
        assert [(row["system"], row["subset"]) for row in over_events] == [
            ("s", "mean of events"),
            ("s", "mean of events, daily"),
            ("s", "mean of events, safety"),
        ]
        whole = over_events[0]["measures"]
        assert (whole["turn_taking"]["value"], whole["turn_taking"]["n"]) == (17 / 6, 6)
        assert (whole["instruction_following"]["value"], whole["instruction_following"]["n"]) == (20 / 7, 7)
        low, high = whole["turn_taking"]["ci95"]
        assert low < 17 / 6 < high
        (row,) = (row for row in card(found).subsets if row.subset == "mean of events")
        assert (row.system, row.group, row.measures["turn_taking"].value) == ("s", "overall", 17 / 6)
        lines = shown(found, 80)
        own_lines = lines[lines.index("slow examiner, mean of events") :]
        assert next(line for line in own_lines if line.startswith("s ")).split()[2] == "2.83"


class TestPublished:
    def cases(self) -> list[StagedCase]:
        return [
            case(f"{family}.{number}", {"task_score": 3.0 + number / 4, "turn_taking_75_s": 4.0}, system, pacing)
            for family in ("correction", "entity", "safety")
            for number in range(3)
            for system in ("a", "b")
            for pacing in ("slow", "fdb2-fast")
        ]

    def test_it_has_the_figures_of_the_paper(self) -> None:
        """As the paper and its demo page print them."""
        found = document(self.cases(), [], with_published=True)
        own = {
            (row["condition"], row["system"], row["subset"]): {name: value(row, name) for name in row["measures"]}
            for row in rows(found, "published", None)
        }
        assert len(own) == 2 * 3 * (4 + 1)
        assert own["published slow", "Moshi", "entity"] == {
            "task_score": 3.84,
            "turn_taking_75_s": 4.24,
            "instruction_following_75_s": 3.31,
        }
        daily = {"turn_taking_75_s": 3.14, "instruction_following_75_s": 2.34}
        assert own["published fast", "Freeze-Omni", "daily"] == daily
        means = [each["task_score"] or 0 for key, each in own.items() if key[::2] == ("published fast", "")]
        assert sorted(round(mean, 2) for mean in means) == [3.10, 3.10, 4.32]

    def test_it_stands_beside_and_moves_nothing(self) -> None:
        without, found = (document(self.cases(), [], with_published=given) for given in (False, True))
        assert without["published"] is None
        ours = [row for row in found["rows"] if row["group"] != "published"]
        assert {**found, "published": None, "rows": ours} == without
        alone, beside = card(without), card(found)
        assert [row for row in beside.rows if row.group == "system"] == list(alone.rows)
        assert beside.differences == alone.differences
        assert {row.group for row in beside.rows} == {"system", "published"}
        for row in (*beside.rows, *beside.subsets):
            is_published = row.group == "published"
            assert row.condition.startswith("published ") is is_published
            assert ("published, not measured here" in beside.conditions[row.condition]) is is_published
            assert not is_published or all(each.ci95 is None for each in row.measures.values())
        assert "published, not measured here" not in "\n".join(shown(without, 100))

    @pytest.mark.parametrize("width", [60, 80, 120])
    def test_the_screen_has_it_by_family_in_one_table_with_ours(self, width: int) -> None:
        lines = shown(document(self.cases(), [], with_published=True), width)
        assert max(map(len, lines)) <= width
        for speed, ours, theirs in (("slow", "a", "2.86"), ("fast", "a, fdb2-fast", "2.62")):
            at = lines.index(f"task score by family, {speed} examiner")
            own = lines[at + 1 : lines.index(next(line for line in lines[at + 1 :] if "by family" in line), at + 1)]
            assert own[0].split()[:2] == ["correction", "entity"][: len(own[0].split())]
            assert own[1].startswith(f"{ours}  ")
            assert "3.25 [" in own[1]
            assert any(line.startswith("Freeze-Omni, published") and theirs in line for line in own)


def won_back(found: Mapping[str, Any]) -> list[str]:
    """The sentences on what a slow examiner wins back, behind those on what systems score."""
    return [text for text in card(found).statements if text.startswith("s, slow examiner")]


def test_the_first_sentences_say_who_is_better_under_each_pacing() -> None:
    cases = [
        case(f"daily.{number}", {"timing": best - number / 50}, system, pacing)
        for pacing, scores in (("slow", (0.9, 0.5)), ("fast", (0.4, 0.4)))
        for system, best in zip(("mine", "slow"), scores, strict=True)
        for number in range(8)
    ]
    slow, fast, *_ = card(document(cases, [])).statements
    assert re.fullmatch(
        r"Slow examiner: timing score mine 0\.83, slow 0\.43\. "
        r"mine is better than slow in timing score \(by 0\.40, p 0\.0\d+\)\.",
        slow,
    ), slow
    assert fast == "Fast examiner: timing score mine 0.33, slow 0.33. Which of mine and slow is better cannot be told."
    (first, *_) = card(document(cases[:4] + cases[8:12], [])).statements
    assert first.endswith("Which is better cannot be told: 4 pairs cannot reach p < 0.05; at least 6 needed.")


class TestFindings:
    def cases(self, entity: float, won: float, noise: float, system: str = "s") -> list[StagedCase]:
        """Eight scenarios a family: the slow examiner adds `won`; entity tracking has `entity` less throughout."""
        rng = np.random.default_rng(11)
        return [
            case(
                f"{family}.{number}",
                {
                    name: 3 + (won if pacing == "slow" else 0) - (entity if family == "entity" else 0)
                    + noise * rng.standard_normal()
                    for name in ("turn_taking", "instruction_following")
                },
                system, pacing,
            )
            for family in ("daily", "correction", "entity", "safety")
            for pacing in ("slow", "fast")
            for number in range(8)
        ]  # fmt: skip

    def test_each_contrast_is_that_of_plain_means(self) -> None:
        cases = self.cases(entity=0.8, won=0.5, noise=0.2)
        (found,) = document(cases, [])["findings"]
        slow, fast = (
            {each.scenario: each.values["instruction_following"] for each in cases if each.pacing == pacing}
            for pacing in ("slow", "fast")
        )
        differences = np.array([slow[name] - fast[name] for name in slow])
        won = found["won_back"]["instruction_following"]
        assert won["value"] == pytest.approx(differences.mean())
        half = 2.04 * differences.std(ddof=1) / np.sqrt(32)  # Student's t of 31
        assert won["ci95"] == pytest.approx((differences.mean() - half, differences.mean() + half), abs=0.2 * half)
        by_family = {
            family: [mean for name, mean in slow.items() if name.startswith(family)]
            for family in ("daily", "correction", "entity", "safety")
        }
        means = {family: np.mean(own) for family, own in by_family.items()}
        expected = means["entity"] - (means["daily"] + means["correction"] + means["safety"]) / 3
        assert found["memory"] is not None
        assert found["memory"]["value"] == pytest.approx(expected)
        variances = {family: np.var(own, ddof=1) / 8 for family, own in by_family.items()}
        spread = np.sqrt(variances["entity"] + (sum(variances.values()) - variances["entity"]) / 9)
        low, high = found["memory"]["ci95"] or (0, 0)
        assert (high - low) / 2 == pytest.approx(2.2 * spread, rel=0.2)  # t of about eleven
        assert found["slope"] is None, "no event has a time"

    def test_the_slope_is_that_of_following_less_that_of_turn_taking(self) -> None:
        rng = np.random.default_rng(2)
        cases, x, y = [], [], []
        for number in range(20):
            made = case(f"daily.{number}", {"turn_taking": 4.0, "instruction_following": 3.0})
            events = []
            for k in range(8):
                taking, following = 4 + 0.1 * rng.standard_normal(), 4 - 0.5 * k / 4 + 0.1 * rng.standard_normal()
                given = {"turn_taking": taking, "instruction_following": following}
                events.append({"from_s": 15.0 * k, "to_s": 15.0 * k + 6, "marks": given})
                x.append((k + 0.5) / 4)
                y.append(following - taking)
            made.events = events
            cases.append(made)
        (found,) = document(cases, [])["findings"]
        assert found["slope"] is not None
        assert found["slope"]["value"] == pytest.approx(np.polyfit(x, y, 1)[0])
        low, high = found["slope"]["ci95"] or (0, 0)
        assert low < -0.5 < high < 0
        assert "over time instruction following loses 0." in won_back(document(cases, []))[0]

    def test_a_sentence_claims_what_its_interval_shows(self) -> None:
        found = document(self.cases(entity=0.8, won=0.5, noise=0.1), [])
        (told,) = won_back(found)
        assert re.fullmatch(
            r"s, slow examiner: it wins back 0\.\d\d \[0\.\d\d, 0\.\d\d\] of turn-taking over the fast one; "
            r"it wins back 0\.\d\d \[0\.\d\d, 0\.\d\d\] of instruction following over the fast one; "
            r"entity tracking stays 0\.\d\d \[0\.\d\d, 0\.\d\d\] below the other families in instruction following\.",
            told,
        )
        assert told in " ".join(" ".join(shown(found, 100)).split())
        assert told in card(found).statements
        (told,) = won_back(document(self.cases(entity=-0.8, won=-0.5, noise=0.1), []))
        assert "it loses 0.5" in told
        assert "entity tracking is 0." in told

    def test_nothing_is_claimed_that_may_be_chance(self) -> None:
        (told,) = won_back(document(self.cases(entity=0.0, won=0.0, noise=0.5), []))
        assert told.count("cannot be told from 32 scenarios (") == 3
        assert not re.search(r"it wins back \d|it loses|stays \d", told)
        one = [each for each in self.cases(0.8, 0.5, 0.1) if each.scenario.endswith(".0")]
        (told,) = won_back(document(one, []))
        assert "whether entity tracking stays below the other families in instruction following cannot be told" in told

    def test_nothing_is_claimed_from_fewer_scenarios_than_a_test_needs(self) -> None:
        few = [each for each in self.cases(0.8, 0.5, 0.1) if each.scenario.endswith((".0", ".1", ".2", ".3", ".4"))]
        few = [each for each in few if each.family == "daily"]
        (told,) = won_back(document(few, []))
        assert told.count("cannot be told from 5 scenarios (+0.") == 2
        assert "wins back 0" not in told

    def test_without_a_judge_it_is_of_goals_that_were_heard_in_the_call(self) -> None:
        cases = [
            case(f"{family}.{number}", {"timing": 0.5 + number / 20, "goals_met": met - number / 20}, pacing=pacing)
            for family, met in (("daily", 1.0), ("entity", 0.5))
            for pacing in ("slow", "fast")
            for number in range(6)
        ]
        (found,) = document(cases, [])["findings"]
        assert (found["measure"], set(found["won_back"])) == ("goals_met", {"timing", "goals_met"})
        assert found["memory"] is not None
        assert found["memory"]["value"] == pytest.approx(-0.5)
        for each in cases:
            each.goals = [msgspec.structs.replace(goal, words="as heard later") for goal in each.goals]
        (found,) = document(cases, [])["findings"]
        assert set(found["won_back"]) == {"timing"}, "the fast one went on without hearing"
        assert list(card(document([case("daily.1", {})], [])).statements) == []


class TestVariance:
    def test_what_two_seeds_of_an_examiner_change_is_its_share(self) -> None:
        """By hand: of scenarios 0 and 1 (variance 1/2), and of seeds that each differ by 0.2 (variance 0.02)."""
        cases = []
        for number in range(6):
            for seed in range(2):
                each = case(f"daily.{number}", {"timing": number % 2 + 0.2 * seed})
                each.seed = seed
                cases.append(each)
        (found,) = document(cases, [])["variance"]
        assert (found["measure"], found["seeds"], found["trials"], found["scenarios"]) == ("timing", 2, 1, 6)
        of_scenario = 0.3 - 0.02 / 2  # six means, three of each kind, less what the seeds add to them
        share = found["shares"]["examiner"]["share"]
        assert share == pytest.approx(0.02 / (of_scenario + 0.02))
        assert found["shares"]["scenario"]["share"] == pytest.approx(1 - (share or 0))

    def test_one_seed_and_one_examiner_tell_nothing_of_it(self) -> None:
        assert document([case(f"daily.{number}", {"timing": number}) for number in range(3)], [])["variance"] == []
