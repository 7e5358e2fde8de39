"""The shared part of all drawings: text that XML can hold, line wrapping, and standalone files for papers."""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from html import escape
from typing import Final

from fdbcore.runtime.redaction import ACTING

_NOT_XML: Final = re.compile(f"[{ACTING}\ufffe\uffff]")
_OPENING: Final = "「『（(［[｛{〈《【〔“‘"
_CLOSING: Final = (
    "」』）)］]｝}〉》】〕”’、。，．,.・：；:;！？!?ー々〜ぁぃぅぇぉっゃゅょァィゥェォッャュョ"
    "\u200d\u3099\u309a\ufe0e\ufe0f"
)
_UNBREAKABLE: Final = re.compile(
    rf"\s+|[{re.escape(_OPENING)}]*(?:[^\s\u1100-\U0010ffff]+|.)[{re.escape(_CLOSING)}]*", re.DOTALL
)
_NARROW_EM: Final = 0.56
_WIDE: Final = "WFA"  # of Unicode's East Asian widths: in Japanese text the ambiguous ones are wide as well


def xml(text: str) -> str:
    """The text without characters that XML cannot hold, escaped for XML and HTML."""
    return escape(without_controls(text))


def without_controls(text: str) -> str:
    """The text with U+FFFD for what XML cannot hold, and for what acts on how a text is shown (`ACTING`)."""
    return _NOT_XML.sub("\ufffd", text)


def width_em(text: str) -> float:
    """The approximate width of the text in em."""
    return sum(map(_character_em, text))


def wrap(text: str, most_em: float) -> list[str]:
    """The text in lines of about `most_em`, broken at spaces or between Japanese characters.

    Closing marks and small kana never begin a line (one may exceed the width instead), and opening brackets never end
    one.
    """
    lines = []
    for paragraph in text.strip().splitlines() or [""]:
        line, width = "", 0.0
        for piece in _pieces(paragraph, most_em):
            added = width_em(piece)
            if line.strip() and width + added > most_em + (piece[-1] in _CLOSING):
                lines.append(line.rstrip())
                line, width = "", 0.0
            if line or not piece.isspace():
                line, width = line + piece, width + added
        lines.append(line.rstrip())
    return lines


def text_lines(lines: Iterable[str], x: float, y: float, leading: float, css: str, lang: str = "") -> str:
    """SVG text elements, one per line, the first with its baseline at y."""
    language = f' lang="{xml(lang)}"' if lang else ""
    return "".join(
        f'<text class="{css}"{language} x="{number(x)}" y="{number(y + index * leading)}">{xml(line)}</text>'
        for index, line in enumerate(lines)
    )


def number(value: float) -> str:
    """A coordinate, rounded to a hundredth."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def drawing(content: str, width: float, height: float, description: str, css: str) -> str:
    """An svg element of the class `css`; a style sheet sets its look. Without a description it is only an ornament."""
    role = f'role="img" aria-label="{xml(description)}"' if description else 'aria-hidden="true"'
    size = f'width="{number(width)}" height="{number(height)}" viewBox="0 0 {number(width)} {number(height)}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" class="{css}" {size} {role}>{content}</svg>'


def standalone(svg: str, style: str, definitions: str = "") -> str:
    """The svg element of `drawing` as a file for a paper, with its style, on a white background."""
    opening, content = svg.split(">", 1)
    defs = f"<defs>{definitions}</defs>" if definitions else ""
    paper = '<rect class="paper" width="100%" height="100%"/>'
    return f"{opening}><style>{style}</style>{defs}{paper}{content}\n"


def _pieces(paragraph: str, most_em: float) -> list[str]:
    """The pieces of a paragraph that no line break may split; a piece wider than a line is split anyway."""
    pieces = []
    for piece in _UNBREAKABLE.findall(paragraph):
        if width_em(piece) <= most_em:
            pieces.append(piece)
            continue
        part = ""
        for character in piece:
            if part and width_em(part + character) > most_em:
                pieces.append(part)
                part = ""
            part += character
        pieces.append(part)
    return pieces


@cache
def _character_em(character: str) -> float:
    if unicodedata.combining(character):
        return 0.0
    return 1.0 if unicodedata.east_asian_width(character) in _WIDE else _NARROW_EM
