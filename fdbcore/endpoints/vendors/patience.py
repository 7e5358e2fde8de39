"""Asks a busy server again, after the wait that it asks for, as long as there is time for that."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from fdbcore.runtime.numbers import number_of

RETRY_WAITS_S: Final = (1.0, 2.0, 4.0)
"""The waits before another try if a busy server does not say how long to wait."""
LONGEST_WAIT_S: Final = 20.0
"""If a server asks for a longer wait, another call may try later."""
BUSY_STATUSES: Final = (429, 503, 529)

_Result = TypeVar("_Result")


class Patience:
    """Connects to a server that may be busy.

    timeout_s: how long all tries may take; a refusal that leaves no time for another one is raised. refusal: the last
    one after which the server was asked again; None if there was none.
    """

    def __init__(self, timeout_s: float) -> None:
        self.refusal: Exception | None = None
        self._timeout_s = timeout_s

    async def connect(self, connect: Callable[[], Awaitable[_Result]]) -> _Result:
        """The result of `connect`. Raises its error, if that is not a busy server's that can still be asked again."""
        clock = asyncio.get_running_loop().time
        end_s = clock() + self._timeout_s
        for wait_s in RETRY_WAITS_S:
            try:
                return await connect()
            except Exception as error:
                asked_s = _asked_wait_s(error, wait_s)
                if asked_s is None or clock() + asked_s >= end_s:
                    raise
                self.refusal = error
                await asyncio.sleep(asked_s)
        return await connect()


def _asked_wait_s(error: Exception, wait_s: float) -> float | None:
    """The wait before another try, in s: as a busy server asks in its refusal, else `wait_s`; None for no other."""
    status, headers = getattr(error, "status", None), getattr(error, "headers", None) or {}
    if status not in BUSY_STATUSES:
        return None
    try:
        asked_s = number_of(headers.get("Retry-After", wait_s))
    except ValueError:  # a date
        return wait_s
    return asked_s if asked_s <= LONGEST_WAIT_S else None
