"""The published schemas of documents."""

from __future__ import annotations

import json
from importlib.resources import files

from jsonschema import Draft202012Validator


def validator(name: str, part: str = "") -> Draft202012Validator:
    """That of a document: "replay", "comparison", ..., or of a part of it."""
    schema = json.loads((files("fdbcore.report") / "static" / f"{name}.schema.json").read_text(encoding="utf-8"))
    return Draft202012Validator({"$ref": f"#/$defs/{part}", "$defs": schema["$defs"]} if part else schema)
