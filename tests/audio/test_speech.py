"""Cutting silence out of speech."""

import numpy as np
import pytest

from fdbcore.audio.speech import without_long_pauses
from fdbcore.types import FRAME_SAMPLES


def sounds(*ticks: int) -> np.ndarray:
    """Sound and silence in turns, by their lengths in ticks; each sound has a value of its own."""
    parts = [np.full(n * FRAME_SAMPLES, 5000 + k if k % 2 == 0 else 0, np.int16) for k, n in enumerate(ticks)]
    for part in parts[::2]:
        part[1::2] *= -1  # no constant: its level is measured without one
    return np.concatenate(parts)


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ((50, 78, 40, 30, 20), (50, 35, 40, 30, 20)),
        ((50, 35, 50), (50, 35, 50)),
        ((50, 36, 50, 200, 10), (50, 35, 50, 35, 10)),
        ((80,), (80,)),
    ],
)
def test_long_pauses_are_cut_and_nothing_else(lengths: tuple[int, ...], expected: tuple[int, ...]) -> None:
    assert np.array_equal(without_long_pauses(sounds(*lengths), 35), sounds(*expected))
