"""The published JSON schemas of scores, and of how measures go with people's ratings, made of their types.

    python -m fdbcore.suites.dialogue_acts.schemas     writes data/*.schema.json anew; it needs msgspec

Nothing at run time imports this module.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from fdbcore.report.schemas import as_text, schema_of
from fdbcore.suites.dialogue_acts.agree.ratings import SCHEMA, RepliesRated
from fdbcore.suites.dialogue_acts.scoring.document import DOCUMENT_SCHEMA, ActsDocument

DOCUMENTS: Final = {"acts_ratings": (RepliesRated, SCHEMA), "dialogue_acts": (ActsDocument, DOCUMENT_SCHEMA)}
"""The type of each document and its version, by the name of its schema."""


def schema_file(name: str) -> Path:
    """Where the schema of that name is published."""
    return Path(__file__).parent / "data" / f"{name}.schema.json"


def schema(name: str) -> dict[str, Any]:
    """The JSON schema (2020-12) of a document."""
    return schema_of(*DOCUMENTS[name], ())


if __name__ == "__main__":
    for each in DOCUMENTS:
        schema_file(each).write_text(as_text(schema(each)), encoding="utf-8")
