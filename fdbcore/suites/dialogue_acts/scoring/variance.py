"""Whose the variance of WED is, of single replies: the records', the systems', the trials', or the annotator's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Final

import numpy as np

from fdbcore.stats.variance import REPEATED, REST, variance_shares
from fdbcore.suites.dialogue_acts.scoring.comparison import place_of
from fdbcore.suites.dialogue_acts.scoring.scores import MEASURES, SystemScores

FACTORS: Final = ("record", "system")
PARTS: Final[Mapping[str, str]] = {
    **{each: each for each in (*FACTORS, "record x system")},
    REPEATED: "trial",
    REST: "annotator",
}
"""To which part each component of the variance belongs."""


def variance_of(rows: Iterable[SystemScores]) -> tuple[dict[str, dict[str, list[float]]], list[str]]:
    """Of each set and annotator the share of each part, then its interval if it has one; and a note on it.

    Nothing where a reply was annotated once or nothing varies, and of one record. Turns of one recorded user resemble
    each other, so of turns shares have no interval.
    """
    shares: dict[str, dict[str, list[float]]] = {}
    notes = []
    systems = [row for row in rows if row.kind == "system" and row.weights == "given"]
    for (of, annotator), alike in groupby(sorted(systems, key=place_of), key=place_of):
        own = list(alike)
        trials, repeats = (min(row.of_trials.shape[axis] for row in own) for axis in (1, 2))
        values = np.stack([row.of_trials[:, :trials, :repeats, MEASURES.index("wed")] for row in own], axis=1)
        whole = values[~np.isnan(values).any(axis=(1, 2, 3))]
        if repeats > 1 and len(whole) > 1 and np.ptp(whole):
            found, where = variance_shares(whole, FACTORS, PARTS), f"{of}, annotated by {annotator}"
            shares[where] = {
                part: [found[part].value or 0.0, *(() if own[0].clusters else found[part].interval or ())]
                for part in PARTS.values()
                if part in found
            }
            told = " · ".join(f"{part} {_told(*each)}" for part, each in shares[where].items())
            of_what = f"{where} {repeats} times, {len(whole)} records"
            notes.append(f"Whose the variance of WED is, of single replies ({of_what}): {told}")
    return shares, notes


def _told(share: float, *limits: float) -> str:
    return f"{share:.0%}" + (f" [{', '.join(f'{limit:.0%}' for limit in limits)}]" if limits else "")
