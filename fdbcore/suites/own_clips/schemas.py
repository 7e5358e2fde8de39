"""The published JSON schema of the suite's documents, made of their types.

    python -m fdbcore.suites.own_clips.schemas     writes data/*.schema.json anew; it needs msgspec

Nothing at run time imports this module.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from fdbcore.report.schemas import as_text, schema_of
from fdbcore.suites.own_clips.scoring import ClipsDocument
from fdbcore.suites.own_clips.suite import SUITE

CLIPS: Final = "clips"


def schema_file(name: str = CLIPS) -> Path:
    """Where the schema is published."""
    return Path(__file__).parent / "data" / f"{name}.schema.json"


def schema() -> dict[str, Any]:
    """The JSON schema (2020-12) of a scores document."""
    return schema_of(ClipsDocument, SUITE.schema, ())


if __name__ == "__main__":
    schema_file().write_text(as_text(schema()), encoding="utf-8")
