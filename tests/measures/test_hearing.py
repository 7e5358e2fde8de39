"""What input health keeps of the audio of a long call: in files, in memory, and in blocks as a look at each tick."""

from __future__ import annotations

import tempfile
import tracemalloc
from collections.abc import Iterator

import numpy as np
import pytest
from fakes.disks import full_after
from hypothesis import given
from hypothesis import strategies as st
from oracles.audio_files import Int16

from fdbcore.errors import RecordingError
from fdbcore.measures.health import finding
from fdbcore.measures.health.examine import HealthProbe, examine
from fdbcore.measures.health.hearing import LowBand, TickColumn
from fdbcore.types import SAMPLE_RATE_HZ


def test_a_full_folder_of_temporary_files_is_named() -> None:
    told = f"^{tempfile.gettempdir()}: temporary files cannot be written: .*TMPDIR"
    low, column = LowBand(), TickColumn(np.float32)
    with full_after(100_000):
        with pytest.raises(RecordingError, match=told):
            low.append(np.ones(400_000, np.int16))
        low.close()
        with column:
            column.append(np.ones(25_001, np.float32))
            with pytest.raises(RecordingError, match=told):
                column.read(25_001)


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


TICKS = st.lists(st.booleans(), max_size=60)


@given(TICKS, st.integers(0, 70), st.integers(1, 20))
def test_ticks_near_one(drawn: list[bool], distance: int, at_once: int) -> None:
    ticks = np.array(drawn, np.bool_)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(finding, "COUNTED_TICKS", at_once)
        found = finding.near(ticks, distance).tolist()
    assert found == [any(drawn[max(at - distance, 0) : at + distance + 1]) for at in range(len(drawn))]


@given(TICKS, st.integers(0, 70), st.integers(0, 70), st.integers(1, 20))
def test_counts_around_each(drawn: list[bool], before: int, after: int, at_once: int) -> None:
    ticks, found = np.array(drawn, np.bool_), np.zeros(len(drawn), np.int32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(finding, "COUNTED_TICKS", at_once)
        for block, counted in finding.counts(ticks, before, after):
            found[block] = counted
    assert found.tolist() == [sum(drawn[max(at - before, 0) : at + after + 1]) for at in range(len(drawn))]
