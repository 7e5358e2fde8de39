"""The registry entry of a measure: its id, its unit, which direction is better, and the words that describe it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from fdbcore.types import Side
from fdbcore.types.scorecard import Measure, Pooling

Direction: TypeAlias = Literal["less", "more"]
QuantityKind: TypeAlias = Literal["values", "share", "ratio", "difference"]
Unit: TypeAlias = Literal["ms", "s", "share", "1/min", "s/min"]
Where: TypeAlias = Literal["call", "run", "note", "call tile", "run tile", "call lead", "run lead", "curve"]
Edge: TypeAlias = tuple[Side, Literal["start_ms", "end_ms", "turn_start_ms", "turn_end_ms"]]
_QUANTITIES: Final[Mapping[Pooling, QuantityKind]] = {
    "median": "values", "share": "share", "rate": "ratio", "difference": "difference",
}  # fmt: skip
_BETTER: Final[Mapping[int, Direction | None]] = {-1: "less", 0: None, 1: "more"}
MomentKind: TypeAlias = Literal["no_answer", "slow_answer", "cut_off", "false_cut_off", "talk_over", "lapse"]


@dataclass(frozen=True, slots=True)
class MeasureGroup:
    """A group of measures that share a table. about: what they have in common; may name settings in braces."""

    title: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class ShownMoments:
    """The moments that show a measure to a listener: their kinds, and their side (None: both).

    With several kinds, a moment must last as long as the limit of the first kind.
    """

    kinds: tuple[MomentKind, ...]
    side: Side | None


@dataclass(frozen=True, slots=True)
class KindOfMoment:
    """Moments of one kind, registered once; that they show a measure stands at the measure.

    title, meaning: of all of them. text: what one is called, with its length in seconds in braces. limit_ticks: how
    long each may last before it is worth hearing; None: as long as `lapse_ms`. worse: what several did that are longer
    than before. of_both: B may be to blame whoever began.
    """

    id: MomentKind
    title: str
    meaning: str
    text: str
    limit_ticks: int | None
    worse: str
    of_both: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """A column in tables of calls and systems.

    place: its order. is_count: the column shows the number of items, not their median.
    """

    place: int
    is_count: bool = False


@dataclass(frozen=True, slots=True)
class Spot:
    """A place where a measure is shown, and its words there.

    where: the terminal's screen of a call or a run, a note below several calls, the tiles of a page, or the sentence at
    its top. order: its order there. title: of the line or the tile that it is a part of. text: its pieces, between ~,
    with figures and settings in braces (`fdbcore.report.spots` has them); a piece is left out where a figure is not
    known. none: stands for the first piece then, unless the line already has a `none`. value: what a tile shows large.
    left_out: it is shown only if items are left out for this reason. gated: the tile shows the limits of gates about
    the measure. Brackets are links to the moments that count; with (all) behind, to all of a share.
    """

    where: Where
    order: int
    title: str
    text: str
    none: str = ""
    value: str = ""
    left_out: str = ""
    gated: bool = False


@dataclass(frozen=True, slots=True)
class Drawn:
    """A drawing of a measure over the calls of a run, in bins of `width` in the unit that is shown. of: its items, the
    figure of each call, or of all opportunities (those of its `missing`) the share with an item by then. ticks: labels
    of the axis, from end to end.
    """

    of: Literal["items", "calls", "opportunities"]
    title: str
    note: str
    width: float
    ticks: Sequence[float]


@dataclass(frozen=True, slots=True)
class ShippedLimit:
    """A limit that fdbcore ships for a measure. check: a gate without the id, such as ".p90 <= 3500". source: of it."""

    check: str
    source: str


class CallMeasure(Measure, frozen=True, kw_only=True):
    """A measure of a call, registered once: every screen, table, gate, comparison, glossary and figure reads it.

    id: names what is counted, and its denominator. label: its one short name, a term of the field, wherever people see
    it; `meaning` explains it. unit: of its values. pools: also tells
    which kind of quantity a session gives. direction: 0 also where it depends on the system what is better (overlap,
    backchannels, how much B talks). meaning: may name settings of the turn detector in braces. over: of a share, as a
    plural. literature: its source, or other names, in the literature. shown: the moments to
    listen to. column: its column in tables of calls. spots: where screens and pages show it; by
    default, with a column, a line and a tile of its own. drawn: over the calls of a run. limits: those that fdbcore
    ships. difference_of: the ids of two shares of a whole run. per: what a rate is a minute of. apart: the share that
    has the items which are left out of this one as no reaction. missing: the share of items that have no value, for
    what took longest is among them. axis: its own where systems are drawn as points. moved_by: how lines move it: from
    which edge to which it runs, the later one first, or as premature answers.
    """

    group: MeasureGroup
    literature: str = ""
    shown: ShownMoments | None = None
    column: Column | None = None
    spots: tuple[Spot, ...] = ()
    drawn: tuple[Drawn, ...] = ()
    limits: tuple[ShippedLimit, ...] = ()
    difference_of: tuple[str, str] | None = None
    per: str = ""
    apart: str = ""
    missing: str = ""
    axis: Literal["", "x", "x without labels", "y"] = ""
    moved_by: tuple[Edge, Edge] | Literal["premature_points"] | None = None

    @property
    def quantity(self) -> QuantityKind:
        """The kind of quantity that a session gives, or "difference"."""
        return _QUANTITIES[self.pools]

    @property
    def better(self) -> Direction | None:
        """The direction that users of a system prefer, in words."""
        return _BETTER[self.direction]

    @property
    def shown_in(self) -> str:
        """The key by which `fdbcore.report.format` shows its values: its unit, and what it is a minute of."""
        return f"{self.unit} of {self.per}" if self.per else self.unit
