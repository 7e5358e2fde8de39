"""The same work on many items, on several processes."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Final, TypeVar

FEW_ITEMS: Final = 40
"""So many are done by this process: as soon as it takes others to start."""

_CHUNK: Final = 8

Item = TypeVar("Item")
Result = TypeVar("Result")


def spread(work: Callable[[Item], Result], items: Sequence[Item], jobs: int) -> Iterator[Result]:
    """`work` of each item, in their order. work and what it takes and gives must be fit for another process."""
    if jobs == 1 or len(items) <= FEW_ITEMS:
        yield from map(work, items)
        return
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        try:
            yield from pool.map(work, items, chunksize=_CHUNK)
        finally:
            pool.shutdown(cancel_futures=True)
