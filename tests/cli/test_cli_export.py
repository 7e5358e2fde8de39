"""`fdbcore export`: a run in another format, and what it says of recordings that are not whole."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from fakes.recordings import drawn_recording
from helpers.commands import command
from helpers.made_runs import MadeCall, conversation, made_run

from fdbcore.analysis.score import score
from fdbcore.recording.files import META, TURNS, write_json
from fdbcore.recording.run import CORPUS

DIALOGUE = "A 0-3 5-6 | B 3.4-3.8"


def export(*arguments: object, code: int | None = None) -> Result:
    return command("export", *arguments, code=code)


@pytest.mark.parametrize("fmt", ["rttm", "textgrid", "audacity", "csv", "json"])
def test_incomplete_recordings_are_named_and_left_out(tmp_path: Path, fmt: str) -> None:
    for name in ("good", "torn"):
        score(drawn_recording(tmp_path / name, DIALOGUE))
    meta = json.loads((tmp_path / "torn" / META).read_text())
    write_json(tmp_path / "torn" / META, meta | {"status": "interrupted", "reason": "KeyboardInterrupt"})
    result = export(tmp_path, "--format", fmt, "--out", tmp_path / "out", code=1)
    assert [Path(line).stem.split(".")[0] for line in result.stdout.splitlines()] == ["good"]
    (line,) = result.stderr.splitlines()
    assert "torn: left out, expected complete, got interrupted" in line


def test_damaged_turns_are_one_line(tmp_path: Path) -> None:
    recording = drawn_recording(tmp_path / "bad", DIALOGUE)
    write_json(recording.path / TURNS, {})
    result = export(tmp_path, "--format", "csv", code=1)
    assert result.stderr.count("\n") == 1
    assert "turns.json" in result.stderr


def test_only_the_calls_of_the_run_are_exported_and_one_that_cannot_be_stops_no_other(tmp_path: Path) -> None:
    long = "x" * 250  # a file system's longest name has 255 bytes
    made_run(tmp_path / "run", [MadeCall(name, conversation(np.random.default_rng(1))) for name in ("b", long, "a")])
    score(drawn_recording(tmp_path / "run" / "of-an-earlier-replay", DIALOGUE))
    corpus = json.loads((tmp_path / "run" / CORPUS).read_text())
    failed = {"status": "failed", "reason": "gone", "unscored": "gone"}
    score(drawn_recording(tmp_path / "run" / "c", DIALOGUE))
    write_json(
        tmp_path / "run" / CORPUS, corpus | {"calls": [*corpus["calls"], corpus["calls"][0] | {"name": "c"} | failed]}
    )
    result = export(tmp_path / "run", "--format", "textgrid", "--out", tmp_path / "out", code=1)
    assert result.stdout.splitlines() == [str(tmp_path / "out" / f"{name}.TextGrid") for name in "ab"]
    gone, too_long = result.stderr.splitlines()
    assert gone.endswith("c: left out, gone")
    assert too_long.endswith("cannot be written: File name too long")


def test_a_folder_without_recordings(tmp_path: Path) -> None:
    assert "expected a run or a recording" in export(tmp_path, "--format", "csv", code=1).stderr
