"""A language model as a judge: it marks by a rubric, and answers in the form of the rubric's schema.

openai:NAME?temperature=0.2            gemini:NAME?temperature=default, which is the vendor's
"""

import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlencode

from fdbcore import registry
from fdbcore.errors import InputError, PartyError
from fdbcore.models.account import SETTINGS, Account
from fdbcore.protocols import Judge, Model
from fdbcore.runtime.address import Setting, parsed
from fdbcore.runtime.json_values import json_value
from fdbcore.runtime.numbers import number_of
from fdbcore.types import Request, Rubric
from fdbcore.types.usage import ModelUsage, Service, Unit

_PASSING: Final = ("sdk", "ignores", "response_format")
"""Fields of a description that concern requests, and not who answers them."""

TEMPERATURE: Final = 0.2
"""The temperature of the judge of Full-Duplex-Bench v2."""
MOST_TEMPERATURE: Final = 2.0
_VENDORS: Final = "default"


def _is_temperature(text: str) -> bool:
    try:
        return text == _VENDORS or 0 <= number_of(text) <= MOST_TEMPERATURE
    except ValueError:
        return False


JUDGE_SETTINGS: Final = (
    *SETTINGS,
    Setting(
        "temperature",
        "left out if the model does not take it; `default` is the vendor's",
        default=str(TEMPERATURE),
        form=f"a number from 0 to {MOST_TEMPERATURE:g}, or {_VENDORS}",
        fits=_is_temperature,
    ),
)


def as_judge(about: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The name of the judge that a model is, and what decides its marks, by the model's description.

    The name has the server unless it is the vendor's: models of one name at two servers are two judges.
    """
    is_own = "server" in about and not about.get("vendor")  # a vendor has servers in several regions, which are alike
    lasting = {name: about[name] for name in about if name not in _PASSING and (is_own or name != "server")}
    return f"{about['name']} at {about['server']}" if is_own else about["name"], lasting


class Tally(threading.local):
    """Counts of the requests of each thread."""

    def __init__(self) -> None:
        self._found: list[ModelUsage] = []

    def add(self, usage: ModelUsage) -> None:
        """Count one more request of this thread."""
        self._found.append(usage)

    def taken(self) -> Sequence[ModelUsage]:
        """The counts of this thread since the last call."""
        found, self._found = self._found, []
        return found


class ModelJudge(Judge):
    """Asks `model`: the rubric is its system prompt, the evidence its user prompt. Threads may share it.

    With a `fdbcore.models.cache.KeptModel` its answers are stored, so that none is paid for twice. temperature: that is
    asked for; None for the vendor's.
    """

    def __init__(self, model: Model, temperature: float | None = TEMPERATURE) -> None:
        self.name, about = as_judge({"name": model.name, **model.describe()})
        self._about = about if temperature is None else {**about, "temperature": temperature}
        self._model, self._temperature = model, temperature
        self._vendor = next((service.vendor for service in model.services()), "")
        self._tally = Tally()

    def mark(self, rubric: Rubric, evidence: Mapping[str, Any]) -> Mapping[str, Any]:
        """The marks of the evidence, which the model gets as JSON; see `fdbcore.protocols.Judge`."""
        try:
            asked = Request(as_prompt(evidence), rubric.text, schema=rubric.schema, temperature=self._temperature)
            reply = self._model.ask(asked)
        except PartyError as error:
            if error.answered_by:
                self._count(error.answered_by, error.counts)
            raise
        self._count(reply.model, reply.counts)
        text = reply.text
        try:
            marks = json_value(text)
        except ValueError:
            marks = None
        if not isinstance(marks, dict):
            raise InputError(f"{self._model.name}: {rubric.name}: expected a JSON object, got {text[:80]!r}")
        for name in rubric.schema.get("required", ()):
            if name not in marks:
                got = ", ".join(marks)[:80] or "nothing"
                raise InputError(f"{self._model.name}: {rubric.name}: expected {name!r}, got {got}")
        return marks

    def check_key(self) -> None:
        """Check the model's key."""
        if isinstance(self._model, Account):
            self._model.check_key()

    def describe(self) -> Mapping[str, Any]:
        """The description of the model, without what may change from one request to the next."""
        return self._about

    def services(self) -> Sequence[Service]:
        """The services of the model."""
        return self._model.services()

    def counted(self) -> Sequence[ModelUsage]:
        """See `Judge.counted`."""
        return self._tally.taken()

    def _count(self, model: str, counts: Mapping[Unit, float]) -> None:
        """Count an answer, with the temperature that the request for it was sent in the end."""
        is_taken = "temperature" not in self._model.describe().get("ignores", ())
        self._tally.add(ModelUsage(self._vendor, model, counts, temperature=self._temperature if is_taken else None))


def as_prompt(evidence: Mapping[str, Any]) -> str:
    """The evidence that a judge reads, as the text that a model gets."""
    return json.dumps(evidence, ensure_ascii=False, indent=1)


def judge(address: str) -> ModelJudge:
    """The language model at the address "VENDOR:NAME", as a judge. SettingsError if the vendor is unknown."""
    kind, name, settings = parsed(address, JUDGE_SETTINGS)
    given = settings.pop("temperature")
    of_model = urlencode({setting: value for setting, value in settings.items() if value is not None})
    return ModelJudge(registry.model(f"{kind}:{name}?{of_model}"), None if given == _VENDORS else number_of(given))
