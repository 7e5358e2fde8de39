"""Input health of calls whose sides lie exactly on measured lines."""

from typing import Any

from fdbcore.measures.health.measured_lines import MeasuredLine


def health_at(of_a: MeasuredLine, of_b: MeasuredLine) -> dict[str, Any]:
    """Input health with both sides exactly on measured lines."""
    sides = {}
    for side, line in (("A", of_a), ("B", of_b)):
        at = {name: value for name, value in line.place.items()}
        snr_db = at["snr_db"]
        assert snr_db is not None
        sides[side] = {
            "level_dbov": at["level_dbov"],
            "noise_dbov": None,
            "peak_dbov": 0.0,
            "dc_of_full_scale": 0.0,
            "snr_db": snr_db,
            "spread_db": at["spread_db"],
            "under_db": None if at["softest_db"] is None else at["softest_db"] + snr_db,
            "after_db": None if at["after_db"] is None else at["after_db"] + snr_db,
            "fall_ms": at["fall_ms"],
            "tail_ms": 100.0 if line.is_room else 30.0,
            "high_drop_db": at["high_drop_db"],
            "speech_s": 3.0,
        }
    return {
        "schema": "fdbcore.health/3",
        "verdict": "ok",
        "findings": [],
        "suspect": {"A": [], "B": []},
        "sides": sides,
    }
