"""The table of vendors' models: when they end, and what they cost. Its data are in `data/models.toml`.

Prices that a user states in a file of the same form go before those of the table (`stated_prices`).
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

from fdbcore.errors import SettingsError
from fdbcore.runtime.address import Setting, typed_values
from fdbcore.runtime.texts import text_of
from fdbcore.runtime.toml_values import shipped_toml, stated_toml
from fdbcore.types.usage import UNITS, ModelUsage, Service, Unit

SOON_DAYS: Final = 90
"""A model that ends within so many days is announced when a run begins."""

_VERSION: Final = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{3})$")
"""The ends of exact versions of a model: gpt-4o-2024-08-06, gemini-2.5-flash-001."""

_PER_UNIT: Final[Mapping[Unit, tuple[str, float]]] = {
    unit: ("minutes", 60.0) if unit == "seconds" else (unit, 1e6) for unit in UNITS
}
"""The name that each unit's price has in the file, and of how many units it is the price."""

ModelKind: TypeAlias = Literal["live", "chat", "transcriber", "voice"]

PRICES: Final = "prices.toml"
"""The prices that a user stated for a run, or for scores, in its folder."""
_STATED_MODEL: Final = (
    Setting("vendor", "the vendor, or the host of another server", default="", form="a name or a host", fits=bool),
    Setting("name", "of the model; without it, of all that have no price of their own", default=""),
    Setting("kind", "of the model", choices=get_args(ModelKind)),
)
_STATED_PRICE: Final = tuple(Setting(name, "USD", float, least=0) for name, _ in _PER_UNIT.values())


class Source(NamedTuple):
    """The origin of a fact, and the day on which it was found."""

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
        """True if the model has gone, or ends within SOON_DAYS."""
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
    """Tokens that a vendor counts for a second of audio that its models hear, and of audio that they say."""

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
    name = vendors()[vendor].name if vendor in vendors() else vendor
    keys = [(name, each) for each in (model, _VERSION.sub("", model), "")]
    return next((table[key] for table in (_stated.get().models, models()) for key in keys if key in table), None)


def listed_service(service: Service) -> ListedModel | None:
    """The model of a service; of a server that is no vendor's, what a user states of its host."""
    return listed(service.vendor or service.host, service.model)


class StatedPrices(NamedTuple):
    """The models whose prices a user states, by vendor or host and name; and the text of the file."""

    models: Mapping[tuple[str, str], ListedModel]
    text: str


_NOTHING_STATED: Final = StatedPrices({}, "")
_stated: Final = ContextVar("stated", default=_NOTHING_STATED)


@contextmanager
def stated_prices(file: Path) -> Iterator[None]:
    """In the `with` block, prices in a user's file hold. SettingsError in one line for a file of another form."""
    before = _stated.set(_stated_in(text_of(file), str(file)))
    try:
        yield
    finally:
        _stated.reset(before)


@contextmanager
def prices_of(folder: Path) -> Iterator[None]:
    """In the `with` block, prices that were stated for the run in a folder hold, if any were."""
    if (file := folder / PRICES).is_file():
        with stated_prices(file):
            yield
    else:
        yield


def stated_text() -> str:
    """The text of the file with the prices that hold now; "" if none are stated."""
    return _stated.get().text


@lru_cache(maxsize=8)
def _stated_in(text: str, where: str) -> StatedPrices:
    given = stated_toml(text, where)
    tables = given.get("model")
    if set(given) != {"model"} or not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
        raise SettingsError(f"{where}: expected tables [[model]], got {', '.join(given) or 'nothing'}")
    found = {}
    for number, each in enumerate(tables, 1):
        model = _stated_model(each, f"{where}: model {number}")
        found[model.vendor, model.name] = model
    return StatedPrices(found, text)


def _stated_model(given: Mapping[str, Any], where: str) -> ListedModel:
    about = typed_values(where, {name: given[name] for name in given if name != "price"}, _STATED_MODEL)
    price = given.get("price")
    if not (about["vendor"] and about["kind"] and isinstance(price, dict) and price):
        raise SettingsError(f"{where}: expected vendor, kind and price, got {', '.join(given) or 'nothing'}")
    typed_values(f"{where}: price", price, _STATED_PRICE)
    if about["vendor"] in vendors():
        about["vendor"] = vendors()[about["vendor"]].name
    known = models().get((about["vendor"], about["name"]))
    return replace(_model({**about, "price": price}), end=None if known is None else known.end)


def recipient(service: Service) -> str:
    """Whoever gets what a service is sent: "OpenAI (api.openai.com)", or the host where no vendor is known."""
    if service.vendor in vendors():
        return f"{vendors()[service.vendor].shown} ({service.host})"
    return f"whoever joins at {service.host}" if service.host in ("0.0.0.0", "::") else service.host


def price_usd(usage: ModelUsage) -> float | None:
    """The price of a usage; None if the price of anything that it counts is not known."""
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
        _source(price["by"]) if "by" in price else None,
    )


def _source(name: str) -> Source:
    return Source(**_file()["source"][name])


@cache
def _file() -> Mapping[str, Any]:
    return shipped_toml("fdbcore.models", "data/models.toml")
