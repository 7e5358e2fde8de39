"""The demo: its set-up, and what it makes of a machine that is too busy. Programs stand in for commands and pip."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.demo import LIVE, main

MISSED = "invalid: 403 of 3055 ticks missed; the machine was too slow"

# Takes the next of the ends that it was given for its run command, and notes what it was asked to do.
STAND_IN = """
import json, pathlib, sys
asked, here = sys.argv[1:], pathlib.Path(__file__).parent
with open(here / "asked", "a") as file:
    print(*asked, file=file)
if "--suite" in asked:
    sys.exit(0)
end, *left = (here / "ends").read_text().splitlines() or [""]
if asked[0] != "run":
    sys.exit(asked[0] == "models" and not end)  # the voice cannot be had: no call is held
(here / "ends").write_text("\\n".join(left))
kind, _, reason = end.partition(": ")
case = pathlib.Path(asked[asked.index("--out") + 1]) / "clerk"
case.mkdir(parents=True, exist_ok=True)
(case / "meta.json").write_text(json.dumps({"outcome": {"kind": kind, "reason": reason or None}}))
sys.exit(kind != "done")
"""


@pytest.mark.parametrize(
    ("ends", "strict", "code", "asked"),
    [
        (["done"], "", 0, ["replay", "models", "run"]),
        ([MISSED, "done"], "1", 0, ["replay", "models", "run", "run"]),
        ([MISSED, MISSED], "", 0, ["replay", "models", "run", "run", "report"]),
        ([MISSED, MISSED], "1", 1, ["replay", "models", "run", "run", "report"]),
        (["failed: no answer"], "", 1, ["replay", "models", "run"]),
        ([MISSED, "failed: no answer"], "", 1, ["replay", "models", "run", "run"]),
        ([], "", 1, ["replay", "models"]),
    ],
)
def test_missed_ticks_are_no_failure_twice_and_all_else_is(
    ends: list[str], strict: str, code: int, asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stand_in.py").write_text(STAND_IN)
    (tmp_path / "ends").write_text("\n".join(ends))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FDBCORE_DEMO_STRICT", strict)
    assert main([sys.executable, str(tmp_path / "stand_in.py")]) == code
    every = (tmp_path / "asked").read_text().splitlines()
    lines = [line for line in every if "--suite" not in line]
    assert len(every) - len(lines) == (5 if ends else 0)
    assert [line.split()[0] for line in lines] == asked
    assert [line.endswith("--again invalid") for line in lines if line.startswith("run")] == [False, True][: len(ends)]
    assert lines[-1] == f"report {LIVE} --call clerk" or asked[-1] != "report"


PIP = """#!/bin/sh
echo "Collecting aiohttp>=3 (from fdbcore)"
echo "  Downloading aiohttp-3-py3-none-any.whl"
echo "Collecting numpy"
echo "  Building editable for fdbcore (pyproject.toml): started"
echo "Installing collected packages: aiohttp, numpy"
echo "ERROR: no room on the disk" >&2
exit $STATUS
"""


@pytest.mark.parametrize("status", [0, 1])
def test_the_set_up_says_what_it_does_and_what_went_wrong(tmp_path: Path, status: int) -> None:
    root = Path(__file__).parents[1]
    for name in ("Makefile", "pyproject.toml", "setup.py"):
        shutil.copy(root / name, tmp_path)
    pip = tmp_path / ".venv" / "bin" / "pip"
    pip.parent.mkdir(parents=True)
    pip.write_text(PIP)
    pip.chmod(0o755)
    environment = {**os.environ, "STATUS": str(status)}
    command = ["make", "--no-print-directory", "--silent", ".venv/base"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    told = [
        "--- Fetching packages",
        "--- Compiling the core, for a minute or two",
        "--- Installing 2 packages",
        "ERROR: no room on the disk",
    ]
    runs = 1 if status else 2  # first the package itself, then what the demo needs beside it
    begun = "--- Setting up .venv, once: about three minutes, 800 MB; 2.8 GB for all tests"
    assert done.stdout.splitlines() == [begun, *runs * told]
    assert (done.returncode == 0, (tmp_path / ".venv" / "base").exists()) == (status == 0, status == 0)
