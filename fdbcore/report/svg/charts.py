"""Small charts as SVG: they need no script, use the colours of the page, and show each figure in a tooltip."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from fdbcore.report.svg.forest import axis_limits, axis_ticks
from fdbcore.report.svg.text import width_em, xml

WIDTH, HEIGHT = 360, 190
LEFT, RIGHT, TOP, BOTTOM = 40, 346, 12, 150
_PLOT: Final = RIGHT - LEFT

INSET = 18
FONT_SIZE = 11.5
LABEL_GAP = 6


@dataclass(frozen=True, slots=True)
class Axis:
    """A horizontal axis from `low` to `high` in bins of `width`; the outermost bins also count values beyond.

    ticks: the values that are labelled. unit: of the values. label: the text below the axis.
    """

    low: float
    high: float
    width: float
    ticks: Sequence[float]
    label: str
    unit: str = "s"

    @property
    def edges(self) -> npt.NDArray[np.float64]:
        """The edges of the bins."""
        return np.linspace(self.low, self.high, round((self.high - self.low) / self.width) + 1)

    def x(self, value: float) -> float:
        """The x coordinate of a value."""
        return LEFT + _PLOT * (value - self.low) / (self.high - self.low)

    def counts(self, values: Sequence[float]) -> list[int]:
        """Counts of values in each bin; a value on an edge is in the bin above it."""
        bins = np.floor((np.array(values, dtype=np.float64) - self.low) / self.width + 1e-9).astype(np.int64)
        counts: list[int] = np.bincount(np.clip(bins, 0, len(self.edges) - 2), minlength=len(self.edges) - 1).tolist()
        return counts

    def bin_text(self, number: int) -> str:
        """The range of a bin in words: "0.2 to 0.4 s", "less than -2 s"."""
        edges = self.edges
        low, high = edges[number], edges[number + 1]
        if number == 0 and self.low != 0:
            return f"less than {high:g} {self.unit}"
        if number == len(edges) - 2:
            return f"{low:g} {self.unit} or more"
        return f"{low:.3g} to {high:.3g} {self.unit}"


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart with its title and a note. svg: empty if there is nothing to show."""

    title: str
    note: str
    svg: str = ""


def histogram(title: str, note: str, axis: Axis, series: Mapping[str, Sequence[float]]) -> Chart:
    """A histogram. series: values by name; the first is drawn as bars, a second one as an outline over them.

    Names are "A", "B" or "", and set the colour. Heights are shares of the series' own values, so that series of
    different sizes can be compared.
    """
    shares = {
        name: [count / len(values) for count in axis.counts(values)] for name, values in series.items() if len(values)
    }
    if not shares:
        return Chart(title, note)
    highest = max(max(share) for share in shares.values())
    parts = [_frame(axis, highest, title)]
    for number, (name, share) in enumerate(shares.items()):
        draw = _bars if number == 0 else _outline
        parts.append(draw(axis, share, highest, name, axis.counts(series[name])))
    alone = len(shares) == 1
    counted = ", ".join(f"{len(series[name]):,}{'' if alone else f' ({name})'}" for name in shares)
    return Chart(title, f"{note} n\u00a0=\u00a0{counted}.", _svg(title, parts))


def curve(title: str, note: str, axis: Axis, values: Sequence[float], n: int) -> Chart:
    """A cumulative curve: the share of `n` opportunities that have a value of at most x."""
    if not n:
        return Chart(title, note)
    ordered = np.sort(np.array(values, dtype=np.float64))
    edges = axis.edges
    reached = np.searchsorted(ordered, edges + 1e-9, side="right")
    points = [f"{axis.x(x):.1f},{_y(count / n, 1.0):.1f}" for x, count in zip(edges, reached, strict=True)]
    area = f"M{LEFT},{BOTTOM} L{' L'.join(points)} L{RIGHT},{BOTTOM} Z"
    last = reached[-1] / n
    parts = [
        _frame(axis, 1.0, title),
        f'<path class="area b" d="{area}"/><path class="line b" d="M{" L".join(points)}"/>',
    ]
    parts += [
        f'<rect class="hit" x="{axis.x(x):.1f}" y="{TOP}" width="{_PLOT / len(edges):.1f}" height="{BOTTOM - TOP}">'
        f"<title>within {x:.3g} {axis.unit}: {count:,} of {n:,} ({100 * count / n:.1f} %)</title></rect>"
        for x, count in zip(edges, reached.tolist(), strict=True)
    ]
    anchor = TOP + 14 if last > 0.85 else _y(last, 1.0) - 5
    if last <= 0.85:
        parts.append(f'<text class="told" x="{RIGHT}" y="{anchor:.1f}" text-anchor="end">{100 * last:.0f} %</text>')
    return Chart(title, f"{note} n\u00a0=\u00a0{n:,}.", _svg(title, parts))


@dataclass(frozen=True, slots=True)
class Point:
    """A point on a plane. values, shares: the intervals of its value and of its share, None without an interval.

    note: added to the figures in its tooltip.
    """

    name: str
    value: float
    share: float
    note: str
    values: tuple[float, float] | None = None
    shares: tuple[float, float] | None = None


def plane(title: str, note: str, axis: Axis, points: Sequence[Point], is_curve: bool = False) -> Chart:
    """Points on a plane, each with its name and a cross of its intervals. The axis is widened to hold all of them.

    is_curve: join each point with the next.
    """
    reached = [x for point in points for x in (point.value, *(point.values or ()))]
    low, high = min(axis.low, *reached), max(axis.high, *reached)
    axis = replace(axis, low=low, high=high, ticks=[tick for tick in axis.ticks if low <= tick <= high])
    highest = max(0.05, *(share for point in points for share in (point.share, *(point.shares or ()))))
    parts = [_frame(axis, highest, title), *(_cross(axis, highest, point) for point in points)]
    if is_curve:
        places = " ".join(f"{axis.x(point.value):.1f},{_y(point.share, highest):.1f}" for point in points)
        parts.insert(1, f'<polyline class="line a" points="{places}"/>')
    return Chart(title, note, _svg(title, parts))


def _cross(axis: Axis, highest: float, point: Point) -> str:
    x, y = axis.x(point.value), _y(point.share, highest)
    parts = []
    if point.values:
        left, right = (axis.x(value) for value in point.values)
        parts.append(f'<line class="line b" x1="{left:.1f}" x2="{right:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>')
    if point.shares:
        bottom, top = (_y(share, highest) for share in point.shares)
        parts.append(f'<line class="line b" x1="{x:.1f}" x2="{x:.1f}" y1="{bottom:.1f}" y2="{top:.1f}"/>')
    figures = f"{100 * point.share:.1f} %, {point.value:.2f} {axis.unit}; {point.note}"
    tooltip = f"{point.name}: {figures}" if point.name else figures
    is_left = x < (LEFT + RIGHT) / 2
    anchor = f'x="{x + 6 if is_left else x - 6:.1f}" text-anchor="{"start" if is_left else "end"}"'
    name_y = y - 6
    if point.shares and not point.values:  # on a curve it has neighbours on both sides
        anchor, name_y = f'x="{x:.1f}" text-anchor="middle"', top - 6
    parts.append(f'<circle class="bar b" cx="{x:.1f}" cy="{y:.1f}" r="4"><title>{xml(tooltip)}</title></circle>')
    parts.append(f'<text {anchor} y="{name_y:.1f}">{xml(point.name)}</text>')
    return "".join(parts)


def _y(share: float, highest: float) -> float:
    return BOTTOM - (BOTTOM - TOP) * share / highest


def _bars(axis: Axis, shares: Sequence[float], highest: float, name: str, counts: Sequence[int]) -> str:
    parts, edges = [], axis.edges
    for number, (share, count) in enumerate(zip(shares, counts, strict=True)):
        x, right, y = axis.x(edges[number]), axis.x(edges[number + 1]), _y(share, highest)
        tooltip = f"{name + ': ' if name else ''}{axis.bin_text(number)}: {count:,} ({100 * share:.1f} %)"
        parts.append(
            f'<g><rect class="bar {name.lower() or "both"}" x="{x + 0.5:.1f}" y="{y:.1f}" '
            f'width="{max(right - x - 1, 0.5):.1f}" height="{BOTTOM - y:.1f}"/>'
            f'<rect class="hit" x="{x:.1f}" y="{TOP}" width="{right - x:.1f}" height="{BOTTOM - TOP}">'
            f"<title>{xml(tooltip)}</title></rect></g>"
        )
    return "".join(parts)


def _outline(axis: Axis, shares: Sequence[float], highest: float, name: str, counts: Sequence[int]) -> str:
    edges = axis.edges
    corners = [f"{axis.x(edges[0]):.1f},{BOTTOM}"]
    for number, share in enumerate(shares):
        y = _y(share, highest)
        corners += [f"{axis.x(edges[number]):.1f},{y:.1f}", f"{axis.x(edges[number + 1]):.1f},{y:.1f}"]
    corners.append(f"{axis.x(edges[-1]):.1f},{BOTTOM}")
    return f'<polyline class="line {name.lower()}" points="{" ".join(corners)}"/>'


def _frame(axis: Axis, highest: float, title: str) -> str:
    """The title, grid and labels of a chart."""
    parts = [f"<title>{xml(title)}</title>"]
    for share in _rounded_steps(highest):
        parts += _grid_line(_y(share, highest), f"{100 * share:g} %")
    for tick in axis.ticks:
        x = axis.x(tick)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{BOTTOM}" y2="{BOTTOM + 4}"/>')
        parts.append(f'<text x="{x:.1f}" y="{BOTTOM + 17}" text-anchor="middle">{tick:g}</text>')
    if axis.low < 0 < axis.high:
        parts.append(f'<line class="zero" x1="{axis.x(0):.1f}" x2="{axis.x(0):.1f}" y1="{TOP}" y2="{BOTTOM}"/>')
    parts.append(f'<text x="{(LEFT + RIGHT) / 2}" y="{HEIGHT - 6}" text-anchor="middle">{xml(axis.label)}</text>')
    return "".join(parts)


def _grid_line(y: float, text: str) -> list[str]:
    """A horizontal line with its label."""
    return [
        f'<line class="grid" x1="{LEFT}" x2="{RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>',
        f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{text}</text>',
    ]


def _rounded_steps(highest: float) -> list[float]:
    """Two to five shares to label on the vertical axis, from 0."""
    step = next(
        step for step in (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5) if highest / step <= 4.01 or step == 0.5
    )
    return [number * step for number in range(int(highest / step + 1e-9) + 1)]


def _svg(title: str, parts: Sequence[str]) -> str:
    label = f'role="img" aria-label="{xml(title)}"'
    return f'<svg class="chart-svg" viewBox="0 0 {WIDTH} {HEIGHT}" {label}>{"".join(parts)}</svg>'


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """A point of a trend. at: its place on the horizontal axis. value, interval: in the unit of the axis, None if they
    do not exist. below: a second line below its name, such as its number of calls. told: what its tooltip says."""

    name: str
    at: float
    value: float | None
    interval: tuple[float, float] | None
    below: str
    told: str


def trend(title: str, note: str, points: Sequence[TrendPoint], bounds: tuple[float, float] | None = None) -> Chart:
    """The points from left to right by their places.

    note: says the unit of the axis. bounds: where the axis ends, and what is beyond is drawn; None for an axis that
    holds all values, and begins at 0 only if they are near 0.
    """
    reached = [value for point in points if point.value is not None for value in (point.value, *(point.interval or ()))]
    if not reached:
        return Chart(title, note)
    low, high = bounds or axis_limits(min(reached), max(reached))
    first, last = min(point.at for point in points), max(point.at for point in points)

    def x(point: TrendPoint) -> float:
        return LEFT + INSET + (RIGHT - LEFT - 2 * INSET) * (point.at - first) / ((last - first) or 1)

    def y(value: float) -> float:
        return _y(min(max(value, low), high) - low, high - low)

    parts = [f"<title>{xml(title)}</title>"]
    for per_cent, text in axis_ticks(low, high):
        parts += _grid_line(_y(float(per_cent), 100), text)
    drawn = [(x(point), y(point.value), point) for point in points if point.value is not None]
    parts += [
        f'<line class="line b" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'
        for (x1, y1, _), (x2, y2, _) in pairwise(drawn)
    ]
    for at, middle, point in drawn:
        if point.interval:
            bottom, top = map(y, point.interval)
            parts.append(f'<line class="whisker" x1="{at:.1f}" x2="{at:.1f}" y1="{bottom:.1f}" y2="{top:.1f}"/>')
        parts.append(f'<circle class="bar b" cx="{at:.1f}" cy="{middle:.1f}" r="4"/>')
        hit = f'x="{at - 9:.1f}" y="{TOP}" width="18" height="{BOTTOM - TOP}"'
        parts.append(f'<rect class="hit" {hit}><title>{xml(point.told)}</title></rect>')
    parts += _labels([(x(point), point) for point in points])
    return Chart(title, note, _svg(title, parts))


def _labels(placed: Sequence[tuple[float, TrendPoint]]) -> list[str]:
    """The names below the axis, as many as fit beside each other; always that of the last point."""
    parts: list[str] = []
    right = float("inf")
    for x, point in reversed(placed):
        half = FONT_SIZE * max(width_em(point.name), width_em(point.below)) / 2
        middle = min(max(x, half), WIDTH - half)
        if middle + half + LABEL_GAP > right:
            continue
        right = middle - half
        parts.append(f'<text x="{middle:.1f}" y="{BOTTOM + 17}" text-anchor="middle">{xml(point.name)}</text>')
        parts.append(f'<text x="{middle:.1f}" y="{BOTTOM + 31}" text-anchor="middle">{xml(point.below)}</text>')
    return parts
