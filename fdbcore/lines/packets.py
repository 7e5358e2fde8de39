"""Packets that are lost, or that come too late to be played."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from typing import Any, Final

from fdbcore.lines.way import Way, generator
from fdbcore.types import FRAME_SAMPLES, SILENT_FRAME, TICK_MS, Pcm

PACKET_MS: Final = 20
BUFFERED_JITTERS: Final = 3


class Packets(Way):
    """Each packet of 20 ms is lost by chance, independently of the others; silence is heard in its place.

    lost_share: the chance, from 0 to 1. delay_ticks: how long the receiver holds what it plays.
    """

    def __init__(self, lost_share: float, delay_ticks: int, seed: str) -> None:
        self.delay_samples = delay_ticks * FRAME_SAMPLES
        self._lost_share = lost_share
        self._random = generator(seed)
        self._held = deque([SILENT_FRAME] * delay_ticks)
        self._left_of_packet = 0
        self._is_lost = False

    def carry(self, frame: Pcm, other: Pcm) -> Pcm:
        """What the receiver plays."""
        if not self._left_of_packet:
            self._is_lost = self._random.random() < self._lost_share
            self._left_of_packet = PACKET_MS // TICK_MS
        self._left_of_packet -= 1
        self._held.append(SILENT_FRAME if self._is_lost else frame.copy())
        return self._held.popleft()

    def describe(self) -> Mapping[str, Any]:
        """The length of a packet, and the chance that it is lost."""
        return {"packet_ms": PACKET_MS, "lost_share": self._lost_share}


def lossy(percent: float, seed: str) -> Packets:
    """Loses so many of the packets, and delays none."""
    return Packets(percent / 100, 0, seed)


def jittered(jitter_ms: int, seed: str) -> Packets:
    """Packets whose transit times vary, played from a buffer of constant length, three times the jitter.

    The variable part of a transit time is exponential and independent. Its mean is then the expected difference of two
    of them, the interarrival jitter of RFC 3550 (6.4.1). A packet that comes after its time is not played: of an
    exponential one the share exp(-buffer / mean), so at most 5 %.
    """
    delay_ticks = math.ceil(BUFFERED_JITTERS * jitter_ms / TICK_MS)
    return Packets(math.exp(-delay_ticks * TICK_MS / jitter_ms), delay_ticks, seed)
