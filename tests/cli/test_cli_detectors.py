"""`--vad a --vad b`: which measures move with the detector, as replays with each of them say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from helpers.voices import DIALOGUE, voices, write

from fdbcore.cli.main import main
from fdbcore.measures.catalogue import headlines

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
    ran = CliRunner().invoke(main, [*map(str, arguments)], catch_exceptions=False)
    assert ran.exit_code == 0, ran.output
    return ran.stdout


def replay(*arguments: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(fdbcore("replay", "--json", "--jobs", 1, *arguments))
    return found


def headline(measure: dict[str, Any]) -> float | None:
    value: float | None = measure["mean"] if measure["median"] is None else measure["median"]
    return value


@pytest.mark.parametrize("path", ["calls/0.wav", "calls"])
def test_each_figure_is_that_of_a_replay_with_that_detector(here: Path, path: str) -> None:
    names = ["energy", "deaf:Deaf", "deaf:Deafer"]
    found = replay(path, "--out", "ALL", *(word for name in names for word in ("--vad", name)))["detectors"]
    assert found["detectors"] == names
    assert [variant["detector"] for variant in found["variants"]] == [None, "deaf:Deaf", "deaf:Deafer"]
    (group,) = found["groups"]
    for number, name in enumerate(names):
        alone = replay(path, "--out", f"BY{number}", "--vad", name)
        for measure in headlines():
            assert group["measures"][measure]["figures"][number] == pytest.approx(headline(alone["measures"][measure]))


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


def test_a_detector_that_cannot_be_used_is_one_line(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "webrtcvad", None)
    ran = CliRunner().invoke(main, ["replay", "calls/0.wav", "--vad", "energy", "--vad", "webrtc", "--out", "X"])
    assert ran.exit_code == 1
    assert "pip install 'fdbcore[webrtcvad]'" in ran.stderr
    ran = CliRunner().invoke(main, ["score", "X", "--vad", "nope"])
    assert ran.exit_code == 2
    assert "--vad: expected one of silero, energy, webrtc, or MODULE:CLASS, got 'nope'" in " ".join(ran.stderr.split())
