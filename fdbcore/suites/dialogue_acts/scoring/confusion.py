"""Draws which act was replaced by which, as weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fdbcore.report.svg.text import number, xml
from fdbcore.suites.dialogue_acts.page.svg import drawing
from fdbcore.suites.dialogue_acts.page.words import mean
from fdbcore.suites.dialogue_acts.tag_sets import NO_ACT, TagSet, paper_acts

if TYPE_CHECKING:
    from fdbcore.suites.dialogue_acts.document_types import Diagnosis

CELL_WIDTH, CELL_HEIGHT, LEFT, TOP = 47, 30, 116, 44


def confusion(diagnosis: Diagnosis, tags: TagSet | None = None) -> str:
    """Act by act: rows are acts of the reference, columns the acts in their place in the reply; the figures are
    weights.
    """
    acts: Sequence[str] = diagnosis["acts"]
    values: Sequence[Sequence[float]] = diagnosis["matrix"]
    top = max((value for row in values for value in row), default=0.0)
    parts = _heads(acts, tags or paper_acts())
    for i, row in enumerate(values):
        y = TOP + i * CELL_HEIGHT
        parts.append(f'<text class="end" x="{LEFT - 8}" y="{y + 20}">{_head(acts[i], "redundant")}</text>')
        for j, value in enumerate(row):
            parts.append(_cell(acts[i], acts[j], value, top, LEFT + j * CELL_WIDTH, y))
    width, height = LEFT + len(acts) * CELL_WIDTH, TOP + len(acts) * CELL_HEIGHT
    about = f"Acts of the reference against acts of {diagnosis['system']}"
    return drawing("".join(parts), width + 2, height + 2, about, "matrix")


def _heads(acts: Sequence[str], tags: TagSet) -> list[str]:
    middle = LEFT + len(acts) * CELL_WIDTH / 2
    return [
        f'<text class="caption middle" x="{number(middle)}" y="14">the reply has</text>',
        f'<text class="caption end" x="{LEFT - 8}" y="{TOP - 10}">the reference has</text>',
        *(
            f'<text class="middle small" x="{number(LEFT + (j + 0.5) * CELL_WIDTH)}" y="{TOP - 10}">'
            f"{_head(tags.by_name[act].short if act in tags.by_name else act, 'missing')}</text>"
            for j, act in enumerate(acts)
        ),
    ]


def _head(act: str, none: str) -> str:
    return none if act == NO_ACT else xml(act)


def _cell(reference: str, reply: str, value: float, top: float, x: float, y: float) -> str:
    if reference == reply == NO_ACT:
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
