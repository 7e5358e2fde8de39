"""Input health of long calls: what it keeps of an hour."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import numpy as np
from oracles.audio_files import Int16

from fdbcore.measures.health.examine import HealthProbe, examine
from fdbcore.types import SAMPLE_RATE_HZ

MOST_MIB_AN_HOUR = 8


def minutes(count: int) -> Iterator[tuple[Int16, Int16]]:
    """Noise that comes and goes on both sides, and dialled digits: a second at a time."""
    rng = np.random.default_rng(0)
    at_s = np.arange(SAMPLE_RATE_HZ) / SAMPLE_RATE_HZ
    dialled = 6_000 * (np.sin(2 * np.pi * 697 * at_s) + np.sin(2 * np.pi * 1209 * at_s))
    noises = [(level * rng.standard_normal(SAMPLE_RATE_HZ)).astype(np.int16) for level in (20, 3_000, 1_000)]
    for second in range(60 * count):
        a, b = noises[second % 3], noises[second // 2 % 3]
        yield (dialled.astype(np.int16) if second % 97 == 0 else a), b


def peak_mib(count: int) -> float:
    tracemalloc.start()
    try:
        with HealthProbe() as probe:
            for _ in probe.tap(minutes(count)):
                pass
            heard = probe.sides()
            examine(heard, {side: each.powers > 1e-4 for side, each in heard.items()})
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


def test_memory_grows_by_bytes_a_tick() -> None:
    peak_mib(1)  # what is made only once
    assert (peak_mib(8) - peak_mib(3)) * 60 / 5 < MOST_MIB_AN_HOUR
