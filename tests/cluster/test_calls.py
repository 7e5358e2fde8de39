"""Tests of live calls on a real Ray cluster, whose nodes are processes of this machine, with systems without keys."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from fakes.run_parties import install
from helpers.patience import PATIENCE_S, wait_until
from helpers.ray_nodes import RayNodes, ray_nodes
from helpers.voices import voices, write
from msgspec.structs import replace

from fdbcore.cluster.engine import RayCluster
from fdbcore.recording.files import META
from fdbcore.runs.calls_at_once import calls_at_once, keep
from fdbcore.types.timing import HeldAtOnce

pytestmark = [
    pytest.mark.slow,
    pytest.mark.live,
    pytest.mark.skipif(find_spec("ray") is None, reason="needs Ray: pip install 'fdbcore[cluster]'"),
]


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayNodes]:
    """Nodes of which is known that each holds two calls on time."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        keep(replace(calls_at_once(hold=keeps_time_with_two), calls=2))
        with ray_nodes() as started:
            yield started


def keeps_time_with_two(calls: int) -> HeldAtOnce:
    return HeldAtOnce(calls, 100, 0, 0 if calls <= 2 else 100, 0.0)


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("clip") / "user.wav", voices("A 0.3-1.5 | B ", 2)[:, 0])


def started(run: Path, clip: Path, nodes: RayNodes, *arguments: str) -> subprocess.Popen[str]:
    command = [
        *(sys.executable, "-m", "fdbcore.cli", "run", "--system", "echo", "--clips", str(clip), "--vad", "energy"),
        *("--max-s", "6", "--engine", f"ray://{nodes.address}", "--out", str(run), "--quiet", *arguments),
    ]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True)


def metas(run: Path) -> list[dict[str, Any]]:
    found = []
    for path in run.glob(f"*/{META}"):
        text = path.read_text()
        found.append(json.loads(text) if text else {})
    return found


def under_way(run: Path) -> int:
    return sum(meta.get("status") == "running" for meta in metas(run))


def kinds(run: Path) -> list[str]:
    return [meta["outcome"]["kind"] for meta in metas(run)]


def test_a_node_that_dies_costs_its_running_calls_which_are_held_again(
    nodes: RayNodes, clip: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    process = started(run, clip, nodes, "--trials", "6", "--jobs", "auto")
    wait_until(lambda: under_way(run) == 4)  # as many on each of two nodes as it holds on time
    nodes.kill_one()
    _, stderr = process.communicate(timeout=PATIENCE_S)
    nodes.add()
    assert process.returncode == 0, stderr
    assert kinds(run) == ["done"] * 6
    again = [meta["attempts"] for meta in metas(run) if meta["attempts"]]
    told = f"the node of the cluster that held the call died: {os.uname().nodename}"
    assert [[(each["kind"], each["reason"]) for each in attempts] for attempts in again] == [[("invalid", told)]] * 2


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_command_that_ends_early_ends_its_calls_and_goes_on(
    how: signal.Signals, nodes: RayNodes, clip: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    process = started(run, clip, nodes, "--trials", "4", "--jobs", "1")
    wait_until(lambda: sum(meta.get("status") == "complete" for meta in metas(run)) >= 2 and under_way(run) == 2)
    os.killpg(process.pid, how)
    _, stderr = process.communicate(timeout=PATIENCE_S)
    if how is signal.SIGTERM:
        assert process.returncode == 130
        assert re.search(r"fdbcore run: interrupted, 2 of 4 cases left; .* to continue\n$", stderr), stderr
    ended = [path for path in run.glob(f"*/{META}") if json.loads(path.read_text())["status"] == "complete"]
    before = {path: path.stat().st_mtime_ns for path in ended}
    _, stderr = started(run, clip, nodes, "--trials", "4", "--jobs", "1").communicate(timeout=PATIENCE_S)
    assert "Traceback" not in stderr
    assert kinds(run) == ["done"] * 4
    assert len(before) == 2
    assert {path: path.stat().st_mtime_ns for path in ended} == before


def test_nothing_else_of_the_cluster_runs_beside_live_calls(nodes: RayNodes, clip: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    process = started(run, clip, nodes, "--trials", "2", "--jobs", "1")
    wait_until(lambda: under_way(run) == 2)
    found = [
        each
        for each in RayCluster(f"ray://{nodes.address}").results(abs, [-1], lambda item, cause: 0)
        if each is not None
    ]
    assert found == [1]
    assert kinds(run) == ["done"] * 2, "it began when they had ended"
    _, stderr = process.communicate(timeout=PATIENCE_S)
    told = [
        line for line in stderr.splitlines() if not line.startswith("fdbcore run: timing self-test ")
    ]  # fails on a busy machine
    assert (process.returncode, told) == (0, [])


def test_a_limit_of_cost_leaves_calls_on_a_cluster_as_on_this_machine(nodes: RayNodes, tmp_path: Path) -> None:
    """A call costs 0.05 USD; two are held at a time."""
    run = tmp_path / "run"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(install(tmp_path / "plugin")), *sys.path])}
    command = [sys.executable, "-m", "fdbcore.cli", "run", "--a", "fake:?speak=10-50&finish=80", "--vad", "energy"]
    command += ["--system", "fake:?speak=20-60&model=gpt-live-1", "--clock", "virtual", "--trials", "4", "--jobs", "1"]
    where = ["--engine", f"ray://{nodes.address}", "--out", str(run)]
    limited = [*command, *where, "--max-cost", "0.12"]
    done = subprocess.run(limited, capture_output=True, text=True, env=environment, timeout=PATIENCE_S, check=False)
    assert done.returncode == 1
    told = " ".join(done.stderr.split())
    assert (
        "0.10 USD spent of --max-cost 0.12, 2 of 4 cases left; with a higher --max-cost or none, run the same" in told
    )
    assert kinds(run) == ["done"] * 2
