"""Ticks near others, and counts of ticks around each, are found in blocks: the same as by a look at each tick."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdbcore.measures.health import finding

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
