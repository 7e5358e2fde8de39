"""Latencies of tools: as the published profiles say, and by the seed."""

from __future__ import annotations

from random import Random

import pytest

from fdbcore.worlds.latency import MOST_MS, PROFILES, Latency, latency_of


@pytest.mark.parametrize(
    ("text", "low_ms", "high_ms"),
    [
        ("instant", 0, 0),
        ("fast", 50, 200),
        ("normal", 200, 800),
        ("slow", 1000, 3000),
        ("degraded", 500, 2000),
        ("timeout_risk", 3000, 8000),
        ("300", 300, 300),
        ("0-50", 0, 50),
    ],
)
def test_draws_fill_the_range_and_never_leave_it(text: str, low_ms: int, high_ms: int) -> None:
    latency, random = latency_of(text), Random("seed")
    assert latency is not None
    drawn = {latency.draw_ticks(0, random) for _ in range(20_000)}
    assert drawn == set(range(low_ms // 10, high_ms // 10 + 1))


@pytest.mark.parametrize("text", ["", "nope", "-5", "5-", "800-200", "1.5", f"{MOST_MS + 1}", "1-2-3", "１"])
def test_other_texts_are_no_latency(text: str) -> None:
    assert latency_of(text) is None


def test_degraded_latencies_grow_by_half_with_each_call() -> None:
    degraded = Latency(500, 500, PROFILES["degraded"].growth)
    assert [degraded.draw_ticks(earlier, Random(1)) for earlier in range(5)] == [50, 75, 112, 169, 253]
    assert PROFILES["degraded"].draw_ticks(10_000, Random(1)) == MOST_MS // 10


def test_the_same_seed_draws_the_same() -> None:
    draws = [
        [PROFILES["slow"].draw_ticks(n, random) for n in range(50)] for random in (Random("7/u/1"), Random("7/u/1"))
    ]
    assert draws[0] == draws[1]
