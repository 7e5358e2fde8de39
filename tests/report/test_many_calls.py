"""index.html of many calls: what it has inside is shown at once, scripts beside it bring the rest, also from a disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.browser import opened_page
from helpers.corpus import Ran, ran

from fdbcore.analysis.corpus import Run
from fdbcore.analysis.survey import survey
from fdbcore.report.run import page as run_page

__all__ = ["ran"]


@pytest.fixture
def index(ran: Ran, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The page with two calls inside, and two in each script."""
    with monkeypatch.context() as few:
        few.setattr(run_page, "MOST_INSIDE", 2)
        few.setattr(run_page, "CALLS_PER_SCRIPT", 2)
        yield run_page.write_index(survey(Run(ran.run)))
    run_page.write_index(survey(Run(ran.run)))
    assert not [*(ran.run / "pages").glob("calls-*.js")], "scripts of a larger run are left"


def test_calls_that_scripts_bring_are_sorted_and_filtered_with_those_inside(index: Path) -> None:
    scripts = sorted((index.parent / "pages").glob("calls-*.js"))
    assert [path.name for path in scripts] == ["calls-0.js", "calls-1.js", "calls-2.js"]
    with opened_page() as (page, complaints):
        page.goto(index.as_uri())
        page.wait_for_selector("html[data-loaded]")
        assert page.inner_text("#shown").startswith("7 of 7 calls")
        page.select_option("#sort", "call")
        names = page.locator("#calls .name")
        assert names.all_inner_texts() == ["broken", "early", "junk", "mixed", "mute", "quick", "slow"]
        page.fill("#filter", "language=de")
        assert names.all_inner_texts() == ["mute", "slow"]
        assert complaints == []
        scripts[1].unlink()
        page.reload()
        page.wait_for_selector("html[data-loaded]")
        assert "calls-1.js is missing: write it by fdbcore report" in page.inner_text("#shown")
        assert names.count() == 5
