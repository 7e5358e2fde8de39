"""Screens and tiles, from the words at the definitions of measures (`fdbcore.measures.measure.Spot`)."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from string import Formatter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from fdbcore.measures.catalogue import MEASURES, spots
from fdbcore.measures.measure import Spot, Where
from fdbcore.report.format import ITEMS_FOR_P90, NONE, amount, by_chance, counted, headline, limits, with_interval
from fdbcore.report.glossary import settings_in_words
from fdbcore.report.html.values import ALL, NO_LINKS, KeyFigure, Links
from fdbcore.types import TurnSettings

if TYPE_CHECKING:
    from fdbcore.analysis.summaries import Measures

_LINK: Final = re.compile(r"\[(.+?)\](?:\((\w+)\))?")
_TIMES: Final = ("never", "once", "twice")


class SpotText(NamedTuple):
    """A spot with the pieces of its text; None where a figure is not known."""

    name: str
    spot: Spot
    pieces: Sequence[str | None]


class Tile(NamedTuple):
    """A tile, and the measures whose gates it shows."""

    figure: KeyFigure
    gated: Sequence[str]


class Spots:
    """The measures of a call or of a run in words. known: what these know of a measure beside its summary."""

    def __init__(
        self,
        measures: "Measures",
        settings: TurnSettings | None = None,
        known: Callable[[str], Mapping[str, str]] = lambda _: {},
        link: Links = NO_LINKS,
    ) -> None:
        self._measures, self._known, self._link = measures, known, link
        self._settings = settings_in_words(settings) if settings else {}
        self._figures: dict[str, Mapping[str, Any]] = {}

    def lines(self, where: Where) -> dict[str, str]:
        """The lines of a place by their titles, without empty ones."""
        lines = {title: "".join(self._texts(parts)).removeprefix(" | ") for title, parts in self._parts(where)}
        return {title: text for title, text in lines.items() if text}

    def tiles(self, where: Where) -> Iterator[Tile]:
        """The tiles of a place. Intervals are of what a run shows large."""
        for title, parts in self._parts(where):
            name, first, pieces = parts[0]
            values = [self._filled(part.name, part.spot.value) for part in parts if part.spot.value]
            large = [value for value in values if value is not None]
            value = NONE if pieces[0] is None or not large else large[0] if len(large) == 1 else (large[0], large[1])
            with_limits = where == "run tile" and first.value in ("{mean}", "{median}")
            interval = limits(self._measures[name]["ci95"], MEASURES[name].shown_in) if with_limits else ""
            gated = [part.name for part in parts if part.spot.gated]
            yield Tile(KeyFigure(title, value, "".join(self._texts(parts)), interval), gated)

    def _parts(self, where: Where) -> Iterator[tuple[str, list[SpotText]]]:
        for title, found in spots(where).items():
            own = [(name, spot) for name, spot in found if name in self._measures]
            parts = [SpotText(name, spot, self._pieces(name, spot)) for name, spot in own if self._stands(name, spot)]
            if parts:
                yield title, parts

    def _stands(self, name: str, spot: Spot) -> bool:
        return not spot.left_out or spot.left_out in self._measures[name]["excluded"]

    def _pieces(self, name: str, spot: Spot) -> list[str | None]:
        first, *others = (self._filled(name, piece) for piece in spot.text.split("~"))
        return [None if self._filled(name, spot.value) is None else first, *others]

    def _texts(self, parts: Sequence[SpotText]) -> Iterator[str]:
        for number, (name, spot, pieces) in enumerate(parts):
            if pieces[0] is None and (number == 0 or parts[0].pieces[0] is not None):
                yield self._filled(name, spot.none) or ""
            yield from filter(None, pieces)

    def _filled(self, name: str, text: str) -> str | None:
        """A text with its figures and links; None if a figure is not known."""
        if name not in self._figures:
            self._figures[name] = {**self._settings, **self._known(name), **self._of(name)}
        figures = self._figures[name]
        if any(field and figures[field] is None for _, field, _, _ in Formatter().parse(text)):
            return None
        addresses = {"": name, "all": f"{name}{ALL}"}
        linked = _LINK.sub(
            lambda found: self._link(found[1].format_map(figures), addresses.get(found[2] or "", found[2])), text
        )
        return linked.format_map(figures)

    def _of(self, name: str) -> dict[str, Any]:
        """The figures of a measure; None where one is not known, or says nothing of so few items."""
        summary: Any = self._measures[name]
        measure = MEASURES[name]
        n, count, chance = summary["n"], summary.get("count"), summary.get("by_chance")
        keys = ("median", "p90", "p95", "max", "mean")
        shown = {key: amount(value, measure.shown_in) for key in keys if (value := summary.get(key)) is not None}
        is_empty = headline(summary) is None
        onsets = n + (self._measures[measure.apart].get("count", 0) if measure.apart in self._measures else 0)
        return {
            **{key: shown.get(key) for key in keys},
            "mean": shown.get("mean", NONE if measure.quantity == "ratio" else None),
            "p90_of_many": shown.get("p90") if n >= ITEMS_FOR_P90 else None,
            "max_of_few": shown.get("max") if 1 < n < ITEMS_FOR_P90 else None,
            "only": shown.get("median") if n == 1 else None,
            "if_any": "" if n else None,
            "if_several": "" if n > 1 else None,
            "n": n,
            "items": n or None,
            "n_times": _times(n),
            "counted": counted(n, re.sub("ies$", "y", measure.over.lower())) if n else None,
            "count": count if n else None,
            "some": (count or "none") if n else None,
            "times": count or None,
            "fraction": f"{count}/{n}" if n else None,
            "interval": None if is_empty else with_interval(summary, measure.shown_in),
            "by_chance": by_chance(summary),
            "chance": None if chance is None else amount(chance, measure.shown_in),
            "expected": None if chance is None or not n else f"{chance * n:.1f}",
            "simultaneous": summary["excluded"].get("simultaneous"),
            "onsets": onsets,
            "onsets_times": _times(onsets),
        }


def _times(n: int) -> str:
    return _TIMES[n] if n < len(_TIMES) else f"{n} times"
