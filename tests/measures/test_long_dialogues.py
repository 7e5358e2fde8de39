"""What a call of hours costs: its measures take time and memory by its events, not by their square nor by its ticks."""

import tracemalloc

import numpy as np

from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.moments import moments
from fdbcore.measures.timing import timing_quantities
from fdbcore.session.turns import detect_turns
from fdbcore.types import TurnSettings

HOURS = 3
N_TICKS = HOURS * 360_000
MOST_BYTES_A_TICK = 12  # one array of 64-bit integers would have 8


def test_memory_of_measures_is_that_of_a_few_bytes_a_tick() -> None:
    a = np.resize(np.repeat([True, False, True, False], [300, 50, 100, 1_000]), N_TICKS)
    b = np.resize(np.repeat([False, True, False], [600, 700, 150]), N_TICKS)
    dialogue = Dialogue(detect_turns(a, b), N_TICKS, TurnSettings())
    tracemalloc.start()
    try:
        found = timing_quantities(dialogue)
        listed = moments(dialogue)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(listed) > 500
    assert len(found["response_latency_ms"].spans) > 500
    assert peak < MOST_BYTES_A_TICK * N_TICKS
