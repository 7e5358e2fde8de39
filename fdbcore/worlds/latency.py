"""Delays of the results of tool calls: seeded draws from a profile, in ticks."""

import re
from dataclasses import dataclass
from random import Random
from typing import Final

from fdbcore.runtime.address import Setting
from fdbcore.types import TICK_MS

MOST_MS: Final = 600_000

_RANGE: Final = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Latency:
    """Latencies that are drawn evenly from a range in ms, both ends included. growth: the factor from call to call."""

    low_ms: int
    high_ms: int
    growth: float = 1.0

    def draw_ticks(self, earlier: int, random: Random) -> int:
        """The latency of a call, in ticks. earlier: how many calls of the conversation came before it."""
        ticks = random.randint(self.low_ms // TICK_MS, self.high_ms // TICK_MS)
        return round(min(ticks * self.growth ** min(earlier, 100), MOST_MS // TICK_MS))


PROFILES: Final = {
    "instant": Latency(0, 0),
    "fast": Latency(50, 200),
    "normal": Latency(200, 800),
    "slow": Latency(1000, 3000),
    "degraded": Latency(500, 2000, 1.5),
    "timeout_risk": Latency(3000, 8000),
}
"""The profiles of Full-Duplex-Bench v3."""


def latency_of(text: str) -> Latency | None:
    """The profile of that name, or the range "300" or "200-800" in ms; None for any other text."""
    found = _RANGE.fullmatch(text)
    if text in PROFILES or not found:
        return PROFILES.get(text)
    low_ms, high_ms = int(found[1]), int(found[2] or found[1])
    return Latency(low_ms, high_ms) if low_ms <= high_ms <= MOST_MS else None


LATENCY: Final = Setting(
    "latency",
    "how long results are held back",
    default="instant",
    form=f"{', '.join(PROFILES)}, or a range of ms such as 200-800",
    fits=lambda text: latency_of(text) is not None,
)
