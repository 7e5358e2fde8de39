"""Runs whose folder the user does not name: a live run makes a new one, and other commands take the newest."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fakes.run_parties import install
from helpers.commands import command, done
from helpers.made_runs import drawn_calls, made_run

from fdbcore.recording.run import CORPUS, RUN
from fdbcore.report.html.templates import INDEX

TESTS = Path(__file__).parents[1]
HELD = ("--vad", "energy", "--clock", "virtual", "--a", "fake:?speak=10-50&finish=300")
NAME = re.compile(r"fdbcore-live-\d{8}-\d{4}-[A-Za-z0-9_.-]+")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder, and the party "fake"."""
    monkeypatch.syspath_prepend(install(tmp_path / "plugin"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def test_each_live_run_gets_a_folder_of_its_own_and_says_so_first(here: Path) -> None:
    told = [command("run", *HELD, "--system", "fake:?speak=80-150&key=hush") for _ in range(2)]
    assert [result.exit_code for result in told] == [0, 0]
    folders = sorted(path.name for path in here.iterdir())
    assert len(folders) == 2
    assert all(NAME.fullmatch(name) and (here / name / RUN).is_file() for name in folders)
    firsts = [result.stderr.splitlines()[0] for result in told]
    assert set(firsts) == {
        f"fdbcore run: writing to {name}; if it is stopped, run the same command with --out {name} to continue"
        for name in folders
    }
    assert not any("hush" in name for name in folders)
    again = command("run", *HELD, "--system", "fake:?speak=80-150&key=hush", "--out", folders[0])
    assert "all cases have ended" in again.stderr
    assert len(list(here.iterdir())) == 2


def test_the_folder_has_the_names_of_the_systems(here: Path) -> None:
    command("run", *HELD, "--system", "new=fake:", "--system", "old=fake:", "--quiet")
    (folder,) = here.iterdir()
    assert folder.name.endswith("-new-old")


@pytest.mark.parametrize(
    ("arguments", "code"), [(["--dry-run"], 0), (["--set", "nope=1"], 2), (["--again", "failed"], 2)]
)
def test_a_run_that_does_not_begin_leaves_no_folder(here: Path, arguments: list[str], code: int) -> None:
    assert command("run", *HELD, "--system", "fake:", *arguments).exit_code == code
    assert list(here.iterdir()) == []


def test_a_run_that_was_stopped_goes_on_in_its_folder(here: Path) -> None:
    command = [sys.executable, "-m", "fdbcore.cli", "run", "--vad", "energy", "--a", "fake:?speak=10-50&finish=90000"]
    with subprocess.Popen(
        [*command, "--system", "x=fake:"],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(here.parent / "plugin"), str(TESTS)])},
    ) as process:
        assert process.stderr is not None
        first = process.stderr.readline()
        while "self-test" not in process.stderr.readline():  # then the call begins
            continue
        process.send_signal(signal.SIGTERM)
        last = process.stderr.read().splitlines()[-1]
    (folder,) = here.iterdir()
    assert folder.name in first
    assert last.endswith(f"1 of 1 cases left; run the same command with --out {folder.name} to continue")


@pytest.mark.parametrize(
    ("arguments", "writes"),
    [(("report",), INDEX), (("score",), "scores.html"), (("export", "--format", "csv"), "call0000/call0000.csv")],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_without_a_run_the_newest_one_is_taken_and_named(here: Path, arguments: tuple[str, ...], writes: str) -> None:
    for number, place in enumerate(("new", "held/live", "old")):
        made_run(here / place, drawn_calls(3, seed=number))
        then_s = {"held/live": 3000, "new": 2000, "old": 1000}[place]
        os.utime(here / place / CORPUS, (then_s, then_s))
    assert done(*arguments).stderr.splitlines()[0] == f"fdbcore {arguments[0]}: held/live, the newest run here"
    assert (here / "held" / "live" / writes).is_file()
    assert not (here / "new" / writes).exists()


@pytest.mark.parametrize("arguments", [("report",), ("score",), ("export", "--format", "csv")])
def test_without_any_run_one_line_says_so(here: Path, arguments: tuple[str, ...]) -> None:
    (here / "calls").mkdir()
    told = command(*arguments, code=2)
    assert told.stderr.splitlines()[-1].startswith("Error: expected a RUN, and there is none in this folder")
