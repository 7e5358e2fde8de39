"""Who spoke when in one conversation: bars in lanes over one axis in seconds, in the look of `lanes.css`."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from fdbcore.report.svg.text import drawing, number, xml

WIDTH, LEFT, ROW, BAR = 760, 64, 22, 14
LEAST_BAR: Final = 3.0
STEPS_S: Final = (0.5, 1, 2, 5, 10, 20, 60, 300)
MOST_TICKS: Final = 12
TICK_ROOM: Final = 14
"""A label of the axis that is nearer to the right edge would be cut."""
CHARACTER: Final = 6.4
"""About the width of a character beside a bar."""


class Lane(NamedTuple):
    """A lane with bars of one class. spans_s: from start to end. text: beside the last of them."""

    name: str
    css: str
    spans_s: Sequence[tuple[float, float]]
    text: str = ""


def lanes(
    rows: Sequence[Lane],
    length_s: float,
    about: str,
    labels_s: Sequence[tuple[float, float]] = (),
    end_s: float | None = None,
) -> str:
    """The drawing in a frame that scrolls, as HTML. about: it in words. labels_s, end_s: marked across all lanes."""
    height = ROW * len(rows)

    def x(time_s: float) -> float:
        return LEFT + (WIDTH - LEFT) * min(max(time_s, 0.0), length_s) / length_s

    def bar(css: str, span_s: tuple[float, float], y: float, tall: float) -> str:
        left, right = map(x, span_s)
        size = f'width="{number(max(right - left, LEAST_BAR))}" height="{number(tall)}"'
        return f'<rect class="{css}" x="{number(left)}" y="{number(y)}" {size}/>'

    step_s = next((each for each in STEPS_S if length_s / each <= MOST_TICKS), STEPS_S[-1])
    parts = []
    for time_s in (count * step_s for count in range(int(length_s / step_s) + 1)):
        parts.append(f'<path class="grid" d="M{number(x(time_s))} 0V{height}"/>')
        if x(time_s) < WIDTH - TICK_ROOM:
            parts.append(f'<text class="tick" x="{number(x(time_s))}" y="{height + 15}">{time_s:g} s</text>')
    for y, lane in zip(range(0, height, ROW), rows, strict=True):
        parts.append(f'<text class="row" x="{LEFT - 8}" y="{y + 16}">{xml(lane.name)}</text>')
        parts += [bar(lane.css, span, y + (ROW - BAR) / 2, BAR) for span in lane.spans_s]
        if lane.text:
            left, right = map(x, lane.spans_s[-1])
            right = max(right, left + LEAST_BAR)
            css, at = ("name", right + 5) if right + len(lane.text) * CHARACTER < WIDTH else ("name before", left - 5)
            parts.append(f'<text class="{css}" x="{number(at)}" y="{y + 16}">{xml(lane.text)}</text>')
    parts += [bar("label", span, 0, height) for span in labels_s]
    if end_s is not None:
        parts.append(f'<path class="end" d="M{number(x(end_s))} 0V{height}"/>')
    drawn = drawing("".join(parts), WIDTH, height + ROW, about, "lanes")
    return f'<div class="lanes-frame" role="group" tabindex="0" aria-label="who spoke when">{drawn}</div>'
