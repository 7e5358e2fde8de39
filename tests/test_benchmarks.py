"""What benchmarks measure of other processes, and that a missed goal is said at the end."""

import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from benchmarks import __main__ as benchmarks
from benchmarks.harness import MISSED, cost_of, met

MIB = 2**20


def taking(mib: int) -> list[str]:
    """A process that takes so much memory, and gives it back before it ends."""
    return [sys.executable, "-I", "-S", "-c", f"x = b'x' * ({mib} * {MIB}); del x"]


@pytest.fixture
def large() -> Iterator[None]:
    """This process has 600 MiB."""
    held = np.ones(600 * MIB, np.uint8)
    yield
    assert held.any()


@pytest.mark.usefixtures("large")
def test_a_peak_is_that_of_the_child_and_not_of_this_large_process() -> None:
    least = cost_of(taking(0)).peak_mib
    assert least < 40
    assert cost_of(taking(150)).peak_mib - least == pytest.approx(150, abs=8)


def test_a_cost_is_that_of_the_command(tmp_path: Path) -> None:
    script = "import os, sys, time; t = time.process_time()\nwhile time.process_time() < t + 0.3: pass\n"
    asked = f"{script}assert os.environ['X'] == '1' and os.getcwd() == {os.fspath(tmp_path)!r}"
    core = min(os.sched_getaffinity(0))
    asked += f" and os.sched_getaffinity(0) == {{{core}}}"
    cost = cost_of([sys.executable, "-c", asked], cwd=tmp_path, cores=[core], env={"X": "1"})
    assert 0.3 <= cost.cpu_s <= 2
    assert cost.seconds >= 0.3


def test_a_command_that_fails_has_no_cost() -> None:
    with pytest.raises(RuntimeError, match="ended with 3"):
        cost_of([sys.executable, "-c", "raise SystemExit(3)"])


def test_missed_goals_stand_in_one_list_at_the_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Bench:
        @staticmethod
        def main() -> None:
            print(met("fast enough", True), met("small enough", False))

    monkeypatch.setattr(importlib, "import_module", lambda name: Bench)
    monkeypatch.setattr(sys, "argv", ["benchmarks", "replay", "corpus"])
    try:
        benchmarks.main()
    finally:
        MISSED.clear()
    told = capsys.readouterr().out.splitlines()
    assert told[1:] == ["met MISSED"] * 2 + ["", "Goals that were missed:"] + ["  small enough"] * 2
    monkeypatch.setattr(sys, "argv", ["benchmarks", "gate"])
    monkeypatch.setattr(Bench, "main", lambda: print(met("fast enough", True)))
    benchmarks.main()
    assert capsys.readouterr().out.splitlines()[-1] == "No goal was missed."
