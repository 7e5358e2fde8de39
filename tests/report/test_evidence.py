"""How figures were made, as scorecards, trends and tables for a paper say it."""

from __future__ import annotations

import hashlib
import json
import re
from html import unescape
from pathlib import Path

import pytest
import soundfile
from click.testing import CliRunner

from fdbcore.cli.main import main
from fdbcore.report.evidence import of_making
from fdbcore.runtime.redaction import secret

SAMPLE = Path(__file__).parents[2] / "benchmarks" / "sample" / "sample.flac"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two runs of the same two calls of 14 s."""
    folder = tmp_path_factory.mktemp("runs")
    pcm, rate_hz = soundfile.read(SAMPLE, dtype="int16")
    (folder / "calls").mkdir()
    for number, start_s in enumerate((0, 20)):
        soundfile.write(folder / "calls" / f"{number}.wav", pcm[start_s * rate_hz : (start_s + 14) * rate_hz], rate_hz)
    found = [folder / "v1", folder / "v2"]
    for run in found:
        fdbcore("replay", folder / "calls", "--vad", "energy", "--quiet", "--out", run)
    return found


def fdbcore(*arguments: object) -> None:
    result = CliRunner().invoke(main, [*map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output


def heard(run: Path) -> str:
    """The hash of the audio of a run, by its meta.json."""
    metas = [json.loads(path.read_text()) for path in run.glob("*/meta.json")]
    sha256s = sorted(file["sha256"] for meta in metas for file in meta["source"]["files"])
    return hashlib.sha256("\n".join(sha256s).encode()).hexdigest()[:12]


def told(text: str, name: str) -> list[str]:
    """What is said under a name, on a page or in a comment of LaTeX."""
    on_page = re.findall(rf"<dt>{name}</dt><dd><code>(.*?)</code>", text)
    return [*map(unescape, on_page), *re.findall(rf"^% {name}: (.*)$", text, re.MULTILINE)]


def test_a_trend_says_its_command_and_what_each_run_rests_on(runs: list[Path]) -> None:
    fdbcore("report", *runs)
    page = (runs[1] / "trend.html").read_text()
    assert told(page, "command") == [f"fdbcore report {runs[0]} {runs[1]}"]
    assert [re.fullmatch(r"20\d\d-\d\d-\d\d", date) is not None for date in told(page, "date")] == [True]
    for run in runs:
        of_run = page.partition(f"<h3>{run}</h3>")[2]
        assert told(of_run, "audio")[0] == f"2 files, SHA-256 {heard(run)}"
        assert told(of_run, "detector")[0] == "energy 2"
        assert "min_silence_ms=200" in told(of_run, "settings")[0]


def test_tables_for_a_paper_say_it_in_a_comment(runs: list[Path], tmp_path: Path) -> None:
    fdbcore("report", runs[1], "--baseline", runs[0], "--figures", tmp_path / "paper", "--quiet")
    for name in ("table.tex", "differences.tex"):
        tex = (tmp_path / "paper" / name).read_text()
        assert told(tex, "command")[0].startswith(f"fdbcore report {runs[1]} --baseline")
        assert told(tex, "run audio")
        assert told(tex, "baseline audio")
        assert {line[0] for line in tex.partition("\\begin")[0].splitlines()} == {"%"}


def test_a_scorecard_says_it_with_the_hash_of_its_scores(tmp_path: Path) -> None:
    fdbcore("score", "--suite", "dialogue-acts", "--out", tmp_path / "ACTS", "--quiet")
    expected = hashlib.sha256((tmp_path / "ACTS" / "scores.json").read_bytes()).hexdigest()
    for name in ("report.html", "table.tex"):
        text = (tmp_path / "ACTS" / name).read_text()
        assert told(text, "command") == [f"fdbcore score --suite dialogue-acts --out {tmp_path / 'ACTS'} --quiet"]
        assert told(text, "scores.json") == [f"SHA-256 {expected}"]


def test_no_secret_of_the_command_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-4711-abcdef")
    known = secret("SOME_API_KEY")
    typed = ["run", "--system", "pcm_ws://u:pw12345678@h/?token=abc1234567", "--api-key", "zzz12345", f"b={known}"]
    command = of_making(typed, {})[""]["command"]
    assert not [hidden for hidden in ("pw12345678", "abc1234567", "zzz12345", known) if hidden in command]
    assert command.startswith("fdbcore run --system")
