"""Judged dialogues as text: a table of families, with the published figures beside on request."""

from __future__ import annotations

from collections.abc import Sequence

from fdbcore.report.terminal import laid_out
from fdbcore.suites.staged.fdb2.published import Published
from fdbcore.suites.staged.fdb2.scores import ALL, FamilyScores

WIDTH = 100


def family_table(name: str, rows: Sequence[FamilyScores]) -> list[str]:
    """A line a family: dialogues, turn-taking and instruction following in full and up to 75 s, and the task score."""
    head = [name or "family", "dialogues", "TT", "IF", "TT 0-75 s", "IF 0-75 s", "task"]
    cells = [
        [row.family, f"{row.n_dialogues:,}", *_pair(row.means), *_pair(row.early), _number(row.task)] for row in rows
    ]
    return laid_out([head, *cells], WIDTH)


def published_tables(published: Published) -> list[str]:
    """All published tables, each with its label and source."""
    lines = ["", f"measured by: {published.conditions}"]
    for table in published.tables:
        families = list(table.lines[0].scores)
        rows = [
            [line.system, line.pacing, *(f"{line.scores[family]:.2f}" for family in families), f"{line.mean:.2f}"]
            for line in table.lines
        ]
        lines += ["", f"{table.title}: {published.label}", f"({table.source})"]
        lines += laid_out([["system", "pacing", *families, ALL], *rows], WIDTH)
    return lines


def _pair(means: tuple[float, float] | None) -> list[str]:
    return ["-", "-"] if means is None else [_number(means[0]), _number(means[1])]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
