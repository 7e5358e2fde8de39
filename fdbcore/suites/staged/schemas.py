"""The published JSON schemas of files of scenarios, scores and ratings, generated from their types.

    python -m fdbcore.suites.staged.schemas     writes data/*.schema.json anew; it needs msgspec

Nothing at run time imports this module.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, Final, get_args, get_type_hints, is_typeddict

from fdbcore.report.schemas import as_text, schema_of
from fdbcore.suites.staged import scenario_types
from fdbcore.suites.staged.document_types import StagedDocument
from fdbcore.suites.staged.rating.rating_types import RatingAgreement, RatingKey
from fdbcore.suites.staged.reading import SCHEMA

SCENARIOS: Final = "scenarios"
DOCUMENTS: Final = {"staged": StagedDocument, "rating_key": RatingKey, "rating_agreement": RatingAgreement}
"""The type of each document, by the name of its schema."""


def schema_file(name: str) -> Path:
    """Where the schema of that name is published."""
    return Path(__file__).parent / "data" / f"{name}.schema.json"


def schema(name: str) -> dict[str, Any]:
    """The JSON schema (2020-12) of a document, or of a file of scenarios."""
    if name == SCENARIOS:
        return _of_scenarios()
    stated = get_type_hints(DOCUMENTS[name])["schema"]
    return schema_of(DOCUMENTS[name], get_args(stated)[0], ())


def _of_scenarios() -> dict[str, Any]:
    """A field that it does not name is a fault."""
    closed = [name for name, _ in inspect.getmembers(scenario_types, is_typeddict)]
    made = schema_of(scenario_types.ScenarioFile, SCHEMA, closed)
    return made | {"additionalProperties": False}


if __name__ == "__main__":
    for each in (SCENARIOS, *DOCUMENTS):
        schema_file(each).write_text(as_text(schema(each)), encoding="utf-8")
