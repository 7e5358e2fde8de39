"""Estimates of what calls with vendors' models will cost, by the table of models."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Final

from fdbcore.models.model_table import ListedModel, listed_service, price_usd, vendors
from fdbcore.runtime.address import is_local
from fdbcore.types.usage import ExpectedUse, ModelUsage, Service, Unit

SAID_SHARE: Final = 0.5
"""The share of a call in which a model speaks. It hears the whole call."""

WORDS_PER_S = 150 / 60
TEXT_TOKENS_PER_S, CHARACTERS_PER_S = WORDS_PER_S * 4 / 3, WORDS_PER_S * 6
"""Of speech at 150 words a minute, with four tokens for three words, and six characters for one."""

CHARACTERS_OF_A_TOKEN: Final = 4
"""Of prompts in scripts with spaces; characters of others are a token each."""

ASSUMED: Final = (
    "a model hears the whole call, and speaks for half of it; its instructions, and what it reads "
    "again at each turn, are not counted"
)
"""Assumptions of the estimate, to be printed with it."""


def tokens_of(text: str) -> float:
    """The number of tokens of a prompt, about."""
    wide = sum(character > "\u2e7f" for character in text)
    return wide + (len(text) - wide) / CHARACTERS_OF_A_TOKEN


def expected_use(
    name: str, what: str, left: int, of: int, counts: Mapping[Unit, float], services: Sequence[Service]
) -> ExpectedUse:
    """The requests that one model would get, and what they cost; see `ExpectedUse`. services: those that it uses."""
    remote = [service for service in services if not is_local(service.host)]
    costs = [price_usd(ModelUsage(service.vendor or service.host, service.model, counts)) for service in remote]
    return ExpectedUse(
        name, what, left, of, counts, None if None in costs else sum(filter(None, costs)), priced_on(remote)
    )


def expected_usd(services: Sequence[Service], seconds: float) -> float | None:
    """The cost of a call of this length, about; None if a price is not known. 0 if it stays in one's own network."""
    costs = [_usd(service, seconds) for service in services if not is_local(service.host)]
    return None if None in costs else sum(filter(None, costs))


def priced_on(services: Sequence[Service]) -> date | None:
    """The day of the oldest price among those of the services; None if there are none."""
    found = (listed_service(service) for service in services if not is_local(service.host))
    return min((model.priced.on for model in found if model and model.priced), default=None)


def unpriced(services: Sequence[Service]) -> list[str]:
    """The models, or the hosts if there are none, beyond one's own network whose price is not known."""
    return [each.model or each.host for each in services if expected_usd([each], 1.0) is None]


def _usd(service: Service, seconds: float) -> float | None:
    model = listed_service(service)
    if model is None:
        return None
    counts = _counts(model, service, seconds)
    if counts is None or any(unit not in model.usd for unit in counts):
        return None
    return sum(count * model.usd[unit] for unit, count in counts.items())


def _counts(model: ListedModel, service: Service, seconds: float) -> dict[Unit, float] | None:
    """Counts that the model will bill; None if it is not known how its vendor counts."""
    said_s = SAID_SHARE * seconds
    if "seconds" in model.usd:
        return {"seconds": seconds}
    if model.kind == "voice":
        return {"characters": said_s * CHARACTERS_PER_S}
    if service.takes == "words":
        return {"text_in_tokens": seconds * TEXT_TOKENS_PER_S, "text_out_tokens": said_s * TEXT_TOKENS_PER_S}
    vendor = vendors().get(service.vendor)
    audio = None if vendor is None else vendor.audio_tokens
    if audio is None:
        return None
    heard: dict[Unit, float] = {"audio_in_tokens": seconds * audio.heard_per_s}
    if model.kind == "live":
        return heard | {"audio_out_tokens": said_s * audio.said_per_s}
    return heard | {"text_out_tokens": said_s * TEXT_TOKENS_PER_S}
