"""Calls with planted cut-offs: replaying their audio finds each of them, and nothing else."""

import csv
from pathlib import Path

from click.testing import CliRunner

from benchmarks.planted_calls import TURNS, make
from fdbcore.cli.main import main


def test_the_tables_of_a_run_hold_what_was_planted(tmp_path: Path) -> None:
    cut_off = make(tmp_path / "calls", 10, premature=0.3, seed=1)
    assert 0 < sum(cut_off) < 10 * TURNS
    command = ["replay", str(tmp_path / "calls"), "--meta", str(tmp_path / "calls.csv"), "--vad", "energy"]
    assert CliRunner().invoke(main, [*command, "--out", str(tmp_path / "RUN")]).exit_code == 0
    with open(tmp_path / "RUN" / "calls.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["cut_off"]) for row in rows] == cut_off
    assert [round(float(row["premature_per_turn"]) * TURNS) for row in rows] == cut_off
    assert {row["premature_per_turn_n"] for row in rows} == {str(TURNS)}
    assert [round(float(row["answered_per_turn"]) * TURNS) for row in rows] == [TURNS - n for n in cut_off]
