"""A scorecard as tables for a paper: Markdown, LaTeX and CSV."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from fdbcore.recording.files import write_text
from fdbcore.report.format import NONE
from fdbcore.report.paper.tables import PaperTable, csv_text
from fdbcore.report.svg.text import without_controls
from fdbcore.types import Figure, Scale, Scorecard, ScoreRow


def write_figures(card: Scorecard, folder: Path, more: Mapping[str, str]) -> list[Path]:
    """Write the rows as table.md, table.tex (booktabs) and table.csv into `folder`, and the texts of `more` by name.

    more: goes before a table of the same name. Returns all paths. RecordingError if one cannot be written.
    """
    table = paper_table(card)
    files = {"table.md": table.markdown(), "table.tex": table.latex(), "table.csv": rows_csv(card)} | dict(more)
    for name, text in files.items():
        write_text(folder / name, without_controls(text))
    return [folder / name for name in files]


def paper_table(card: Scorecard) -> PaperTable:
    """The rows; a main scale has its SD and its interval beside its mean."""
    columns, alignment = ["Condition", "System", "n"], "llr"
    for scale in card.scales:
        columns += [scale.label, "SD", "95 % CI"] if scale.main else [f"{scale.part} {scale.label}".strip()]
        alignment += "rrl" if scale.main else "r"
    label = f"tab:{re.sub('[^a-z]+', '-', card.title.lower()).strip('-')}"
    rows = [list(_cells(card, row)) for row in card.rows]
    return PaperTable(card.caption or card.title, columns, alignment, rows, label)


def _cells(card: Scorecard, row: ScoreRow) -> Iterator[str]:
    yield from (row.condition, row.system if row.group in ("system", row.system) else f"{row.system} ({row.group})")
    yield NONE if row.n is None else str(row.n)
    for scale in card.scales:
        figure = row.figures.get(scale.id, Figure(None))
        yield value_text(figure.value, scale)
        if scale.main:
            limits = [value_text(limit, scale) for limit in figure.interval or ()]
            yield from (value_text(figure.sd, scale), f"[{', '.join(limits)}]" if limits else NONE)


def value_text(value: float | None, scale: Scale) -> str:
    """A value as it is printed, without its unit: "−0.662"."""
    return NONE if value is None else f"{value:.{scale.decimals}f}".replace("-", "−")


def rows_csv(card: Scorecard) -> str:
    """Every row with every scale in full: mean, standard deviation and limits of the interval."""
    columns = ["condition", "group", "system", "n"]
    columns += [f"{scale.id}_{name}" for scale in card.scales for name in ("mean", "sd", "low", "high")]
    rows = []
    for row in card.rows:
        figures = [row.figures.get(scale.id, Figure(None)) for scale in card.scales]
        values = [value for one in figures for value in (one.value, one.sd, *(one.interval or (None, None)))]
        rows.append([row.condition, row.group, row.system, row.n, *values])
    return csv_text(columns, rows)
