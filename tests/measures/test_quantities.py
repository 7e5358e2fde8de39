"""What measures return can be kept and read back, item for item."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdbcore.measures.quantities import Quantity, Ratio, Share, Values, from_json, to_json

NUMBERS = st.floats(-1e8, 1e8)
UNITS = st.sampled_from(["ms", "s", "share", "1/min", "s/min"])
COUNTS = st.integers(0, 10_000)
REASONS = st.dictionaries(st.text(max_size=9), COUNTS, max_size=3)
QUANTITIES = st.one_of(
    st.builds(Values, UNITS, st.lists(NUMBERS), REASONS),
    st.builds(Share, COUNTS, COUNTS.map(lambda n: 10_000 + n), REASONS, st.none() | st.floats(0, 1)),
    st.builds(Ratio, UNITS, NUMBERS, st.floats(0, 1e8), COUNTS),
)


@given(QUANTITIES)
def test_a_quantity_is_read_back_as_it_was_written(quantity: Quantity) -> None:
    assert from_json(json.loads(json.dumps(to_json(quantity)))) == quantity


@pytest.mark.parametrize("values", [{}, {"kind": "share"}, {"kind": "nope", "n": 1}, {"kind": "ratio", "x": 1}])
def test_anything_else_is_refused(values: dict[str, object]) -> None:
    with pytest.raises((KeyError, ValueError)):
        from_json(values)
