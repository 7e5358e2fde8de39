"""A figure over dates, versions or runs: points with their intervals, joined by a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from fdbcore.report.svg.charts import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Chart
from fdbcore.report.svg.forest import axis_limits, axis_ticks
from fdbcore.report.svg.text import width_em, xml

INSET = 18
FONT_SIZE = 11.5
LABEL_GAP = 6


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
        return BOTTOM - (BOTTOM - TOP) * (min(max(value, low), high) - low) / (high - low)

    parts = [f"<title>{xml(title)}</title>"]
    for per_cent, text in axis_ticks(low, high):
        at = BOTTOM - (BOTTOM - TOP) * float(per_cent) / 100
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{text}</text>')
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
    label = f'role="img" aria-label="{xml(title)}"'
    svg = f'<svg class="chart-svg" viewBox="0 0 {WIDTH} {HEIGHT}" {label}>{"".join(parts)}</svg>'
    return Chart(title, note, svg)


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
