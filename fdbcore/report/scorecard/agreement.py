"""Agreement of raters as plain text, alike for all suites: who rated, tables of who is compared, what was left out."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import Any, TypeAlias

from fdbcore.report.scorecard.columns import ColumnGroup, table, wrapped
from fdbcore.report.scorecard.screen import interval_text, number_text, problem_lines
from fdbcore.types import Problem

Comparison: TypeAlias = Mapping[str, Any]
"""Raters who are compared, as JSON values."""


def agreement_screen(
    content: Mapping[str, Any], raters: Iterable[str], blocks: Iterable[Iterable[str]], width: int
) -> str:
    """A document of agreement in at most `width` columns (60 or more), without a newline at the end.

    raters: in words; they are numbered. blocks: tables, and what they show.
    """
    told = [line for number, text in enumerate(raters, 1) for line in wrapped(f"{number} {text}", width, 2)]
    problems = problem_lines([Problem(**each) for each in content["problems"]], width)
    return "\n\n".join(filter(None, ("\n".join(block) for block in (told, *blocks, problems))))


def comparison_tables(
    content: Mapping[str, Any],
    width: int,
    title: Callable[[Comparison], str],
    figures: Mapping[str, str],
    name: Callable[[Comparison], str] = lambda comparison: "",
    counts: Mapping[str, Callable[[Comparison], str]] = MappingProxyType({}),
) -> Iterator[list[str]]:
    """A table of all comparisons of a title, with the figures that any of them has.

    figures: their titles, and their fields. name: of a comparison; "" for one that is named by the numbers of its
    raters. counts: what stands beside n.
    """
    numbers = {each["name"]: str(number) for number, each in enumerate(content["raters"], 1)}
    for titled, found in groupby(content["comparisons"], title):
        own = list(found)
        there = {head: field for head, field in figures.items() if any(each[field] for each in own)}
        cells = [[f"{each['n']:,}", *(count(each) for count in counts.values())] for each in own]
        columns = [ColumnGroup("", ["n", *counts], [5, *map(len, counts)], cells)]
        columns += [estimates(head, [each[field] for each in own]) for head, field in there.items()]
        names = [name(each) or _by_number(each["raters"], numbers) for each in own]
        yield [*wrapped(titled, width, 2), *table(names, columns, width)]


def estimates(title: str, found: Sequence[Mapping[str, Any] | None]) -> ColumnGroup:
    """Columns of estimates of agreement ("value", "ci95") with their intervals."""
    cells = [["", ""] if each is None else [number_text(each["value"]), interval_text(each["ci95"])] for each in found]
    return ColumnGroup(title, ["", "95 %"], [6, 13], cells)


def _by_number(raters: Sequence[str], numbers: Mapping[str, str]) -> str:
    """The compared raters; "people" has no number."""
    known = [numbers.get(each, each) for each in raters]
    return " and ".join(known) if len(known) == 2 else f"all {len(known)} people"
