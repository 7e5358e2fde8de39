"""Where work is done: results and their order, errors, processes that die, and the loop of the network."""

import asyncio
import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fdbcore.clock import MonotonicClock
from fdbcore.errors import FdbError
from fdbcore.runtime.executor import FEW_ITEMS, Executor, ThisProcess, Workers, results_in_order
from fdbcore.runtime.network import await_result, event_loop

EXECUTORS = pytest.mark.parametrize("executor", [ThisProcess(), Workers(1), Workers(2)])


def squared(number: int) -> int:
    if number < 0:
        raise FdbError(f"{number} is negative")
    return number**2


def squared_by_others(number: int) -> int:
    """Kills the process that works on 13."""
    if number == 13:
        print("at 13", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    return squared(number)


def told_death(number: int, cause: str) -> int:
    return -number


@EXECUTORS
def test_each_item_has_its_result(executor: Executor, tmp_path: Path) -> None:
    found = executor.results(squared, range(50), told_death, tmp_path / "log")
    assert sorted(result for result in found if result is not None) == [number**2 for number in range(50)]
    assert list(executor.results(squared, [], told_death)) == []


@EXECUTORS
def test_results_come_in_order(executor: Executor) -> None:
    assert [*results_in_order(executor, squared, range(3))] == [0, 1, 4]
    many = range(FEW_ITEMS + 7)
    assert [*results_in_order(executor, squared, many)] == [number**2 for number in many]


@EXECUTORS
def test_an_error_of_the_work_is_raised_and_no_process_is_left(executor: Executor) -> None:
    with pytest.raises(FdbError, match=r"^-7 is negative$"):
        list(results_in_order(executor, squared, [*range(FEW_ITEMS), -7, *range(FEW_ITEMS)]))
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_process_that_dies_takes_only_its_own_item(jobs: int, tmp_path: Path) -> None:
    log = tmp_path / "log"
    found = Workers(jobs).results(squared_by_others, range(20), told_death, log)
    assert {result for result in found if result is not None} == {n**2 if n != 13 else -13 for n in range(20)}
    assert log.read_text() == "at 13\n"


def test_a_death_among_small_items_is_one_line() -> None:
    with pytest.raises(FdbError, match=r"^a process of this command died: killed by SIGKILL$"):
        list(results_in_order(Workers(2), squared_by_others, range(FEW_ITEMS + 1)))
    assert multiprocessing.active_children() == []


def test_items_are_drawn_as_needed_and_closing_ends_the_work() -> None:
    drawn: list[int] = []

    def items() -> Iterator[int]:
        for number in range(1000):
            drawn.append(number)
            yield number

    results = Workers(2).results(squared, items(), told_death)
    assert next(filter(None, results))
    assert len(drawn) <= 6
    results.close()
    assert multiprocessing.active_children() == []


def test_there_is_one_loop_however_many_ask_at_once() -> None:
    with ThreadPoolExecutor(8) as pool:
        loops = set(pool.map(lambda _: event_loop(), range(8)))
    assert len(loops) == 1


def test_results_and_errors_come_back() -> None:
    async def answer(value: int) -> int:
        await asyncio.sleep(0)
        return 10 // value

    assert await_result(answer(5), 5) == 2
    with pytest.raises(ZeroDivisionError):
        await_result(answer(0), 5)


@pytest.mark.skipif(not hasattr(os, "sched_getscheduler"), reason="priorities as Linux has them")
def test_its_thread_has_the_priority_of_the_ticks_and_what_it_starts_has_not() -> None:
    """What is permitted here is found out by asking for it."""

    async def policies() -> tuple[int, int, int]:
        in_thread = await asyncio.to_thread(os.sched_getscheduler, 0)
        of_process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", "import os; print(os.sched_getscheduler(0))"), stdout=asyncio.subprocess.PIPE
        )
        printed, _ = await of_process.communicate()
        return os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK, in_thread, int(printed)

    with ThreadPoolExecutor(1) as pool:
        permitted = pool.submit(granted_to_ticks).result()
    assert await_result(policies(), 20) == (permitted, os.SCHED_OTHER, os.SCHED_OTHER)


def granted_to_ticks() -> int:
    with MonotonicClock().undisturbed():
        return os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK


def test_what_takes_too_long_is_cancelled_before_the_caller_goes_on() -> None:
    ended = []

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    with pytest.raises(TimeoutError):
        await_result(endless(), 0.02)
    assert ended == [True]
