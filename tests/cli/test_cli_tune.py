"""`fdbcore tune`: its document, its screen and its page, and what it refuses."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from helpers.commands import command, done, printed, refused
from helpers.made_runs import MadeCall, made_run
from helpers.schema import validator

import fdbcore
from benchmarks.planned_waits import activity, planned_call

CALLS = 20


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    random = np.random.default_rng(1)
    calls = []
    for number in range(CALLS):
        wait = 60 if number % 2 else 120
        tracks = activity(planned_call(random), wait, random)
        calls.append(MadeCall(f"call{number:02}", tracks, {"wait": f"{10 * wait}"}))
    return made_run(tmp_path_factory.mktemp("tune") / "RUN", calls)


def test_each_group_has_a_curve_of_its_own(run: Path) -> None:
    found = printed("tune", run, "--by", "wait")
    validator("tune").validate(found)
    assert [group["name"] for group in found["groups"]] == ["600", "1200"]
    for group in found["groups"]:
        assert group["calls"] == CALLS / 2
        assert int(group["name"]) < group["present_ms"] < int(group["name"]) + 250  # with what an answer costs
        told = [each["premature"]["value"] for each in group["settings"] if each["premature"]]
        assert told == sorted(told, reverse=True)
    assert json.loads((run / "tune.json").read_text()) == found


def test_the_library_says_the_same(run: Path, tmp_path: Path) -> None:
    found = fdbcore.tune(fdbcore.Run(run), present_ms=900, waits_ms=[500, 700], out=tmp_path)
    document = printed("tune", run, "--present-ms", 900, "--waits-ms", "500,700", "--out", tmp_path)
    assert json.loads(json.dumps(found)) == document
    assert [each["wait_ms"] for each in found["groups"][0]["settings"]] == [500, 700, 900]


def test_the_screen_fits_and_names_the_page(run: Path) -> None:
    result = command("tune", run, "--present-ms", 900, columns=80, code=0)
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 80 or str(run) in max(lines, key=len)
    assert lines[-1] == str(run / "tune.html")
    assert re.search(r"^900 now .* any call$", result.stdout, re.MULTILINE)
    assert re.search(r"^1,200 .* A went on$", result.stdout, re.MULTILINE)
    assert "Present wait: 900 ms, as given." in result.stdout


def test_the_page_lists_turns_that_change_with_links_into_their_calls(run: Path) -> None:
    found = printed("tune", run, "--present-ms", 900)
    page = (run / "tune.html").read_text()
    turn = next(each for each in found["groups"][0]["settings"] if each["wait_ms"] == 500)["cut_in"][0]
    assert f'href="{turn["call"]}/report.html#t={turn["start_s"]:g}"' in page
    assert (run / turn["call"] / "report.html").is_file()
    assert "Premature responses over response latency" in page
    assert 'class="line a"' in page


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--by", "speaker"], "--by speaker: expected one of wait"),
        (["--waits-ms", "300,x"], "expected milliseconds such as 300,600,900"),
        (["--waits-ms", "5"], "expected 10 to 10,000 ms, got 5"),
        (["--present-ms", "20000"], "expected 10 to 10,000 ms, got 20,000"),
    ],
)
def test_what_cannot_be_is_one_line(run: Path, arguments: list[str], told: str) -> None:
    assert told in refused("tune", run, *arguments)


def test_a_folder_without_a_run_and_a_run_without_turns_are_told_of(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    refused("tune", tmp_path / "empty")
    silent = np.zeros(500, np.bool_)
    speaking = np.arange(500) % 100 < 50
    path = made_run(tmp_path / "RUN", [MadeCall("one", (silent, speaking))])
    assert "expected turns of A, got none in 1 call" in command("tune", path, code=1).stderr


@pytest.mark.parametrize("given", [(), ("--present-ms", 700)])
def test_of_a_system_that_never_answers_nothing_is_told(tmp_path: Path, given: tuple[object, ...]) -> None:
    speaking = np.arange(4_000) % 1_000 < 150
    path = made_run(tmp_path / "RUN", [MadeCall("one", (speaking, np.zeros(4_000, np.bool_)))])
    assert "Cannot tell: B never began after a silence of A." in done("tune", path, *given).stdout
    assert "Cannot tell" in (path / "tune.html").read_text()


def test_a_call_that_cannot_be_read_stops_no_other(run: Path, tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    calls = [MadeCall(name, activity(planned_call(random), 60, random)) for name in ("good", "gone")]
    path = made_run(tmp_path / "RUN", calls)
    (path / "gone" / "derived" / "turns.json").write_text("{")
    found = printed("tune", path, code=1)
    assert (found["groups"][0]["calls"], [*found["unread"]]) == (1, ["gone"])
    done("tune", run, "--out", tmp_path / "OTHER")
    assert (tmp_path / "OTHER" / "tune.html").is_file()
