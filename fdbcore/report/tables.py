"""Tables and lists of facts, as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Final

from fdbcore.report.words import NONE

NOTES: Final = "left out, notes"


def table(columns: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]]) -> str:
    """A table; labels and cells are HTML. The column of notes is the only one of text."""
    css = {column: ' class="text"' if column == NOTES else "" for column in columns}
    head = "".join(f'<th scope="col"{css[column]}>{column}</th>' for column in columns)
    body = []
    for label, cells in rows:
        named = zip(columns[1:], cells, strict=True)
        data = "".join(f'<td data-label="{column}"{css[column]}>{cell}</td>' for column, cell in named)
        body.append(f'<tr><th scope="row">{label}</th>{data}</tr>\n')
    return f'<div class="framed"><table><thead><tr>{head}</tr></thead><tbody>\n{"".join(body)}</tbody></table></div>'


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """A list of names with their texts, both HTML; nothing if there are none."""
    items = "".join(f"<dt>{name}</dt><dd>{text}</dd>\n" for name, text in pairs)
    return f'<dl class="facts-list">\n{items}</dl>' if items else ""


def flat(value: object, name: str = "") -> list[tuple[str, str]]:
    """Nested JSON values as (name, text) pairs of HTML, such as ("vad A name", "silero")."""
    if isinstance(value, Mapping):
        return [pair for key, inner in value.items() for pair in flat(inner, f"{name} {key}".strip())]
    if isinstance(value, list) and any(isinstance(inner, (Mapping, list)) for inner in value):
        return [pair for number, inner in enumerate(value, 1) for pair in flat(inner, f"{name} {number}".strip())]
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return [(escape(name.replace("_", " ")), f"<code>{escape(text)}</code>" if value not in (None, []) else NONE)]
