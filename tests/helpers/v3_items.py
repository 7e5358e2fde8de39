"""Measures of made-up recordings of Full-Duplex-Bench v3, and the rows of its documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fdbcore.results.pooling import ScoredItem
from fdbcore.suites.fdb_v3.rows import slices_of


def item(number: int, system: str = "x", condition: str = "", speakers: int = 10, **values: float | None) -> ScoredItem:
    """A recording of a scenario of its own. Each speaker says every tenth, in turn."""
    entry: Any = {
        "domain": ("travel_identity", "finance_billing")[number % 2],
        "difficulty": "easy",
        "disfluencies": ["FILLER", "PAUSE"] if number % 4 == 0 else [],
        "as_released": [{"function": "track_order", "args": {}}] * (number % 5),
    }
    known = {name: (value,) for name, value in values.items() if value is not None}
    clusters = {"speaker": f"p{number % speakers}", "scenario": f"s{number}"}
    return ScoredItem(condition, system, f"r{number}", known, clusters, list(slices_of(entry)))


def row_of(document: Mapping[str, Any], system: str, subset: str = "", rows: str = "rows") -> dict[str, Any]:
    """The row of a system of a document of scores, of one condition."""
    (found,) = (row for row in document[rows] if (row["system"], row["subset"]) == (system, subset))
    return dict(found)


def value_of(row: Mapping[str, Any], measure: str) -> float | None:
    """None if it is not known."""
    value: float | None = row["measures"].get(measure, {"value": None})["value"]
    return value
