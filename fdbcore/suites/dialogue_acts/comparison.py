"""Systems on a set: means with intervals, paired differences, and what so few records can show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from typing import Any, Final

import numpy as np

from fdbcore.significance import detectable_difference, holm, sign_flip_p
from fdbcore.stats import RESAMPLES, SEED, Estimate, bootstrap_columns
from fdbcore.suites.dialogue_acts.scoring import MEASURES, Floats, Row

COMPARED: Final = ("wlcs", "wed", "f1")
"""The measures by which systems are compared; Holm's family is all comparisons of a document."""

SD_DDOF: Final = 1
COLUMNS: Final = [MEASURES.index(measure) for measure in COMPARED]


@dataclass(frozen=True, slots=True)
class Settings:
    """How the figures of a document are computed.

    as_given: importances were taken as they are, whatever they sum to. resamples: of each interval, and flips of each
    permutation test.
    """

    as_given: bool = False
    resamples: int = RESAMPLES
    seed: int = SEED


def row_summaries(rows: Sequence[Row], settings: Settings) -> list[dict[str, Any]]:
    """The rows of one set as JSON values, each measure with mean, SD (ddof SD_DDOF, of single replies) and interval."""
    found: dict[int, dict[str, Any]] = {}
    for repeats in {row.values.shape[1] for row in rows}:
        alike = [(k, row) for k, row in enumerate(rows) if row.values.shape[1] == repeats]
        estimates = iter(_estimates(np.concatenate([row.values for _, row in alike], axis=2), settings))
        for k, row in alike:
            found[k] = _row_json(row, [next(estimates) for _ in MEASURES])
    return [found[k] for k in range(len(rows))]


def _estimates(values: Floats, settings: Settings) -> list[Estimate]:
    return bootstrap_columns(values, resamples=settings.resamples, seed=settings.seed)


def _row_json(row: Row, estimates: Sequence[Estimate]) -> dict[str, Any]:
    sds = np.std(row.singles, axis=0, ddof=SD_DDOF).tolist() if len(row.singles) > SD_DDOF else [None] * len(MEASURES)
    return {
        "set": row.set,
        "system": row.system,
        "annotator": row.annotator,
        "kind": row.kind,
        "weights": row.weights,
        "n": row.n,
        "no_reply": row.no_reply,
        "unscored": len(row.values) - row.n,
        **({"pairs": row.pairs} if row.pairs is not None else {}),
        "measures": {
            measure: {"mean": estimate.value, "sd": sd, "ci95": estimate.interval}
            for measure, estimate, sd in zip(MEASURES, estimates, sds, strict=True)
        },
    }


def comparisons(rows: Iterable[Row], settings: Settings) -> list[dict[str, Any]]:
    """Paired differences between all systems of a set and annotator, on the records that both are scored on.

    `difference` is a - b. p: sign-flip permutation test. `p_holm` is corrected over all that is returned.
    """
    systems = [row for row in rows if row.kind == "system" and row.weights == "given"]
    found: list[dict[str, Any]] = []
    for _, alike in groupby(sorted(systems, key=_place), key=_place):
        for a, b in combinations(alike, 2):
            found += _compared(a, b, settings)
    corrected = iter(holm([one["p"] for one in found if one["p"] is not None]))
    return [one | {"p_holm": next(corrected) if one["p"] is not None else None} for one in found]


def _place(row: Row) -> tuple[str, str]:
    return row.set, row.annotator or ""


def _compared(a: Row, b: Row, settings: Settings) -> Iterator[dict[str, Any]]:
    differences = _differences(a, b)
    items = item_means(differences)
    estimates = _estimates(differences, settings)
    p_values = sign_flip_p(items, flips=settings.resamples, seed=settings.seed)
    for k, measure in enumerate(COMPARED):
        n = estimates[k].clusters
        sd = float(np.nanstd(items[:, k], ddof=SD_DDOF)) if n > SD_DDOF else None
        yield {
            "set": a.set,
            "annotator": a.annotator,
            "measure": measure,
            "a": a.system,
            "b": b.system,
            "n": n,
            "difference": estimates[k].value,
            "sd": sd,
            "ci95": estimates[k].interval,
            "p": p_values[k],
            "smallest_detectable": None if sd is None else detectable_difference(sd, n),
        }


def _differences(a: Row, b: Row) -> Floats:
    """(records, repeats, compared measures); of means over the repeats where the two differ in their number."""
    left, right = a.values[..., COLUMNS], b.values[..., COLUMNS]
    if left.shape != right.shape:
        left, right = item_means(left)[:, None], item_means(right)[:, None]
    return np.asarray(left - right)


def item_means(values: Floats) -> Floats:
    """The mean of each item over its repeats, (items, columns); NaN where it has none."""
    counts = (~np.isnan(values)).sum(axis=1)
    means: Floats = np.divide(np.nansum(values, axis=1), counts, out=np.full(counts.shape, np.nan), where=counts > 0)
    return means
