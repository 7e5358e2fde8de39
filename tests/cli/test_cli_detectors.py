"""`--vad a --vad b`: which measures move with the detector, as replays with each of them say."""

import html
import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import command, done
from helpers.voices import DIALOGUE, voices, write

from fdbcore.measures.catalogue import headlines
from fdbcore.report.format import amount
from fdbcore.report.groups.detectors import MOVED, detector_lines, detector_table
from fdbcore.report.html.values import Cell

DEAF = '''
from fdbcore import WindowVad


class Deaf(WindowVad):
    """It misses what is soft."""

    version = "1"

    def judge(self, window):
        return abs(window.astype(int)).max() > 2_000


class Deafer(Deaf):
    def judge(self, window):
        return abs(window.astype(int)).max() > 5_000
'''


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "calls").mkdir()
    for number, dialogue in enumerate((DIALOGUE, "A 0.3-3 5-6.4 | B 3.5-4.3 7-8")):
        write(tmp_path / "calls" / f"{number}.wav", voices(dialogue))
    (tmp_path / "deaf.py").write_text(DEAF)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def fdbcore(*arguments: object) -> str:
    ran = done(*arguments)
    return ran.stdout


def replay(*arguments: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(fdbcore("replay", "--json", "--jobs", 1, *arguments))
    return found


def headline(measure: dict[str, Any]) -> float | None:
    value: float | None = measure["mean"] if measure["median"] is None else measure["median"]
    return value


def table_of_detectors(page: Path) -> list[list[str]]:
    """The rows of the table on a page, its header first; of a cell its first text."""
    (section,) = re.findall(r'<section aria-labelledby="detectors-title">(.*?)</section>', page.read_text(), re.DOTALL)
    rows = re.findall(r"<tr>(.*?)</tr>", section, re.DOTALL)
    return [[html.unescape(cell) for cell in re.findall(r"<t[hd][^>]*>([^<]*)", row)] for row in rows]


@pytest.mark.parametrize(("path", "page"), [("calls/0.wav", "0/report.html"), ("calls", "index.html")])
def test_each_figure_is_that_of_a_replay_with_that_detector(here: Path, path: str, page: str) -> None:
    names = ["energy", "deaf:Deaf", "deaf:Deafer"]
    found = replay(path, "--out", "ALL", *(word for name in names for word in ("--vad", name)))["detectors"]
    assert found["detectors"] == names
    assert [variant["detector"] for variant in found["variants"]] == [None, "deaf:Deaf", "deaf:Deafer"]
    (group,) = found["groups"]
    shown: dict[str, list[str]] = defaultdict(list)
    for number, name in enumerate(names):
        alone = replay(path, "--out", f"BY{number}", "--vad", name)
        for measure in headlines():
            value, unit = headline(alone["measures"][measure]), alone["measures"][measure]["unit"]
            assert group["measures"][measure]["figures"][number] == pytest.approx(value)
            shown[headlines()[measure]].append(amount(value, unit))
    header, *rows = table_of_detectors(here / "ALL" / page)
    assert header == ["measure", "by energy", "by deaf:Deaf", "by deaf:Deafer"]
    assert rows == [[label, *figures] for label, figures in shown.items() if len(set(figures)) > 1]


def test_the_screens_say_what_moves_and_what_does_not(here: Path) -> None:
    shown = " ".join(fdbcore("replay", "calls/0.wav", "--vad", "energy", "--vad", "deaf:Deaf", "--out", "ONE").split())
    assert "detectors what moves from energy to deaf:Deaf" in shown
    assert "by energy, " in shown
    fdbcore("replay", "calls", "--vad", "energy", "--out", "RUN", "--quiet", "--jobs", 1)
    same = fdbcore("score", "RUN", "--vad", "energy")
    assert "what moves" not in same
    told = " ".join(fdbcore("score", "RUN", "--vad", "deaf:Deaf").split())
    assert "detectors what moves from energy to deaf:Deaf" in told
    assert ", settings " not in told
    page = (here / "RUN" / "scores.html").read_text()
    assert "by deaf:Deaf" in page
    both = " ".join(fdbcore("score", "RUN", "--sensitivity", "--vad", "deaf:Deaf").split())
    assert "detectors energy and deaf:Deaf" in both


def test_a_figure_outside_the_interval_of_the_one_as_scored_is_marked() -> None:
    """5.0 % cut off by the first, [3.0, 7.0]; 6.0 % by the second, 8.0 % by the third."""
    name = next(each for each, label in headlines().items() if label == "premature responses")
    figures = {each: {"figures": [0.05, 0.06, 0.08] if each == name else [None] * 3} for each in headlines()}
    found: Any = {
        "detectors": ["one", "two", "three"],
        "variants": [{"name": each or "", "changes": {}, "detector": each} for each in (None, "two", "three")],
        "unheard": {},
        "groups": [{"name": "", "measures": figures}],
    }
    measures: Any = {name: {"ci95": [0.03, 0.07]}}
    assert list(detector_lines(found, {"": measures})) == [
        ("detectors", "what moves from one to two and three"),
        (MOVED, "premature responses: 5.0 % [3.0, 7.0] by one, 6.0 % by two, 8.0 % by three"),
    ]
    assert detector_table(found, measures) == {
        "columns": ["measure", "by one", "by two", "by three"],
        "rows": [
            ("premature responses", [Cell("5.0 %", "[3.0, 7.0]"), Cell("6.0 %"), Cell("8.0 %", "outside the interval")])
        ],
        "notes": [],
    }


def test_a_detector_that_cannot_be_used_is_one_line(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "webrtcvad", None)
    ran = command("replay", "calls/0.wav", "--vad", "energy", "--vad", "webrtc", "--out", "X", code=1)
    assert "pip install 'fdbcore[webrtcvad]'" in ran.stderr
    ran = command("score", "X", "--vad", "nope", code=2)
    assert "--vad: expected one of silero, energy, webrtc, or MODULE:CLASS, got 'nope'" in " ".join(ran.stderr.split())
