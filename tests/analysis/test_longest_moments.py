"""What got worse in too few calls for a test is named all the same, beside what it was: ten planted moments."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import report
from helpers.made_runs import made_run
from helpers.two_weeks import Planted, made_calls, two_weeks

from fdbcore.analysis.comparison import compare
from fdbcore.analysis.corpus import Run
from fdbcore.analysis.gate_moments import GateMoment
from fdbcore.report.comparison.phrases import beside, lead, listed_moments

CALLS = 12


@pytest.fixture(scope="module", params=[True, False], ids=["same names", "other names"])
def weeks(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, list[Planted]]:
    """Two weeks, the baseline first, and what is worse in the second."""
    before, now, planted = two_weeks(CALLS, seed=4)
    folder = tmp_path_factory.mktemp("weeks")
    first = made_run(folder / "first", made_calls(before, "call"))
    return first, made_run(folder / "second", made_calls(now, "call" if request.param else "other")), planted


def listed(first: Path, second: Path) -> list[GateMoment]:
    return listed_moments(compare(Run(second), Run(first))["comparisons"])


def found_in(moments: Iterable[GateMoment], of: Planted) -> GateMoment | None:
    return next(
        (
            each
            for each in moments
            if each["call"].endswith(f"{of.call:03}")
            and abs(each["start_s"] - of.start_s) < 0.2
            and abs(each.get("length_s", 0) - of.now_s) < 0.05
        ),
        None,
    )


def test_all_that_was_planted_is_listed_beside_what_it_was(weeks: tuple[Path, Path, list[Planted]]) -> None:
    first, second, planted = weeks
    assert len(planted) == 10
    moments = listed(first, second)
    for each in planted:
        found = found_in(moments, each)
        assert found is not None, each
        if not found["call"].startswith("call"):
            continue  # it stands beside the longest of the other week
        was = found["was"]
        assert (was is None) == (each.was_s is None), each
        if was is not None and each.was_s is not None:
            assert was["length_s"] == pytest.approx(each.was_s, abs=0.02), each
            assert was["call"] == found["call"]


def test_the_page_the_screen_and_the_comment_have_them(weeks: tuple[Path, Path, list[Planted]], tmp_path: Path) -> None:
    first, second, planted = weeks
    result = report(second, "--baseline", first, "--comment", tmp_path / "c.md")
    screen = " ".join(result.stdout.split())
    html, comment = (second / "compare.html").read_text(), (tmp_path / "c.md").read_text()
    moments = listed(first, second)
    for each in planted:
        found: Any = found_in(moments, each)
        at = f"{found['call']}/report.html#t={found['start_s']:g}"
        assert at in html
        assert at in comment
        assert (second / found["call"] / "report.html").is_file()
        assert beside(found) in screen
        assert beside(found) in html
    assert "This may be chance: nothing here is a finding." in screen


def test_a_run_beside_one_just_like_it_says_that_nothing_is_longer(tmp_path: Path) -> None:
    before, _, _ = two_weeks(CALLS, seed=4)
    first, second = (made_run(tmp_path / name, made_calls(before, "call")) for name in ("first", "second"))
    assert listed(first, second) == []
    assert "Nothing in this run is longer than its like" in report(second, "--baseline", first).stdout


def test_what_is_proved_is_not_listed_again(weeks: tuple[Path, Path, list[Planted]]) -> None:
    first, second, _ = weeks
    moments = listed(first, second)
    assert len({each["page"] for each in moments}) == len(moments)
    assert not re.search("nan|None", " ".join(map(beside, moments)))


def test_the_first_sentence_tells_of_them_where_nothing_is_proved(weeks: tuple[Path, Path, list[Planted]]) -> None:
    first, second, _ = weeks
    document = compare(Run(second), Run(first))
    (compared,) = document["comparisons"]
    compared["longer"] = []
    for row in compared["measures"]:
        row["verdict"], row["worst"] = "no difference found", []
    told = re.fullmatch(
        r"No difference found that is better or worse\. (\d+) moments grew, by up to ([\d.]+) s: that may be chance\.",
        lead(document),
    )
    assert told
    assert int(told[1]) == len(listed_moments(document["comparisons"])) >= 10
    assert float(told[2]) >= 3, "answers were planted 4 s late"
