"""From a number to its moments: in the files of a run, and in a real browser by links and keys."""

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
