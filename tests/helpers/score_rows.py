"""Rows of a stored scores document."""

from collections.abc import Mapping
from typing import Any


def rows(document: Mapping[str, Any], group: str = "system", subset: str | None = "") -> list[dict[str, Any]]:
    """Those of a group over all items, or over a subset; None: over any."""
    return [row for row in document["rows"] if row["group"] == group and subset in (None, row["subset"])]


def value(row: Mapping[str, Any], measure: str) -> float | None:
    """The figure of a measure; None where it is not known."""
    figure = row["measures"].get(measure)
    return None if figure is None else figure["value"]
