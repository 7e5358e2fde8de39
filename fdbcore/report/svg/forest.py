"""A forest plot: figures with their intervals below each other on one axis, for any width."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fdbcore.report.svg.text import number

WIDTH, HEIGHT = 1000, 24
MOST_TICKS = 5
MARGIN = 0.04


@dataclass(frozen=True, slots=True)
class ForestRow:
    """A figure, its interval, its range over settings, and its value by chance, in the unit of the axis.

    They are None if they do not exist. figure, rest: texts beside the drawing.
    """

    name: str
    figure: str
    rest: str
    value: float | None
    interval: tuple[float, float] | None = None
    settings: tuple[float, float] | None = None
    by_chance: float | None = None

    @property
    def reached(self) -> list[float]:
        """All values that the axis must include."""
        single = [value for value in (self.value, self.by_chance) if value is not None]
        return [*single, *(self.interval or ()), *(self.settings or ())]


@dataclass(frozen=True, slots=True)
class Forest:
    """Rows, each with its drawing (SVG), and the ticks of the axis below them: position in per cent, and text."""

    rows: Sequence[tuple[ForestRow, str]]
    unit: str
    ticks: Sequence[tuple[str, str]]


def forest(rows: Sequence[ForestRow], unit: str) -> Forest:
    """The rows over a common axis, which begins at 0 only if the values are near 0. unit: of the axis.

    At least one row must have a value.
    """
    reached = [value for row in rows for value in row.reached]
    low, high = axis_limits(min(reached), max(reached))
    return Forest([(row, _strip(row, low, high)) for row in rows], unit, axis_ticks(low, high))


def axis_limits(least: float, most: float) -> tuple[float, float]:
    """Limits of an axis that holds all from `least` to `most`: it begins at 0 only if the figures are near to it."""
    if least == most == 0:
        return 0.0, 1.0
    margin = MARGIN * ((most - least) or abs(most) or 1.0)
    low = least - margin
    return (0.0 if 0 <= least < (most - least) or low < 0 <= least else low), most + margin


def _strip(row: ForestRow, low: float, high: float) -> str:
    def x(value: float) -> str:
        return number(WIDTH * (value - low) / (high - low))

    parts = []
    if row.settings:
        start, end = row.settings
        width = number(max(WIDTH * (end - start) / (high - low), 2))
        parts.append(f'<rect class="settings" x="{x(start)}" y="3" width="{width}" height="{HEIGHT - 6}"/>')
    if row.by_chance is not None:
        parts.append(f'<path class="chance" d="M{x(row.by_chance)} 1 V{HEIGHT - 1}"/>')
    if row.interval:
        parts.append(f'<path class="interval-line" d="M{x(row.interval[0])} {HEIGHT // 2} H{x(row.interval[1])}"/>')
    if row.value is not None:
        parts.append(f'<path class="value-mark" d="M{x(row.value)} 6 V{HEIGHT - 6}"/>')
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" aria-hidden="true">'
        f'<path class="grid" d="M0 {HEIGHT // 2} H{WIDTH}"/>{"".join(parts)}</svg>'
    )


def axis_ticks(low: float, high: float) -> list[tuple[str, str]]:
    """Round values for an axis from `low` to `high`, each with its position in per cent."""
    least = (high - low) / MOST_TICKS
    power = 10.0 ** math.floor(math.log10(least))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [
        (f"{100 * (n * step - low) / (high - low):.2f}", f"{n * step:.{decimals}f}") for n in range(first, last + 1)
    ]
