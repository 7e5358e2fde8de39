"""Tasks of a Ray cluster, each on one item, or on several at the same time: what `RayCluster` and hosts are made of.

A process of our own speaks to Ray, so that what Ray prints goes to the run's log, Ctrl-C does not reach it, and what
is under way ends at once if the command dies.
"""

from __future__ import annotations

import os
import socket
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from fdbcore.clock import now_ns
from fdbcore.errors import SettingsError
from fdbcore.recording.versions import installed_versions
from fdbcore.runtime.executor import WorkResult
from fdbcore.runtime.locks import shared_lock
from fdbcore.runtime.process import WorkerProcess
from fdbcore.runtime.redaction import CleanStream

if TYPE_CHECKING:
    from ray import ObjectRef

MOST_NODES_LOST: Final = 3
"""If so many nodes die while they work on an item, it is not tried again."""

JOINING_S: Final = 60.0
"""Time that Ray may take until the first processor is ours."""

_PER_SLOT: Final = 2  # tasks that the cluster has for each that it can work on, so that no processor waits for its next
_POLL_S: Final = 0.02  # wait of the process for results before it looks for new items
_ROOM_EVERY_NS: Final = 10**9  # interval at which it counts the processors


@dataclass(frozen=True, slots=True)
class Needs:
    """Resources that a task takes of its node. items: so many at most it works on at the same time, in threads."""

    processors: float = 1.0
    gpus: int = 0
    items: int = 1

    def __str__(self) -> str:
        told = f"{self.processors:g} {'processor' if self.processors == 1 else 'processors'}"
        return f"{told} and {self.gpus} {'GPU' if self.gpus == 1 else 'GPUs'}" if self.gpus else told


@dataclass(frozen=True, slots=True)
class RayEntry:
    """The way to a cluster. name: as the user named it. address: HOST:PORT of its head; "" for the one that is near.

    jobs: at most so many items at a time.
    """

    name: str
    address: str
    jobs: int

    def process(self, work: Callable[[Any], object], needs: Needs, log: Path | None = None) -> WorkerProcess:
        """A process that speaks to Ray. It takes (number, item), and sends how many items it has room for; (number,
        WorkResult), or (number, cause) if a process died at the item; and a text if the cluster cannot be used.
        """
        return WorkerProcess(log, _speak_to_ray, self.address, self.jobs, work, Here.with_log(log), needs)

    def refusal(self, text: str) -> SettingsError:
        """An error of the cluster."""
        return SettingsError(f"--engine {self.name}: {text}")


@dataclass(frozen=True, slots=True)
class Here:
    """Things that a node must have as this process has them. log: of the run; see `WorkerProcess`."""

    folder: str
    sys_path: Sequence[str]
    versions: dict[str, str]
    log: Path | None

    @classmethod
    def with_log(cls, log: Path | None) -> Self:
        """Of this process."""
        return cls(os.getcwd(), sys.path, installed_versions(), log and log.resolve())

    def lacking(self) -> str | None:
        """On a node: what it lacks, in words."""
        node, own = socket.gethostname(), installed_versions()
        unlike = [name for name in self.versions | own if self.versions.get(name) != own.get(name)]
        if unlike:
            there, ours = ([found.get(name, "none") for name in unlike] for found in (own, self.versions))
            return f"{node}: expected {_listed(unlike, ours)} as on this machine, got {_listed(unlike, there)}"
        for path in (Path(self.folder), self.log):
            if path is not None and not path.exists():
                return f"{node}: expected {path}, as on this machine: every machine must see the run at the same path"
        return None

    @contextmanager
    def there(self) -> Iterator[None]:
        """On a node: in the folder of the command, with its modules, printing into the log."""
        sys.path += [path for path in self.sys_path if path not in sys.path]
        with ExitStack() as at_end:
            at_end.enter_context(chdir(self.folder))
            if self.log is not None:
                at_end.enter_context(shared_lock(self.log.parent))
                printed = CleanStream(at_end.enter_context(open(self.log, "a", buffering=1)))
                at_end.enter_context(redirect_stdout(printed))
                at_end.enter_context(redirect_stderr(printed))
            yield


@dataclass(frozen=True, slots=True)
class _Task:
    """Numbered items at work. nodes_lost: how many nodes have died at them."""

    numbered: Sequence[tuple[int, Any]]
    nodes_lost: int = 0


def _speak_to_ray(
    connection: Connection, address: str, jobs: int, work: Callable[[Any], object], here: Here, needs: Needs
) -> None:
    """Speak to Ray: the life of the process, see `RayEntry.process`."""
    if here.log is None:  # Ray's prints are nothing for the terminal
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
    if (refusal := why_not_joined(address)) is not None:
        connection.send(refusal)
        return
    import ray
    from ray.exceptions import NodeDiedError, OutOfMemoryError, RayError, RayTaskError

    do = ray.remote(num_cpus=needs.processors, num_gpus=needs.gpus, max_retries=0)(_do).remote
    at_work: dict[ObjectRef[Any], _Task] = {}
    waiting: deque[tuple[int, Any]] = deque()
    slots, looked_ns = 0, -_ROOM_EVERY_NS

    def begin(task: _Task) -> None:
        at_work[do(work, [item for _, item in task.numbered], here)] = task

    def end(task: _Task, cause: str) -> None:
        for number, _ in task.numbered:
            connection.send((number, cause))

    while True:
        if now_ns() - looked_ns >= _ROOM_EVERY_NS:
            before, slots, looked_ns = slots, _PER_SLOT * _slots(needs), now_ns()
            if slots != before:
                connection.send(min(jobs, slots * needs.items))
        while connection.poll(0 if at_work else _POLL_S):
            try:
                waiting.append(connection.recv())
            except EOFError:
                return
        while waiting and len(at_work) < max(slots, 1):
            begin(_Task([waiting.popleft() for _ in range(min(needs.items, len(waiting)))]))
        done, _ = ray.wait([*at_work], timeout=_POLL_S) if at_work else ([], [])
        if done:
            done, _ = ray.wait([*at_work], num_returns=len(at_work), timeout=0)  # all that are done
        for ref in done:
            task = at_work.pop(ref)
            try:
                found = ray.get(ref)
                if isinstance(found, str):
                    connection.send(found)
                else:
                    for (number, _), result in zip(task.numbered, found, strict=True):
                        connection.send((number, result))
            except RayTaskError as error:  # the node could not begin: fdbcore is not installed there
                connection.send(f"a node cannot do the work: {str(error).splitlines()[-1]}")
            except NodeDiedError:
                if task.nodes_lost + 1 == MOST_NODES_LOST:
                    end(task, f"{MOST_NODES_LOST} nodes of the cluster died at it")
                    continue
                if here.log is not None:
                    for _, item in task.numbered:
                        print(f"a node of the cluster died; begun again: {item}", flush=True)
                begin(_Task(task.numbered, task.nodes_lost + 1))
            except OutOfMemoryError:
                end(task, "the memory of its node ran out")
            except RayError as error:
                end(task, f"Ray says: {str(error).splitlines()[0]}")


def why_not_joined(address: str) -> str | None:
    """Have this process join the cluster; says why it cannot."""
    import ray

    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # otherwise it prints that this will be so
    try:
        with chdir(os.sep):  # on nodes, the current folder would come before Python's own modules
            ray.init(address or "auto", log_to_driver=False, logging_level="ERROR")
    except ConnectionError:
        return "expected a cluster that runs here, found none: `ray start --head` starts one"
    except (RuntimeError, ValueError, OSError) as error:
        return " ".join(str(error).split())
    return None


def _slots(needs: Needs) -> int:
    """The number of tasks that the nodes can work on at a time."""
    import ray

    found = 0
    for node in ray.nodes():
        if node["Alive"]:
            has = node["Resources"]
            fit = int(has.get("CPU", 0) / needs.processors)
            found += min(fit, int(has.get("GPU", 0) / needs.gpus)) if needs.gpus else fit
    return found


def _do(work: Callable[[Any], Any], items: Sequence[object], here: Here) -> list[WorkResult[Any]] | str:
    """On a node: do the work on items, in the folder of the command; or say what the node lacks."""
    if (lacking := here.lacking()) is not None:
        return lacking
    with here.there():
        if len(items) == 1:
            return [WorkResult.to(work, items[0])]
        with ThreadPoolExecutor(len(items)) as threads:
            return [*threads.map(partial(WorkResult.to, work), items)]


def _listed(names: Sequence[str], found: Sequence[str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in zip(names, found, strict=True))
