"""The settings of the systems in a live call, in its report: what was asked for, and what the server confirmed."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from fdbcore.measures.caveats import not_as_asked
from fdbcore.report.call.document import Document
from fdbcore.report.call.tools import tools_of
from fdbcore.report.html.values import Cell, Fact, Row
from fdbcore.types import SIDES, Side

PATH: Final = "."
COLUMNS: Final = ("setting", "asked for", "confirmed")
_NO_SYSTEMS: Final = ("replay", "clip", "scripted")
"""The kinds of parties whose audio or lines are all that there is to know."""
_APART: Final = ("kind", "name", "asked", "session", "differs")
_HOUSEKEEPING: Final = ("id", "object", "expires_at", "tools", "selectedTools")
"""Fields of a server's session that are no setting, or that stand elsewhere on the page."""
_MOST_CHARACTERS: Final = 40
"""Longer texts, such as instructions, are folded."""


class SystemSettings(NamedTuple):
    """The settings of the party on a side.

    facts: what it says of itself. asked: rows of what was asked for, beside it what the server confirmed, if it
    confirmed anything (`columns`). own: rows of what the server chose. texts: long texts by their names.
    """

    side: Side
    name: str
    facts: Sequence[Fact]
    columns: Sequence[str]
    asked: Sequence[Row]
    own: Sequence[Row]
    texts: Sequence[tuple[str, str]]


def section(content: Document) -> dict[str, Any] | None:
    """The values for the section of the page; None if there was no live system.

    systems: a `SystemSettings` each. tools: the names of the tools that they could call. sent: what went to whom, and
    when its models end.
    """
    held = content["held"]
    parties = (held["parties"] or {}) if held else {}
    found = [_of_party(side, parties[side]) for side in SIDES if side in parties and _is_system(parties[side])]
    if held is None or not found:
        return None
    tools = tools_of(content)
    names = [tool["name"] for tool in tools["described"].get("functions", [])] if tools else []
    return {"systems": found, "tools": ", ".join(names), "sent": held.get("recipients", [])}


def _is_system(party: Mapping[str, Any]) -> bool:
    return party.get("kind") not in (None, *_NO_SYSTEMS)


def _of_party(side: Side, party: Mapping[str, Any]) -> SystemSettings:
    asked, session = (party.get(name) or {} for name in ("asked", "session"))
    rest = {name: value for name, value in party.items() if name not in _APART}
    wanted, confirmed, about = (dict(_leaves(each)) for each in (asked, session, rest))
    differs = {str(each["setting"]) for each in not_as_asked(party)}
    texts = [(name, value) for name, value in {**about, **wanted}.items() if _is_long(value)]
    texts += [
        (f"{name}, as confirmed", value)
        for name, value in confirmed.items()
        if _is_long(value) and wanted.get(name) != value
    ]
    rows: list[Row] = []
    for name, value in wanted.items():
        beside = [_confirmed(confirmed.get(name), name in differs)] if confirmed else []
        rows.append((Cell(name, is_code=True), [_shown(value), *beside]))
    own: list[Row] = [
        (Cell(name, is_code=True), [_shown(value)]) for name, value in confirmed.items() if name not in wanted
    ]
    return SystemSettings(
        side,
        str(party.get("name") or party["kind"]),
        [(name, Cell(_shown(value), is_code=True)) for name, value in about.items()],
        COLUMNS if confirmed else COLUMNS[:2],
        rows,
        own,
        texts,
    )


def _leaves(value: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Nested settings by their paths, such as "audio.output.voice", without those that are null."""
    for name, each in value.items():
        if not path and name in _HOUSEKEEPING:
            continue
        if isinstance(each, Mapping):
            yield from _leaves(each, (*path, name))
        elif each is not None and each != []:
            yield PATH.join((*path, name)), each


def _is_long(value: object) -> bool:
    return isinstance(value, str) and (len(value) > _MOST_CHARACTERS or "\n" in value)


def _shown(value: object) -> str:
    if _is_long(value):
        return "below"
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ", ".join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _confirmed(value: object, differs: bool) -> Cell:
    text = "nothing" if value is None else _shown(value)
    return Cell(text, "not as asked for" if differs else "", is_strong=differs)
