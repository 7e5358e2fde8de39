"""The event loop beside the tick threads."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

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
