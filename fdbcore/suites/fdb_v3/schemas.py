"""The published JSON schema of files of recorded scenarios, generated from their types.

    python -m fdbcore.suites.fdb_v3.schemas     writes data/scenarios.schema.json anew; it needs msgspec

Nothing at run time imports this module.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, Final, is_typeddict

from fdbcore.report.schemas import as_text, schema_of
from fdbcore.suites.fdb_v3 import scenario_types
from fdbcore.suites.fdb_v3.released import SCHEMA

SCHEMA_FILE: Final = Path(__file__).parent / "data" / "scenarios.schema.json"


def schema() -> dict[str, Any]:
    """The JSON schema (2020-12). A field that it does not name is a fault."""
    closed = [name for name, _ in inspect.getmembers(scenario_types, is_typeddict)]
    return schema_of(scenario_types.RecordedScenarioFile, SCHEMA, closed) | {"additionalProperties": False}


if __name__ == "__main__":
    SCHEMA_FILE.write_text(as_text(schema()), encoding="utf-8")
