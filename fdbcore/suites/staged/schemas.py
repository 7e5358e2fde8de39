"""The published JSON schemas of files of scenarios, scores and ratings, generated from their types.

    python -m fdbcore.suites.staged.schemas     writes data/*.schema.json anew; it needs msgspec

Nothing at run time imports this module.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, get_args, get_type_hints

from fdbcore.report.schemas import as_text, schema_of
from fdbcore.suites.staged.document import StagedDocument
from fdbcore.suites.staged.rating.agreement import RatingAgreement
from fdbcore.suites.staged.rating.ratings import RatingKey
from fdbcore.suites.staged.scenarios import ScenarioFile

SCENARIOS: Final = "scenarios"
DOCUMENTS: Final = {
    SCENARIOS: ScenarioFile,
    "staged": StagedDocument,
    "rating_key": RatingKey,
    "rating_agreement": RatingAgreement,
}
"""The type of each document, by the name of its schema."""


def schema_file(name: str) -> Path:
    """Where the schema of that name is published."""
    return Path(__file__).parent / "data" / f"{name}.schema.json"


def schema(name: str) -> dict[str, Any]:
    """The JSON schema (2020-12) of a document, or of a file of scenarios."""
    stated = get_type_hints(DOCUMENTS[name])["schema"]
    return schema_of(DOCUMENTS[name], get_args(stated)[0], ())


if __name__ == "__main__":
    for each in DOCUMENTS:
        schema_file(each).write_text(as_text(schema(each)), encoding="utf-8")
