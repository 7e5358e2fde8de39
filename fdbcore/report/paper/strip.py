"""One exchange as a figure for a paper: who speaks when, in two lanes."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from fdbcore.measures.opportunities import fto
from fdbcore.measures.reading import Reading
from fdbcore.report.format import amount, clock_text
from fdbcore.report.paper.drawings import paper
from fdbcore.report.svg.text import number, text_lines, wrap
from fdbcore.types import SIDES, TICK_MS, TICKS_PER_S, Side, TurnEvent, ticks_to_s

WIDTH, LEFT, RIGHT = 740, 26, 718
TOPS: Final[dict[Side, int]] = {"A": 40, "B": 120}
LANE: Final = 46
CLOCK_Y, HEIGHT = 204, 230
SAID_PX, SAID_LINES = 9, 3
FULL_SCALE: Final = 32_768
_STEPS_S: Final = (0.5, 1, 2, 5, 10, 30, 60, 300, 3600)
_MOST_STEPS: Final = 12


@dataclass(frozen=True, slots=True)
class _Scene:
    first: int
    last: int

    def x(self, tick: float) -> float:
        """The place of a tick; at the edge if it is beyond."""
        within = min(max(tick, self.first), self.last) - self.first
        return LEFT + (RIGHT - LEFT) * within / (self.last - self.first)

    def has(self, start: int, end: int) -> bool:
        """True if a span is in sight."""
        return start < self.last and end > self.first


def strip_figure(reading: Reading, start_s: float, end_s: float) -> str:
    """Levels and speech of A above B, words where they are known, and floor transfers with their offsets.

    start_s, end_s: within the recording.
    """
    scene = _Scene(round(start_s * TICKS_PER_S), round(end_s * TICKS_PER_S))
    transfers = [
        event
        for event in reading.dialogue.uncensored("gap", "overlap_between")
        if scene.has(event.start_tick, event.end_tick or 0)
    ]
    parts = [_overlap(event, scene) for event in transfers if event.kind == "overlap_between"]
    for side in SIDES:
        parts += [f'<text class="side" x="4" y="{TOPS[side] + LANE / 2 + 5:g}">{side}</text>']
        parts += _speech(reading, side, scene)
        parts.append(_wave(reading, side, scene))
    parts += [_offset(event, scene) for event in transfers]
    parts += _clock(scene)
    about = (
        f"{reading.name}, {clock_text(start_s)} to {clock_text(end_s)}: levels, and speech (shaded) of A and B; "
        "floor transfers with their offsets."
    )
    return paper(parts, WIDTH, HEIGHT, about)


def _speech(reading: Reading, side: Side, scene: _Scene) -> Iterator[str]:
    for start, end in reading.dialogue.ipus[side].tolist():
        if scene.has(start, end):
            left, right = scene.x(start), scene.x(end)
            box = f'x="{number(left)}" width="{number(right - left)}" y="{TOPS[side]}" height="{LANE}"'
            yield f'<rect class="ipu-{side.lower()}" {box}/>'
            said = reading.said(side, ticks_to_s(start), ticks_to_s(end))
            lines = wrap(said, (right - left) / SAID_PX)[:SAID_LINES] if said else []
            above = TOPS[side] - 4 - (SAID_PX + 1) * (len(lines) - 1)
            yield text_lines(lines, left, above if side == "A" else TOPS[side] + LANE + 11, SAID_PX + 1, "said")


def _wave(reading: Reading, side: Side, scene: _Scene) -> str:
    levels = np.sqrt(reading.peaks[scene.first : scene.last, SIDES.index(side)] / FULL_SCALE)
    heights = (LANE / 2 - 2) * levels / max(float(levels.max(initial=0)), 1e-9)
    middle = TOPS[side] + LANE / 2
    at = [number(scene.x(scene.first + k + 0.5)) for k in range(len(heights))]
    upper = [f"{x},{number(middle - h)}" for x, h in zip(at, heights.tolist(), strict=True)]
    lower = [f"{x},{number(middle + h)}" for x, h in zip(at, heights.tolist(), strict=True)]
    return f'<polygon class="wave-{side.lower()}" points="{" ".join([*upper, *reversed(lower)])}"/>'


def _overlap(event: TurnEvent, scene: _Scene) -> str:
    left, right = (scene.x(tick or 0) for tick in (event.start_tick, event.end_tick))
    box = f'x="{number(left)}" width="{number(right - left)}" y="{TOPS["A"]}" height="{TOPS["B"] + LANE - TOPS["A"]}"'
    return f'<rect class="both" {box}/>'


def _offset(event: TurnEvent, scene: _Scene) -> str:
    left, right = (scene.x(tick or 0) for tick in (event.start_tick, event.end_tick))
    y = (TOPS["A"] + LANE + TOPS["B"]) / 2
    told = amount(fto(event) * TICK_MS, "ms", "+")
    return (
        f'<path class="axis" d="M{number(left)} {number(y + 6)}v4H{number(right)}v-4"/>'
        f'<text class="middle" x="{number((left + right) / 2)}" y="{number(y + 3)}">{told}</text>'
    )


def _clock(scene: _Scene) -> Iterator[str]:
    seconds = ticks_to_s(scene.last - scene.first)
    step_s = next((step for step in _STEPS_S if seconds / step <= _MOST_STEPS), _STEPS_S[-1])
    yield f'<path class="axis" d="M{LEFT} {CLOCK_Y}H{RIGHT}"/>'
    first = -(-ticks_to_s(scene.first) // step_s)
    for k in range(int(seconds / step_s) + 1):
        at_s = (first + k) * step_s
        if at_s * TICKS_PER_S <= scene.last:
            x = number(scene.x(at_s * TICKS_PER_S))
            label = f"{at_s:g} s" if step_s < 1 else clock_text(at_s)
            yield f'<path class="axis" d="M{x} {CLOCK_Y}v4"/>'
            yield f'<text class="middle" x="{x}" y="{CLOCK_Y + 17}">{label}</text>'
