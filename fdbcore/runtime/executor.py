"""The place where work on many items is done: `Executor`. What gives work to one does not know which it is."""

import os
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from functools import partial
from itertools import islice
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Final, Generic, NoReturn, Protocol, TypeVar

from fdbcore.errors import FdbError
from fdbcore.runtime.process import WorkerProcess, messages

FEW_ITEMS: Final = 40
"""Up to this many items are done by this process: that takes no longer than starting others."""

LOOK_S: Final = 0.5
"""The wait of an executor for a result before it yields None, so that its caller can show progress."""

_CHUNK: Final = 8  # items sent to a worker at a time, if each takes only milliseconds

Item = TypeVar("Item")
Result = TypeVar("Result")


class Executor(Protocol):
    """Does work on many items, several at a time."""

    @property
    def jobs(self) -> int:
        """The number of items that are worked on at a time, at most."""

    def results(
        self,
        work: Callable[[Item], Result],
        items: Iterable[Item],
        died: Callable[[Item, str], Result],
        log: Path | None = None,
    ) -> Generator[Result | None]:
        """The result of `work` for each item, as it ends; None each LOOK_S in which nothing ended.

        `work`, items and results must be picklable. An error of `work` is raised here. If the process that works on an
        item dies (a decoder crashes on a damaged file, memory runs out), its result is that of `died(item, cause)`, and
        no other item is lost. Items are drawn only as needed. Closing the iterator ends the work at once. log: a file
        in the folder of a run; see `WorkerProcess`.
        """

    def hosting(self) -> AbstractContextManager[None]:
        """In the `with` block, transcribers and judges that `fdbcore.registry` makes are asked where work is done."""


class WorkResult(Generic[Result]):
    """The outcome of the work on an item, as it travels between processes: its result or its error."""

    def __init__(self, results: Sequence[Result], error: Exception | None) -> None:
        self._results, self._error = results, error

    @classmethod
    def to(cls, work: Callable[[Item], Result], item: Item) -> "WorkResult[Result]":
        """Do the work on an item."""
        try:
            return cls([work(item)], None)
        except Exception as error:
            if not isinstance(error, FdbError):
                error.add_note(traceback.format_exc())
            return cls([], error)

    def get(self) -> Result:
        """The result; or the error is raised."""
        if self._error is not None:
            raise self._error
        return self._results[0]


class ThisProcess:
    """Does the work itself, one item after the other."""

    jobs: Final = 1

    def results(
        self,
        work: Callable[[Item], Result],
        items: Iterable[Item],
        died: Callable[[Item, str], Result],
        log: Path | None = None,
    ) -> Generator[Result | None]:
        """See `Executor`."""
        yield from map(work, items)

    def hosting(self) -> AbstractContextManager[None]:
        """See `Executor`."""
        return nullcontext()


class Workers:
    """Processes of this machine, each with one item at a time. jobs: how many; by default one for each processor."""

    def __init__(self, jobs: int | None = None) -> None:
        self.jobs = jobs or len(os.sched_getaffinity(0))

    def results(
        self,
        work: Callable[[Item], Result],
        items: Iterable[Item],
        died: Callable[[Item, str], Result],
        log: Path | None = None,
    ) -> Generator[Result | None]:
        """See `Executor`."""
        remaining = iter(items)
        workers: list[_Worker[Item, Result]] = []
        try:
            while True:
                while len(workers) < self.jobs and (drawn := [*islice(remaining, 1)]):
                    workers.append(_Worker(log, work, *drawn))
                if not workers:
                    return
                ready = wait([worker.connection for worker in workers], LOOK_S)
                if not ready:
                    yield None
                for worker in [worker for worker in workers if worker.connection in ready]:
                    ended = worker.ended(died)
                    if not worker.is_dead and (drawn := [*islice(remaining, 1)]):
                        worker.give(*drawn)
                    else:
                        workers.remove(worker)
                        worker.close()
                    yield ended
        finally:
            for worker in workers:
                worker.close(leaving_s=0)

    def hosting(self) -> AbstractContextManager[None]:
        """See `Executor`: they run in this process, and share their requests among its threads."""
        return nullcontext()


class _Worker(WorkerProcess, Generic[Item, Result]):
    """A process that works on one item after the other."""

    def __init__(self, log: Path | None, work: Callable[[Item], Result], item: Item) -> None:
        super().__init__(log, _work_on_items, work)
        self.is_dead = False
        self.give(item)

    def give(self, item: Item) -> None:
        self._item = item
        self.send(item)

    def ended(self, died: Callable[[Item, str], Result]) -> Result:
        """The result of its item, once `connection` is readable. An error of the work is raised."""
        received = self.received()
        if received is None:
            self.is_dead = True
            return died(self._item, self.cause_of_death())
        given: WorkResult[Result] = received[0]
        return given.get()


def _work_on_items(connection: Connection, work: Callable[[Any], object]) -> None:
    """Work on items as they come: the life of the process."""
    for item in messages(connection):
        connection.send(WorkResult.to(work, item))


def results_in_order(executor: Executor, work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """The results of `work`, which takes milliseconds, in the order of the items.

    FdbError if a process that does it dies. See `Executor.results` for the rest.
    """
    chunks = [(start, items[start : start + _CHUNK]) for start in range(0, len(items), _CHUNK)]
    if len(items) <= FEW_ITEMS or executor.jobs == 1:
        executor = ThisProcess()
    waiting: dict[int, list[Result]] = {}
    due = 0
    with closing(executor.results(partial(_work_on_chunk, work), chunks, _died)) as results:
        for start, found in filter(None, results):
            waiting[start] = found
            while due in waiting:
                yield from waiting.pop(due)
                due += _CHUNK


def _work_on_chunk(work: Callable[[Item], Result], chunk: tuple[int, Sequence[Item]]) -> tuple[int, list[Result]]:
    start, items = chunk
    return start, [work(item) for item in items]


def _died(item: object, cause: str) -> NoReturn:
    raise FdbError(f"a process of this command died: {cause}")
