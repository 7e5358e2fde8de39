"""The published JSON schemas of recorded scenarios, of scores, and of agreement, made of their types.

    python -m fdbcore.suites.fdb_v3.schemas     writes data/*.schema.json anew

Nothing at run time imports this module.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, get_args, get_type_hints

from msgspec import Struct

from fdbcore.report.schemas import as_text, schema_of
from fdbcore.suites.fdb_v3 import scenarios
from fdbcore.suites.fdb_v3.document import V3Scores
from fdbcore.suites.fdb_v3.tag_agreement import DisfluencyAgreement
from fdbcore.suites.fdb_v3.verdict_agreement import VerdictAgreement

SCENARIOS: Final = "scenarios"
DOCUMENTS: Final = {
    SCENARIOS: scenarios.RecordedScenarioFile,
    "disfluency_agreement": DisfluencyAgreement,
    "verdict_agreement": VerdictAgreement,
    "fdb_v3": V3Scores,
}
"""The type of each document, by the name of its schema."""


def schema_file(name: str) -> Path:
    """Where the schema of that name is published."""
    return Path(__file__).parent / "data" / f"{name}.schema.json"


def schema(name: str = SCENARIOS) -> dict[str, Any]:
    """The JSON schema (2020-12) of a document, or of a file of recorded scenarios, in which other fields are faults."""
    of_scenarios = [each for each in vars(scenarios).values() if isinstance(each, type) and issubclass(each, Struct)]
    closed = [each.__name__ for each in of_scenarios] if name == SCENARIOS else []
    return schema_of(DOCUMENTS[name], get_args(get_type_hints(DOCUMENTS[name])["schema"])[0], closed)


if __name__ == "__main__":
    for each in DOCUMENTS:
        schema_file(each).write_text(as_text(schema(each)), encoding="utf-8")
