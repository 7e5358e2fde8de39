"""A language model as a judge: it marks by a rubric, and answers in the form of the rubric's schema."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fdbcore import registry
from fdbcore.errors import InputError
from fdbcore.protocols import Judge, Model
from fdbcore.types import Request, Rubric
from fdbcore.types.usage import Service


class ModelJudge(Judge):
    """Asks `model`: the rubric is its system prompt, the evidence its user prompt. Threads may share it.

    With a `fdbcore.models.cache.KeptModel` its answers are stored, so that none is paid for twice.
    """

    def __init__(self, model: Model) -> None:
        self.name = model.name
        self._model = model

    def mark(self, rubric: Rubric, evidence: Mapping[str, Any]) -> Mapping[str, Any]:
        """The marks of the evidence, which the model gets as JSON; see `fdbcore.protocols.Judge`."""
        given = json.dumps(evidence, ensure_ascii=False, indent=1)
        text = self._model.ask(Request(given, system=rubric.text, schema=rubric.schema)).text
        try:
            marks = json.loads(text)
        except ValueError:
            marks = None
        if not isinstance(marks, dict):
            raise InputError(f"{self.name}: {rubric.name}: expected a JSON object, got {text[:80]!r}")
        for name in rubric.schema.get("required", ()):
            if name not in marks:
                raise InputError(f"{self.name}: {rubric.name}: expected {name!r}, got {', '.join(marks) or 'nothing'}")
        return marks

    def describe(self) -> Mapping[str, Any]:
        """The description of the model."""
        return self._model.describe()

    def services(self) -> Sequence[Service]:
        """Those of the model."""
        return self._model.services()


def judge(address: str) -> ModelJudge:
    """The language model at the address "VENDOR:NAME", as a judge. SettingsError if the vendor is unknown."""
    return ModelJudge(registry.model(address))
