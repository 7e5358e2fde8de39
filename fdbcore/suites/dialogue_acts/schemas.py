"""The published JSON schema of how measures go with people's ratings, made of its type.

    python -m fdbcore.suites.dialogue_acts.schemas     writes data/acts_ratings.schema.json anew; it needs msgspec

Nothing at run time imports this module.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fdbcore.report.schemas import as_text, schema_of
from fdbcore.suites.dialogue_acts.agree.rating_agreement import SCHEMA
from fdbcore.suites.dialogue_acts.agree.rating_types import RepliesRated


def schema_file() -> Path:
    """Where the schema is published."""
    return Path(__file__).parent / "data" / "acts_ratings.schema.json"


def schema() -> dict[str, Any]:
    """The JSON schema (2020-12) of the document."""
    return schema_of(RepliesRated, SCHEMA, ())


if __name__ == "__main__":
    schema_file().write_text(as_text(schema()), encoding="utf-8")
