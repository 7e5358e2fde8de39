"""What all drawings of the suite share: their style and their patterns."""

from __future__ import annotations

from typing import Final

from fdbcore.report.html.templates import static
from fdbcore.report.svg import text as svg

PACKAGE: Final = "fdbcore.suites.dialogue_acts"
"""Where the style sheets and templates of the suite lie."""

DEFINITIONS: Final = (
    "".join(
        f'<pattern id="acts-hatch-{where}" width="6" height="6" patternUnits="userSpaceOnUse" '
        f'patternTransform="rotate(45)"><path class="hatch {where}" d="M0 0V6"/></pattern>'
        for where in ("on-act", "on-page")
    )
    + '<pattern id="acts-dots" width="5" height="5" patternUnits="userSpaceOnUse">'
    '<circle class="dot" cx="2.5" cy="2.5" r="1"/></pattern>'
)
"""The patterns that drawings refer to."""


def drawing(content: str, width: float, height: float, description: str, css: str) -> str:
    """An svg element for a page that has `style()` and `definitions()`."""
    return svg.drawing(content, width, height, description, f"acts {css}")


def definitions() -> str:
    """The patterns that drawings refer to, once per page. They are not hidden: browsers would drop them."""
    return f'<svg class="acts" width="0" height="0" aria-hidden="true"><defs>{DEFINITIONS}</defs></svg>'


def standalone(drawn: str) -> str:
    """The svg element of `drawing` as a file for a paper, on white."""
    return svg.standalone(drawn, static("picture.css", PACKAGE), DEFINITIONS)


def style() -> str:
    """The style sheet of the drawings in a page, for light and dark."""
    dark = f"@media screen and (prefers-color-scheme: dark) {{\n{static('picture-dark.css', PACKAGE)}}}\n"
    return f"{static('picture.css', PACKAGE)}\n{dark}"
