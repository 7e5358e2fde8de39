"""What `--engine ray` costs a call of two minutes, against processes of this machine, over 1 and 2 workers.

The cluster has a node for each worker, all of them here. "Empty" are items whose work is nothing, so what is left is
the engine's own cost. All figures are from the first result to the last: to start (join the cluster, load fdbcore) is
paid once, and shown apart. Goal: beyond what processes take for an empty item, Ray takes less than 5 % of a replay.
"""

from __future__ import annotations

import operator
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from benchmarks.bench_corpus import synthetic_calls
from benchmarks.harness import met, print_table
from fdbcore.clock import now_ns
from fdbcore.cluster.engine import RayCluster
from fdbcore.runs.replay_jobs import ReplaySettings, replayed
from fdbcore.runtime.executor import Executor, Workers
from fdbcore.sources.sessions import session_inputs

COPIES: Final = 3  # of each dialogue
EMPTY: Final = 2_000
GOAL: Final = 0.05


def main() -> None:
    from ray.cluster_utils import Cluster

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        calls = [_copy(call, copy) for call in synthetic_calls(folder / "calls") for copy in range(COPIES)]
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        try:
            rows = _rows(cluster.address, 1, calls, folder)
            cluster.add_node(num_cpus=1)
            rows += _rows(cluster.address, 2, calls, folder)
        finally:
            cluster.shutdown()
    header = ["engine", "workers", "start s", "ms an empty item", "s a call of 2 min", "of a call", "goal"]
    print_table("What an engine costs", header, rows)


def _rows(address: str, workers: int, calls: list[Path], folder: Path) -> list[list[object]]:
    costs = []
    for engine in (Workers(workers), RayCluster(f"ray://{address}")):
        start_s, empty_s = _seconds_an_item(engine.results(operator.neg, range(1, EMPTY), lambda item, cause: 0))
        costs.append((type(engine).__name__, start_s, empty_s, _seconds_a_call(engine, calls, folder)))
    (_, _, least_s, call_s), (_, _, ray_s, _) = costs
    share = (ray_s - least_s) / call_s
    goal = met(f"engine: Ray under {GOAL:.0%} of a call over {workers} workers", share < GOAL)
    shown: list[list[object]] = [
        [name, workers, start_s, 1e3 * empty_s, call_s] for name, start_s, empty_s, call_s in costs
    ]
    return [[*shown[0], "", ""], [*shown[1], f"{share:.2%}", goal]]


def _seconds_a_call(engine: Executor, calls: list[Path], folder: Path) -> float:
    run = folder / f"{type(engine).__name__}-{now_ns()}"
    run.mkdir()
    sessions = enumerate(session_inputs(calls))
    return _seconds_an_item(replayed(sessions, ReplaySettings(run, "energy", {}), engine))[1]


def _seconds_an_item(results: Iterable[object]) -> tuple[float, float]:
    """Seconds until the first result, and seconds for each further one."""
    began_ns = now_ns()
    ended_ns = [now_ns() for result in results if result is not None]
    return (ended_ns[0] - began_ns) / 1e9, (ended_ns[-1] - ended_ns[0]) / 1e9 / (len(ended_ns) - 1)


def _copy(call: Path, number: int) -> Path:
    path = call.with_stem(f"{call.stem}-{number}")
    path.hardlink_to(call)
    return path
