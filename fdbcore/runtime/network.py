"""The event loop of all that talks to a network: one a process, in a thread of its own beside those of the ticks."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Coroutine
from concurrent.futures import TimeoutError as FutureTimeoutError
from functools import cache
from typing import Any, TypeVar

Result = TypeVar("Result")


_starting = threading.Lock()


def event_loop() -> asyncio.AbstractEventLoop:
    """The loop, running; by uvloop where that is installed, whose timers are finer."""
    with _starting:  # both parties of a conversation are opened at once
        return _running_loop()


@cache
def _running_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:
        loop = asyncio.new_event_loop()
    else:
        loop = uvloop.new_event_loop()
    threading.Thread(target=loop.run_forever, name="fdbcore-network", daemon=True).start()
    return loop


def may_be_up_later(error: BaseException) -> bool:
    """Whether a connection failed as where a server still starts (refused, reset, unreachable), and not by its TLS."""
    cause = getattr(error, "os_error", error)
    return isinstance(cause, OSError) and not isinstance(cause, ssl.SSLError)


def await_result(coroutine: Coroutine[Any, Any, Result], timeout_s: float) -> Result:
    """The result of `coroutine`, run on the loop while the calling thread waits; its own error if it raises one.

    After `timeout_s` it is cancelled, and TimeoutError is raised once it has ended.
    """
    future = asyncio.run_coroutine_threadsafe(asyncio.wait_for(coroutine, timeout_s), event_loop())
    try:
        return future.result()
    except FutureTimeoutError:
        raise TimeoutError from None
    except BaseException:
        future.cancel()
        raise
