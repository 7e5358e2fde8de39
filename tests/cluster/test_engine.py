"""Tests of replays on a real Ray cluster, whose nodes are processes of this machine."""

import operator
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner
from helpers.patience import PATIENCE_S, wait_until
from helpers.ray_nodes import RayNodes, ray_nodes
from helpers.voices import voices, write

from fdbcore.cli.main import main
from fdbcore.cluster.engine import RayCluster
from fdbcore.recording.files import META, QUANTITIES
from fdbcore.recording.run import CORPUS, DONE, LOG, read_corpus
from fdbcore.runtime.executor import FEW_ITEMS, results_in_order

NEEDS_RAY = pytest.mark.skipif(find_spec("ray") is None, reason="needs Ray: pip install 'fdbcore[cluster]'")

DATED = ("facts.parquet", "made.json")
"""Files that hold the dates of others."""


@pytest.fixture(scope="module")
def nodes() -> Iterator[RayNodes]:
    with ray_nodes() as started:
        yield started


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight calls, of which half are long enough to be under way when something happens."""
    folder = tmp_path_factory.mktemp("calls")
    short = write(folder / "call0.wav", voices("A 0.5-2 5-6.5 | B 2.3-4.6 6.9-9", 50.0))
    long = write(folder / "call1.wav", voices("A 0.5-2 5-6.5 | B 2.3-4.6 6.9-9", 240.0))
    for number in range(2, 8):
        os.link((short, long)[number % 2], folder / f"call{number}.wav")
    return folder


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "fdbcore.cli", "replay", "--vad", "energy", *map(str, arguments)]


def started(*arguments: object) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen(command(*arguments), stdout=pipe, stderr=pipe, text=True, start_new_session=True)


def scored(run: Path) -> list[Path]:
    return list(run.glob(f"*/{QUANTITIES}"))


def under_way(run: Path) -> set[str]:
    return {path.parent.name for path in run.glob(f"*/{META}")} - {path.parents[1].name for path in scored(run)}


def contents(run: Path) -> dict[str, object]:
    """What a run consists of; of JSON all but when it was written."""
    found: dict[str, object] = {}
    for path in sorted(run.rglob("*")):
        name = str(path.relative_to(run))
        if path.name in (META, CORPUS):
            found[name] = re.sub(r'"(created|began|updated)": ?"[^"]*"', "", path.read_text())
        elif path.is_file() and path.suffix != ".html" and path.name not in DATED:  # pages have random names
            found[name] = path.read_bytes()
    return found


@NEEDS_RAY
def test_a_cluster_that_loses_a_node_gives_what_this_machine_gives(
    nodes: RayNodes, calls: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    process = started("--engine", f"ray://{nodes.address}", "--quiet", "--out", run, calls)
    wait_until(lambda: len(under_way(run)) == 2)  # one on each node
    nodes.kill_one()
    _, stderr = process.communicate(timeout=PATIENCE_S)
    nodes.add()
    assert process.returncode == 0, stderr
    log = (run / LOG).read_text()
    assert "a node of the cluster died; begun again: (" in log
    alone = tmp_path / "alone"
    assert subprocess.run(command("--quiet", "--out", alone, calls), check=False).returncode == 0
    expected, found = contents(alone), contents(run)
    assert found.pop(LOG)
    assert [name for name in expected | found if expected.get(name) != found.get(name)] == []
    assert len(expected) > 80


@NEEDS_RAY
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_command_that_ends_early_ends_its_work_and_goes_on(
    how: signal.Signals, nodes: RayNodes, calls: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    arguments = ["--engine", f"ray://{nodes.address}", "--quiet", "--out", run, calls]
    process = started(*arguments)
    wait_until(lambda: len(scored(run)) >= 2)
    os.killpg(process.pid, how)
    _, stderr = process.communicate(timeout=PATIENCE_S)
    if how is signal.SIGINT:
        assert process.returncode == 130
        assert re.fullmatch(
            r"fdbcore replay: interrupted, \d+ of 8 calls ended; run the same command again to continue\n", stderr
        )
    before = {path: path.stat().st_mtime_ns for path in scored(run)}
    again = subprocess.run(command(*arguments), capture_output=True, text=True, check=False)
    assert (again.returncode, again.stdout, again.stderr.count("Traceback")) == (0, "", 0), again.stderr
    assert [call["status"] for call in read_corpus(run)["calls"]] == [DONE] * 8
    kept = [path for path, written_ns in before.items() if path.stat().st_mtime_ns == written_ns]
    assert 1 <= len(kept) < 8


@NEEDS_RAY
def test_results_errors_and_deaths_come_from_a_cluster_as_from_processes(nodes: RayNodes, tmp_path: Path) -> None:
    cluster = RayCluster(f"ray://{nodes.address}")
    numbers = range(FEW_ITEMS + 5)
    assert [*results_in_order(cluster, operator.neg, numbers)] == [-number for number in numbers]
    with pytest.raises(ValueError, match="invalid literal"):
        list(cluster.results(int, ["1", "two", "3"], lambda item, cause: 0))
    dead = [result for result in cluster.results(os._exit, [1, 2], lambda item, cause: cause) if result]
    assert len(dead) == 2
    assert all("worker died unexpectedly" in cause for cause in dead)


@NEEDS_RAY
def test_a_node_with_other_versions_is_refused(nodes: RayNodes, calls: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "aiohttp-0.0.1.dist-info").mkdir(parents=True)
    (other / "aiohttp-0.0.1.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: aiohttp\nVersion: 0.0.1\n"
    )
    nodes.add(other)
    try:
        result = CliRunner().invoke(
            main, ["replay", "--engine", f"ray://{nodes.address}", "--out", str(tmp_path / "run"), str(calls)]
        )
    finally:
        nodes.kill_one()
    assert result.exit_code == 1
    assert re.fullmatch(
        r"fdbcore replay: --engine ray://\S+: \S+: expected aiohttp \S+ as on this machine, got aiohttp 0\.0\.1\n",
        result.stderr,
    )


@NEEDS_RAY
@pytest.mark.parametrize(
    ("engine", "told"),
    [
        ("ray://127.0.0.1:1", "expected the head of a Ray cluster there: [Errno 111] Connection refused"),
        ("ray://6379", "expected ray://HOST:PORT, such as ray://127.0.0.1:6379"),
        ("ray://", "expected ray://HOST:PORT, such as ray://127.0.0.1:6379"),
        ("dask", "--engine: expected one of ray, got 'dask'"),
    ],
)
def test_an_engine_that_cannot_be_used_is_one_line(engine: str, told: str, calls: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    result = CliRunner().invoke(main, ["replay", "--engine", engine, "--out", str(run), str(calls)])
    assert result.exit_code == 2
    assert result.stderr.endswith(f"{told}\n")
    assert result.stderr.count("--engine") == 1
    assert not run.exists()


def test_without_ray_the_extra_is_named(calls: Path, tmp_path: Path) -> None:
    arguments = command("--engine", "ray", calls)[3:]
    hidden = f"import sys; sys.modules['ray'] = None; from fdbcore.cli.main import main; main({arguments})"
    found = subprocess.run([sys.executable, "-c", hidden], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert found.returncode == 2
    assert found.stderr.endswith("--engine ray needs Ray: pip install 'fdbcore[cluster]'\n")
