"""Tests that run by a flag alone: whatever `-m` says, no flag, no such test."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

OF_ALL_MARKS = """
import pytest

def test_plain(): pass

def test_slow(): pass

@pytest.mark.fuzz
def test_fuzz(): pass

@pytest.mark.outside
def test_outside(): pass

@pytest.mark.parametrize("model", ["none", pytest.param("real", marks=pytest.mark.nemo)])
def test_nemo(model): pass
"""


# Nobody keeps time: others took nothing, some of it, and much of it.
LATE = """
import pytest
from fdbcore.runtime.machine import Processors

@pytest.mark.live
@pytest.mark.parametrize(("stolen", "waited_ms"), [(0.0, 0.0), (0.03, 0.0), (0.0, 1e9)])
def test_late(stolen, waited_ms, monkeypatch):
    monkeypatch.setattr(Processors, "since", lambda *_: {"steal_share": stolen, "waited_ms": waited_ms})
    raise AssertionError("late")
"""


def told(folder: Path, tests: str, *options: str) -> str:
    """What pytest prints of tests with these options, under the settings of our tests."""
    (folder / "test_all.py").write_text(tests)
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\nmarkers =\n    live\n    slow\n")
    shutil.copy(Path(__file__).with_name("conftest.py"), folder)
    (folder / "slow.txt").write_text("test_all.py::test_slow\n")
    command = [sys.executable, "-m", "pytest", "-q", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), {"plain", "slow", "nemo[none]"}),
        (("-m", "not live and not slow"), {"plain", "nemo[none]"}),
        (("-m", "fuzz or outside or slow"), {"slow"}),
        (("--fuzz",), {"fuzz"}),
        (("--outside", "--nemo"), {"outside", "nemo[real]"}),
    ],
)
def test_marks_of_flags_run_by_their_flag_alone(tmp_path: Path, options: tuple[str, ...], expected: set[str]) -> None:
    assert {*re.findall(r"::test_(\S+)", told(tmp_path, OF_ALL_MARKS, "--collect-only", *options))} == expected


def test_what_fails_without_real_time_runs_again_and_is_skipped_if_others_took_much(tmp_path: Path) -> None:
    said = told(tmp_path, LATE, "-rs", "--reruns", "1", "--only-rerun", "OthersTookTime")
    assert "2 failed, 1 skipped, 2 rerun" in said
    assert "waited 1000000.00 s for a processor that other threads used; it failed with AssertionError('late')" in said
