"""The result of a measure for one session: items that can be pooled over sessions, never a finished number."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self, TypeAlias

import msgspec

from fdbcore.measures.measure import Unit
from fdbcore.recording.form import converted
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
_MOST: Final = 7 * 24 * 3600 * 1000
"""No value is longer than the longest recording: a week, in ms."""


def items_of(quantity: Quantity) -> list[float]:
    """Its values: of a share 1 for each opportunity that counts and 0 for the others, of a ratio itself."""
    match quantity:
        case Values():
            return list(quantity.values)
        case Share():
            return [1.0] * quantity.count + [0.0] * (quantity.n - quantity.count)
        case Ratio():
            return [quantity.total / quantity.exposure] if quantity.exposure else []


def to_json(quantity: Quantity) -> dict[str, Any]:
    """The quantity as JSON values, without spans; "kind" names its class."""
    values = {name: getattr(quantity, name) for name in quantity.__slots__ if name not in _PLACES}
    return {"kind": _NAMES[type(quantity)], **values}


def without_spans(quantity: Quantity) -> Quantity:
    """The quantity as it is stored: thousands of calls would need much memory for their spans."""
    return replace(quantity, spans=(), others=()) if isinstance(quantity, Share) else replace(quantity, spans=())


def from_json(values: Mapping[str, Any]) -> Quantity:
    """The quantity that `to_json` wrote. Raises KeyError, TypeError or ValueError for anything else, such as a share
    of 5 in 3."""
    return all_from_json({"": values})[""]


def all_from_json(items: Mapping[str, Mapping[str, Any]]) -> dict[str, Quantity]:
    """The quantities that `to_json` wrote, by name. Raises as `from_json` does."""
    of_kind: dict[type[Quantity], dict[str, Any]] = {}
    for name, values in items.items():
        of_kind.setdefault(_KINDS[values["kind"]], {})[name] = values
    found: dict[str, Quantity] = {}
    try:
        for kind, of_one in of_kind.items():  # a hundred at once take a fifth of the time
            found |= converted(of_one, dict[str, kind])  # type: ignore[valid-type]
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None
    for quantity in found.values():
        if not _is_sound(quantity):
            raise ValueError(f"{quantity} cannot be")
    return {name: found[name] for name in items}


def _is_sound(quantity: Quantity) -> bool:
    if isinstance(quantity, Ratio):
        return 0 <= quantity.exposure <= _MOST and 0 <= quantity.n <= _MOST and abs(quantity.total) <= _MOST
    if not all(0 <= count <= _MOST for count in quantity.excluded.values()):
        return False
    if isinstance(quantity, Share):
        return 0 <= quantity.count <= quantity.n <= _MOST and 0 <= (quantity.chance or 0) <= 1
    return all(abs(value) <= _MOST for value in quantity.values)
