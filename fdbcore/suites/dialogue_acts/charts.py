"""Drawings of many items: systems with their intervals, what a distance is made of, and which act became which."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from fdbcore.report.svg.text import number, width_em, xml
from fdbcore.suites.dialogue_acts.svg import SHORT_NAMES, drawing
from fdbcore.suites.dialogue_acts.words import PARTS, mean

Row = Mapping[str, Any]

STRIP_WIDTH, STRIP_HEIGHT = 240, 22
CELL_WIDTH, CELL_HEIGHT, MATRIX_LEFT, MATRIX_TOP = 47, 30, 116, 44
NAME_WIDTH, PANEL_WIDTH, PANEL_GAP, ROW_HEIGHT, SYSTEMS_TOP = 196, 190, 62, 26, 46
NAME_PX: Final = 13


def strip(
    measures: Mapping[str, Mapping[str, Any]], marks: Mapping[str, float] | None = None, most: float = 1.0
) -> str:
    """The distance (WED) as one bar of what is missing, redundant and swapped, on a scale from 0 to `most`.

    marks: name and distance of what it is to be seen against; each is an upright line.
    """
    unit = (STRIP_WIDTH - 2) / most
    x, parts = 1.0, [f'<path class="axis" d="M1 {STRIP_HEIGHT - 5}H{STRIP_WIDTH - 1}"/>']
    for name, word in PARTS.items():
        width = measures[name]["mean"] * unit
        if width > 0:
            parts.append(
                f'<rect class="part {word}" x="{number(x)}" y="5" '
                f'width="{number(width)}" height="{STRIP_HEIGHT - 10}"/>'
            )
            x += width
    for name, value in (marks or {}).items():
        css = "ceiling" if name == "ceiling" else "baseline"
        parts.append(
            f'<path class="mark {css}" d="M{number(1 + value * unit)} 0V{STRIP_HEIGHT}">'
            f"<title>{xml(name)} {mean(value)}</title></path>"
        )
    made = ", ".join(f"{mean(measures[name]['mean'])} {word}" for name, word in PARTS.items())
    return drawing("".join(parts), STRIP_WIDTH, STRIP_HEIGHT, f"WED {mean(measures['wed']['mean'])}: {made}", "strip")


def matrix(diagnosis: Mapping[str, Any]) -> str:
    """Act by act: rows are what the reference has, columns what the reply has in its place, figures are weights."""
    acts: Sequence[str] = diagnosis["acts"]
    values: Sequence[Sequence[float]] = diagnosis["matrix"]
    top = max((value for row in values for value in row), default=0.0)
    parts = _matrix_heads(acts)
    for i, row in enumerate(values):
        y = MATRIX_TOP + i * CELL_HEIGHT
        parts.append(f'<text class="end" x="{MATRIX_LEFT - 8}" y="{y + 20}">{_head(acts[i], "redundant")}</text>')
        for j, value in enumerate(row):
            parts.append(_cell(acts[i], acts[j], value, top, MATRIX_LEFT + j * CELL_WIDTH, y))
    width, height = MATRIX_LEFT + len(acts) * CELL_WIDTH, MATRIX_TOP + len(acts) * CELL_HEIGHT
    about = f"Acts of the reference against acts of {diagnosis['system']}"
    return drawing("".join(parts), width + 2, height + 2, about, "matrix")


def _matrix_heads(acts: Sequence[str]) -> list[str]:
    middle = MATRIX_LEFT + len(acts) * CELL_WIDTH / 2
    return [
        f'<text class="caption middle" x="{number(middle)}" y="14">the reply has</text>',
        f'<text class="caption end" x="{MATRIX_LEFT - 8}" y="{MATRIX_TOP - 10}">the reference has</text>',
        *(
            f'<text class="middle small" x="{number(MATRIX_LEFT + (j + 0.5) * CELL_WIDTH)}" y="{MATRIX_TOP - 10}">'
            f"{_head(SHORT_NAMES.get(act, act), 'missing')}</text>"
            for j, act in enumerate(acts)
        ),
    ]


def _head(act: str, none: str) -> str:
    return none if act == "none" else xml(act)


def _cell(reference: str, reply: str, value: float, top: float, x: float, y: float) -> str:
    if reference == reply == "none":
        return ""
    share = value / top if top else 0.0
    css = "cell same" if reference == reply else "cell"
    size = f'width="{CELL_WIDTH - 2}" height="{CELL_HEIGHT - 2}"'
    text = f'<text class="middle small" x="{x + CELL_WIDTH / 2:g}" y="{y + 20}">{mean(value)}</text>' if value else ""
    return (
        f"<g><title>{xml(reference)} in the reference, {xml(reply)} in the reply: {mean(value)}</title>"
        f'<rect class="{css}" x="{x + 1}" y="{y + 1}" {size} fill-opacity="{0.04 + 0.7 * share:.3f}"/>'
        + (f'<rect class="frame" x="{x + 1}" y="{y + 1}" {size}/>' if reference == reply else "")
        + f"{text}</g>"
    )


def systems(rows: Iterable[Row], caption: str) -> str:
    """WED and weighted LCS of each row with their 95 % intervals, on lines of their own."""
    listed = list(rows)
    height = SYSTEMS_TOP + len(listed) * ROW_HEIGHT + 30
    most = max([1.0, *(_high(row, "wed") for row in listed)])
    starts = NAME_WIDTH, NAME_WIDTH + PANEL_WIDTH + PANEL_GAP
    parts = [_name(row, SYSTEMS_TOP + (index + 0.65) * ROW_HEIGHT) for index, row in enumerate(listed)]
    counts = [row["n"] for row in listed]
    n = f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
    parts.append(f'<text class="caption" x="4" y="22">n = {n}</text>')
    parts += _panel(listed, "wed", "WED, lower is better", starts[0], most)
    parts += _panel(listed, "wlcs", "weighted LCS, higher is better", starts[1], 1.0)
    return drawing("".join(parts), starts[1] + PANEL_WIDTH + PANEL_GAP - 8, height, caption, "systems")


def _name(row: Row, y: float) -> str:
    name, room = row["system"], (NAME_WIDTH - 20) / NAME_PX
    while width_em(name) > room:
        name = name[:-2] + "…"
    css = "name" if row["kind"] == "system" else "muted"
    return f'<text class="{css}" x="4" y="{number(y)}">{xml(name)}</text>'


def _panel(rows: Sequence[Row], measure: str, title: str, left: float, most: float) -> list[str]:
    bottom = SYSTEMS_TOP + len(rows) * ROW_HEIGHT

    def at(value: float) -> float:
        return left + PANEL_WIDTH * max(0.0, min(value, most)) / most

    parts = [f'<text class="caption" x="{left}" y="22">{title}</text>']
    for tick in range(math.floor(most / 0.5) + 1):
        x = number(at(tick / 2))
        parts.append(f'<path class="rule" d="M{x} {SYSTEMS_TOP - 8}V{bottom}"/>')
        parts.append(f'<text class="muted middle" x="{x}" y="{bottom + 16}">{tick / 2:.1f}</text>')
    ceiling = next((row for row in rows if row["kind"] == "ceiling" and row["measures"][measure]), None)
    if ceiling:
        x = number(at(ceiling["measures"][measure]["mean"]))
        parts.append(f'<path class="guide" d="M{x} {SYSTEMS_TOP - 8}V{bottom}"/>')
    for index, row in enumerate(rows):
        parts.append(_mark(row, measure, at, SYSTEMS_TOP + (index + 0.5) * ROW_HEIGHT, left + PANEL_WIDTH + 8))
    return parts


def _mark(row: Row, measure: str, at: Callable[[float], float], y: float, end: float) -> str:
    summary = row["measures"][measure]
    x = at(summary["mean"])
    css, interval = row["kind"], ""
    if summary["ci95"]:
        low, high = (number(at(limit)) for limit in summary["ci95"])
        interval = f'<path class="interval {css}" d="M{low} {number(y)}H{high}"/>'
    shapes = {
        "system": f'<circle class="system" cx="{number(x)}" cy="{number(y)}" r="4.5"/>',
        "ceiling": f'<path class="ceiling" d="M{number(x)} {number(y - 6)}l6 6l-6 6l-6 -6Z"/>',
        "baseline": f'<rect class="baseline" x="{number(x - 3.5)}" y="{number(y - 3.5)}" width="7" height="7"/>',
    }
    text = f'<text class="weight" x="{number(end)}" y="{number(y + 4)}">{mean(summary["mean"])}</text>'
    return f"<g>{interval}{shapes[css]}{text}</g>"


def _high(row: Row, measure: str) -> float:
    summary = row["measures"][measure]
    return float(max([summary["mean"], *(summary["ci95"] or ())]))
