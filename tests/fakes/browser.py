"""A real browser, where one is installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Final

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
