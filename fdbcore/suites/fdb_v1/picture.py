"""The picture of one sample: both sides on one axis in seconds, with the labels over them; and its figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, cast

from fdbcore.report.format import NONE
from fdbcore.report.html.templates import render
from fdbcore.report.svg.text import drawing, number, xml
from fdbcore.suites.fdb_v1.judging import REASONS, TOLD
from fdbcore.suites.fdb_v1.measures import BY_ID
from fdbcore.types.scorecard import ScoredCase

if TYPE_CHECKING:
    from fdbcore.suites.fdb_v1.document_types import V1Item

WIDTH: Final = 640.0
LEFT: Final = 56.0
RIGHT: Final = 8.0
TOP: Final = 18.0
ROW: Final = 26.0
BAR: Final = 16.0
STEPS_S: Final = (0.5, 1, 2, 5, 10, 20, 30, 60)
MOST_STEPS: Final = 12
COLUMNS: Final = ("figure", "value")


def picture(case: ScoredCase) -> str:
    """The drawing, and a table of the sample's figures, as HTML."""
    item = cast("V1Item", case.item)
    rows = [(BY_ID[name].label, [_value(name, items)]) for name, items in item["figures"].items() if name in BY_ID]
    marks = item["marks"] or {}
    facts = [(TOLD[name], f"{marks[name]}: {marks[REASONS[name]]}") for name in TOLD if name in marks]
    facts += [("system's words", item["words"])] if item["words"] else []
    return render("sample.html", __package__, drawing=_drawing(item), rows=rows, facts=facts, columns=COLUMNS)


def _value(name: str, items: Sequence[float]) -> str:
    measure = BY_ID[name]
    if not items:
        return NONE
    mean = f"{sum(items) / len(items):.{measure.decimals}f} {measure.unit}".strip()
    return mean if len(items) == 1 else f"{mean} (mean of {len(items)})"


def _drawing(item: V1Item) -> str:
    length_s = max(item["length_s"], 0.1)
    height = TOP + 2 * ROW + 22

    def x(time_s: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * min(time_s, length_s) / length_s

    parts = [
        _rect("label", x(start_s), 4, max(x(end_s) - x(start_s), 2), height - 26) for start_s, end_s in item["labels"]
    ]
    for number_, (name, css, spans) in enumerate(
        (("user", "user", item["user"]), ("system", "system", item["system_speech"]))
    ):
        y = TOP + number_ * ROW
        parts.append(f'<text x="{number(LEFT - 6)}" y="{number(y + 12)}" class="end">{xml(name)}</text>')
        parts += [_rect(css, x(start_s), y, max(x(end_s) - x(start_s), 1), BAR) for start_s, end_s in spans]
    parts += _axis(length_s, x(0.0), x(length_s), TOP + 2 * ROW)
    labelled = ", ".join(f"{start_s:.2f} to {end_s:.2f} s" for start_s, end_s in item["labels"]) or "none"
    told = f"{item['condition']}: the user and {item['system']} over {length_s:.1f} s; labels: {labelled}"
    return drawing("".join(parts), WIDTH, height, told, "sample")


def _axis(length_s: float, first: float, last: float, y: float) -> Iterator[str]:
    step = next((step for step in STEPS_S if length_s / step <= MOST_STEPS), STEPS_S[-1])
    yield f'<path class="axis" d="M{number(first)} {number(y)}H{number(last)}"/>'
    for count in range(int(length_s / step) + 1):
        x = first + (last - first) * count * step / length_s
        yield f'<path class="axis" d="M{number(x)} {number(y)}v4"/>'
        unit = " s" if not count else ""
        yield f'<text x="{number(x)}" y="{number(y + 16)}" class="middle">{count * step:g}{unit}</text>'


def _rect(css: str, x: float, y: float, width: float, height: float) -> str:
    size = f'width="{number(width)}" height="{number(height)}"'
    return f'<rect class="{css}" x="{number(x)}" y="{number(y)}" {size}/>'
