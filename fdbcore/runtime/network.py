"""The event loop for all network traffic: one per process, on its own thread, apart from the threads of the ticks."""

import asyncio
import ssl
import threading
from collections.abc import Coroutine
from concurrent.futures import TimeoutError as FutureTimeoutError
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeVar

from fdbcore._ext.pacer import Pacer
from fdbcore.errors import PartyError
from fdbcore.types import TICK_NS

if TYPE_CHECKING:
    from aiohttp import ClientResponse

Result = TypeVar("Result")

MOST_ANSWER_BYTES: Final = 1_000_000  # of an answer that sets up a call

_starting = threading.Lock()


def event_loop() -> asyncio.AbstractEventLoop:
    """The event loop, running. It is uvloop's if that is installed, because its timers are finer.

    Its thread has the priority of the ticks, where that is permitted: what a tick gives out must leave within it.
    """
    with _starting:  # both parties of a conversation open at the same time, each on its own thread
        return _running_loop()


@cache
def _running_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:
        loop = asyncio.new_event_loop()
    else:
        loop = uvloop.new_event_loop()
    threading.Thread(target=_serve, args=(loop,), name="fdbcore-network", daemon=True).start()
    return loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    with Pacer(TICK_NS).raised_priority():
        loop.run_forever()


def may_be_up_later(error: BaseException) -> bool:
    """True if a connection failed as it does while a server is still starting (refused, reset, unreachable).

    A TLS error does not count: it does not pass by waiting.
    """
    cause = getattr(error, "os_error", error)
    return isinstance(cause, OSError) and not isinstance(cause, ssl.SSLError)


async def text_of(response: "ClientResponse") -> str:
    """The text of an answer in HTTP, with marks for what is no UTF-8. PartyError if it has no end."""
    body = b""
    async for block in response.content.iter_any():
        body += block
        if len(body) > MOST_ANSWER_BYTES:
            raise PartyError(f"{response.url}: expected an answer of at most {MOST_ANSWER_BYTES:,} bytes, got more")
    return body.decode(errors="replace")


def await_result(coroutine: Coroutine[Any, Any, Result], timeout_s: float) -> Result:
    """Run `coroutine` on the event loop while the calling thread waits; return its result or raise its error.

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
