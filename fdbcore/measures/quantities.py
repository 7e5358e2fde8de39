"""The result of a measure for one session: items that can be pooled over sessions, never a finished number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self, TypeAlias

from fdbcore.measures.measure import Unit
from fdbcore.types import Span


@dataclass(frozen=True, slots=True)
class Values:
    """One value per item, such as the latency of each response. excluded: how many items are left out, by reason.

    spans: where each item is, in the order of the values. A stored quantity does not keep its spans.
    """

    unit: Unit
    values: list[float]
    excluded: Mapping[str, int] = field(default_factory=dict)
    spans: Sequence[Span] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Share:
    """`count` of `n` opportunities. excluded: how many are left out, by reason. chance: the share to expect if the two
    sides did not hear each other.

    spans, others: where those that count are, and the others. A stored quantity does not keep them.
    """

    count: int
    n: int
    excluded: Mapping[str, int] = field(default_factory=dict)
    chance: float | None = None
    spans: Sequence[Span] = field(default=(), compare=False, repr=False)
    others: Sequence[Span] = field(default=(), compare=False, repr=False)

    @classmethod
    def of(
        cls,
        spans: Sequence[Span],
        others: Sequence[Span],
        excluded: Mapping[str, int] | None = None,
        chance: float | None = None,
    ) -> Self:
        """The share of `spans` among `spans` and `others`."""
        return cls(len(spans), len(spans) + len(others), excluded or {}, chance, spans, others)


@dataclass(frozen=True, slots=True)
class Ratio:
    """A total divided by an exposure, such as overlaps per minute of the other's speech. n: the events in the total.

    spans: where these events are. A stored quantity does not keep them.
    """

    unit: Unit
    total: float
    exposure: float
    n: int
    spans: Sequence[Span] = field(default=(), compare=False, repr=False)


Quantity: TypeAlias = Values | Share | Ratio

_KINDS: Final[Mapping[str, type[Quantity]]] = {"values": Values, "share": Share, "ratio": Ratio}
_NAMES: Final = {kind: name for name, kind in _KINDS.items()}
_PLACES: Final = ("spans", "others")


def to_json(quantity: Quantity) -> dict[str, Any]:
    """The quantity as JSON values, without spans; "kind" names its class."""
    values = {name: getattr(quantity, name) for name in quantity.__slots__ if name not in _PLACES}
    return {"kind": _NAMES[type(quantity)], **values}


def without_spans(quantity: Quantity) -> Quantity:
    """The quantity as it is stored: thousands of calls would need much memory for their spans."""
    return replace(quantity, spans=(), others=()) if isinstance(quantity, Share) else replace(quantity, spans=())


def from_json(values: Mapping[str, Any]) -> Quantity:
    """The quantity that `to_json` wrote. Raises KeyError or TypeError for anything else."""
    return _KINDS[values["kind"]](**{name: value for name, value in values.items() if name != "kind"})
