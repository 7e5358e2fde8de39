"""Drawings of a scorecard: systems side by side with their intervals, and the parts of a value."""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple

from fdbcore.report.html.templates import static
from fdbcore.report.scorecard.tables import value_text
from fdbcore.report.svg import text as svg
from fdbcore.report.svg.forest import axis_limits, axis_ticks
from fdbcore.report.svg.text import number, width_em, xml
from fdbcore.types.scorecard import Figure, Measure, Scorecard, ScoreRow

BAR_WIDTH, BAR_HEIGHT = 240, 22
NAME_WIDTH, PANEL_WIDTH, PANEL_GAP, ROW_HEIGHT, TOP = 196, 190, 62, 26, 46
PANELS: Final = 3
NAME_PX: Final = 13
PATTERNS: Final = 3
"""Ways in which the parts of a bar are filled; further parts begin anew."""
BETTER: Final = {-1: ", lower is better", 0: "", 1: ", higher is better"}
MARKS: Final = ("system", "ceiling")
"""Groups of rows with a mark of their own; all others share one."""

DEFINITIONS: Final = (
    '<pattern id="score-hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<path class="hatch" d="M0 0V6"/></pattern>'
    '<pattern id="score-dots" width="5" height="5" patternUnits="userSpaceOnUse">'
    '<circle class="dot" cx="2.5" cy="2.5" r="1"/></pattern>'
)
"""The patterns that bars refer to."""


class BarPart(NamedTuple):
    """A part of a bar: its name, and its length in the unit of the bar."""

    name: str
    value: float


def style() -> str:
    """The style sheet of the drawings in a page, for light and dark."""
    dark = f"@media screen and (prefers-color-scheme: dark) {{\n{static('scorecard-drawings-dark.css')}}}\n"
    return f"{static('scorecard-drawings.css')}\n{dark}"


def definitions() -> str:
    """The patterns that drawings refer to, once per page. They are not hidden: browsers would drop them."""
    return f'<svg class="score" width="0" height="0" aria-hidden="true"><defs>{DEFINITIONS}</defs></svg>'


def standalone(drawn: str) -> str:
    """A drawing as a file for a paper, on white."""
    return svg.standalone(drawn, static("scorecard-drawings.css"), DEFINITIONS)


def figures(card: Scorecard) -> dict[str, str]:
    """By name systems-N.svg, for each condition: its systems side by side, as a file for a paper."""
    found = {}
    for place, condition in enumerate(card.conditions, 1):
        rows = [row for row in card.rows if row.condition == condition and row.n != 0]
        if has_intervals(rows) and (drawn := chart(card.scales, rows, condition)):
            found[f"systems-{place}.svg"] = standalone(drawn)
    return found


def has_intervals(rows: Sequence[ScoreRow]) -> bool:
    """True if any of these rows has an interval to draw."""
    return any(figure.ci95 for row in rows for figure in row.measures.values())


def swatch(part: int) -> str:
    """The fill of the part with this number in bars, for a legend."""
    return svg.drawing(f'<rect class="part {_pattern(part)}" x="1" y="1" width="20" height="12"/>', 22, 14, "", "score")


def bar(
    whole: Measure, parts: Sequence[BarPart], most: float, marks: Mapping[str, tuple[str, float]] | None = None
) -> str:
    """A value as one bar of its parts, on a scale from 0 to `most`.

    marks: by name, the group and the value of rows to compare it with; each is an upright line.
    """
    unit = (BAR_WIDTH - 2) / most
    x, drawn = 1.0, [f'<path class="axis" d="M1 {BAR_HEIGHT - 5}H{BAR_WIDTH - 1}"/>']
    for index, part in enumerate(parts):
        width = part.value * unit
        if width > 0:
            size = f'width="{number(width)}" height="{BAR_HEIGHT - 10}"'
            drawn.append(f'<rect class="part {_pattern(index)}" x="{number(x)}" y="5" {size}/>')
            x += width
    for name, (group, value) in (marks or {}).items():
        drawn.append(
            f'<path class="mark {_mark_of(group)}" d="M{number(1 + value * unit)} 0V{BAR_HEIGHT}">'
            f"<title>{xml(name)} {value_text(value, whole)}</title></path>"
        )
    made = ", ".join(f"{value_text(part.value, whole)} {part.name}" for part in parts)
    total = value_text(sum(part.value for part in parts), whole)
    return svg.drawing("".join(drawn), BAR_WIDTH, BAR_HEIGHT, f"{whole.label} {total}: {made}", "score bar")


def _pattern(index: int) -> str:
    return f"p{index % PATTERNS + 1}"


def _mark_of(group: str) -> str:
    return group if group in MARKS else "other"


def chart(scales: Sequence[Measure], rows: Sequence[ScoreRow], description: str) -> str:
    """The main scales of all rows, with their intervals, each on an axis of its own, PANELS side by side.

    More of them would not fit a page at a size that people can read. "" if no main scale has a value.
    """
    main = [scale for scale in scales if scale.main and any(row.figure(scale).value is not None for row in rows)]
    if not main:
        return ""
    counts = [row.n for row in rows if row.n is not None]
    height, drawn = TOP + len(rows) * ROW_HEIGHT + 30, []
    names = "".join(_name(row, TOP + (index + 0.65) * ROW_HEIGHT) for index, row in enumerate(rows))
    if counts:
        n = f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
        names += f'<text class="caption" x="4" y="22">n = {n}</text>'
    strips = [main[first : first + PANELS] for first in range(0, len(main), PANELS)]
    for at_row, strip in enumerate(strips):
        panels = [_panel(scale, rows, NAME_WIDTH + at * (PANEL_WIDTH + PANEL_GAP)) for at, scale in enumerate(strip)]
        drawn.append(f'<g transform="translate(0 {at_row * height})">{names}{"".join(chain(*panels))}</g>')
    width = NAME_WIDTH + len(strips[0]) * (PANEL_WIDTH + PANEL_GAP)
    return svg.drawing("".join(drawn), width - 8, len(strips) * height, description, "score intervals")


def _name(row: ScoreRow, y: float) -> str:
    name, room = row.system, (NAME_WIDTH - 20) / NAME_PX
    while width_em(name) > room:
        name = name[:-2] + "…"
    css = "name" if row.group == "system" else "muted"
    return f'<text class="{css}" x="4" y="{number(y)}">{xml(name)}</text>'


def _panel(scale: Measure, rows: Sequence[ScoreRow], left: float) -> list[str]:
    figures = [row.figure(scale) for row in rows]
    reached = [value for one in figures for value in (one.value, *(one.ci95 or ())) if value is not None]
    low, high = scale.bounds or axis_limits(min(reached), max(reached))
    bottom = TOP + len(rows) * ROW_HEIGHT

    def at(value: float) -> float:
        return left + PANEL_WIDTH * (value - low) / (high - low)

    title = f"{scale.label} {scale.unit}".strip() + BETTER[scale.direction]
    drawn = [f'<text class="caption" x="{number(left)}" y="22">{xml(title)}</text>']
    for place, text in axis_ticks(low, high):
        x = number(left + PANEL_WIDTH * float(place) / 100)
        drawn.append(f'<path class="rule" d="M{x} {TOP - 8}V{bottom}"/>')
        drawn.append(f'<text class="muted middle" x="{x}" y="{bottom + 16}">{text}</text>')
    ceilings = [one.value for row, one in zip(rows, figures, strict=True) if row.group == "ceiling"]
    drawn += [
        f'<path class="guide" d="M{number(at(value))} {TOP - 8}V{bottom}"/>' for value in ceilings if value is not None
    ]
    for index, (row, one) in enumerate(zip(rows, figures, strict=True)):
        drawn.append(_mark(row, one, scale, at, TOP + (index + 0.5) * ROW_HEIGHT, left + PANEL_WIDTH + 8))
    return drawn


def _mark(row: ScoreRow, figure: Figure, scale: Measure, at: Callable[[float], float], y: float, end: float) -> str:
    text = f'<text class="weight" x="{number(end)}" y="{number(y + 4)}">{value_text(figure.value, scale)}</text>'
    if figure.value is None:
        return text
    x, css, interval = at(figure.value), _mark_of(row.group), ""
    if figure.ci95:
        low, high = (number(at(limit)) for limit in figure.ci95)
        interval = f'<path class="interval {css}" d="M{low} {number(y)}H{high}"/>'
    shapes = {
        "system": f'<circle class="system" cx="{number(x)}" cy="{number(y)}" r="4.5"/>',
        "ceiling": f'<path class="ceiling" d="M{number(x)} {number(y - 6)}l6 6l-6 6l-6 -6Z"/>',
        "other": f'<rect class="other" x="{number(x - 3.5)}" y="{number(y - 3.5)}" width="7" height="7"/>',
    }
    return f"<g>{interval}{shapes[css]}{text}</g>"
