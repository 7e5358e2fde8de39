"""What sessions and responses share: the wire, the log, and the items of a conversation."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from fakes.realtime.plan import RATE_HZ, Wave


class Wire(Protocol):
    """What carries the events."""

    speaker: "Speaker | None"
    """Where speech is played; None where it goes as events."""

    async def send(self, text: str | bytes) -> None: ...

    async def close(self, code: int, reason: str) -> None: ...

    def abort(self) -> None: ...


class Speaker(Protocol):
    """A track that plays in real time what it is given at once."""

    def feed(self, wave: Wave) -> None: ...

    def clear(self) -> float:
        """Fall silent; the ms that had been played since it was last empty."""

    async def drained(self) -> None: ...


@dataclass(frozen=True)
class Logged:
    """An event that was sent or received, and when, by `time.monotonic`."""

    at_s: float
    event: dict[str, Any]

    @property
    def type(self) -> str:
        return str(self.event.get("type"))


class Logging:
    """A session: received, sent: all events with their times. heard: what was appended, at the rate of the input.

    errors: of the fake itself.
    """

    def __init__(self) -> None:
        self.received: list[Logged] = []
        self.sent: list[Logged] = []
        self.errors: list[BaseException] = []
        self._heard: list[Wave] = []
        self._ids = 0
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def heard(self) -> Wave:
        return np.concatenate([np.zeros(0, np.int16), *self._heard])

    def events(self, *types: str) -> list[dict[str, Any]]:
        """What the client sent, of these types or of all."""
        return [logged.event for logged in self.received if not types or logged.type in types]

    def told(self, *types: str) -> list[dict[str, Any]]:
        """What the client was sent, of these types or of all."""
        return [logged.event for logged in self.sent if not types or logged.type in types]

    def new_id(self, kind: str) -> str:
        self._ids += 1
        return f"{kind}_fake{self._ids:05d}"

    def start(self, doing: Coroutine[Any, Any, None]) -> None:
        """Do it beside all else, for as long as the session lasts."""

        async def run() -> None:
            try:
                await doing
            except ConnectionError:
                pass  # nobody is left to tell
            except Exception as error:
                self.errors.append(error)

        task = asyncio.ensure_future(run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def end(self) -> None:
        """The connection is gone."""
        for task in list(self._tasks):
            task.cancel()


@dataclass
class Item:
    """An item of the conversation. said: its speech as far as it was sent, at RATE_HZ."""

    json: dict[str, Any]
    said: Wave = field(default_factory=lambda: np.zeros(0, np.int16))

    @property
    def audio_ms(self) -> int:
        return len(self.said) * 1000 // RATE_HZ
