"""Measures of made-up recordings of Full-Duplex-Bench v3, and the rows of its documents."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import convert

from fdbcore.results.pooling import ScoredItem
from fdbcore.suites.fdb_v3.rows import slices_of
from fdbcore.suites.fdb_v3.scenarios import ExpectedCallEntry, RecordedScenarioEntry


def item(number: int, system: str = "x", condition: str = "", speakers: int = 10, **values: float | None) -> ScoredItem:
    """A recording of a scenario of its own. Each speaker says every tenth, in turn."""
    entry = record_of(
        domain=("travel_identity", "finance_billing")[number % 2],
        disfluencies=["FILLER", "PAUSE"] if number % 4 == 0 else [],
        as_released=[{"function": "track_order", "args": {}}] * (number % 5),
    )
    known: dict[str, Sequence[float]] = {name: (value,) for name, value in values.items() if value is not None}
    clusters = {"speaker": f"p{number % speakers}", "scenario": f"s{number}"}
    return ScoredItem(condition, system, f"r{number}", known, clusters, list(slices_of(entry)))


def record_of(**fields: Any) -> RecordedScenarioEntry:
    """The record of a recording, of which these fields are given."""
    given = {"id": "r1", "scenario": "s1", "speaker": "ada", "domain": "ecommerce_support", "difficulty": "easy",
             "audio": {"path": "r1.wav", "rate_hz": 16_000, "channels": 1}}  # fmt: skip
    return convert({**given, **fields}, RecordedScenarioEntry)


def label_of(*calls: Mapping[str, Any]) -> list[ExpectedCallEntry]:
    """Expected calls."""
    return convert(calls, list[ExpectedCallEntry])


def row_of(document: Mapping[str, Any], system: str, subset: str = "", rows: str = "rows") -> dict[str, Any]:
    """The row of a system of a document of scores, of one condition."""
    (found,) = (row for row in document[rows] if (row["system"], row["subset"]) == (system, subset))
    return dict(found)


def value_of(row: Mapping[str, Any], measure: str) -> float | None:
    """None if it is not known."""
    value: float | None = row["measures"].get(measure, {"value": None})["value"]
    return value
