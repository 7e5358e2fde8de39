"""Whose the variance of single replies is: the records', the systems', the trials', or the annotator's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final

import numpy as np

from fdbcore.stats.variance import REPEATED, REST, variance_shares
from fdbcore.suites.dialogue_acts.scoring.comparison import COLUMNS, COMPARED, place_of
from fdbcore.suites.dialogue_acts.scoring.scores import SystemScores

if TYPE_CHECKING:
    from fdbcore.suites.dialogue_acts.document_types import ActsVariance

RECORD, SYSTEM = "record", "system"
FACTORS: Final = (RECORD, SYSTEM)
BOTH: Final = f"{RECORD} x {SYSTEM}"
PARTS: Final = {RECORD: RECORD, SYSTEM: SYSTEM, BOTH: BOTH, REPEATED: "trial", REST: "annotator"}
"""To which part each component of the variance belongs; with one trial, what that changes is in `record x system`."""


def variance_of(rows: Iterable[SystemScores]) -> Iterator[ActsVariance]:
    """Of each set, annotator and measure, over the records that all systems have with all trials and annotations.

    Nothing where each reply was annotated once, and of fewer than two records. Turns of one recorded user resemble each
    other, so their shares have no interval.
    """
    systems = [row for row in rows if row.kind == "system" and row.weights == "given"]
    for (of, annotator), alike in groupby(sorted(systems, key=place_of), key=place_of):
        yield from _of_condition(of, annotator, list(alike))


def _of_condition(of: str, annotator: str, rows: Sequence[SystemScores]) -> Iterator[ActsVariance]:
    trials, repeats = (min(row.of_trials.shape[axis] for row in rows) for axis in (1, 2))
    values = np.stack([row.of_trials[:, :trials, :repeats, COLUMNS] for row in rows], axis=1)
    whole = values[~np.isnan(values).any(axis=(1, 2, 3, 4))]
    if repeats < 2 or len(whole) < 2:
        return
    for place, measure in enumerate(COMPARED):
        shares = variance_shares(whole[..., place], FACTORS, PARTS)
        yield {
            "set": of,
            "annotator": annotator,
            "measure": measure,
            "records": len(whole),
            "left_out": len(values) - len(whole),
            "systems": [row.system for row in rows],
            "trials": trials,
            "repeats": repeats,
            "shares": {
                part: {"share": each.value, "ci95": each.interval if rows[0].clusters is None else None}
                for part in PARTS.values()
                if (each := shares.get(part)) is not None
            },
        }
