"""The pages of a run of 3,000 calls of two minutes, with index.html and the moments behind its numbers.

A few dialogues of synthetic speech are replayed, and their recordings copied. Compared with pages as they were: made
one by one, each with the plotting library inside. index.html is opened by a browser, from its file, until its table is
drawn. Goals, on two cores: all pages in a minute; index.html opens in a second.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from benchmarks.bench_corpus import DIALOGUES, MINUTES, synthetic_calls
from benchmarks.harness import machine, met, print_table
from fdbcore.analysis.corpus import Run
from fdbcore.analysis.score import read_scores
from fdbcore.recording.files import REPORT, write_text
from fdbcore.report.call.document import document
from fdbcore.report.call.page import CallPage, page
from fdbcore.report.html.templates import INDEX
from fdbcore.runs.call_pages import write_call_pages
from fdbcore.runs.pages import write_results
from fdbcore.runs.replays import replay_all

CALLS: Final = 3_000
COMPARED: Final = 100  # calls that are enough to tell how fast the slower way is
GOAL_S: Final = 60.0
GOAL_OPEN_S: Final = 1.0
OPENED: Final = 5
_OPENED_MS: Final = """Math.max(
    performance.getEntriesByType("navigation")[0].loadEventEnd,
    ...performance.getEntriesByType("paint").map((paint) => paint.startTime),
)"""


def main(calls: int = CALLS, compared: int = COMPARED) -> None:
    os.sched_setaffinity(0, two_cores := sorted(os.sched_getaffinity(0))[:2])
    with tempfile.TemporaryDirectory() as name:
        synthetic_calls(sources := Path(name) / "sources")
        few = replay_all(sources, out=Path(name) / "few", vad="energy")
        run = _copied(few, Path(name) / "many", calls)
        print(machine(), f"{DIALOGUES} dialogues of {MINUTES} min, copied", sep="\n")
        before_s = _seconds(lambda: _one_by_one(run, compared)) / compared
        before_mb = _mb(run, compared)
        ours_s = _seconds(lambda: write_call_pages(run)) / calls
        ours_mb = _mb(run, calls)
        all_s = _seconds(lambda: write_results(run))
        opened_s = _opened_s(run.path / INDEX)
    ratio, goal_s = before_s / ours_s, GOAL_S * calls / CALLS
    rows = [
        ("one by one, each with its script", compared, 1_000 * before_s, before_mb, ""),
        (f"on {len(two_cores)} cores, one script", calls, 1_000 * ours_s, ours_mb, f"{ratio:.1f} x as fast"),
    ]
    print_table("Pages of calls", ("made", "calls", "ms/call", "MB/call", ""), rows)
    goal = met(f"pages: {calls:,} in {goal_s:.0f} s", ours_s * calls < goal_s)
    print(f"{calls:,} pages: {ours_s * calls:.1f} s, {goal} (goal: {goal_s:.0f} s)")
    print(f"tables, pages and index.html of {calls:,} calls: {all_s:.1f} s")
    if opened_s is not None:
        goal = met(f"pages: index.html opens in {GOAL_OPEN_S:.0f} s", opened_s < GOAL_OPEN_S)
        print(f"index.html opens in {opened_s:.2f} s, the slowest of {OPENED}, {goal} (goal: {GOAL_OPEN_S:.0f} s)")


def _copied(few: Run, path: Path, calls: int) -> Run:
    """A run of many calls, each a copy of one of few."""
    known = json.loads((few.path / "corpus.json").read_text())
    names = [f"call{number:05}" for number in range(calls)]
    of = [known["calls"][number % len(known["calls"])] for number in range(calls)]
    path.mkdir()
    for name, copied in zip(names, of, strict=True):
        shutil.copytree(few.path / copied["name"], path / name, ignore=shutil.ignore_patterns(REPORT))
    entries = [{**copied, "name": name} for name, copied in zip(names, of, strict=True)]
    (path / "corpus.json").write_text(json.dumps({**known, "calls": entries}))
    return Run(path)


def _one_by_one(run: Run, calls: int) -> None:
    for call in run.calls[:calls]:
        reading = call.recording
        content = document(reading, read_scores(reading))
        write_text(call.path / REPORT, page(reading, content, CallPage(sound=b"")))


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _mb(run: Run, calls: int) -> float:
    return sum((call.path / REPORT).stat().st_size for call in run.calls[:calls]) / calls / 1e6


def _opened_s(index: Path) -> float | None:
    """The longest time in which a browser opens a page until its script has drawn it; None without a browser."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        return None
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        times = []
        for _ in range(OPENED):
            opened = browser.new_page()
            opened.goto(index.as_uri())
            opened.wait_for_selector("html[data-drawn]")
            opened.wait_for_function("performance.getEntriesByType('paint').length > 0")
            times.append(float(opened.evaluate(_OPENED_MS)) / 1_000)
            opened.close()
        browser.close()
    return max(times)


if __name__ == "__main__":
    main()
