"""The published JSON schemas of the suites' documents and files, generated from their types.

    python -m fdbcore.suites.schemas     writes data/*.schema.json of each suite anew

Nothing at run time imports this module.
"""

from pathlib import Path
from typing import Any, Final, get_args, get_type_hints

from msgspec import Struct

from fdbcore.report import as_text, schema_of
from fdbcore.results import RaterAgreement
from fdbcore.suites.dialogue_acts.scoring.document import ActsDocument
from fdbcore.suites.fdb_v1.scoring import V1Document
from fdbcore.suites.fdb_v3 import scenarios as recorded
from fdbcore.suites.fdb_v3.agreement import DisfluencyAgreement
from fdbcore.suites.fdb_v3.document import V3Scores
from fdbcore.suites.own_clips.scoring import ClipsDocument
from fdbcore.suites.staged.document import StagedDocument
from fdbcore.suites.staged.rating.agreement import RatingKey
from fdbcore.suites.staged.scenarios import ScenarioFile

DOCUMENTS: Final = {
    "dialogue_acts/dialogue_acts": ActsDocument,
    "fdb_v1/fdb_v1": V1Document,
    "fdb_v3/disfluency_agreement": DisfluencyAgreement,
    "fdb_v3/fdb_v3": V3Scores,
    "fdb_v3/scenarios": recorded.RecordedScenarioFile,
    "own_clips/clips": ClipsDocument,
    "rater_agreement": RaterAgreement,
    "staged/rating_key": RatingKey,
    "staged/scenarios": ScenarioFile,
    "staged/staged": StagedDocument,
}
"""The type of each document, by its package, if it is of one, and the name of its schema."""

_CLOSED: Final = {
    "fdb_v3/scenarios": [
        each.__name__ for each in vars(recorded).values() if isinstance(each, type) and issubclass(each, Struct)
    ]
}
"""Types that have no other fields than these: others are faults of the file."""


def schema_file(name: str) -> Path:
    """The file of the schema of that name."""
    package, _, own = name.rpartition("/")
    return Path(__file__).parent / package / "data" / f"{own}.schema.json"


def schema(name: str) -> dict[str, Any]:
    """The JSON schema (2020-12) of a document."""
    versions = get_args(get_type_hints(DOCUMENTS[name])["schema"])
    return schema_of(DOCUMENTS[name], versions[0] if len(versions) == 1 else f"fdbcore.{name}", _CLOSED.get(name, ()))


if __name__ == "__main__":
    for each in DOCUMENTS:
        schema_file(each).write_text(as_text(schema(each)), encoding="utf-8")
