"""What a measure is registered by: its id, its unit, which way is better, and all words with which it is shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from fdbcore.types import Side

Direction: TypeAlias = Literal["less", "more"]
QuantityKind: TypeAlias = Literal["values", "share", "ratio", "difference"]
Unit: TypeAlias = Literal["ms", "s", "share", "1/min", "s/min"]
MomentKind: TypeAlias = Literal["no_answer", "slow_answer", "cut_off", "false_cut_off", "talk_over", "lapse"]


@dataclass(frozen=True, slots=True)
class MeasureGroup:
    """Measures that stand in one table. about: what they have in common; it may name settings in braces."""

    title: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class ShownMoments:
    """The moments that raise, or lower, a measure: of these kinds, and of this side; None for either.

    A silence may be of several kinds: then only those count that last as long as the first kind says.
    """

    kinds: tuple[MomentKind, ...]
    side: Side | None


@dataclass(frozen=True, slots=True)
class KindOfMoment:
    """Moments of one kind, registered once; that they show a measure stands at the measure.

    title, meaning: of all of them. text: what one is called, with its length in seconds in braces. limit_ticks: how
    long each may last before it is worth hearing; None: as long as `lapse_ms`.
    """

    id: MomentKind
    title: str
    meaning: str
    text: str
    limit_ticks: int | None


@dataclass(frozen=True, slots=True)
class Column:
    """A column in tables of calls and systems.

    place: its order there. title: on a page. short, means: its title on a terminal, and what that stands for, "" where
    it needs no words. is_count: the number of items is shown, not their median.
    """

    place: int
    title: str
    short: str
    means: str = ""
    is_count: bool = False


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure, registered once: every table, gate, comparison, glossary and figure reads this entry.

    id: names what is counted and the denominator. quantity: what a session gives, or the difference of two shares of a
    whole run. unit: of its values. meaning: may name settings of the turn detector in braces. literature: its name
    there, "" for none. better: what a user of the system would rather have; None where that depends on what is wanted
    (overlap, backchannels, how much B talks), so that a difference is neither better nor worse. shown: the moments to
    listen to. headline: its name as short as a line needs it, for the measures that runs and groups are compared by;
    "" for all others. column: its place in the tables of calls. difference_of: the ids of the two shares.
    """

    id: str
    quantity: QuantityKind
    unit: Unit
    group: MeasureGroup
    label: str
    meaning: str
    literature: str = ""
    better: Direction | None = None
    shown: ShownMoments | None = None
    headline: str = ""
    column: Column | None = None
    difference_of: tuple[str, str] | None = None
