"""Calls with a file for each side: their pages play both files at the times of the call."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from fakes.browser import opened_page
from helpers.commands import command, done
from helpers.corpus import replay
from helpers.voices import RATE_HZ, voices, write

from fdbcore.recording.files import AUDIO, SOUND

if TYPE_CHECKING:
    from playwright.sync_api import Page

CALLS = {"long": "A 0.5-2 7-8.5 | B 3.9-6.5 9.6-11", "short": "A 0.5-2 5-6.5 | B 2.3-4.6 6.9-9"}
OFFSET_S = 0.5
END_OF_A_S = 9
IN_STEP_S = 0.05


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two calls whose B begins later than A, and ends later."""
    folder = tmp_path_factory.mktemp("two files")
    for name, drawing in CALLS.items():
        samples = voices(drawing)
        write(folder / "calls" / f"{name}-caller.wav", samples[: END_OF_A_S * RATE_HZ, 0])
        write(folder / "calls" / f"{name}-agent.wav", samples[:, 1])
    patterns = ("--pair", "*-caller.wav", "*-agent.wav")
    replay(folder / "calls", *patterns, "--offset-ms", int(OFFSET_S * 1000), out=folder / "run", code=0)
    return folder / "run"


@pytest.fixture(scope="module")
def program() -> Iterator[tuple[Page, list[str]]]:
    with opened_page() as found:
        yield found


@pytest.fixture
def browser(program: tuple[Page, list[str]]) -> Iterator[Page]:
    page, complaints = program
    page.goto("about:blank")
    complaints.clear()
    yield page
    assert [text for text in complaints if "ERR_FILE_NOT_FOUND" not in text] == []


def opened(page: Page, address: str) -> None:
    page.goto(address)
    page.wait_for_selector("html[data-drawn]")
    page.wait_for_timeout(300)


def times_s(page: Page) -> tuple[float, float, float]:
    """Of the controls, A's file and B's file, at the same moment."""
    controls_s, a_s, b_s = page.evaluate("[...document.querySelectorAll('audio')].map((each) => each.currentTime)")
    return controls_s, a_s, b_s


def in_step(controls_s: float) -> Any:
    return pytest.approx((controls_s, controls_s, controls_s - OFFSET_S), abs=IN_STEP_S)


@pytest.mark.live
def test_both_sides_are_heard_where_they_were_measured(browser: Page, run: Path) -> None:
    opened(browser, f"{(run / 'long' / 'report.html').as_uri()}#t=5")
    assert times_s(browser) == pytest.approx((4, 4, 3.5), abs=0.001)
    browser.keyboard.press("Space")
    browser.wait_for_timeout(1000)
    played = times_s(browser)
    assert played[0] == pytest.approx(5, abs=0.3)
    assert played == in_step(played[0])
    browser.evaluate("for (const each of document.querySelectorAll('audio:not([id])')) each.currentTime -= 0.15")
    browser.evaluate("document.getElementById('audio').playbackRate = 1.5")
    browser.wait_for_timeout(1000)
    played = times_s(browser)
    assert played == in_step(played[0])
    browser.keyboard.press("Space")
    browser.wait_for_timeout(200)
    stopped = times_s(browser)
    assert stopped == pytest.approx((stopped[0], stopped[0], stopped[0] - OFFSET_S), abs=0.001)
    browser.wait_for_timeout(200)
    assert times_s(browser) == stopped


@pytest.mark.live
def test_a_side_is_silent_before_it_begins_and_after_it_ends(browser: Page, run: Path) -> None:
    opened(browser, (run / "long" / "report.html").as_uri())
    sides = "[...document.querySelectorAll('audio:not([id])')]"
    heard = f"{sides}.filter((each) => !each.paused).map((each) => each.src.match(/caller|agent/)[0])"
    browser.keyboard.press("Space")
    browser.wait_for_timeout(250)
    assert browser.evaluate(heard) == ["caller"]
    browser.wait_for_timeout(850)
    assert browser.evaluate(heard) == ["caller", "agent"]
    browser.evaluate("document.getElementById('audio').currentTime = 10")
    browser.wait_for_timeout(1000)
    played = times_s(browser)
    assert played[0] == pytest.approx(11, abs=0.3)
    assert played[1:] == pytest.approx((END_OF_A_S, played[0] - OFFSET_S), abs=IN_STEP_S)
    assert browser.evaluate(heard) == ["agent"]


@pytest.mark.live
def test_a_moment_of_index_html_plays_both_files(browser: Page, run: Path) -> None:
    opened(browser, (run / "index.html").as_uri())
    buttons = browser.locator(".worst .play")
    for number in (0, 1):
        button = buttons.nth(number)
        from_s = float(str(button.get_attribute("data-from")))
        button.click()
        browser.wait_for_timeout(1500)
        played = times_s(browser)
        assert played[0] == pytest.approx(from_s + 1.5, abs=0.3)
        assert played == in_step(played[0])
    button.click()
    browser.wait_for_timeout(200)
    assert browser.evaluate("[...document.querySelectorAll('audio')].every(each => each.paused)")


@pytest.mark.parametrize("place", ["index.html", "index.html#moments=response_latency_ms", "long/report.html#t=2"])
def test_the_link_to_a_moment_is_copied(browser: Page, run: Path, place: str) -> None:
    browser.context.grant_permissions(["clipboard-read", "clipboard-write"])
    opened(browser, f"{run.as_uri()}/{place}")
    browser.locator(".copy:visible").first.click()
    browser.wait_for_selector(".copy >> text=copied")
    copied = browser.evaluate("navigator.clipboard.readText()")
    assert copied.startswith((run / "long" / "report.html").as_uri())
    opened(browser, copied)
    browser.wait_for_selector("#detail b")
    assert browser.locator("#detail b").inner_text().startswith("0:02.0"), "A's turn ends there"


def test_a_missing_side_is_told(browser: Page, run: Path) -> None:
    agent = run.parent / "calls" / "long-agent.wav"
    gone = agent.rename(agent.with_suffix(".gone"))
    browser.goto((run / "long" / "report.html").as_uri())
    browser.wait_for_selector("#audio-note:not([hidden])")
    gone.rename(agent)


def listed(run: Path) -> list[dict[str, Any]]:
    found = re.search(r'id="data">(.*?)</script>', (run / "index.html").read_text(), re.DOTALL)
    assert found
    calls: list[dict[str, Any]] = json.loads(found[1])["calls"]
    return calls


def test_the_pages_link_both_files_and_copy_none(run: Path) -> None:
    sides = {call["name"]: call["audio"] for call in listed(run)}
    assert sides == {name: f"../calls/{name}-caller.wav ../calls/{name}-agent.wav#lead=0.5" for name in CALLS}
    page = (run / "long" / "report.html").read_text()
    assert 'data-files="../../calls/long-caller.wav ../../calls/long-agent.wav#lead=0.5"' in page
    assert not [*run.rglob(AUDIO), *run.rglob(SOUND)]


def test_the_sides_of_exchanged_files_are_named_in_their_order(tmp_path: Path) -> None:
    for name, drawing in CALLS.items():
        samples = voices(drawing)
        write(tmp_path / f"{name}-agent.wav", np.repeat(samples[:, 1:], 2, axis=1))
        write(tmp_path / f"{name}-caller.wav", samples[:, 0])
    patterns = ("--pair", "*-agent.wav", "*-caller.wav", "--swap", "--offset-ms", "-250")
    assert replay(tmp_path, *patterns, out=tmp_path / "run").exit_code == 0
    assert listed(tmp_path / "run")[0]["audio"] == "../long-caller.wav#lead=0.25 ../long-agent.wav"


def test_a_pair_that_no_browser_plays_is_heard_as_one_copy(tmp_path: Path) -> None:
    for name, drawing in CALLS.items():
        for side, samples in zip(("caller", "agent"), voices(drawing).T, strict=True):
            write(tmp_path / f"{name}-{side}.wav", samples.astype(np.float64) / 32_768)
    assert replay(tmp_path, "--pair", "*-caller.wav", "*-agent.wav", out=tmp_path / "run").exit_code == 0
    told = [(call["audio"], call["silent"]) for call in listed(tmp_path / "run")]
    assert told == [(f"{name}/sound.webm", None) for name in CALLS]


def test_pages_without_audio_do_not_tell_the_files(run: Path) -> None:
    done("report", run, "--no-audio", "--quiet")
    for page in (run / "index.html", run / "long" / "report.html"):
        assert "calls/long-caller.wav" not in page.read_text()
    command("report", run, "--quiet")
