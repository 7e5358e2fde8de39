"""Which way a measure is better, where there is such a way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

Direction: TypeAlias = Literal["less", "more"]

DIRECTIONS: Final[Mapping[str, Direction]] = {
    "response_latency_ms": "less",
    "response_latency_minus_harness_ms": "less",
    "response_long_ipu_latency_ms": "less",
    "answered_per_turn": "more",
    "premature_per_turn": "less",
    "no_response_per_turn": "less",
    "a_unanswered_wait_s": "less",
    "lapse_s": "less",
    "b_initial_silence_s": "less",
    "b_stopped_within_1s_per_long_a_onset": "more",
    "b_stopped_within_2s_per_long_a_onset": "more",
    "b_stop_latency_ms_per_long_a_onset": "less",
    "b_stopped_within_1s_per_short_a_onset": "less",
    "b_stopped_within_2s_per_short_a_onset": "less",
    "compat_v1_latency_ms": "less",
    "compat_v15_stop_latency_ms": "less",
    "compat_v15_response_latency_ms": "less",
}
"""What a user of the system would rather have. A measure that is not here (overlap, backchannels, how much B talks)
depends on what is wanted, so a difference in it is neither better nor worse."""
