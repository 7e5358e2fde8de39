"""Processes of our own, which Ctrl-C reaches by their owner alone; and the same work on many items, on several."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import resource_tracker
from types import FrameType
from typing import Final, TypeVar

FEW_ITEMS: Final = 40
"""So many are done by this process: as soon as it takes others to start."""

_CHUNK: Final = 8

Item = TypeVar("Item")
Result = TypeVar("Result")


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C back while processes are started: until they have left the terminal's group, it would reach them.

    Another thread may take the signal in spite of the mask, so what it does here is put off as well.
    """
    resource_tracker.ensure_running()  # it comes before the first process, and then lets Ctrl-C through again
    put_off: list[tuple[int, FrameType | None]] = []
    handler = signal.getsignal(signal.SIGINT)
    is_ours = callable(handler) and threading.current_thread() is threading.main_thread()
    if is_ours:
        signal.signal(signal.SIGINT, lambda number, frame: put_off.append((number, frame)))
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if is_ours:
            signal.signal(signal.SIGINT, handler)
    if put_off and callable(handler):
        handler(*put_off[0])


def leave_terminal() -> None:
    """In a process that was started `uninterrupted`: leave the terminal's group, and forget the Ctrl-C of its start."""
    os.setpgrp()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    signal.signal(signal.SIGINT, signal.default_int_handler)


def spread(work: Callable[[Item], Result], items: Sequence[Item], jobs: int) -> Iterator[Result]:
    """`work` of each item, in their order. work and what it takes and gives must be fit for another process."""
    if jobs == 1 or len(items) <= FEW_ITEMS:
        yield from map(work, items)
        return
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), initializer=leave_terminal) as pool:
        try:
            with uninterrupted():
                results = pool.map(work, items, chunksize=_CHUNK)
            yield from results
        finally:
            pool.shutdown(cancel_futures=True)
