"""Does work on the machines of a Ray cluster: `RayCluster`, an `Executor`.

A process of our own speaks to Ray, so that what Ray prints goes to the run's log, Ctrl-C does not reach it, and what
is under way ends at once if the command dies. Each task works on one item, on one processor of any node.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import ExitStack, chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import count, islice
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fdbcore.clock import now_ns
from fdbcore.errors import FdbError, MissingExtraError, SettingsError
from fdbcore.recording.versions import versions
from fdbcore.runtime.executor import LOOK_S, Item, Result, WorkResult
from fdbcore.runtime.locks import shared_lock
from fdbcore.runtime.process import WorkerProcess
from fdbcore.runtime.redaction import CleanStream

if TYPE_CHECKING:
    from ray import ObjectRef

MOST_NODES_LOST: Final = 3
"""If so many nodes die while they work on an item, it is not tried again."""

_REACHING_S: Final = 5.0  # how long the head of a cluster may take to answer
_JOINING_S: Final = 60.0  # how long Ray may take until the first processor is ours
_PER_PROCESSOR: Final = 2  # items that the cluster has for each of its processors, so that none waits for its next
_POLL_S: Final = 0.02  # how long the process waits for results before it looks for new items
_ROOM_EVERY_NS: Final = 10**9  # how often it looks how many processors there are


class RayCluster:
    """The processors of a Ray cluster that this machine belongs to.

    address: HOST:PORT of its head, as `ray start --head` prints it; "" for what RAY_ADDRESS names, or else runs here.
    jobs: at most so many items at a time. MissingExtraError without Ray, SettingsError if nobody answers there.
    """

    def __init__(self, address: str = "", jobs: int | None = None) -> None:
        self._name = f"ray://{address}" if address else "ray"
        if find_spec("ray") is None:
            raise MissingExtraError(f"--engine {self._name} needs Ray: pip install 'fdbcore[cluster]'")
        if address:
            _check_answers(address, self._name)
        self._address = address
        self.jobs = jobs or sys.maxsize

    def results(
        self,
        work: Callable[[Item], Result],
        items: Iterable[Item],
        died: Callable[[Item, str], Result],
        log: Path | None = None,
    ) -> Generator[Result | None]:
        """See `Executor`. If a node dies, its items are worked on again elsewhere, and the log says so.

        SettingsError if the cluster cannot be joined, or if a node has other versions or does not see `log`.
        """
        remaining, numbers, under_way = iter(items), count(), dict[int, Item]()
        room, began_ns = 0, now_ns()
        here = _Here(os.getcwd(), sys.path, versions(), log and log.resolve())
        ray = WorkerProcess(log, _speak_to_ray, self._address, self.jobs, work, here)
        try:
            while True:
                while len(under_way) < room and (drawn := [*islice(remaining, 1)]):
                    number = next(numbers)
                    under_way[number] = drawn[0]
                    ray.send((number, drawn[0]))
                if room and not under_way:
                    return
                if not wait([ray.connection], LOOK_S):
                    if not room and now_ns() - began_ns > 1e9 * _JOINING_S:
                        raise self._refusal(f"expected a processor of the cluster within {_JOINING_S:.0f} s, got none")
                    yield None
                    continue
                received = ray.received()
                if received is None:
                    raise FdbError(f"the process that speaks to Ray died: {ray.cause_of_death()}; see {log}")
                for message in received:
                    match message:
                        case int():
                            room = message
                        case str():
                            raise self._refusal(message)
                        case number, WorkResult():
                            del under_way[number]
                            yield message[1].get()
                        case number, cause:
                            yield died(under_way.pop(number), cause)
        finally:
            ray.close(leaving_s=0)

    def _refusal(self, text: str) -> SettingsError:
        return SettingsError(f"--engine {self._name}: {text}")


def _check_answers(address: str, name: str) -> None:
    host, _, port = address.rpartition(":")
    if not (host and port.isdecimal()):
        raise SettingsError(f"--engine {name}: expected ray://HOST:PORT, such as ray://127.0.0.1:6379")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _REACHING_S).close()
    except (OSError, OverflowError) as error:
        raise SettingsError(f"--engine {name}: expected the head of a Ray cluster there: {error}") from error


@dataclass(frozen=True, slots=True)
class _Here:
    """What a node must have as this process has it."""

    folder: str
    sys_path: Sequence[str]
    versions: dict[str, str]
    log: Path | None


@dataclass(frozen=True, slots=True)
class _Task:
    """An item at work. nodes_lost: how many nodes have died at it."""

    number: int
    item: Any
    nodes_lost: int = 0


def _speak_to_ray(connection: Connection, address: str, jobs: int, work: Callable[[Any], object], here: _Here) -> None:
    """What the process does. It sends how many items it has room for, then numbered results, or an error as text."""
    if here.log is None:  # what Ray prints is nothing for the terminal
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
    import ray
    from ray.exceptions import NodeDiedError, OutOfMemoryError, RayError, RayTaskError

    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # otherwise it prints that this will be so
    try:
        ray.init(address or "auto", log_to_driver=False, logging_level="ERROR")
    except ConnectionError:
        connection.send("expected a cluster that runs here, found none: `ray start --head` starts one")
        return
    except (RuntimeError, ValueError, OSError) as error:
        connection.send(" ".join(str(error).split()))
        return
    do = ray.remote(num_cpus=1, max_retries=0)(_do).remote
    at_work: dict[ObjectRef[Any], _Task] = {}
    room, looked_ns = 0, -_ROOM_EVERY_NS
    while True:
        if now_ns() - looked_ns >= _ROOM_EVERY_NS:
            before, room, looked_ns = room, min(jobs, _PER_PROCESSOR * _processors()), now_ns()
            if room != before:
                connection.send(room)
        while connection.poll(0 if at_work else _POLL_S):
            try:
                task = _Task(*connection.recv())
            except EOFError:
                return
            at_work[do(work, task.item, here)] = task
        done, _ = ray.wait([*at_work], timeout=_POLL_S) if at_work else ([], [])
        if done:
            done, _ = ray.wait([*at_work], num_returns=len(at_work), timeout=0)  # all that are done
        for ref in done:
            task = at_work.pop(ref)
            try:
                found = ray.get(ref)
                connection.send(found if isinstance(found, str) else (task.number, found))
            except RayTaskError as error:  # the node could not begin: fdbcore is not installed there
                connection.send(f"a node cannot do the work: {str(error).splitlines()[-1]}")
            except NodeDiedError:
                if task.nodes_lost + 1 == MOST_NODES_LOST:
                    connection.send((task.number, f"{MOST_NODES_LOST} nodes of the cluster died at it"))
                    continue
                print(f"a node of the cluster died; begun again: {task.item}", flush=True)
                at_work[do(work, task.item, here)] = _Task(task.number, task.item, task.nodes_lost + 1)
            except OutOfMemoryError:
                connection.send((task.number, "the memory of its node ran out"))
            except RayError as error:
                connection.send((task.number, f"Ray says: {str(error).splitlines()[0]}"))


def _processors() -> int:
    import ray

    return int(ray.cluster_resources().get("CPU", 0))


def _do(work: Callable[[Any], Any], item: object, here: _Here) -> WorkResult[Any] | str:
    """On a node: do the work on an item, in the folder of the command; or say what the node lacks."""
    node = socket.gethostname()
    unlike = [name for name in here.versions | versions() if here.versions.get(name) != versions().get(name)]
    if unlike:
        there, ours = ([found.get(name, "none") for name in unlike] for found in (versions(), here.versions))
        return f"{node}: expected {_listed(unlike, ours)} as on this machine, got {_listed(unlike, there)}"
    for path in (Path(here.folder), here.log):
        if path is not None and not path.exists():
            return f"{node}: expected {path}, as on this machine: every machine must see the run at the same path"
    sys.path += [path for path in here.sys_path if path not in sys.path]
    with ExitStack() as at_end:
        at_end.enter_context(chdir(here.folder))
        if here.log is not None:
            at_end.enter_context(shared_lock(here.log.parent))
            printed = CleanStream(at_end.enter_context(open(here.log, "a", buffering=1)))
            at_end.enter_context(redirect_stdout(printed))
            at_end.enter_context(redirect_stderr(printed))
        return WorkResult.to(work, item)


def _listed(names: Sequence[str], found: Sequence[str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in zip(names, found, strict=True))
