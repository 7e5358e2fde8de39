"""The table of vendors' models: when they end, and what they cost. Its data are in `data/models.toml`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from fdbcore.types.usage import UNITS, ModelUsage, Service, Unit

SOON_DAYS: Final = 90
"""A model that ends within so many days is announced when a run begins."""

_VERSION: Final = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{3})$")
"""How exact versions of a model end: gpt-4o-2024-08-06, gemini-2.5-flash-001."""

_PER_UNIT: Final[Mapping[Unit, tuple[str, float]]] = {
    unit: ("minutes", 60.0) if unit == "seconds" else (unit, 1e6) for unit in UNITS
}
"""The name that each unit's price has in the file, and of how many units it is the price."""

ModelKind: TypeAlias = Literal["live", "chat", "transcriber", "voice"]


class Source(NamedTuple):
    """Where a fact was found, and on which day."""

    what: str
    on: date


class EndDate(NamedTuple):
    """The day from which a model does not answer any more."""

    on: date
    source: Source

    def text(self, today: date) -> str:
        """ "ends in 52 days (2027-01-14)", or "gone since 2026-05-07". today: by which this is judged."""
        days = (self.on - today).days
        if days <= 0:
            return f"gone since {self.on}"
        return f"ends in {days} day{'s' if days > 1 else ''} ({self.on})"

    def is_near(self, today: date) -> bool:
        """Whether the model has gone, or ends within SOON_DAYS."""
        return (self.on - today).days <= SOON_DAYS


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model. end: None if no end is announced. usd: the price of one unit; a unit that is missing is unpriced.

    priced: where the prices stand; None if there are none.
    """

    vendor: str
    name: str
    kind: ModelKind
    end: EndDate | None = None
    usd: Mapping[Unit, float] = field(default_factory=dict)
    priced: Source | None = None


class AudioTokens(NamedTuple):
    """How many tokens a vendor counts for a second of audio that its models hear, and of audio that they say."""

    heard_per_s: float
    said_per_s: float
    source: Source


@dataclass(frozen=True, slots=True)
class ListedVendor:
    """A vendor. name: as the table has it. shown: as readers know it. audio_tokens: None if they are not known."""

    name: str
    shown: str
    audio_tokens: AudioTokens | None = None


@cache
def vendors() -> Mapping[str, ListedVendor]:
    """The vendors, by the kinds of addresses that lead to them: that of "openai-chat" is that of "openai"."""
    found: dict[str, ListedVendor] = {}
    for name, given in _file()["vendor"].items():
        tokens = given.get("audio_tokens_per_s")
        counted = AudioTokens(tokens["in"], tokens["out"], _source(tokens["by"])) if tokens else None
        found |= dict.fromkeys(given["addresses"], ListedVendor(name, given["shown"], counted))
    return found


@cache
def models() -> Mapping[tuple[str, str], ListedModel]:
    """The models, by vendor and name."""
    return {(given["vendor"], given["name"]): _model(given) for given in _file()["model"]}


def listed(vendor: str, model: str) -> ListedModel | None:
    """The model; for an exact version that is not listed itself, the model that it is of. None if it is unknown.

    vendor: the kind of an address, as in `fdbcore.types.usage.Service`.
    """
    if vendor not in vendors():
        return None
    by_name, name = models(), vendors()[vendor].name
    return by_name.get((name, model)) or by_name.get((name, _VERSION.sub("", model)))


def recipient(service: Service) -> str:
    """Whoever gets what a service is sent: "OpenAI (api.openai.com)", or the host where no vendor is known."""
    if service.vendor in vendors():
        return f"{vendors()[service.vendor].shown} ({service.host})"
    return f"whoever joins at {service.host}" if service.host in ("0.0.0.0", "::") else service.host


def price_usd(usage: ModelUsage) -> float | None:
    """What a usage costs; None if the price of anything that it counts is not known."""
    found = listed(usage.vendor, usage.model)
    usd = {} if found is None else found.usd
    if any(count and unit not in usd for unit, count in usage.counts.items()):
        return None
    return sum(count * usd.get(unit, 0.0) for unit, count in usage.counts.items())


def _model(given: Mapping[str, Any]) -> ListedModel:
    ends, price = given.get("ends"), given.get("price", {})
    usd = {unit: price[name] / units for unit, (name, units) in _PER_UNIT.items() if name in price}
    return ListedModel(
        given["vendor"],
        given["name"],
        given["kind"],
        EndDate(ends["on"], _source(ends["by"])) if ends else None,
        usd,
        _source(price["by"]) if price else None,
    )


def _source(name: str) -> Source:
    return Source(**_file()["source"][name])


@cache
def _file() -> Mapping[str, Any]:
    return tomllib.loads((files("fdbcore.models") / "data" / "models.toml").read_text(encoding="utf-8"))
