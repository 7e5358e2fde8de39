"""The cost of a live call, from what its models counted and the table of models."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from typing import Annotated, Literal, TypedDict, cast

from msgspec import Meta, Struct

from fdbcore.models.model_table import listed, listed_service, price_usd, prices_of, recipient
from fdbcore.recording.reader import Recording
from fdbcore.types import SIDES, Side, other_side, ticks_to_s
from fdbcore.types.units import Count
from fdbcore.types.usage import USAGE, ModelUsage, Service


class SystemCosts(Struct, frozen=True):
    """The calls to hold with a system."""

    calls: Count
    left: Count
    audio_s: Annotated[float, Meta(description="of the calls left")]
    wall_s: Annotated[float | None, Meta(description="of the calls left; null on a virtual clock")]
    usd: Annotated[float | None, Meta(description="about what the calls left cost; null where a price is not known")]


class RunCosts(Struct, frozen=True):
    """The calls that a run has to hold. Fields may be added under the same version; a field is never given another
    meaning."""

    schema: Literal["fdbcore.costs/1"]
    systems: Annotated[dict[str, SystemCosts], Meta(description="by name, and of all together: all")]
    recipients: Annotated[list[str], Meta(description="what goes to whom, a line each; empty if nothing leaves")]
    endings: Annotated[list[str], Meta(description="models that have gone or end soon, a line each")]


class HeldCost(TypedDict):
    """The cost of live calls by the table of models."""

    usd: Annotated[float, Meta(description="of all that has a price, failed attempts included")]
    calls: Annotated[Count, Meta(description="that sent anything beyond one's own network")]
    unpriced: Annotated[Count, Meta(description="of them: that used something without a known price")]
    incomplete: Annotated[Count, Meta(description="of them: that were cut or failed before all was counted")]
    priced_on: Annotated[str | None, Meta(description="the day of the oldest price; null if there is none")]


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of calls, before it is rounded: see `HeldCost`."""

    usd: float = 0.0
    calls: int = 0
    unpriced: int = 0
    incomplete: int = 0
    priced_on: date | None = None

    def to_json(self) -> HeldCost:
        """All fields as JSON values."""
        day = None if self.priced_on is None else self.priced_on.isoformat()
        return cast("HeldCost", asdict(self) | {"usd": round(self.usd, 6), "priced_on": day})


def call_cost(recording: Recording) -> Cost | None:
    """The cost of a live call, its earlier attempts included; None if nothing of it left one's own network.

    Each side's vendors are expected to state what their models counted (`fdbcore.types.usage`). A server without a
    vendor is unpriced, unless a price of its minutes was stated for the run (`prices_of`).
    """
    if not recording.original_meta.get("sent_to"):
        return None
    with prices_of(recording.path.parent):
        return _priced(recording)


def _priced(recording: Recording) -> Cost:
    meta = recording.original_meta
    usages = {key: _billed(found, meta.get("n_ticks", 0)) for key, found in _usages(recording).items()}
    priced = {key: [price_usd(usage) for usage in found] for key, found in usages.items()}
    known = [usd for prices in priced.values() for usd in prices if usd is not None]
    dates = [model.priced.on for _, vendor, name in usages if (model := listed(vendor, name)) and model.priced]
    earlier = sum(attempt.get("usd", 0.0) for attempt in meta.get("attempts", ()))
    services = sent_to(recording)
    known += list(_of_minutes(recording, services))
    unpriced = any(None in prices for prices in priced.values()) or any(_is_unpriceable(each) for _, each in services)
    stated = {(side, vendor) for side, vendor, _ in usages}
    untold = bool(meta.get("n_ticks")) and any(
        service.vendor and (side, service.vendor) not in stated for side, service in services
    )
    incomplete = untold or meta["status"] != "complete" or any(found[-1].due for found in usages.values())
    return Cost(sum(known, 0.0) + earlier, 1, int(unpriced), int(incomplete), min(dates, default=None))


def _of_minutes(recording: Recording, services: Sequence[tuple[Side, Service]]) -> Iterator[float]:
    """The cost of servers without a vendor whose minutes have a stated price: of what they say that they took, or else
    of the whole call.
    """
    call_s = ticks_to_s(recording.original_meta.get("n_ticks", 0))
    counted = [event for event in recording.events if event["kind"] == USAGE and not event["vendor"]]
    for side, service in services:
        model = None if service.vendor else listed_service(service)
        if model is not None and "seconds" in model.usd:
            own = [event for event in counted if (event["side"], event["model"]) == (side, service.model)]
            taken_s = [float(event.get("seconds", 0.0)) for event in own]
            yield model.usd["seconds"] * (sum(taken_s) if own else call_s)


def _billed(usages: Sequence[ModelUsage], n_ticks: int) -> Sequence[ModelUsage]:
    """The usages of a model as its vendor bills them: one that bills the time of a session may count tokens instead."""
    first, last = usages[0], usages[-1]
    model = listed(first.vendor, first.model)
    by_time = model is not None and model.kind == "live" and set(model.usd) == {"seconds"}
    counted = {unit for usage in usages for unit in usage.counts}
    if not by_time or not counted or "seconds" in counted:
        return usages
    return [ModelUsage(first.vendor, first.model, {"seconds": ticks_to_s(n_ticks)}, last.due)]


def total(costs: Iterable[Cost | None]) -> Cost | None:
    """The costs of several calls together; None if there are none."""
    found = [cost for cost in costs if cost is not None]
    if not found:
        return None
    dates = [cost.priced_on for cost in found if cost.priced_on is not None]
    return Cost(
        sum(cost.usd for cost in found),
        sum(cost.calls for cost in found),
        sum(cost.unpriced for cost in found),
        sum(cost.incomplete for cost in found),
        min(dates, default=None),
    )


def _usages(recording: Recording) -> Mapping[tuple[str, str, str], Sequence[ModelUsage]]:
    """Counts by each model of a vendor, in order, by side, vendor and model."""
    found: dict[tuple[str, str, str], list[ModelUsage]] = {}
    for event in recording.events:
        if event["kind"] == USAGE and event["vendor"]:
            found.setdefault((event["side"], event["vendor"], event["model"]), []).append(ModelUsage.from_json(event))
    return found


def sent_to(recording: Recording) -> list[tuple[Side, Service]]:
    """The servers beyond one's own network that a live call used, with the side whose party used them."""
    recorded = recording.original_meta.get("sent_to", {})
    return [(side, Service.from_json(each)) for side in SIDES for each in recorded.get(side, ())]


def recipients(recording: Recording) -> list[str]:
    """Data of a live call, and to whom they went, a line each; of models when they end, as seen on the day of the call.

    "audio of side A to OpenAI (api.openai.com): gpt-4o, ends in 52 days (2027-01-14)".
    """
    created = recording.original_meta.get("created")
    return [_told(side, service, created) for side, service in sent_to(recording)]


def _told(side: Side, service: Service, created: str | None) -> str:
    what = f"audio of side {other_side(side)}" if service.takes == "audio" else "words"
    text = f"{what} to {recipient(service)}{f': {service.model}' if service.model else ''}"
    model = listed(service.vendor, service.model)
    if model is None or model.end is None or created is None:
        return text
    return f"{text}, {model.end.text(date.fromisoformat(created[:10]))}"


def _is_unpriceable(service: Service) -> bool:
    """True if nobody can know its price, or the table has none."""
    model = listed_service(service)
    return model is None or not model.usd or not (service.vendor or "seconds" in model.usd)
