"""Measures of made-up recordings of Full-Duplex-Bench v3."""

from __future__ import annotations

from typing import Any

from fdbcore.suites.fdb_v3.ours.rows import OursItem
from fdbcore.suites.fdb_v3.terms import MEASURES, FailureClass

NOTHING: dict[str, float | None] = dict.fromkeys(MEASURES)


def item(number: int, system: str = "x", trial: int = 1, speakers: int = 10, **values: float | None) -> OursItem:
    """A recording of a scenario of its own. Each speaker says every tenth, in turn."""
    entry: Any = {
        "id": f"r{number}",
        "scenario": f"s{number}",
        "speaker": f"p{number % speakers}",
        "domain": ("travel_identity", "finance_billing")[number % 2],
        "difficulty": "easy",
        "disfluencies": ["FILLER", "PAUSE"] if number % 4 == 0 else [],
        "as_released": [{"function": "track_order", "args": {}}] * (number % 5),
    }
    failure: FailureClass | None = "missing_step" if values.get("passed") == 0.0 else None
    return OursItem(system, trial, entry, {**NOTHING, **values}, failure)
