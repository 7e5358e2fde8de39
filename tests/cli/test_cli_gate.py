"""A file of gates to begin with, and the limits that ship, as a user meets them."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from helpers.made_runs import Manner, drawn_calls, made_run

from fdbcore.analysis.gate_file import DEFAULTS, read_gates
from fdbcore.cli.main import main
from fdbcore.measures.catalogue import MEASURES


def command(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(each) for each in arguments], catch_exceptions=False)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """60 calls, one turn in eight of which B cuts off; it answers the others after 0.8 s."""
    path = tmp_path_factory.mktemp("gate") / "run"
    return made_run(path, drawn_calls(60, 3, lambda number: Manner(premature=0.125)))


def test_every_shipped_limit_is_of_a_measure_and_has_its_source() -> None:
    gates = read_gates(Path(DEFAULTS)).gates
    assert all(gate.measure in MEASURES and not gate.needs_baseline for gate in gates)
    assert all(re.search(r"\(20\d\d\)|arXiv|^Ours: ", gate.source) for gate in gates)
    assert all(gate.at_most == (MEASURES[gate.measure].better == "less") for gate in gates)


def test_the_starter_file_is_decided_like_the_limits_that_ship(run: Path, tmp_path: Path) -> None:
    made = command("gate", "init", run, "--out", tmp_path / "gates.toml")
    assert made.exit_code == 0
    assert made.stdout.splitlines() == [
        str(tmp_path / "gates.toml"),
        f"Next: fdbcore report {run} --gate {tmp_path / 'gates.toml'}",
    ]
    by_file, by_name = (
        command("report", run, "--gate", gates, "--no-audio", "--json") for gates in (tmp_path / "gates.toml", DEFAULTS)
    )
    assert by_file.exit_code == by_name.exit_code == 1
    found, shipped = (json.loads(each.stdout)["gates"] for each in (by_file, by_name))
    keys = ("gate", "source", "status", "value", "interval")
    assert [[gate[key] for key in keys] for gate in found["results"]] == [
        [gate[key] for key in keys] for gate in shipped["results"]
    ]
    assert [(gate["gate"].split(".")[0].split()[0], gate["status"]) for gate in found["results"]] == [
        ("response_latency_ms", "passed"),
        ("response_latency_ms", "passed"),
        ("premature_per_turn", "failed"),
        ("no_response_per_turn", "cannot tell"),
        ("b_stopped_within_2s_per_long_a_onset", "not measured"),
    ]


def test_the_starter_file_says_of_each_limit_its_source_and_what_the_run_has(run: Path, tmp_path: Path) -> None:
    command("gate", "init", run, "--out", tmp_path / "gates.toml")
    text = (tmp_path / "gates.toml").read_text()
    tables = tomllib.loads(text)["gates"]
    assert [table["source"] for table in tables] == [gate.source for gate in read_gates(Path(DEFAULTS)).gates]
    values = re.findall(r"^# This run: ([A-Z ]+)\. (.*)$", text, re.MULTILINE)
    assert [status for status, _ in values] == ["PASS", "PASS", "FAIL", "UNDECIDED", "NOT MEASURED"]
    share = json.loads(command("report", run, "--gate", DEFAULTS, "--no-audio", "--json").stdout)["gates"]["results"][2]
    assert values[2][1].startswith(f"{100 * share['value']:.1f} % [")
    assert "60 calls" in values[2][1]
    assert "Take this gate out" in values[4][1]


def test_a_file_that_exists_is_kept(run: Path, tmp_path: Path) -> None:
    (tmp_path / "gates.toml").write_text("mine")
    refused = command("gate", "init", run, "--out", tmp_path / "gates.toml")
    assert refused.exit_code == 2
    assert "exists already, and is kept" in refused.stderr
    assert (tmp_path / "gates.toml").read_text() == "mine"


def test_what_is_no_run_leaves_no_file(tmp_path: Path) -> None:
    refused = command("gate", "init", tmp_path / "nothing", "--out", tmp_path / "gates.toml")
    assert refused.exit_code == 2
    assert not (tmp_path / "gates.toml").exists()


def test_who_names_a_run_alone_is_told_the_command_that_decides(run: Path) -> None:
    refused = command("gate", run)
    assert refused.exit_code == 2
    assert "gates are decided by: fdbcore report RUN --gate FILE" in refused.stderr


def test_a_run_in_one_sentence_names_what_failed_and_counts_its_calls(run: Path) -> None:
    told = command("report", run, "--gate", DEFAULTS, "--no-audio")
    lines = " ".join(told.stdout.split())
    found = json.loads(command("report", run, "--gate", DEFAULTS, "--no-audio", "--json").stdout)["gates"]
    share = found["results"][2]["value"]
    label = MEASURES["premature_per_turn"].label
    failed = f"Fail: 1 of 5 gates failed ({label} {100 * share:.1f} %, at most 5 %)"
    assert f"{failed}, 1 undecided, 1 not measured. Of 60 calls: " in lines
    statuses = [call["status"] for call in found["calls"]]
    counts = {name: statuses.count(status) for name, status in (("fail", "failed"), ("undecided", "cannot tell"))}
    assert all(f"{count} {name}" in lines for name, count in counts.items() if count)
    assert sum(counts.values()) + statuses.count("passed") == 60
    assert f"Fail: 1 of 5 gates failed ({label}" in (run / "compare.html").read_text()
