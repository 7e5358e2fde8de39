"""Starts worker processes that Ctrl-C reaches only through their parent, and spreads work on many items over them."""

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
"""Up to this many items are done by this process: that takes no longer than starting others."""

_CHUNK: Final = 8  # items sent to a worker at a time

Item = TypeVar("Item")
Result = TypeVar("Result")


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C back while processes are started: it would reach them before they leave the terminal's group.

    The mask alone is not enough, because another thread may receive the signal. So the handler is replaced too, and
    is called afterwards.
    """
    resource_tracker.ensure_running()  # otherwise the first process starts it, and that unblocks Ctrl-C again
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
    """In a process started under `uninterrupted`: leave the terminal's group, and drop a Ctrl-C that came meanwhile."""
    os.setpgrp()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # drops the pending signal once it is unblocked
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    signal.signal(signal.SIGINT, signal.default_int_handler)


def spread(work: Callable[[Item], Result], items: Sequence[Item], jobs: int) -> Iterator[Result]:
    """The results of `work` for each item, in the order of the items, on `jobs` processes.

    `work`, the items and the results must be picklable. An error of `work` is raised here.
    """
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
