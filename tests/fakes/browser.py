"""A real browser, where one is installed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

BROWSER: Final = shutil.which("chromium") or shutil.which("google-chrome")


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
def opened_page() -> Iterator[tuple[Page, list[str]]]:
    """An empty page, and what it complains of: console messages, errors, dialogs. Skips the test without a browser."""
    if BROWSER is None:
        pytest.skip("needs chromium (Debian: apt-get install chromium)")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        program = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"])
        page, complaints = program.new_page(), []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        yield page, complaints
        program.close()
