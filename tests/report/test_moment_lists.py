"""The calls of a run and the moments of its numbers, in a browser: sorted, filtered, stepped through."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fakes.browser import opened_page
from helpers.commands import command
from helpers.corpus import BUILT, Ran, ran

from fdbcore.analysis.corpus import Run
from fdbcore.analysis.survey import survey
from fdbcore.measures.catalogue import MEASURES
from fdbcore.report.run import page as run_page

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["ran"]


def lists(run: Path) -> dict[str, list[tuple[str, list[Any], list[Any]]]]:
    """What the scripts of a run's lists hand to the page, by their names."""
    found = {}
    for script in (run / "pages").glob("*.js"):
        if not script.name.startswith("page-"):
            (told,) = re.findall(r"moments\((.*),\n\]\);\n", script.read_text(), re.DOTALL)
            name, calls = json.loads(f"[{told}]]")
            assert name == script.stem
            found[name] = calls
    return found


def test_every_count_of_the_run_has_as_many_moments(ran: Ran) -> None:
    found, measures = lists(ran.run), survey(Run(ran.run)).measures
    for name, summary in measures.items():
        if MEASURES[name].quantity == "difference" or name.startswith("compat_v1_"):
            continue
        calls = found.get(name, [])
        counted, others = (sum(len(call[part]) for call in calls) for part in (1, 2))
        assert (counted, counted + others) == (summary.get("count", summary["n"]), summary["n"]), name


def test_the_moments_are_where_the_calls_were_built(ran: Ran) -> None:
    found = lists(ran.run)
    cut_off = {
        name: [(start / 100, end / 100) for start, end, _ in items] for name, items, _ in found["premature_per_turn"]
    }
    assert {name: spans for name, spans in cut_off.items() if spans} == {
        "early": [pytest.approx((2.4, 3.0), abs=0.06)],
        "mixed": [pytest.approx((6.3, 7.0), abs=0.06)],
    }
    latencies = {name: [text for *_, text in items] for name, items, _ in found["response_latency_ms"]}
    for name, built in BUILT.items():
        told_s = [float(text.removesuffix(" s")) for text in latencies.get(name, [])]
        assert told_s == pytest.approx([ms / 1000 for ms in built.latencies_ms], abs=0.06)


@pytest.fixture(scope="module")
def program() -> Iterator[tuple[Page, list[str]]]:
    with opened_page() as found:
        yield found


@pytest.fixture
def browser(program: tuple[Page, list[str]]) -> tuple[Page, list[str]]:
    program[0].goto("about:blank")
    program[1].clear()
    return program


def opened(page: Page, address: str) -> None:
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector("html[data-drawn]")


def test_a_number_of_a_run_leads_to_a_moment_of_a_call_and_back(browser: tuple[Page, list[str]], ran: Ran) -> None:
    page, complaints = browser
    opened(page, (ran.run / "index.html").as_uri())
    page.click('.figures a[href="#moments=premature_per_turn"]')
    page.wait_for_selector("#moments-list li")
    assert page.inner_text("#moments-title").endswith(": 2")
    assert sorted(text.split()[-2] for text in page.locator("#moments-list .told").all_inner_texts()) == [
        "early",
        "mixed",
    ]
    assert page.locator("#moments-list .play").count() == 2
    for address, title in (
        ("premature_per_turn.all", "Opportunities (yes: premature responses)"),
        ("premature_per_turn", "premature responses"),
    ):
        page.evaluate(f"location.hash = 'moments={address}'")
        page.wait_for_selector(f"#moments-title:has-text('{title}: ')")
    page.fill("#filter", "language=fr")
    (only,) = page.locator("#moments-list .told").all_inner_texts()
    assert re.fullmatch(r"0\.[67]\d s\nmixed 0:06", only)
    page.click("#moments-list a.told")
    page.wait_for_selector("html[data-drawn]")
    assert re.search(r"/mixed/report\.html#moments=premature_per_turn&t=6\.\d+$", page.url)
    assert f"B begins {only.split(' s')[0]} s before A has finished" in page.inner_text("#detail")
    page.click('header a[href="../index.html"]')
    page.wait_for_selector("#calls .name")
    assert complaints == []


def test_keys_step_through_the_moments_of_a_number(browser: tuple[Page, list[str]], ran: Ran) -> None:
    page, complaints = browser
    opened(page, (ran.run / "index.html").as_uri())
    row = page.locator("#calls tbody tr", has=page.locator(".name", has_text="mixed"))
    row.locator('a[href$="#moments=answered_per_turn.all"]').click()
    page.wait_for_selector("html[data-drawn]")
    assert page.inner_text("#listed h3") == "Opportunities (yes: response rate): 2"
    rows = page.locator("#listed li").all_inner_texts()
    assert [row.split("\n")[1].split()[0] for row in rows] == ["yes,", "no,"]
    times = []
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
        times.append(float(page.url.partition("&t=")[2]))
    assert times == pytest.approx([2, 6.3, 6.3, 2], abs=0.06)
    assert page.locator("#listed [aria-current]").inner_text() == rows[0]
    page.click("#close-list")
    assert not page.is_visible("#listed")
    page.keyboard.press("ArrowRight")
    assert "moments=" not in page.url
    assert complaints == []


def test_an_address_without_a_list_opens_the_page_as_it_is(browser: tuple[Page, list[str]], ran: Ran) -> None:
    page, complaints = browser
    for address in ("mixed/report.html#moments=nothing&t=1", "index.html#moments=nothing"):
        opened(page, f"{ran.run.as_uri()}/{address}")
        assert not page.is_visible("#listed, #moments")
    assert complaints == []


def test_a_call_to_send_plays_from_its_one_file(browser: tuple[Page, list[str]], ran: Ran, tmp_path: Path) -> None:

    command("report", ran.run, "--call", "mixed", "--embed")
    alone = (ran.run / "mixed" / "mixed.html").rename(tmp_path / "sent.html")
    page, complaints = browser
    opened(page, f"{alone.as_uri()}#t=6.3")
    page.wait_for_selector("html[data-drawn]")
    page.wait_for_timeout(200)
    length_s, at_s = page.evaluate(
        "[document.getElementById('audio').duration, document.getElementById('audio').currentTime]"
    )
    assert length_s == pytest.approx(11.5, abs=0.1)
    assert at_s == pytest.approx(5.3, abs=0.1)
    assert complaints == []


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
