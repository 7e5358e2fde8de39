"""What a reader must know before any number of a document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from fdbcore.significance import POWER, detectable_difference, items_needed
from fdbcore.stats import LEVEL
from fdbcore.suites.dialogue_acts.sets import RecordSet

RANKING_DIFFERENCE: Final = 0.05
"""In WLCS: as far apart as the paper's two systems. A set that cannot show it is too small for a ranking."""


def cautions(
    sets: Sequence[RecordSet],
    rows: Sequence[Mapping[str, Any]],
    compared: Sequence[Mapping[str, Any]],
) -> list[str]:
    """The warnings of a document, from its rows and comparisons, a text each."""
    return [text for of in sets for text in (*_too_small(of, rows, compared), *_no_ceiling(of, rows))] + [
        text for of in sets for text in _importances(of)
    ]


def _too_small(
    of: RecordSet, rows: Sequence[Mapping[str, Any]], compared: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    """That a set is too small for a ranking, by the spread of the differences between its systems.

    With one system only, by the spread of its scores: that of differences between systems half as correlated.
    """
    spreads = [one["sd"] for one in compared if one["set"] == of.name and one["measure"] == "wlcs"]
    spreads = spreads or [
        row["measures"]["wlcs"]["sd"] for row in rows if (row["set"], row["kind"]) == (of.name, "system")
    ]
    sd = max((spread for spread in spreads if spread is not None), default=0.0)
    detectable = detectable_difference(sd, len(of.records))
    if detectable is None:
        yield f"{of.name}: {len(of.records)} records are too few for any comparison"
    elif detectable > RANKING_DIFFERENCE:
        needed = items_needed(sd, RANKING_DIFFERENCE)
        yield (
            f"{of.name}: {len(of.records)} records are too few for a ranking. Two systems must be {detectable:.2f} "
            f"apart in WLCS for a test to tell them apart (two-sided {1 - LEVEL:.0%}, power {POWER:.0%}); "
            f"to tell {RANKING_DIFFERENCE:g} it takes about {needed:,}."
        )


def _no_ceiling(of: RecordSet, rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    own = [row for row in rows if row["set"] == of.name]
    labelled = {row["annotator"]: {row["kind"]} for row in own if row["annotator"]}
    for row in own:
        if row["annotator"]:
            labelled[row["annotator"]].add(row["kind"])
    for annotator, kinds in labelled.items():
        if "ceiling" not in kinds:
            yield f"{of.name}: no ceiling: {annotator} has not annotated the reference texts"


def _importances(of: RecordSet) -> Iterator[str]:
    sums = [reference.annotation for record in of.records.values() for reference in record.references]
    if scaled := sum(annotation.scaled_from is not None for annotation in sums):
        yield f"{of.name}: the importances of {scaled} of {len(sums)} references did not sum to 1 and were scaled"
