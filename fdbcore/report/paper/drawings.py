"""Figures for a paper, as SVG: when systems answer, compared with a reference."""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from fdbcore.analysis.floor_transfers import BANDWIDTH_MS, Floats, SystemTransfers, density
from fdbcore.report.html.templates import static
from fdbcore.report.svg.text import drawing, number, standalone, xml
from fdbcore.types import TICK_MS

FTO_RANGE_MS: Final = (-2000, 4000)
CURVE_RANGE_MS: Final = (-200, 5000)
MOST_SYSTEMS: Final = 6  # lines that can be told apart

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 460, 280, 48, 448, 14, 226


def fto_figure(systems: Sequence[SystemTransfers], reference: tuple[str, Sequence[int]]) -> str:
    """Densities of B's floor transfer offsets, one line per system, over that of the reference (name and values)."""
    name, values = reference
    at = np.arange(FTO_RANGE_MS[0], FTO_RANGE_MS[1] + 1, 20, dtype=np.float64)
    drawn = [(each, density(each.fto_ms["B"], at)) for each in systems if each.fto_ms["B"]]
    behind = density(values, at) if values else np.zeros_like(at)
    highest = max([1e-9, *(float(line.max()) for _, line in drawn), float(behind.max())])
    x, y = _scale(FTO_RANGE_MS), _height(highest)
    parts = [*_frame(FTO_RANGE_MS, "floor transfer offset (s)", [(v, f"{v:g}") for v in _steps(highest)], y)]
    area = " L".join(f"{number(x(t))} {number(y(v))}" for t, v in zip(at, behind, strict=True))
    parts.insert(0, f'<path class="reference" d="M{LEFT} {BOTTOM} L{area} L{RIGHT} {BOTTOM} Z"/>' if values else "")
    parts.append(f'<path class="zero" d="M{number(x(0))} {TOP}V{BOTTOM}"/>')
    parts += [_line(k, x, y, at, line) for k, (_, line) in enumerate(drawn)]
    parts.append(f'<text x="6" y="{TOP - 3}">density per s</text>')
    legend = [(each.name, f"n = {len(each.fto_ms['B']):,}") for each, _ in drawn]
    parts += _legend(legend, (name, f"n = {len(values):,}") if values else None)
    counts = "; ".join(f"{name}: {n}" for name, n in legend)
    about = (
        f"Floor transfer offsets (Heldner and Edlund 2010) of the system after its partner: {counts}; Gaussian kernel, "
        f"{BANDWIDTH_MS} ms. Reference: {name}, n = {len(values):,}."
    )
    return paper(parts, WIDTH, HEIGHT, about)


def curve_figure(systems: Sequence[SystemTransfers]) -> str:
    """The share of all opportunities that B has begun to answer, against the time since A's end."""
    at = np.arange(CURVE_RANGE_MS[0], CURVE_RANGE_MS[1] + 1, TICK_MS, dtype=np.float64)
    x, y = _scale(CURVE_RANGE_MS), _height(1.0)
    parts = _frame(CURVE_RANGE_MS, "time since the end of A's turn (s)", [(v / 4, f"{25 * v} %") for v in range(5)], y)
    legend = []
    for k, each in enumerate(each for each in systems if each.eligible):
        reached = np.searchsorted(np.sort(np.asarray(each.latencies_ms)), at, side="right") / each.eligible
        parts.append(_line(k, x, y, at, reached))
        legend.append((each.name, f"{len(each.latencies_ms):,} of {each.eligible:,}"))
    parts += _legend(legend, None, BOTTOM - 16 - 15 * len(legend))
    counts = "; ".join(f"{name}: {n}" for name, n in legend)
    about = (
        f"Cumulative share of the opportunities that the system has begun to respond to ({counts}). All are in the "
        "denominator: premature responses and no response never raise the curve."
    )
    return paper(parts, WIDTH, HEIGHT, about)


def paper(parts: Sequence[str], width: float, height: float, about: str) -> str:
    """A figure as a file of its own."""
    return standalone(drawing("".join(parts), width, height, about, "paper-figure"), static("paper.css"))


def _scale(span_ms: tuple[int, int]) -> Callable[[float], float]:
    low, high = span_ms
    return lambda ms: LEFT + (RIGHT - LEFT) * (ms - low) / (high - low)


def _height(highest: float) -> Callable[[float], float]:
    return lambda value: BOTTOM - (BOTTOM - TOP) * value / highest


def _steps(highest: float) -> list[float]:
    step = next((s for s in (0.05, 0.1, 0.2, 0.5, 1.0, 2.0) if highest / s <= 5), 5.0)
    return [k * step for k in range(int(highest / step) + 1)]


def _frame(
    span_ms: tuple[int, int], label: str, rows: Sequence[tuple[float, str]], y: Callable[[float], float]
) -> list[str]:
    x = _scale(span_ms)
    parts = [
        f'<path class="rule" d="M{LEFT} {number(y(value))}H{RIGHT}"/>'
        f'<text class="end" x="{LEFT - 5}" y="{number(y(value) + 4)}">{text}</text>'
        for value, text in rows
    ]
    parts.append(f'<path class="axis" d="M{LEFT} {BOTTOM}H{RIGHT}"/>')
    for second in range(-(-span_ms[0] // 1000), span_ms[1] // 1000 + 1):
        at = number(x(second * 1000))
        parts.append(f'<path class="axis" d="M{at} {BOTTOM}v4"/>')
        parts.append(f'<text class="middle" x="{at}" y="{BOTTOM + 17}">{second}</text>')
    parts.append(f'<text class="middle" x="{(LEFT + RIGHT) / 2:g}" y="{BOTTOM + 34}">{xml(label)}</text>')
    return parts


def _line(k: int, x: Callable[[float], float], y: Callable[[float], float], at: Floats, values: Floats) -> str:
    points = " L".join(f"{number(x(t))} {number(y(v))}" for t, v in zip(at.tolist(), values.tolist(), strict=True))
    return f'<path class="line s{k}" d="M{points}"/>'


def _legend(entries: Sequence[tuple[str, str]], reference: tuple[str, str] | None, top: float = TOP) -> list[str]:
    left, parts = RIGHT - 190, []
    for k, (name, n) in enumerate(entries):
        y = top + 10 + 15 * k
        parts.append(f'<path class="line s{k}" d="M{left} {y}h22"/>')
        parts.append(f'<text x="{left + 28}" y="{y + 4}">{xml(_short(name))} ({n})</text>')
    if reference is not None:
        y = top + 10 + 15 * len(entries)
        parts.append(f'<rect class="reference" x="{left}" y="{y - 5}" width="22" height="10"/>')
        parts.append(f'<text x="{left + 28}" y="{y + 4}">{xml(_short(reference[0]))} ({reference[1]})</text>')
    return parts


def _short(name: str) -> str:
    return name if len(name) <= 24 else f"{name[:23]}…"
