"""The scores of a run on a terminal: each figure with its interval, its range over settings, and n."""

import re
from collections.abc import Iterator
from typing import Final

from fdbcore.analysis.statements import Statements
from fdbcore.measures.catalogue import headlines
from fdbcore.report.comparison.screen import indented, longer_lines
from fdbcore.report.format import counted
from fdbcore.report.groups import phrases
from fdbcore.report.groups.phrases import Line
from fdbcore.report.terminal import filled

LABEL_COLUMNS: Final = 20
_INTERVAL: Final = re.compile(r"((?<!\S)(p95 |JSD |W )?\S+( %| points|( s)?( per min)?)? \[[^][]*\]|[np] [=<] \S+)")
_KEPT: Final = "\N{SYMBOL FOR SPACE}"  # textwrap does not break lines at it
NAMED: Final = 3


def statements_screen(content: Statements, columns: int) -> str:
    """The text of the scores of a run: lines of at most `columns`, without a final newline."""
    return "\n".join(_fitted(label, text, columns - 1) for label, text in _lines(content))


def _fitted(label: str, text: str, width: int) -> str:
    """A line, wrapped below its text and never inside an interval; a long label gets its own line."""
    if not text:
        return indented(label, width)
    if len(label) >= LABEL_COLUMNS:
        return f"{label[:width]}\n" + _fitted("", text, width)
    indent = " " * LABEL_COLUMNS
    kept = _INTERVAL.sub(lambda found: found.group().replace(" ", _KEPT), text)
    line = filled(f"{label:<{LABEL_COLUMNS}}{kept}", width, indent)
    return line.replace(_KEPT, " ")


def _lines(content: Statements) -> Iterator[Line]:
    yield from _head(content)
    yield from (("in short" if number == 0 else "", text) for number, text in enumerate(phrases.in_short(content)))
    yield from ((text, "") for of in content["longer"] for text in longer_lines(of))
    groups = content["groups"] or [content]
    varied = phrases.ranges(content)
    for name, label in headlines().items():
        if phrases.is_empty(content, name):
            yield label, "nothing to count"
            continue
        if content["groups"]:
            yield f"{label} ({phrases.unit_text(name)})", ""
        for group in groups:
            shown = f"  {group['name']}" if content["groups"] else label
            yield shown, phrases.figure(name, group["measures"].get(name), varied.get((group["name"], name)))
        yield from phrases.differences(content, name)
    yield from phrases.settings(content)
    yield from phrases.reference(content)
    yield "cluster", phrases.cluster(content)
    yield from phrases.notes(content)


def _head(content: Statements) -> Iterator[Line]:
    unscored = content["unscored"]
    left_out = f", {len(unscored):,} not" if unscored else ""
    yield content["run"], f"{counted(content['calls'], 'call')} scored{left_out} | {phrases.resampled(content)}"
    for name, reason in list(unscored.items())[:NAMED]:
        yield "  not scored", f"{name}: {reason}"
    if len(unscored) > NAMED:
        yield "", f"and {len(unscored) - NAMED:,} more"
