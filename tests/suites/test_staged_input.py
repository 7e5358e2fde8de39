"""What `fdbcore score --suite staged` makes of runs that do not go together, and of recordings that are damaged."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from helpers.commands import command
from helpers.staged_runs import NEEDS_VOICE, beeping_run

from fdbcore.recording.files import AUDIO, EVENTS, META
from fdbcore.recording.run import RUN, read_plan
from fdbcore.suites.staged.cases import cases_of

pytestmark = NEEDS_VOICE


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return beeping_run(tmp_path_factory.mktemp("staged"))


@pytest.fixture
def run(held: Path, tmp_path: Path) -> Path:
    return shutil.copytree(held, tmp_path / "run")


def scored(*runs: Path, code: int | None = None) -> Result:
    out = runs[0].parent / "scores"
    return command("score", "--suite", "staged", *runs, "--json", "--out", out, code=code)


def first_call(run: Path) -> Path:
    return Path(run / json.loads((run / RUN).read_text())["cases"][0]["name"])


def changed_system(run: Path, change: Callable[[dict[str, Any]], None]) -> None:
    plan = json.loads((run / RUN).read_text())
    change(plan["plan"]["systems"]["beeps"])
    (run / RUN).write_text(json.dumps(plan))


def test_two_systems_of_one_name_are_refused(held: Path, run: Path) -> None:
    changed_system(run, lambda system: system.update(sha256="0" * 64))
    told = scored(run, held, code=2)
    (line,) = told.stderr.strip().splitlines()[-1:]
    assert f"{run}, {held}: expected one system named beeps, got two that differ (sha256)" in line
    assert "--system NAME=ADDRESS" in line


def test_over_other_scenarios_a_system_may_say_something_else(held: Path, run: Path) -> None:
    plan = json.loads((run / RUN).read_text())
    plan["plan"]["systems"]["beeps"]["sha256"] = "0" * 64
    for case in plan["cases"]:
        case["columns"]["scenario"] = "daily.ordering.77"
    (run / RUN).write_text(json.dumps(plan))
    assert "expected one system" not in scored(run, held).stderr


def test_a_system_of_another_version_whose_file_has_moved_is_the_same(held: Path, run: Path) -> None:
    changed_system(run, lambda system: system.update(path="elsewhere.toml", versions={"numpy": "1"}))
    assert "expected one system" not in scored(run, held).stderr


def test_a_run_that_is_given_twice_counts_once(run: Path) -> None:
    once = json.loads(scored(run).stdout)
    (run.parent / "link").symlink_to(run)
    assert json.loads(scored(run, run, run / ".." / "run", run.parent / "link").stdout)["rows"] == once["rows"]


def test_copies_of_recordings_are_left_out(held: Path, run: Path) -> None:
    once = json.loads(scored(run).stdout)
    told = scored(run, held)
    found = json.loads(told.stdout)
    assert (told.exit_code, found["rows"], found["items"]) == (1, once["rows"], once["items"])
    names = [Path(item["call"]).name for item in once["items"]]
    assert found["problems"] == [
        {"where": str(held / name), "reason": f"left out: it is the same recording as {run / name}"} for name in names
    ]


@pytest.mark.parametrize("length_bytes", [2_000_044, 20])
def test_a_call_whose_audio_is_cut_off_is_not_scored(run: Path, length_bytes: int) -> None:
    call = first_call(run)
    with open(call / AUDIO, "r+b") as file:
        file.truncate(length_bytes)
    told = scored(run)
    (problem,) = json.loads(told.stdout)["problems"]
    assert (told.exit_code, problem["where"]) == (1, str(call))
    assert problem["reason"].startswith("session.wav: cut off: expected the ")
    held_s = float(problem["reason"].rpartition("got ")[2].removesuffix(" s"))
    assert held_s == pytest.approx(length_bytes / 192_000, abs=0.001), "of stereo int16 at 48 kHz, but for the header"


def test_a_call_without_its_audio_is_scored(run: Path) -> None:
    (first_call(run) / AUDIO).unlink()
    assert json.loads(scored(run).stdout)["problems"] == []


def reasons(run: Path) -> list[str]:
    found, lost = cases_of(run, read_plan(run), lambda _: None)
    assert len(found) + len(lost) == 2
    return [each.reason for each in lost]


def without_count(call: Path) -> Path:
    """The events of a call, whose meta.json does not say how many there were: those of earlier versions."""
    meta = json.loads((call / META).read_text())
    del meta["n_events"], meta["sha256s"]
    (call / META).write_text(json.dumps(meta))
    return call / EVENTS


def test_events_that_are_cut_off_anywhere_are_told(run: Path) -> None:
    path = first_call(run) / EVENTS
    lines = path.read_bytes().splitlines(keepends=True)
    for count in range(len(lines)):
        path.write_bytes(b"".join(lines[:count]))
        assert reasons(run) == [f"events.jsonl: damaged: expected {len(lines)} lines, as it was closed, got {count}"]


def test_events_without_a_count_that_are_cut_off_anywhere_before_the_end_are_told(run: Path) -> None:
    path = without_count(first_call(run))
    lines = path.read_bytes().splitlines(keepends=True)
    end = next(number for number, line in enumerate(lines) if b'"examiner_ends"' in line)
    for count in range(end + 1):
        path.write_bytes(b"".join(lines[:count]))
        (reason,) = reasons(run)
        assert reason.startswith("events.jsonl: ")
        assert "is missing or damaged" in reason
        path.write_bytes(b"".join(lines[:count]) + lines[count][:20])
        assert reasons(run) == ["events.jsonl: damaged: its last line is cut off"]
    path.write_bytes(b"".join(lines))
    assert reasons(run) == []


@pytest.mark.parametrize(
    ("kind", "nth", "reason"),
    [
        ("examiner_goal", 0, "the end of goal 1 is missing or damaged: goal 2 is said at "),
        ("examiner_goal", 1, "the end of goal 2 is missing or damaged: the examiner ends at "),
        ("examiner_said", 0, "the end of what the examiner says is missing or damaged before it speaks again at "),
        ("examiner_says", 1, "the begin of what the examiner says is missing or damaged: it stops at "),
    ],
)
def test_an_event_that_is_missing_is_told(run: Path, kind: str, nth: int, reason: str) -> None:
    path = without_count(first_call(run))
    lines = path.read_text().splitlines(keepends=True)
    gone = [line for line in lines if f'"{kind}"' in line][nth]
    path.write_text("".join(line for line in lines if line is not gone))
    told = scored(run)
    (problem,) = json.loads(told.stdout)["problems"]
    assert told.exit_code == 1
    assert problem["reason"].startswith(f"events.jsonl: {reason}")


@pytest.mark.parametrize("line", ["7\n", "{}\n"])
def test_a_line_that_is_no_event_is_told(run: Path, line: str) -> None:
    with open(first_call(run) / EVENTS, "a") as file:
        file.write(line)
    assert reasons(run) == ["events.jsonl: damaged: expected tick, side and kind in each line, got something else"]
