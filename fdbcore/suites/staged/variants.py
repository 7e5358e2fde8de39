"""Other recognisers, judges and wordings of the rubrics than the main ones: which scores and orders they move.

One of the three is changed at a time, so each difference has one cause.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

import numpy as np

from fdbcore.stats.bootstrap import bootstrap_columns
from fdbcore.suites.staged.cases import StagedCase
from fdbcore.suites.staged.rows import COMPARED, Group, groups_of

if TYPE_CHECKING:
    from fdbcore.suites.staged.document_types import StagedOrder, StagedVariant, StagedVariantRow

Aspect: TypeAlias = Literal["transcriber", "judge", "rubrics"]

MOVED: Final = ("turn_taking", "instruction_following", "task_score", "goals_met")
"""The measures that depend on who hears, who judges, or how that is asked."""


class Setup(NamedTuple):
    """Who hears and who judges, as numbers of those that were given, and by which wording; all from 0."""

    transcriber: int
    judge: int
    wording: int


@dataclass(frozen=True, slots=True)
class OtherSetup:
    """Another setup than the main one. main, other: what differs, in words. values: of each dialogue by its path."""

    aspect: Aspect
    main: str
    other: str
    values: Mapping[Path, Mapping[str, float]]


def setups_of(transcribers: int, judges: int, wordings: Sequence[int]) -> list[tuple[Aspect | None, Setup]]:
    """The main setup, then those that differ from it in one aspect. judges: how many there are; 0 for none."""
    main = Setup(0, 0, wordings[0])
    found: list[tuple[Aspect | None, Setup]] = [(None, main)]
    found += [("transcriber", main._replace(transcriber=number)) for number in range(1, transcribers)]
    found += [("judge", main._replace(judge=number)) for number in range(1, judges)]
    found += [("rubrics", main._replace(wording=wording)) for wording in wordings[1:]]
    return found


def variants_of(cases: Sequence[StagedCase], variants: Sequence[OtherSetup]) -> list[StagedVariant]:
    """What each variant moves: the scores of each system under each pacing, and their order."""
    return [_variant(cases, each) for each in variants]


def _variant(cases: Sequence[StagedCase], variant: OtherSetup) -> StagedVariant:
    main = groups_of(cases)
    others = groups_of(
        [
            replace(case, values={name: value for name, value in variant.values.get(case.path, {}).items()}, draws=())
            for case in cases
        ]
    )
    rows = [row for a, b in zip(main, others, strict=True) for row in _rows(a, b)]
    return {
        "aspect": variant.aspect,
        "main": variant.main,
        "other": variant.other,
        "rows": rows,
        "orders": _orders(rows),
    }


def _rows(main: Group, other: Group) -> list[StagedVariantRow]:
    """The paired differences of a system, on the scenarios that are scored both ways."""
    scenarios = list(main.cases)
    a, b = main.means(scenarios), other.means(scenarios)
    estimates = bootstrap_columns(b - a)
    found: list[StagedVariantRow] = []
    for measure in MOVED:
        column = COMPARED.index(measure)
        both = ~np.isnan(a[:, column]) & ~np.isnan(b[:, column])
        if not both.any():
            continue
        interval = estimates[column].interval
        found.append(
            {
                **main.place,
                "measure": measure,
                "n": int(both.sum()),
                "main": float(a[both, column].mean()),
                "other": float(b[both, column].mean()),
                "difference": float((b - a)[both, column].mean()),
                "ci95": interval,
                "moves": interval is not None and not interval.low <= 0 <= interval.high,
            }
        )
    return found


def _change_places(a: StagedVariantRow, b: StagedVariantRow) -> bool:
    """Whether the better one becomes the worse one; systems that are alike have no places."""
    return (a["main"] - b["main"]) * (a["other"] - b["other"]) < 0


def _orders(rows: Sequence[StagedVariantRow]) -> list[StagedOrder]:
    """The systems by each score, the best first, where there are several."""
    found: list[StagedOrder] = []
    for key in dict.fromkeys((row["pacing"], row["examiner"], row["measure"]) for row in rows):
        own = [row for row in rows if (row["pacing"], row["examiner"], row["measure"]) == key]
        if len(own) < 2:
            continue
        main = [row["system"] for row in sorted(own, key=lambda row: -row["main"])]
        other = [row["system"] for row in sorted(own, key=lambda row: -row["other"])]
        found.append(
            {
                "pacing": key[0],
                "examiner": key[1],
                "measure": key[2],
                "main": main,
                "other": other,
                "changes": any(_change_places(a, b) for a, b in combinations(own, 2)),
            }
        )
    return found
