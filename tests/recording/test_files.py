"""JSON that is written in pieces."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdbcore.recording.files import json_pieces

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), VALUES, max_size=4), st.sampled_from([(", ", ": "), (",", ":")]))
def test_pieces_are_those_of_the_whole(value: dict[str, Any], separators: tuple[str, str]) -> None:
    expected = json.dumps(value, ensure_ascii=False, separators=separators)
    assert "".join(json_pieces(value, separators)) == expected


def test_an_iterator_is_written_as_a_list() -> None:
    assert "".join(json_pieces({"n": (n for n in range(3)), "none": iter(())})) == '{"n": [0, 1, 2], "none": []}'


def test_what_is_no_json_is_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        list(json_pieces({"value": [float("nan")]}))
