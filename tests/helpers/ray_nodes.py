"""A Ray cluster of several nodes on this machine, each a process with one processor; it can lose and gain nodes.

It has a process of its own, so that Ray is never loaded into that of the tests: `python -m helpers.ray_nodes`.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from helpers.patience import PATIENCE_S


class RayNodes:
    """Two nodes to begin with. address: HOST:PORT of the head."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.address = self._told()

    def _told(self) -> str:
        assert self._process.stdout is not None
        told = self._process.stdout.readline().strip()
        assert told, "the cluster did not start"
        return told

    def _do(self, what: str) -> None:
        assert self._process.stdin is not None
        print(what, file=self._process.stdin, flush=True)
        assert self._told() == what

    def kill_one(self) -> None:
        """Kill the node that was added last, with all that it is at."""
        self._do("kill")

    def add(self, pythonpath: Path | None = None) -> None:
        """Add a node, which finds modules in this folder first."""
        self._do(f"add {pythonpath or ''}".strip())

    def add_with_gpu(self) -> None:
        """Add a node that says of itself that it has a GPU."""
        self._do("gpu")


@contextmanager
def ray_nodes() -> Iterator[RayNodes]:
    command = [sys.executable, "-m", "helpers.ray_nodes"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), "RAY_USAGE_STATS_ENABLED": "0"}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, env=environment, start_new_session=True
    ) as process:
        try:
            yield RayNodes(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(PATIENCE_S)


def _serve() -> None:
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    nodes = [cluster.add_node(num_cpus=1)]
    print(cluster.address, flush=True)
    for line in sys.stdin:
        what, _, pythonpath = line.strip().partition(" ")
        if what == "kill":
            cluster.remove_node(nodes.pop(), allow_graceful=False)
        elif what == "gpu":
            nodes.append(cluster.add_node(num_cpus=1, num_gpus=1))
        else:
            nodes.append(cluster.add_node(num_cpus=1, env_vars={"PYTHONPATH": pythonpath} if pythonpath else {}))
        print(line.strip(), flush=True)
    cluster.shutdown()


if __name__ == "__main__":
    _serve()
