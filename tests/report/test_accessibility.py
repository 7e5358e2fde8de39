"""Every kind of page in a browser: the checker axe finds nothing, and the keyboard reaches every control."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import pytest
from fakes.browser import BROWSER, opened_browser
from helpers.commands import command
from helpers.corpus import ROWS, build, replay
from helpers.logged import save

from fdbcore.sources.agent_logs import LogEvent

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

AXE: Final = Path(__file__).parents[1] / "fakes" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
PAGES: Final = (
    "index.html",
    "mixed/report.html",
    "compare.html",
    "trend.html",
    "../index.html",
    "scores.html",
    "tune.html",
    "scorecard",
    "join",
)
LOOKS: Final[list[tuple[Literal["light", "dark"], int]]] = [("light", 1280), ("light", 800), ("dark", 400)]

CONTROLS: Final = "a[href], button:not([disabled]), select, input, summary, audio[controls], [tabindex='0']"
MARK: Final = """selector => {
  document.querySelectorAll("details").forEach(each => { each.open = true; });
  const shown = [...document.querySelectorAll(selector)].filter(each => each.checkVisibility());
  shown.forEach((each, number) => { each.dataset.control = number; });
  return shown.map(each => each.outerHTML.slice(0, 100));
}"""
WIDER: Final = """() => [...document.querySelectorAll("body *")].filter(each =>
  each.checkVisibility() && !each.closest("svg, .drawn, .visually-hidden, thead") && each.clientWidth > 3 &&
  !["visible", "clip"].includes(getComputedStyle(each).overflowX) && each.scrollWidth > each.clientWidth + 1 &&
  getComputedStyle(each).textOverflow !== "ellipsis"
).map(each => `${each.tagName}.${each.className}: ${each.scrollWidth} of ${each.clientWidth}`)"""
# A player draws the focus of the controls inside it by itself.
FOCUSED: Final = """() => {
  const focused = document.activeElement;
  const { outlineStyle, outlineWidth } = getComputedStyle(focused);
  const shows = focused.tagName === "AUDIO" || (outlineStyle !== "none" && outlineWidth !== "0px");
  return [focused.dataset.control ?? null, shows, focused === document.body];
}"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="needs chromium (Debian: apt-get install chromium)"),
    pytest.mark.skipif(not AXE.is_file(), reason="needs `npm install --no-package-lock` in tests/fakes/axe"),
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with every kind of page; one of its files is no audio."""
    folder = tmp_path_factory.mktemp("pages")
    calls = build(folder / "calls")
    (calls / "junk.wav").write_bytes(b"no audio at all" * 99)
    (folder / "calls.csv").write_text(ROWS)
    run = folder / "RUN"
    save(folder / "logs" / "mixed.jsonl", [LogEvent(time_s, "audio out") for time_s in range(60)])
    logs = ("--agent-log", folder / "logs", "--agent-log-offset-ms", "0")
    replay(calls, "--meta", folder / "calls.csv", *logs, out=run)
    shutil.copytree(run, folder / "OLD")
    gates = folder / "gates.toml"
    gates.write_text('gates = ["premature_per_turn <= 0.01", "response_latency_ms.median <= baseline + 100"]\n')
    for arguments in (
        ["report", run],
        ["report", run, "--call", "mixed"],
        ["score", run, "--by", "language"],
        ["tune", run],
        ["report", run, "--baseline", folder / "OLD", "--gate", gates],
        ["report", folder / "OLD", run],
        ["report", folder],
        ["score", "--suite", "dialogue-acts", "--out", folder / "card"],
    ):
        told = command(*arguments, "--quiet")
        assert told.exit_code in (0, 1, 3), told.output
    return run


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with opened_browser() as opened:
        yield opened


def opened(browser: Browser, run: Path, name: str, scheme: Literal["light", "dark"], width: int) -> Page:
    """A page as a reader sees it, but with everything unfolded."""
    places = {
        "scorecard": run.parent / "card" / "report.html",
        "join": Path(str(files("fdbcore.endpoints.webrtc"))) / "static" / "join.html",
    }
    # The checker is a script from outside, which the pages' own policy refuses.
    context = browser.new_context(bypass_csp=True, color_scheme=scheme, viewport={"width": width, "height": 900})
    page = context.new_page()
    page.goto(places.get(name, run / name).as_uri())
    page.wait_for_timeout(300)
    return page


def told(violations: list[dict[str, Any]]) -> list[str]:
    return [f"{each['id']}: {node['html'][:200]}" for each in violations for node in each["nodes"]]


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: f"{look[0]}-{look[1]}")
@pytest.mark.parametrize("name", PAGES)
def test_the_checker_finds_nothing(
    browser: Browser, run: Path, name: str, look: tuple[Literal["light", "dark"], int]
) -> None:
    page = opened(browser, run, name, *look)
    page.evaluate(MARK, CONTROLS)
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    width = page.evaluate("document.documentElement.scrollWidth")
    page.context.close()
    assert told(found["violations"]) == []
    assert width <= look[1]


@pytest.mark.parametrize(("width", "media"), [(1280, "screen"), (794, "print"), (400, "screen")])
@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_wider_than_its_box(
    browser: Browser, run: Path, name: str, width: int, media: Literal["screen", "print"]
) -> None:
    """On a laptop, on paper (A4 of 794 px) and on a telephone. A drawing may scroll: its text has a size to be read."""
    page = opened(browser, run, name, "light", width)
    page.emulate_media(media=media)
    page.evaluate(MARK, CONTROLS)  # unfolds all
    wide, whole = page.evaluate(WIDER), page.evaluate("document.documentElement.scrollWidth")
    page.context.close()
    assert wide == []
    assert whole <= width


def test_a_call_is_a_line_of_the_list_with_the_columns_that_are_chosen(browser: Browser, run: Path) -> None:
    page = opened(browser, run, "index.html", "light", 1280)
    heights = page.evaluate("[...document.querySelectorAll('#calls tbody tr')].map(row => row.clientHeight)")
    assert heights
    assert max(heights) <= 40
    heads = "[...document.querySelectorAll('#calls thead th')].map(head => head.textContent)"
    assert "language" not in page.evaluate(heads)
    page.click("#choose summary")
    page.check("#choose label:has-text('language') input")
    assert page.evaluate(heads)[-2:] == ["language", "worst"]
    page.click("#calls thead button:has-text('language')")
    told = page.evaluate("[...document.querySelectorAll('#calls tbody td.told')].map(cell => cell.textContent)")
    assert told == sorted(told, key=lambda text: (not text, text))
    assert page.url.endswith("#column=language")
    page.reload()
    assert page.evaluate(heads)[-2:] == ["language", "worst"]
    page.context.close()


@pytest.mark.parametrize("name", PAGES)
def test_the_keyboard_reaches_every_control_and_shows_where_it_is(browser: Browser, run: Path, name: str) -> None:
    page = opened(browser, run, name, *LOOKS[0])
    controls = page.evaluate(MARK, CONTROLS)
    reached: dict[int, bool] = {}
    for _ in range(8 * len(controls) + 8):  # a player has several controls of its own
        page.keyboard.press("Tab")
        number, is_seen, is_over = page.evaluate(FOCUSED)
        if is_over:
            break
        if number is not None:
            reached[int(number)] = reached.get(int(number), True) and is_seen
    page.context.close()
    assert [controls[number] for number in range(len(controls)) if number not in reached] == []
    assert [controls[number] for number, is_seen in reached.items() if not is_seen] == []
