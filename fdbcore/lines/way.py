"""One way of a line: from a side that speaks to the side that hears it."""

from __future__ import annotations

import zlib
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from fdbcore.types import Pcm


class Way(Protocol):
    """Carries the frames of one side to the other. delay_samples: how much later they arrive, always the same."""

    delay_samples: int = 0

    def open(self, speech_dbov: float | None) -> None:
        """Get ready, before tick 0. speech_dbov: the active speech level of who speaks; None if it is not known."""
        return

    @abstractmethod
    def carry(self, frame: Pcm, other: Pcm) -> Pcm:
        """What is heard in this tick, int16 (480,). Called once a tick.

        frame, other: what the side says, and what the side that hears says, int16 (480,). Neither is changed.
        """

    def describe(self) -> Mapping[str, Any]:
        """What it does, as JSON values; what depends on the speaker stands here once it is open."""
        return {}


def generator(seed: str) -> np.random.Generator:
    """Random numbers that the seed alone decides."""
    return np.random.default_rng(zlib.crc32(seed.encode()))
