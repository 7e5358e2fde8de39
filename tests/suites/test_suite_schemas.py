"""The schemas that are published are those of the types of documents and files."""

from __future__ import annotations

import pytest
from jsonschema import Draft202012Validator

from fdbcore.report.schemas import as_text
from fdbcore.suites.schemas import DOCUMENTS, schema, schema_file


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_published_schema_is_what_the_types_give(name: str) -> None:
    assert schema_file(name).read_text(encoding="utf-8") == as_text(schema(name)), "make schema writes it anew"
    Draft202012Validator.check_schema(schema(name))
