"""What a measure returns for one session: items that can be pooled over sessions, never a finished number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from fdbcore.measures.measure import Unit


@dataclass(frozen=True, slots=True)
class Values:
    """One value an item, e.g. a latency a response; its median is the headline. `excluded`: reason -> items."""

    unit: Unit
    values: list[float]
    excluded: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Share:
    """So many of n opportunities. `chance`: the share expected if the two sides had nothing to do with each other."""

    count: int
    n: int
    excluded: Mapping[str, int] = field(default_factory=dict)
    chance: float | None = None


@dataclass(frozen=True, slots=True)
class Ratio:
    """A total over an exposure, e.g. overlaps a minute of the other's speech. `n` counts the events in the total."""

    unit: Unit
    total: float
    exposure: float
    n: int


Quantity: TypeAlias = Values | Share | Ratio

_KINDS: Final[Mapping[str, type[Quantity]]] = {"values": Values, "share": Share, "ratio": Ratio}
_NAMES: Final = {kind: name for name, kind in _KINDS.items()}


def to_json(quantity: Quantity) -> dict[str, Any]:
    """The quantity as JSON values, its class as "kind"."""
    values = {name: getattr(quantity, name) for name in quantity.__slots__}
    return {"kind": _NAMES[type(quantity)], **values}


def from_json(values: Mapping[str, Any]) -> Quantity:
    """The quantity that `to_json` wrote; KeyError or TypeError for anything else."""
    return _KINDS[values["kind"]](**{name: value for name, value in values.items() if name != "kind"})
