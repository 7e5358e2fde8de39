"""Does work on the machines of a Ray cluster: `RayCluster`, an `Engine`.

Each task works on one item, on one processor of any node; transcribers and judges are asked on nodes that have what
each needs; live calls are held on nodes that do nothing else.
"""

import socket
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager
from importlib.util import find_spec
from itertools import count, islice
from multiprocessing.connection import wait
from pathlib import Path
from typing import Final

from fdbcore.clock import now_ns
from fdbcore.cluster.calls import CallsOnCluster
from fdbcore.cluster.hosts import hosting
from fdbcore.cluster.tasks import JOINING_S, Needs, RayEntry
from fdbcore.errors import FdbError, MissingExtraError, SettingsError
from fdbcore.runtime.executor import LOOK_S, Item, Result, WorkResult
from fdbcore.session.converse import LiveSettings

_REACHING_S: Final = 5.0  # time for the head of a cluster to answer


class RayCluster:
    """The processors of a Ray cluster that this machine belongs to.

    name: "ray://HOST:PORT" of its head, as `ray start --head` prints it; "ray" for what RAY_ADDRESS names, or else runs
    here. jobs: at most so many items at a time. MissingExtraError without Ray, SettingsError if nobody answers there.
    """

    def __init__(self, name: str, jobs: int | None = None) -> None:
        if find_spec("ray") is None:
            raise MissingExtraError(f"--engine {name} needs Ray: pip install 'fdbcore[cluster]'")
        address = name.removeprefix("ray").removeprefix("://")
        if name != "ray":
            _check_answers(address, name)
        self.jobs = jobs or sys.maxsize
        self._entry: Final = RayEntry(name, address, self.jobs)

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
        ray = self._entry.process(work, Needs(), log)
        try:
            while True:
                while len(under_way) < room and (drawn := [*islice(remaining, 1)]):
                    number = next(numbers)
                    under_way[number] = drawn[0]
                    ray.send((number, drawn[0]))
                if room and not under_way:
                    return
                if not wait([ray.connection], LOOK_S):
                    if not room and now_ns() - began_ns > 1e9 * JOINING_S:
                        raise self._entry.refusal(
                            f"expected a processor of the cluster within {JOINING_S:.0f} s, got none"
                        )
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
                            raise self._entry.refusal(message)
                        case number, WorkResult():
                            del under_way[number]
                            yield message[1].get()
                        case number, cause:
                            yield died(under_way.pop(number), cause)
        finally:
            ray.close(leaving_s=0)

    def hosting(self) -> AbstractContextManager[None]:
        """See `Executor`: on nodes that have what each transcriber says it needs."""
        return hosting(self._entry)

    def held(self, run_path: Path, settings: LiveSettings, calls: int | None) -> CallsOnCluster:
        """See `Engine`."""
        return CallsOnCluster(self._entry, run_path, settings, calls)


def _check_answers(address: str, name: str) -> None:
    host, _, port = address.rpartition(":")
    if not (host and port.isdecimal()):
        raise SettingsError(f"--engine {name}: expected ray://HOST:PORT, such as ray://127.0.0.1:6379")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _REACHING_S).close()
    except (OSError, OverflowError) as error:
        raise SettingsError(f"--engine {name}: expected the head of a Ray cluster there: {error}") from error
