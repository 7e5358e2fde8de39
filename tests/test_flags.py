"""Tests that run by a flag alone: whatever `-m` says, no flag, no such test."""

from __future__ import annotations

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


def chosen(folder: Path, *options: str) -> set[str]:
    """Names of the tests that pytest collects with these options, under the settings of our tests."""
    (folder / "test_all.py").write_text(OF_ALL_MARKS)
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\nmarkers =\n    live\n    slow\n")
    shutil.copy(Path(__file__).with_name("conftest.py"), folder)
    (folder / "slow.txt").write_text("test_all.py::test_slow\n")
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return {*re.findall(r"::test_(\S+)", done.stdout)}


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
    assert chosen(tmp_path, *options) == expected
