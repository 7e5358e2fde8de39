"""A scorecard as plain text, for any terminal of 60 columns or more."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from fdbcore.report.format import NONE, p_value
from fdbcore.report.scorecard.columns import NAME_COLUMNS, ColumnGroup, fitted, table, width_columns, wrapped
from fdbcore.report.scorecard.tables import OWN_N, has_sd, headed, scales_of, scales_of_rows
from fdbcore.types import Problem
from fdbcore.types.scorecard import Difference, Measure, Pooling, Scorecard, ScoreRow, Telling

PROBLEMS: Final = 10
PROBLEM_LINES: Final = 5
HEADING_LINES: Final = 4


def screen(card: Scorecard, width: int) -> str:
    """The scorecard in at most `width` columns, without a newline at the end. What only this suite has stands before
    the notes.
    """
    warnings = [fitted(f"!! {text}", PROBLEM_LINES * (width - 6)) for text in card.warnings]
    blocks = [
        [line for text in warnings for line in wrapped(text, width, 3)],
        [line for text in card.statements for line in wrapped(text, width, 2)],
        *(block for condition in card.conditions for block in _condition(card, condition, width)),
        [_telling(one, card.scale(one.measure), width) for one in card.telling],
        *card.views.details(width),
        [line for text in (*_own_n_told(card), *card.notes) for line in wrapped(text, width)],
        list(problem_lines(card.problems, width)),
        list(problem_lines(card.gaps, width, "scored in part")),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _condition(card: Scorecard, condition: str, width: int) -> Iterator[list[str]]:
    rows = [row for row in card.rows if row.condition == condition]
    noted = [f"{fitted(row.system, NAME_COLUMNS)}: {row.note}" for row in rows if row.note]
    notes = [line for text in noted for line in wrapped(text, width, 2)]
    heading = wrapped(fitted(card.conditions[condition], HEADING_LINES * (width - 2)), width, 2)
    yield [*heading, *rows_table(scales_of(card, rows), rows, width), *notes]
    compared = [one for one in card.differences if one.condition == condition]
    yield list(_differences(card, compared, width))


def _own_n_told(card: Scorecard) -> Iterator[str]:
    if any(row.own_n(name) is not None for row in card.rows for name in row.measures):
        yield OWN_N


def rows_table(scales: Sequence[Measure], rows: Sequence[ScoreRow], width: int) -> list[str]:
    """The lines of a table with a row for each system: the main scales, then the others by their parts.

    Published rows stand only with the scales that they have, in a table of their own beside the systems.
    """
    own = [row for row in rows if row.group != "published"]
    beside = scales_of_rows(scales, [row for row in rows if row.group == "published"])
    others = [scale for scale in scales if scale not in beside]
    if not (own and beside and others):
        return _rows_table(scales, rows, width)
    parts = [_rows_table(beside, rows, width), _rows_table(others, own, width)]
    first, second = parts if scales[0] in beside else parts[::-1]
    return [*first, "", *second]


def _rows_table(scales: Sequence[Measure], rows: Sequence[ScoreRow], width: int) -> list[str]:
    main = [scale for scale in scales if scale.main]
    kinds = dict.fromkeys(scale.pools for scale in main)
    spread = [scale for scale in main if has_sd(rows, scale)]
    groups = [
        ColumnGroup("", ["n"], [4], [[NONE if row.n is None else str(row.n)] for row in rows]),
        *(_limited(pools, [scale for scale in main if scale.pools == pools], rows) for pools in kinds),
        _group("SD", _heads(spread), [[number_text(row.figure(scale).sd, scale) for scale in spread] for row in rows]),
    ]
    for part, found in groupby((scale for scale in scales if not scale.main), lambda scale: scale.part):
        own = list(found)
        cells = [[number_text(row.figure(scale).value, scale) for scale in own] for row in rows]
        groups.append(_group(*headed(part, own), _with_n(own, rows, cells)))
    return table([fitted(row.system, NAME_COLUMNS) for row in rows], groups, width)


def _limited(pools: Pooling, scales: Sequence[Measure], rows: Sequence[ScoreRow]) -> ColumnGroup:
    """Main scales that pool cases in one way, with their intervals; without them where no row has one."""
    limited = [scale for scale in scales if any(row.figure(scale).ci95 for row in rows)]
    cells = [
        [
            _with_interval(row, scale) if scale in limited else number_text(row.figure(scale).value, scale)
            for scale in scales
        ]
        for row in rows
    ]
    title = f"{pools} [95 % interval]" if limited else pools
    return _group(title, _heads(scales), _with_n(scales, rows, cells))


def _with_n(scales: Sequence[Measure], rows: Sequence[ScoreRow], cells: Sequence[Sequence[str]]) -> list[list[str]]:
    """The cells, with the n of figures where it is not that of their row; values stay below each other."""
    found = []
    for place, scale in enumerate(scales):
        ns = ["" if (n := row.own_n(scale.id)) is None else f" (n {n})" for row in rows]
        most = max(map(len, ns))
        found.append([f"{own[place]}{n:<{most}}" for own, n in zip(cells, ns, strict=True)])
    return [list(row) for row in zip(*found, strict=True)] if found else [[] for _ in rows]


def _group(title: str, heads: Sequence[str], cells: Sequence[Sequence[str]]) -> ColumnGroup:
    widths = [max(map(width_columns, column)) for column in zip(heads, *cells, strict=True)]
    return ColumnGroup(title, heads, widths, cells)


def _heads(scales: Sequence[Measure]) -> list[str]:
    return [f"{scale.label} {scale.unit}".strip() for scale in scales]


def _with_interval(row: ScoreRow, scale: Measure) -> str:
    figure = row.figure(scale)
    return f"{number_text(figure.value, scale)} {interval_text(figure.ci95, scale=scale):>11}"


def number_text(value: float | None, scale: Measure | None = None, sign: str = "") -> str:
    """A value with the decimals of its scale, or three without a scale. sign: "+" shows the sign."""
    return NONE if value is None else f"{value:{sign}z.{3 if scale is None else scale.decimals}f}"


def interval_text(limits: Sequence[float] | None, sign: str = "", scale: Measure | None = None) -> str:
    """An interval with two decimals, or fewer if its scale has fewer: "[0.77,0.90]", "[710,730]"."""
    decimals = 2 if scale is None else min(scale.decimals, 2)
    return f"[{','.join(f'{limit:{sign}z.{decimals}f}' for limit in limits)}]" if limits else NONE


def _differences(card: Scorecard, compared: Sequence[Difference], width: int) -> Iterator[str]:
    if compared and compared[0] is card.differences[0]:  # it is the same for all
        yield from wrapped(card.how_tested, width, 2)
    for (a, b), found in groupby(compared, lambda one: (one.a, one.b)):
        own = list(found)
        yield from wrapped(f"{fitted(a, NAME_COLUMNS)} - {fitted(b, NAME_COLUMNS)}", width, 2)
        cells = [
            [
                f"{number_text(one.difference, scale, '+')} {interval_text(one.ci95, '+', scale):>13}",
                p_value(one.p),
                p_value(one.p_corrected),
            ]
            for one in own
            for scale in [card.scale(one.measure)]
        ]
        groups = [
            ColumnGroup("", ["n"], [4], [[str(one.n)] for one in own]),
            ColumnGroup("", ["difference [95 %]", "p", card.correction], [20, 5, 5], cells),
        ]
        if any(one.detectable is not None for one in own):
            seen = [[number_text(one.detectable, card.scale(one.measure))] for one in own]
            groups.append(ColumnGroup("", ["detectable"], [10], seen))
        yield from table([f"  {card.scale(one.measure).label}" for one in own], groups, width)
    for few in dict.fromkeys(filter(None, (one.too_few(card.level) for one in compared))):
        yield from wrapped(few, width, 2)


def _telling(one: Telling, scale: Measure, width: int) -> str:
    what, value = f"{one.what} {scale.label}", f"{one.case.values[scale.id]:.2f}"
    start = f"{what:<18}{value}  {fitted(one.case.system, 16)} {fitted(one.case.id, 14)} "
    return start + fitted(one.case.text, max(8, width - width_columns(start)))


def problem_lines(problems: Sequence[Problem], width: int, title: str = "left out") -> Iterator[str]:
    """The number of things left out, or as the title says, and the first of them."""
    if problems:
        yield f"{title}: {len(problems)}"
    for where, reason in problems[:PROBLEMS]:
        yield from wrapped(fitted(f"  {where}: {reason}", PROBLEM_LINES * (width - 6)), width, 4)
    if len(problems) > PROBLEMS:
        yield f"  and {len(problems) - PROBLEMS} more (--json has all)"
