"""index.html of many calls: what it has inside is shown at once, scripts beside it bring the rest, also from a disk."""

from __future__ import annotations

import json
import re
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
        assert names.all_inner_texts() == ["mute", "slow"]
        page.fill("#filter", "")
        assert names.count() == 5


COLUMNS = {
    "broken": ("Kunde 1", "9.11.2026", "2,5"),
    "early": ("Kunde 12", "10.11.2026", "10,5"),
    "junk": ("Kunde 2", "2026-11-11 08:30", "3"),
    "mixed": ("it's 12", "01.12.2026", ""),
    "mute": ("Kunde", "", "12"),
}


@pytest.fixture
def columned(ran: Ran, tmp_path: Path) -> Path:
    """The page of the run, its calls with a caller, a day and a length as a German table has them."""
    text = (ran.run / "index.html").read_text(encoding="utf-8")
    found = re.search(r'(<script[^>]*id="data"[^>]*>)(.*?)(</script>)', text, re.DOTALL)
    assert found is not None
    data = json.loads(found[2])
    data["columns"] = ["caller", "Datum", "Dauer (min)"]
    for call in data["calls"]:
        call["columns"] = COLUMNS.get(call["name"], ("", "", ""))
    page = tmp_path / "index.html"
    page.write_text(text[: found.start(2)] + json.dumps(data).replace("<", "\\u003c") + text[found.end(2) :], "utf-8")
    return page


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ('caller="Kunde 12"', ["early"]),
        ("caller=Kunde 12", ["early"]),
        ("CALLER=kunde", ["mute"]),
        ("caller=kund", ["broken", "early", "junk", "mute"]),
        ("caller=it's 12", ["mixed"]),
        ("Datum>10.11.2026", ["junk", "mixed"]),
        ("datum>=2026-11-10 datum<2026-12-01", ["early", "junk"]),
        ("datum<=2026-11-11T08:29", ["broken", "early"]),
        ('"Dauer (min)">2,5', ["early", "junk", "mute"]),
        ("dauer_(min)<=3", ["broken", "junk"]),
        ('"dauer (min)"=2,5', ["broken"]),
    ],
)
def test_the_filter_takes_quoted_values_dates_and_columns_with_blanks(
    columned: Path, typed: str, expected: list[str]
) -> None:
    with opened_page() as (page, complaints):
        page.goto(columned.as_uri())
        page.wait_for_selector("html[data-loaded]")
        page.select_option("#sort", "call")
        page.fill("#filter", typed)
        names = page.locator("#calls .name")
        assert names.all_inner_texts() == expected
        address = page.url
        page.goto("about:blank")
        page.goto(address)
        page.wait_for_selector("html[data-loaded]")
        assert page.input_value("#filter") == typed
        assert sorted(names.all_inner_texts()) == expected
        assert complaints == []
