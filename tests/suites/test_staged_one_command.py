"""`fdbcore run --suite staged` scores by itself once its calls have ended."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from helpers.commands import command, done, refused
from helpers.staged_runs import MUG


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, the current one, with a scenario and a system that tells what it says."""
    (tmp_path / "mug.toml").write_text(MUG)
    line = '[[line]]\nsay = "One mug, four dollars."\nafter = "other_end"\ndelay_s = 0.5\n'
    (tmp_path / "says.toml").write_text(line * 4)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*more: object, code: int | None = None) -> Result:
    fixed = ("--suite", "staged", "--scenarios", "mug.toml", "--clock", "virtual", "--vad", "energy", "--out", "R")
    return command("run", *fixed, "--system", "scripted:says.toml", *more, code=code)


def scores(folder: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((Path(folder) / "scores.json").read_text())
    return content


def test_its_scores_are_those_of_the_command_that_scores(here: Path) -> None:
    told = run("--transcriber", "self-reported", "--pacing", "both", code=0)
    assert told.stdout.splitlines()[-1] == "R-scores/report.html"
    done("score", "--suite", "staged", "R", "--transcriber", "self-reported", "--out", "S")
    assert scores("R-scores") == scores("S")
    assert scores("S")["settings"]["transcriber"] == "self-reported"
    again = run("--transcriber", "self-reported", "--pacing", "both")
    assert (again.exit_code, scores("R-scores")) == (0, scores("S"))
    done("agree", "--sample", 2, "R", "--out", "sample")
    assert len(json.loads((here / "sample" / "key.json").read_text())["dialogues"]) == 2


def test_it_does_not_score_if_told_so(here: Path) -> None:
    result = run("--no-score")
    assert (result.exit_code, (here / "R-scores").exists()) == (0, False)
    assert result.stdout.splitlines()[-1] == "fdbcore score --suite staged R"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--judge", "gemini:gemini-3.8-flash"), "--judge: expected --transcriber ADDRESS"),
        (("--transcriber", "nobody"), "nobody"),
        (("--passes", "goals_met=x"), "goals_met: expected a number"),
        (
            ("--transcriber", "openai:whisper-1", "--max-cost", "1"),
            "--max-cost limits calls alone: expected --no-score",
        ),
        (("--transcriber", "openai:whisper-1", "--local-only"), "but scoring asks OpenAI (api.openai.com)"),
        (("--transcriber", "self-reported", "--judge", "gemini:gemini-3.8-flash"), "expected a key in"),
        (("--transcriber", "openai:whisper-1?key_variable=NO_SUCH_KEY"), "expected a key in NO_SUCH_KEY"),
        (("--no-score", "--passes", "goals_met=1"), "--passes cannot be combined with --no-score"),
        (("--data", "briefs"), "--scenarios cannot be combined with --data"),
    ],
)
def test_what_scoring_would_refuse_is_refused_before_a_call(
    here: Path, options: tuple[str, ...], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-nobody")
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    refused = run(*options)
    assert (refused.exit_code, told in refused.output) == (2, True), refused.output
    assert "Traceback" not in refused.output
    assert not list(here.glob("R*"))


def test_a_run_of_failed_calls_is_not_scored(here: Path) -> None:
    fixed = ("--suite", "staged", "--scenarios", "mug.toml", "--clock", "virtual", "--out", "R")
    result = command("run", *fixed, "--system", "exec:false")
    assert (result.exit_code, "1 of 1 cases ended: 0 done" in result.stdout) == (1, True), result.output
    assert "Usage" not in result.output
    assert "not scored: no call was held; the first: failed: exec: false: left before tick 0" in result.stderr
    assert not (here / "R-scores").exists()


def test_no_score_needs_a_suite(here: Path) -> None:
    assert "--no-score needs --suite" in refused("run", "--system", "echo", "--a", "echo", "--no-score")


def test_a_folder_without_scenarios_is_refused(here: Path) -> None:
    (here / "none").mkdir()
    for arguments in (
        ["run", "--suite", "staged", "--system", "echo", "--scenarios", "none"],
        ["scenarios", "--suite", "staged", "validate", "none"],
    ):
        told = command(*arguments)
        assert told.exit_code != 0, told.output
        assert "none: expected files of scenarios (*.toml), found none" in told.output
