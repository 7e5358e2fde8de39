"""The published JSON schema of scores of recorded users, generated from their types.

    python -m fdbcore.suites.fdb_v1.schemas     writes data/fdb_v1.schema.json anew; it needs msgspec

Nothing at run time imports this module.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from fdbcore.report.schemas import as_text, schema_of
from fdbcore.suites.fdb_v1.scoring import V1Document
from fdbcore.suites.fdb_v1.suite import V1

SCHEMA_FILE: Final = Path(__file__).parent / "data" / "fdb_v1.schema.json"


def schema() -> dict[str, Any]:
    """The JSON schema (2020-12)."""
    return schema_of(V1Document, V1.schema, ())


if __name__ == "__main__":
    SCHEMA_FILE.write_text(as_text(schema()), encoding="utf-8")
