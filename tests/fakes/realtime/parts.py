"""What sessions and responses share: the wire, the log, and the items of a conversation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from fakes.realtime.plan import RATE_HZ, Wave


class Wire(Protocol):
    """What carries the events."""

    speaker: Speaker | None
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


@dataclass
class Item:
    """An item of the conversation. said: its speech as far as it was sent, at RATE_HZ."""

    json: dict[str, Any]
    said: Wave = field(default_factory=lambda: np.zeros(0, np.int16))

    @property
    def audio_ms(self) -> int:
        return len(self.said) * 1000 // RATE_HZ
