"""The power of an echo: against plain loops, and recovered from drawn powers beside speech of the target's own."""

from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest

from fdbcore._ext.echo import N_WEIGHTS, REACH_TICKS, explained, heard_before, response
from fdbcore.errors import FrameError

EDGES = (0, 1, 2, 3, 4, 6, 9, 13, 19, 27, 38, 50)


def drawn(seed: int, n_ticks: int, spoken_share: float = 0.6) -> npt.NDArray[np.float32]:
    """Powers that come and go as those of speech do, float32 (n_ticks,)."""
    rng = np.random.default_rng(seed)
    spoken = np.repeat(rng.random(n_ticks // 50) < spoken_share, 50)
    powers: npt.NDArray[np.float32] = (
        spoken * rng.exponential(size=n_ticks) * 10 ** rng.uniform(-2, 0, n_ticks)
    ).astype(np.float32)
    return powers


def test_each_weight_has_the_mean_of_its_ticks() -> None:
    source, rng = drawn(0, 200), np.random.default_rng(1)
    powers = source.astype(np.float64)
    first = rng.integers(-20, 230, 300).astype(np.int32)
    expected = [
        [
            np.mean([powers[at] if 0 <= at < 200 else 0.0 for at in range(last - end + 1, last - start + 1)])
            for start, end in pairwise(EDGES)
        ]
        for last in first.tolist()
    ]
    np.testing.assert_allclose(heard_before(source, first), expected, atol=1e-9)
    assert (N_WEIGHTS, REACH_TICKS) == (len(EDGES) - 1, EDGES[-1])


def test_a_response_is_recovered_beside_other_speech() -> None:
    source, own, rng = drawn(2, 6_000), drawn(3, 6_000, 0.2), np.random.default_rng(4)
    before = heard_before(source, np.arange(6_000, dtype=np.int32) - 30)
    weights = np.array([0.02 * 0.6**k for k in range(N_WEIGHTS)])
    echo = before @ weights
    np.testing.assert_allclose(explained(before, weights), echo)
    power = ((echo + 1e-6) * rng.chisquare(8, 6_000) / 8 + own).astype(np.float32)
    heard = before.sum(axis=1) > 1e-3
    found = response(before[heard], power[heard], 1e-6, 0.01, 8.0)
    apart_db = 10 * np.log10(explained(before, found)[heard] / echo[heard])
    assert abs(np.median(apart_db)) < 1.5
    assert np.quantile(np.abs(apart_db), 0.9) < 3
    counting_own = response(before[heard], power[heard], 1e-6, 0.01, 1e9)
    assert np.median(explained(before, counting_own)[heard] / echo[heard]) > 2, "it is the rule that leaves it out"


def test_shapes_that_differ_are_told() -> None:
    before = np.zeros((3, N_WEIGHTS))
    with pytest.raises(FrameError, match="power: expected 3 ticks, got 2"):
        response(before, np.zeros(2, np.float32), 1.0, 1.0, 8.0)
    with pytest.raises(FrameError, match=r"before: expected \(n, 11\), got \(3, 2\)"):
        explained(before[:, :2].copy(), np.zeros(N_WEIGHTS))
    with pytest.raises(FrameError, match="weights: expected 11, got 3"):
        explained(before, np.zeros(3))
