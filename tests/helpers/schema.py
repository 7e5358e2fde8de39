"""The published schemas of documents."""

import json
from importlib.resources import files
from typing import Any, Final

from jsonschema import Draft202012Validator


def validator(name: str, part: str = "") -> Draft202012Validator:
    """That of a document: "replay", "comparison", ..., or of a part of it."""
    schema = json.loads((files("fdbcore.report") / "static" / f"{name}.schema.json").read_text(encoding="utf-8"))
    return Draft202012Validator({"$ref": f"#/$defs/{part}", "$defs": schema["$defs"]} if part else schema)


ACTS: Final = "suites/dialogue_acts/data/dialogue_acts.schema.json"


def as_published(document: dict[str, Any], path: str = ACTS) -> dict[str, Any]:
    """The document, which must be as its published schema says and have nothing else. path: of that, in fdbcore."""
    schema = json.loads((files("fdbcore") / path).read_text(encoding="utf-8"))
    for each in (schema, *schema["$defs"].values()):
        if "properties" in each:
            each["additionalProperties"] = False
    Draft202012Validator(schema).validate(document)
    return document
