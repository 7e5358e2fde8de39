"""Draw which package of fdbcore imports which, from the sentences "May import: ..." of the packages.

    python docs/draw_rooms.py        # writes docs/images/rooms.svg

A package stands above all that it may import. An arrow is left out where another way leads to the same package.
"""

from __future__ import annotations

import ast
import re
from html import escape
from pathlib import Path
from textwrap import wrap

ROOT = Path(__file__).resolve().parents[1]
WIDTH, HEIGHT, GAP_X, GAP_Y, MARGIN = 250, 78, 30, 40, 10
LINE_CHARACTERS = 39


def rooms() -> dict[str, tuple[str, set[str]]]:
    """What each package holds, in a sentence, and which other packages it may import."""
    found = {}
    for source in sorted((ROOT / "fdbcore").glob("*/__init__.py")):
        said = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or ""
        for names in re.findall(r"^May import: (.*)\.$", said, re.MULTILINE):  # `types`, which all import, has none
            found[source.parent.name] = (said.partition("\n")[0], set(names.split(", ")) - {"nothing"})
    return found


def levels(imports: dict[str, set[str]]) -> list[list[str]]:
    """The packages by level, the highest first: each lies one above the highest of those that it may import."""
    height: dict[str, int] = {}
    while len(height) < len(imports):
        height |= {
            name: max((height[other] + 1 for other in others), default=0)
            for name, others in imports.items()
            if name not in height and others <= height.keys()
        }
    return [[name for name in imports if height[name] == level] for level in reversed(range(max(height.values()) + 1))]


def direct(imports: dict[str, set[str]]) -> dict[str, set[str]]:
    """What each package may import, without what another of these leads to."""

    def below(name: str) -> set[str]:
        return imports[name].union(*(below(other) for other in imports[name]))

    return {name: others - set().union(*(below(other) for other in others)) for name, others in imports.items()}


def svg() -> str:
    """The picture."""
    held = rooms()
    imports = {name: others for name, (_, others) in held.items()}
    rows = [["cli"], *levels(imports)]
    held["cli"] = ("The commands; a file each.", set())
    arrows = direct(imports | {"cli": set(imports)})
    columns = max(map(len, rows))
    width = columns * (WIDTH + GAP_X) - GAP_X + 2 * MARGIN
    place = {}
    for level, names in enumerate(rows):
        left = (width - len(names) * (WIDTH + GAP_X) + GAP_X) / 2
        for number, name in enumerate(names):
            place[name] = (left + number * (WIDTH + GAP_X), MARGIN + level * (HEIGHT + GAP_Y))
    height = MARGIN + len(rows) * (HEIGHT + GAP_Y) - GAP_Y + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" font-family="sans-serif">',
        f'<rect width="{width:g}" height="{height:g}" fill="#fff"/>',
    ]
    for name, others in arrows.items():
        for other in sorted(others):
            (x, y), (to_x, to_y) = place[name], place[other]
            middle = WIDTH / 2
            parts.append(
                f'<path d="M{x + middle:g} {y + HEIGHT:g} C{x + middle:g} {y + HEIGHT + 40:g} {to_x + middle:g} '
                f'{to_y - 40:g} {to_x + middle:g} {to_y:g}" fill="none" stroke="#8a94a0"/>'
            )
    for name, (x, y) in place.items():
        parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="6" fill="#eef3f8" stroke="#1f6fb2"/>'
        )
        parts.append(f'<text x="{x + 10:g}" y="{y + 19:g}" font-size="14" font-weight="bold">{name}</text>')
        for number, line in enumerate(wrap(held[name][0].replace("`", ""), LINE_CHARACTERS)):
            parts.append(f'<text x="{x + 10:g}" y="{y + 36 + 14 * number:g}" font-size="11">{escape(line)}</text>')
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    (ROOT / "docs" / "images" / "rooms.svg").write_text(svg(), encoding="utf-8")
