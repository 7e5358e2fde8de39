"""The published JSON schemas of recorded scenarios, of scores, and of agreement, made of their types.

    python -m fdbcore.suites.fdb_v3.schemas     writes data/*.schema.json anew; it needs msgspec

Nothing at run time imports this module.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, Final, get_args, get_type_hints

from msgspec import Struct

from fdbcore.report.schemas import as_text, schema_of
from fdbcore.suites.fdb_v3 import scenarios
from fdbcore.suites.fdb_v3.document import V3Scores
from fdbcore.suites.fdb_v3.scenarios import SCHEMA
from fdbcore.suites.fdb_v3.tagging import DisfluencyAgreement
from fdbcore.suites.fdb_v3.verdicts import VerdictAgreement

SCENARIOS: Final = "scenarios"
DOCUMENTS: Final = {
    "disfluency_agreement": DisfluencyAgreement,
    "verdict_agreement": VerdictAgreement,
    "fdb_v3": V3Scores,
}
"""The type of each document, by the name of its schema."""


def schema_file(name: str) -> Path:
    """Where the schema of that name is published."""
    return Path(__file__).parent / "data" / f"{name}.schema.json"


def schema(name: str = SCENARIOS) -> dict[str, Any]:
    """The JSON schema (2020-12) of a document, or of a file of recorded scenarios."""
    if name == SCENARIOS:
        return _of_scenarios()
    stated = get_type_hints(DOCUMENTS[name])["schema"]
    return schema_of(DOCUMENTS[name], get_args(stated)[0], ())


def _of_scenarios() -> dict[str, Any]:
    """A field that it does not name is a fault."""
    closed = [name for name, each in vars(scenarios).items() if inspect.isclass(each) and issubclass(each, Struct)]
    return schema_of(scenarios.RecordedScenarioFile, SCHEMA, closed) | {"additionalProperties": False}


if __name__ == "__main__":
    for each in (SCENARIOS, *DOCUMENTS):
        schema_file(each).write_text(as_text(schema(each)), encoding="utf-8")
