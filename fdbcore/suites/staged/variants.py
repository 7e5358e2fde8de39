"""Other recognisers, judges and wordings of the rubrics than the main ones: which scores and orders they move.

One of the three is changed at a time, so each difference has one cause. `statements` says it in sentences.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias

import numpy as np
from msgspec import Meta, Struct
from msgspec.structs import replace

from fdbcore.protocols import Judge
from fdbcore.results import means_of_ids
from fdbcore.stats import bootstrap_columns
from fdbcore.suites.staged.rows import Group, StagedCondition, StagedPlace
from fdbcore.suites.staged.scales import LABELS
from fdbcore.types.scorecard import Interval

Aspect: TypeAlias = Literal["transcriber", "judge", "rubrics"]

ASPECTS: Final = {"transcriber": "transcriber", "judge": "judge", "rubrics": "wording of the rubrics"}
"""The aspects in words."""
MOVED: Final = ("turn_taking", "instruction_following", "task_score", "goals_met")
"""The measures that depend on who hears, who judges, or how that is asked."""


@dataclass(frozen=True, slots=True, eq=False)
class Setup:
    """Who hears and judges, by which wording (from 0). aspect, name: how it differs from the main setup; or none."""

    transcriber: str
    judge: Judge | None
    wording: int
    aspect: Aspect | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class OtherSetup:
    """Another setup than the main one. main, other: what differs, in words. values: of each dialogue by its path."""

    aspect: Aspect
    main: str
    other: str
    values: Mapping[Path, Mapping[str, float]]


def setups_of(transcribers: Sequence[str], judges: Sequence[Judge], wordings: Sequence[int]) -> list[Setup]:
    """The main setup, then those that differ from it in one aspect."""
    main = Setup(next(iter(transcribers), ""), next(iter(judges), None), wordings[0])
    return [
        main,
        *(Setup(name, main.judge, main.wording, "transcriber", name) for name in transcribers[1:]),
        *(Setup(main.transcriber, judge, main.wording, "judge", judge.name) for judge in judges[1:]),
        *(Setup(main.transcriber, main.judge, n, "rubrics", f"wording {n + 1}") for n in wordings[1:]),
    ]


class VariantRow(StagedPlace, frozen=True):
    """A score of a system by the main setup and by another one, on the scenarios that are scored both ways."""

    measure: str
    n: int
    main: float
    other: float
    difference: Annotated[float, Meta(description="other minus main, paired by scenario")]
    ci95: Interval
    moves: Annotated[bool, Meta(description="whether the interval excludes 0")]


class SystemOrder(StagedCondition, frozen=True):
    """The systems by one score, the best first."""

    measure: str
    main: list[str]
    other: list[str]
    changes: bool


class StagedVariant(Struct, frozen=True):
    """What another transcriber, judge or wording of the rubrics moves; all else is as in the main tables."""

    aspect: Aspect
    main: str
    other: str
    rows: list[VariantRow]
    orders: list[SystemOrder]


def variant_of(groups: Sequence[Group], variant: OtherSetup) -> StagedVariant:
    """What a variant moves: the scores of each system under each pacing, and their order."""
    rows = [row for group in groups for row in _rows(group, variant.values)]
    return StagedVariant(variant.aspect, variant.main, variant.other, rows, list(_orders(rows)))


def _rows(main: Group, values: Mapping[Path, Mapping[str, float]]) -> Iterator[VariantRow]:
    """The paired differences of a system, on the scenarios that are scored both ways. values: by the other setup."""
    cases = [replace(case, values=dict(values.get(case.path, {})), draws=()) for case in main.cases]
    names = [own[0].scenario for own in main.scenarios]
    for measure in MOVED:
        means = (means_of_ids(items, measure) for items in (main.items, main._replace(cases=cases).items))
        a, b = (np.array([own.get(name, np.nan) for name in names]) for own in means)
        both = ~np.isnan(b - a)
        if both.any():
            interval = bootstrap_columns((b - a)[:, None])[0].interval
            yield VariantRow(
                *main.place,
                measure,
                int(both.sum()),
                float(a[both].mean()),
                float(b[both].mean()),
                float((b - a)[both].mean()),
                interval,
                interval is not None and not interval.low <= 0 <= interval.high,
            )


def _orders(rows: Sequence[VariantRow]) -> Iterator[SystemOrder]:
    """The systems by each score, the best first, where there are several."""
    for key in dict.fromkeys((row.pacing, row.examiner, row.measure) for row in rows):
        own = [row for row in rows if (row.pacing, row.examiner, row.measure) == key]
        if len(own) > 1:
            main = [row.system for row in sorted(own, key=lambda row: -row.main)]
            other = [row.system for row in sorted(own, key=lambda row: -row.other)]
            changed = ((a.main - b.main) * (a.other - b.other) < 0 for a, b in combinations(own, 2))  # not if alike
            yield SystemOrder(*key, main, other, any(changed))


def statements(variants: Sequence[StagedVariant]) -> Iterator[str]:
    """A sentence a variant."""
    for variant in variants:
        moved = [
            f"{LABELS[row.measure]} of {row.system}, {row.pacing} from {row.main:.2f} to {row.other:.2f} "
            f"({difference_text(row).removesuffix(' *')})"
            for row in variant.rows
            if row.moves
        ]
        turned = [
            f"{LABELS[order.measure]} ({order.pacing}: {', '.join(order.main)}; now {', '.join(order.other)})"
            for order in variant.orders
            if order.changes
        ]
        orders = f"; the order of systems changes by {'; '.join(turned)}" if turned else ""
        if variant.orders and not turned:
            orders = "; no order of systems changes"
        yield f"Another {ASPECTS[variant.aspect]} ({variant.other} in place of {variant.main}) moves " + (
            f"{'; '.join(moved) or 'no score by more than its interval'}{orders}."
        )


def difference_text(row: VariantRow) -> str:
    """The difference of a row with its interval, and * where that excludes 0."""
    limits = "" if row.ci95 is None else f" [{row.ci95[0]:+.2f}, {row.ci95[1]:+.2f}]"
    return f"{row.difference:+.2f}{limits}{' *' if row.moves else ''}"
