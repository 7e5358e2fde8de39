"""The published JSON schema of files of scenarios, generated from their types.

    python -m fdbcore.suites.staged.schemas     writes data/scenarios.schema.json anew; it needs msgspec

Nothing at run time imports this module.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, Final, is_typeddict

from fdbcore.report.schemas import as_text, schema_of
from fdbcore.suites.staged import scenario_types
from fdbcore.suites.staged.reading import SCHEMA

FILE: Final = Path(__file__).parent / "data" / "scenarios.schema.json"


def schema() -> dict[str, Any]:
    """The JSON schema (2020-12) of a file of scenarios; a field that it does not name is a fault."""
    closed = [name for name, _ in inspect.getmembers(scenario_types, is_typeddict)]
    made = schema_of(scenario_types.ScenarioFile, SCHEMA, closed)
    return made | {"additionalProperties": False}


if __name__ == "__main__":
    FILE.write_text(as_text(schema()), encoding="utf-8")
