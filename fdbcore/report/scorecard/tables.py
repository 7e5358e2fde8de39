"""A scorecard as tables: Markdown and LaTeX for a paper, and CSV."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from fdbcore.report.format import NONE
from fdbcore.report.paper.tables import PaperTable, csv_text, latex_comment
from fdbcore.types.scorecard import Measure, Scorecard, ScoreRow

HEADS: Final = ("Condition", "System", "n")
MOST_SCALES: Final = 5
"""Beside HEADS: a page of a paper holds eight columns."""
OWN_N: Final = "A figure with an n of its own is over that many items, not over the n of its row."


def tables(card: Scorecard) -> dict[str, str]:
    """The rows as table.md, table.tex (booktabs) and table.csv, by name."""
    tex = latex_comment(card.evidence) + "\n".join(table.latex() for table in narrow_tables(card))
    return {"table.md": paper_table(card).markdown(), "table.tex": tex, "table.csv": rows_csv(card)}


def scales_of(card: Scorecard, rows: Sequence[ScoreRow]) -> list[Measure]:
    """The scales for which any of the rows has a value."""
    return scales_of_rows(card.scales, rows)


def scales_of_rows(scales: Sequence[Measure], rows: Sequence[ScoreRow]) -> list[Measure]:
    """The scales for which any of the rows has a value."""
    return [scale for scale in scales if any(row.figure(scale).value is not None for row in rows)]


def label(scale: Measure, beside: Sequence[Measure]) -> str:
    """The title of the scale's column, with its part if another scale has the same label."""
    is_alone = scale.main or [other.label for other in beside].count(scale.label) == 1
    return pooled_label(scale) if is_alone else f"{scale.part} {pooled_label(scale)}".strip()


def pooled_label(scale: Measure) -> str:
    """The label, with what its figures are where a reader would take them for means."""
    return f"{scale.label} (median)" if scale.pools == "median" else scale.label


def headed(part: str, scales: Sequence[Measure]) -> tuple[str, list[str]]:
    """The title above scales that belong together, and the heads of their columns.

    What all have in common, that they are medians and their unit, stands in the title alone.
    """
    are_medians = bool(part) and all(scale.pools == "median" for scale in scales)
    units = {scale.unit for scale in scales}
    unit = next(iter(units)) if part and len(units) == 1 else ""
    shared = ", ".join(filter(None, ["median" if are_medians else "", unit]))
    heads = [scale.label if are_medians else pooled_label(scale) for scale in scales]
    own_units = ["" if unit else scale.unit for scale in scales]
    return (
        f"{part} ({shared})" if shared else part,
        [f"{head} {own}".strip() for head, own in zip(heads, own_units, strict=True)],
    )


def has_sd(rows: Sequence[ScoreRow], scale: Measure) -> bool:
    """True if a standard deviation stands beside the value of a main scale in any of the rows."""
    return scale.main and any(row.figure(scale).sd is not None for row in rows)


def paper_table(card: Scorecard) -> PaperTable:
    """The rows as a table; main scales show the interval beside the value, and the SD if there is one."""
    columns, alignment = [*HEADS], "llr"
    for scale in card.scales:
        sd = ("SD",) if has_sd(card.rows, scale) else ()
        head = f"{label(scale, card.scales)} {scale.unit}".strip()
        columns += [head, *sd, *(("95 % CI",) if scale.main else ())]
        alignment += "r" * (1 + len(sd)) + "l" * scale.main
    rows = [list(_cells(card, row)) for row in card.rows]
    return PaperTable(card.caption or card.title, columns, alignment, rows, _reference(card))


def narrow_tables(card: Scorecard) -> Iterator[PaperTable]:
    """The main scales in tables of at most eight columns, as a page of a paper holds: conditions with the same
    scales in one table. Where no main scale has a value the first of the others stand there.
    """
    of_conditions: dict[tuple[str, ...], list[ScoreRow]] = {}
    for condition in card.conditions:
        rows = [row for row in card.rows if row.condition == condition]
        scales = scales_of(card, rows)
        shown = [scale for scale in scales if scale.main] or scales[:MOST_SCALES]
        of_conditions.setdefault(tuple(scale.id for scale in shown), []).extend(rows)
    parts = [
        (list(map(card.scale, ids[first : first + MOST_SCALES])), rows)
        for ids, rows in of_conditions.items()
        for first in range(0, len(ids), MOST_SCALES)
    ]
    for number, (scales, rows) in enumerate(parts, 1):
        heads = [f"{pooled_label(scale)} {scale.unit}".strip() for scale in scales]
        cells = [
            [*_named(row), *(_with_span(row, scale) for scale in scales)]
            for row in rows
            if any(row.figure(scale).value is not None for scale in scales)
        ]
        label = _reference(card) + (f"-{number}" if number > 1 else "")
        yield PaperTable(card.caption or card.title, [*HEADS, *heads], "llr" + "l" * len(scales), cells, label)


def _with_span(row: ScoreRow, scale: Measure) -> str:
    figure = row.figure(scale)
    span = [value_text(limit, scale) for limit in figure.ci95 or ()]
    return value_text(figure.value, scale) + (f" [{', '.join(span)}]" if span else "")


def _reference(card: Scorecard) -> str:
    return f"tab:{re.sub('[^a-z0-9]+', '-', card.title.lower()).strip('-')}"


def _named(row: ScoreRow) -> Iterator[str]:
    """The condition, the system and n of a row."""
    yield from (row.condition, row.system if row.group in ("system", row.system) else f"{row.system} ({row.group})")
    yield NONE if row.n is None else str(row.n)


def _cells(card: Scorecard, row: ScoreRow) -> Iterator[str]:
    yield from _named(row)
    for scale in card.scales:
        figure = row.figure(scale)
        yield value_text(figure.value, scale)
        if scale.main:
            limits = [value_text(limit, scale) for limit in figure.ci95 or ()]
            if has_sd(card.rows, scale):
                yield value_text(figure.sd, scale)
            yield f"[{', '.join(limits)}]" if limits else NONE


def value_text(value: float | None, scale: Measure, sign: str = "") -> str:
    """A value as it is printed, without its unit: "−0.662". sign: "+" shows the sign."""
    return NONE if value is None else f"{value:{sign}z.{scale.decimals}f}".replace("-", "−")


def span_text(limits: Sequence[float] | None, scale: Measure, sign: str = "") -> str:
    """The limits of an interval: "0.77 to 0.90". sign: "+" shows the sign."""
    return " to ".join(value_text(limit, scale, sign) for limit in limits) if limits else NONE


def rows_csv(card: Scorecard) -> str:
    """Every row, those of subsets last, with every scale in full: value, SD, limits of the interval, n."""
    columns = ["condition", "group", "system", "subset", "n", "note"]
    columns += [
        f"{scale.id}_{name}"
        for scale in card.scales
        for name in (scale.pools.replace(" ", "_"), "sd", "low", "high", "n")
    ]
    rows = []
    for row in (*card.rows, *card.subsets):
        figures = [(row.n_of(scale.id), row.figure(scale)) for scale in card.scales]
        values = [value for n, one in figures for value in (one.value, one.sd, *(one.ci95 or (None, None)), n)]
        rows.append([row.condition, row.group, row.system, row.subset, row.n, row.note, *values])
    return csv_text(columns, rows)
