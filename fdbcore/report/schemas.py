"""The published JSON schemas of documents, generated from their types.

    python -m fdbcore.report.schemas     writes static/*.schema.json anew; it needs msgspec

Nothing at run time imports this module.
"""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final, get_args, get_type_hints

import msgspec

from fdbcore.analysis.comparison import RunComparison
from fdbcore.analysis.label_agreement import LabelAgreement
from fdbcore.analysis.score import ResponseCurve
from fdbcore.analysis.statements import Statements
from fdbcore.analysis.systems import RunSummary
from fdbcore.analysis.trends import RunTrend
from fdbcore.measures.costs import RunCosts
from fdbcore.measures.moments import Moment
from fdbcore.recording.health import HealthFinding
from fdbcore.recording.labels import Label
from fdbcore.recording.run import Corpus, PlannedRun
from fdbcore.recording.transcripts import SideWords
from fdbcore.report.call.document import Document, Event, ReplayedCalls
from fdbcore.report.checkup import Checkup
from fdbcore.report.scorecard.document import ScorecardDocument
from fdbcore.types.timing import TimingSelftest

DOCUMENTS: Final = {
    "replay": Document,
    "summary": ReplayedCalls,
    "run_summary": RunSummary,
    "comparison": RunComparison,
    "statements": Statements,
    "trend": RunTrend,
    "scorecard": ScorecardDocument,
    "corpus": Corpus,
    "run": PlannedRun,
    "label_agreement": LabelAgreement,
    "doctor": Checkup,
    "selftest": TimingSelftest,
    "costs": RunCosts,
    "words": SideWords,
}
"""The type of each document, by the name of its schema."""

CLOSED: Final = {each.__name__ for each in (Event, HealthFinding, Label, Moment, ResponseCurve)}
"""Types that have no other fields than these."""

_OF_A_KIND: Final = {
    ("gap", "overlap_between"): ("fto_ticks",),
    ("intrusion",): ("onset", "outcome", "stop_ticks", "simultaneous", "terminal"),
}
"""Further fields of events of some kinds."""


def schema_file(name: str) -> Path:
    """The published file of the schema of that name."""
    return Path(__file__).parent / "static" / f"{name}.schema.json"


def schema(name: str) -> dict[str, Any]:
    """The JSON schema (2020-12) of a document."""
    document = DOCUMENTS[name]
    stated = get_type_hints(document).get("schema")
    made = schema_of(document, get_args(stated)[0] if stated else f"fdbcore.{name}", CLOSED)
    if Event.__name__ in made["$defs"]:
        made["$defs"][Event.__name__]["allOf"] = [
            {"if": {"properties": {"kind": {"enum": list(kinds)}}}, "then": {"required": list(names)}}
            for kinds, names in _OF_A_KIND.items()
        ]
    return made


def schema_of(document: type, title: str, closed: Collection[str]) -> dict[str, Any]:
    """The JSON schema of a type. title: its name and version. closed: types that have no other fields than theirs."""
    types = msgspec.json.schema(document)["$defs"]
    for each in types.values():  # as msgspec orders the fields of a TypedDict, but not those of a Struct
        each["properties"], each["required"] = dict(sorted(each["properties"].items())), sorted(each["required"])
    for name in types.keys() & closed:
        types[name]["additionalProperties"] = False
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"https://github.com/fdbcore/fdbcore/schemas/{title.removeprefix('fdbcore.')}",
        **types.pop(document.__name__),
        "title": title,
        "$defs": types,
    }


def as_text(schema: dict[str, Any]) -> str:
    """The published file of a schema."""
    return json.dumps(schema, indent=1) + "\n"


if __name__ == "__main__":
    for each in DOCUMENTS:
        schema_file(each).write_text(as_text(schema(each)), encoding="utf-8")
