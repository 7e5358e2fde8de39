"""The page of each scored dialogue: its goals and marks on the timeline, linked both ways with the scorecard."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from fakes.browser import opened_page
from helpers.commands import done
from helpers.staged_runs import NEEDS_VOICE, hold

from fdbcore.endpoints.examiner.agenda import Verdict
from fdbcore.suites.staged.card import card
from fdbcore.suites.staged.cases import StagedCase
from fdbcore.suites.staged.document import document
from fdbcore.suites.staged.goals import GoalResult
from fdbcore.types.scorecard import ShownItem

VIEWS = card(document([], [])).views


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of one scenario, slow and fast, and its scores."""
    folder = tmp_path_factory.mktemp("view")
    run = hold(folder, "--pacing", "both", "--system", "echo", "--max-s", 25)
    done("score", "--suite", "staged", run, "--out", folder / "scores")
    return folder


@NEEDS_VOICE
def test_each_dialogue_is_linked_with_its_page_and_back(scored: Path) -> None:
    pages = sorted((scored / "scores" / "calls").glob("*.html"))
    assert len(pages) == 2
    with opened_page() as (browser, complaints):
        browser.goto((scored / "scores" / "report.html").as_uri())
        browser.wait_for_selector("html[data-drawn]")
        links = browser.locator("a[href^='calls/']")
        browser.locator(".item summary").first.click()
        links.first.wait_for()
        links.first.click()
        browser.wait_for_selector("html[data-drawn]")
        assert Path(browser.url.removeprefix("file://").partition("#")[0]) in pages
        assert "Goal 1, " in browser.inner_text("body")
        browser.get_by_role("link", name="in the scorecard").click()
        browser.wait_for_selector("html[data-drawn]")
        assert "report.html#case=" in browser.url
        assert not complaints
    for path in pages:
        audio = re.search(r'src="([^"]+session\.wav)"', path.read_text())
        assert audio is not None
        assert (path.parent / audio[1]).is_file()
        assert path.stat().st_size < 300_000  # the audio is not in it


@NEEDS_VOICE
def test_the_folder_can_be_moved_with_its_run(scored: Path, tmp_path: Path) -> None:
    shutil.copytree(scored, tmp_path / "moved")
    for path in (tmp_path / "moved" / "scores" / "calls").glob("*.html"):
        (audio,) = set(re.findall(r'src="([^"]+session\.wav)"', path.read_text()))
        assert (path.parent / audio).resolve().is_relative_to(tmp_path / "moved")


def item(*verdicts: Verdict) -> dict[str, Any]:
    """A dialogue as the document has it."""
    goals = [GoalResult(f"goal {n}", verdict, 1, n, n + 1.0, "mug") for n, verdict in enumerate(verdicts)]
    case = StagedCase("run/call", "s", 1, "daily.ordering.90", "daily", "ordering", "slow", "en", goals)
    case.task = {"score": None, "reason": "nothing was said"}
    case.events = [
        {"event": 1, "kind": "answer", "from_s": 1.0, "to_s": 2.5,
         "marks": {"turn_taking": 2, "turn_taking_reason": "late", "instruction_following": None}},
    ]  # fmt: skip
    (found,) = document([case], [])["items"]
    return dict(found)


def told(*verdicts: Verdict) -> Any:
    return VIEWS.remarks(ShownItem("slow", "s", "daily.ordering.90", "", {}, item=item(*verdicts)))


def test_goals_that_nobody_heard_are_not_counted_as_unmet() -> None:
    assert dict(told("met", "not heard", "unmet").facts)["goals met"] == "1 of 3, not known of 1"
    assert dict(told("met", "unmet").facts)["goals met"] == "1 of 2"


def test_goals_that_a_reciter_meets_are_left_out() -> None:
    shown = item("met", "met", "unmet")
    shown["goals"][1]["floors"] = ["reciter"]
    case = ShownItem("slow", "s", "daily.ordering.90", "", {}, item=shown)
    assert dict(VIEWS.remarks(case).facts)["goals met"] == "1 of 2, 1 left out that a reciter meets"
    assert "met (left out: a reciter meets it)" in VIEWS.picture(case)


def test_marks_stand_at_their_events_with_their_reasons() -> None:
    found = told("met", "unmet")
    goals, events = found.rows
    assert [(each.start_tick, each.end_tick, each.is_fault) for each in goals.remarks] == [
        (0, 100, False),
        (100, 200, True),
    ]
    (event,) = events.remarks
    assert (event.start_tick, event.end_tick, event.name, event.is_fault) == (100, 250, "2, –", True)
    assert event.lines == ["turn-taking: late"]
    assert dict(found.facts)["task score"] == "the judge cannot tell · nothing was said"
