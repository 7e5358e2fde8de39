"""Data that goes to the servers of others, and the counts of their models for the bill."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final, Literal, NamedTuple, Self, TypeAlias, get_args

from fdbcore.types import Happening

USAGE: Final = "usage"
"""The kind of an event that says what a model counted since its last such event."""

Takes: TypeAlias = Literal["audio", "words"]
"""The part of a conversation that a server is sent."""

Unit: TypeAlias = Literal[
    "audio_in_tokens",
    "audio_out_tokens",
    "text_in_tokens",
    "text_out_tokens",
    "cached_audio_in_tokens",
    "cached_text_in_tokens",
    "seconds",
    "characters",
]
"""Units that models count in. Cached tokens are not among the other tokens. seconds: of audio, or of a session,
whichever the vendor bills. characters: of the text that is spoken."""

UNITS: Final[tuple[Unit, ...]] = get_args(Unit)


class Service(NamedTuple):
    """A server that a party, a model or a speaker uses, and what it is sent.

    host: its name or IP address. vendor, model: as the table of models has them (`fdbcore.models.model_table`); "" for
    a server that is not the vendor's, as a `base_url` may name.
    """

    takes: Takes
    host: str
    vendor: str = ""
    model: str = ""

    def to_json(self) -> dict[str, str]:
        """Known facts about it, as JSON values."""
        return {name: value for name, value in self._asdict().items() if value}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """The service that `to_json` wrote."""
        return cls(**{name: values[name] for name in cls._fields if name in values})


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """A model's counts since the usage before; the bill is for the sum.

    vendor, model: as in `Service`; the model may be the exact version that answered. counts: by unit; what is 0 may be
    left out. due: work is under way whose counts the vendor has yet to state. If no other usage of the model follows,
    the counts of the call are incomplete. temperature: that a judge was sent; None if it was left to the vendor.
    """

    vendor: str
    model: str
    counts: Mapping[Unit, float] = field(default_factory=dict)
    due: bool = False
    temperature: float | None = None

    def happening(self, tick: int) -> Happening:
        """The event of events.jsonl: a party returns it from `log`."""
        fields: dict[str, Any] = {"vendor": self.vendor, "model": self.model}
        fields.update({unit: self.counts[unit] for unit in UNITS if unit in self.counts})
        return Happening(tick, USAGE, fields | ({"due": True} if self.due else {}))

    @classmethod
    def from_json(cls, event: Mapping[str, Any]) -> Self:
        """The usage in an event of events.jsonl."""
        counts: dict[Unit, float] = {unit: event[unit] for unit in UNITS if unit in event}
        return cls(event["vendor"], event["model"], counts, event.get("due", False))


@dataclass(frozen=True, slots=True)
class ExpectedUse:
    """An estimate of what somebody would be asked for, and what that costs.

    name: of the transcriber, judge or annotator. what: it is asked for, in the singular ("question"). left: how many of
    these it has not answered yet, `of` all. counts: what it will count, by unit. usd: None if a price is not known; 0
    in one's own network. priced_on: the day of the oldest price.
    """

    name: str
    what: str
    left: int
    of: int
    counts: Mapping[Unit, float]
    usd: float | None
    priced_on: date | None = None
