"""Times that something else may hide: against a naive count, and against what hides them left out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.product_limit import share_left

from fdbcore.stats.survival import product_limit

ITEMS = st.lists(st.tuples(st.integers(1, 20), st.booleans()), min_size=1, max_size=30)


@given(ITEMS, st.integers(0, 22))
def test_the_share_left_is_the_naive_one(items: list[tuple[int, bool]], at: int) -> None:
    times, events = zip(*items, strict=True)
    assert product_limit(times, events)(at) == pytest.approx(share_left(times, events, at))


def test_what_hides_times_does_not_shift_their_shares() -> None:
    random = np.random.default_rng(1)
    times, hidden = random.exponential(1, 50_000), random.uniform(0, 3, 50_000)
    found = product_limit(np.minimum(times, hidden), times <= hidden)
    at = np.array([0.3, 1.0, 2.0])
    assert found(at) == pytest.approx(np.exp(-at), abs=0.01)


def test_it_ends_where_few_are_left() -> None:
    found = product_limit([1, 2, 3, 4], [True] * 4, least_at_risk=2)
    assert found([0, 1, 2, 3, 9]).tolist() == pytest.approx([1, 0.75, 0.5, 0.25, 0.25])
