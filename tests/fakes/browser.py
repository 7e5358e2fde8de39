"""A real browser, where one is installed."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

BROWSER: Final = shutil.which("chromium") or shutil.which("google-chrome")
_opened: list["Browser"] = []


def dump_dom(url: str, profile: Path) -> str:
    """The HTML of a page after its scripts have run, at the width of a laptop."""
    options = "--headless --no-sandbox --disable-gpu --disable-background-networking --no-first-run --disable-sync"
    done = subprocess.run(
        [
            str(BROWSER),
            *options.split(),
            f"--user-data-dir={profile}",
            "--window-size=1280,900",
            "--virtual-time-budget=10000",
            "--dump-dom",
            url,
        ],
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stdout


@contextmanager
def opened_browser() -> Iterator["Browser"]:
    """A browser without pages. Skips the test where there is none.

    Whoever opens one while it is open gets the same one: Playwright holds a loop of the thread, so that a second one,
    beside a fixture that spans a module, is refused.
    """
    if BROWSER is None:
        pytest.skip("needs chromium (Debian: apt-get install chromium)")
    playwright = pytest.importorskip("playwright.sync_api")
    if _opened:
        yield _opened[0]
        return
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"])
        _opened.append(browser)
        try:
            yield browser
        finally:
            _opened.clear()
            browser.close()


@contextmanager
def opened_page() -> Iterator[tuple["Page", list[str]]]:
    """An empty page, and what it complains of: console messages, errors, dialogs. Skips as `opened_browser` does."""
    with opened_browser() as browser:
        page, complaints = browser.new_page(), []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        yield page, complaints
        page.close()
