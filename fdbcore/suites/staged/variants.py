"""Other recognisers, judges and wordings of the rubrics than the main ones: which scores and orders they move.

One of the three is changed at a time, so each difference has one cause. `statements` says it in sentences.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

import numpy as np

from fdbcore.report.format import counted, judging_took
from fdbcore.stats.bootstrap import bootstrap_columns
from fdbcore.suites.staged.cases import StagedCase
from fdbcore.suites.staged.rows import COMPARED, Group, groups_of

if TYPE_CHECKING:
    from fdbcore.suites.staged.document_types import (
        StagedDocument,
        StagedJudging,
        StagedOrder,
        StagedVariant,
        StagedVariantRow,
    )

Aspect: TypeAlias = Literal["transcriber", "judge", "rubrics"]

ASPECTS: Final[Mapping[Aspect, str]] = {
    "transcriber": "transcriber",
    "judge": "judge",
    "rubrics": "wording of the rubrics",
}
"""The aspects in words."""
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


def variant_of(cases: Sequence[StagedCase], variant: OtherSetup) -> StagedVariant:
    """What a variant moves: the scores of each system under each pacing, and their order."""
    main = groups_of(cases)
    others = groups_of([replace(case, values=dict(variant.values.get(case.path, {})), draws=()) for case in cases])
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


def statements(document: StagedDocument, labels: Mapping[str, str]) -> Iterator[str]:
    """A sentence a variant, and one on what judging took. labels: of measures."""
    for variant in document["variants"]:
        moved = [_moved(row, labels) for row in variant["rows"] if row["moves"]]
        turned = [
            f"{labels[order['measure']]} ({order['pacing']}: {', '.join(order['main'])}; "
            f"now {', '.join(order['other'])})"
            for order in variant["orders"]
            if order["changes"]
        ]
        orders = f"; the order of systems changes by {'; '.join(turned)}" if turned else ""
        if variant["orders"] and not turned:
            orders = "; no order of systems changes"
        yield f"Another {ASPECTS[variant['aspect']]} ({variant['other']} in place of {variant['main']}) moves " + (
            f"{'; '.join(moved) or 'no score by more than its interval'}{orders}."
        )
    if document["judging"] is not None:
        yield _took(document["judging"])


def _moved(row: StagedVariantRow, labels: Mapping[str, str]) -> str:
    named = f"{labels[row['measure']]} of {row['system']}, {row['pacing']}"
    return f"{named} from {row['main']:.2f} to {row['other']:.2f} ({difference_text(row).removesuffix(' *')})"


def difference_text(row: StagedVariantRow) -> str:
    """The difference of a row with its interval, and * where that excludes 0."""
    limits = "" if row["ci95"] is None else f" [{row['ci95'][0]:+.2f}, {row['ci95'][1]:+.2f}]"
    return f"{row['difference']:+.2f}{limits}{' *' if row['moves'] else ''}"


def _took(judging: StagedJudging) -> str:
    reasons = counted(judging["reasons"], "reason")
    unquoted = f" {judging['unquoted']:,} of {reasons} quote neither words nor a time." if judging["unquoted"] else ""
    return judging_took(judging, "these dialogues") + unquoted
