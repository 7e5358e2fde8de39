"""The event loop beside the tick threads."""

from __future__ import annotations

import asyncio
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from fdbcore.clock import MonotonicClock
from fdbcore.runtime.network import await_result, event_loop


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
