"""The result of a measure for one session: items that can be pooled over sessions, never a finished number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from fdbcore.measures.measure import Unit


@dataclass(frozen=True, slots=True)
class Values:
    """One value per item, such as the latency of each response. excluded: how many items are left out, by reason."""

    unit: Unit
    values: list[float]
    excluded: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Share:
    """`count` of `n` opportunities. excluded: how many are left out, by reason. chance: the share to expect if the two
    sides did not hear each other."""

    count: int
    n: int
    excluded: Mapping[str, int] = field(default_factory=dict)
    chance: float | None = None


@dataclass(frozen=True, slots=True)
class Ratio:
    """A total divided by an exposure, such as overlaps per minute of the other's speech. n: the events in the total."""

    unit: Unit
    total: float
    exposure: float
    n: int


Quantity: TypeAlias = Values | Share | Ratio

_KINDS: Final[Mapping[str, type[Quantity]]] = {"values": Values, "share": Share, "ratio": Ratio}
_NAMES: Final = {kind: name for name, kind in _KINDS.items()}


def to_json(quantity: Quantity) -> dict[str, Any]:
    """The quantity as JSON values; "kind" names its class."""
    values = {name: getattr(quantity, name) for name in quantity.__slots__}
    return {"kind": _NAMES[type(quantity)], **values}


def from_json(values: Mapping[str, Any]) -> Quantity:
    """The quantity that `to_json` wrote. Raises KeyError or TypeError for anything else."""
    return _KINDS[values["kind"]](**{name: value for name, value in values.items() if name != "kind"})
