"""Compares systems on a set: means with intervals, paired differences, what this many records can show, and whose the
variance is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from typing import Annotated, Any, Final, NotRequired, Self, TypeAlias, TypedDict, cast

import numpy as np
import numpy.typing as npt
from msgspec import Meta

from fdbcore.analysis.judging_types import JudgingSpent
from fdbcore.stats.bootstrap import RESAMPLES, SEED, Estimate, bootstrap_columns
from fdbcore.stats.significance import cluster_sums, detectable_difference, holm, sign_flip_p, spread_of
from fdbcore.stats.variance import REPEATED, REST, variance_shares
from fdbcore.suites.dialogue_acts.records import ROUNDING, Interval
from fdbcore.suites.dialogue_acts.scoring.scores import MEASURES, Floats, Kind, SystemScores, Weights, item_means

COMPARED: Final = ("wlcs", "wed", "f1")
"""The measures by which systems are compared. Holm's family is all comparisons of a document."""

CONTENT: Final = "content"
"""The measure of the comparisons: 1 for a reply whose content is right, 0 for one whose content is not."""

SD_DDOF: Final = 1
COLUMNS: Final = [MEASURES.index(measure) for measure in COMPARED]

FACTORS: Final = ("record", "system")
PARTS: Final[Mapping[str, str]] = {
    **{each: each for each in (*FACTORS, "record x system")},
    REPEATED: "trial",
    REST: "annotator",
}
"""To which part each component of the variance belongs."""

Clusters: TypeAlias = Annotated[
    int, Meta(description="of turns: the recorded users that were resampled, each with all its turns")
]


class MeanJson(TypedDict):
    """The mean of a measure. sd: of single replies."""

    mean: float | None
    sd: NotRequired[float | None]
    ci95: NotRequired[Interval]


class RowJson(TypedDict):
    """A system, the ceiling or a baseline on one set."""

    set: str
    system: str
    annotator: Annotated[str | None, Meta(description="null for a baseline, which nobody annotates")]
    kind: Kind
    weights: Weights
    n: int
    clusters: NotRequired[Clusters]
    no_reply: Annotated[int, Meta(description="replies that were not given; they score as replies without acts")]
    unscored: int
    note: NotRequired[Annotated[str, Meta(description="of a baseline: what it replies, and what it ties with")]]
    pairs: NotRequired[Annotated[int, Meta(description="of the shuffled references: how many were scored")]]
    measures: dict[str, MeanJson]


class ComparisonJson(TypedDict):
    """A paired difference of two systems, a - b."""

    set: str
    annotator: str | None
    measure: str
    a: str
    b: str
    n: int
    clusters: NotRequired[Clusters]
    difference: float | None
    ci95: Interval
    p: float | None
    sd: Annotated[float | None, Meta(description="of the differences; of turns, those of recorded users")]
    differing: NotRequired[Annotated[int, Meta(description="in how many of the n the two differ")]]
    smallest_detectable: Annotated[float | None, Meta(description="null where all differences are the same")]
    p_holm: float | None


class ContentRow(TypedDict):
    """In how many replies to a set a judge finds the content of a system right; a reply that was not given is not."""

    set: str
    system: str
    n: Annotated[int, Meta(description="replies with a verdict")]
    right: int
    unscored: int
    share: Annotated[float | None, Meta(description="null without a verdict")]
    ci95: Interval
    clusters: NotRequired[Clusters]


class JudgedBy(JudgingSpent):
    """Who judged the content of replies, and what that took."""

    judge: str


class ContentJudging(JudgedBy):
    """What a judge says of the content of replies."""

    rows: list[ContentRow]
    comparisons: NotRequired[
        Annotated[list[ComparisonJson], Meta(description="of shares; p_holm is corrected together with that of acts")]
    ]


@dataclass(frozen=True, slots=True)
class ScoringSettings:
    """How the figures of a document are computed.

    as_given: importances were used as they are, whatever they sum to. merged: neighbours of one act were one step.
    first_reference: replies were scored against the first reference of a record alone. partial_credit: swaps of related
    acts cost the factors of the tag set. resamples: the number of
    resamples of each interval, and of flips of each permutation test.
    """

    as_given: bool = False
    merged: bool = True
    first_reference: bool = False
    partial_credit: bool = False
    resamples: int = RESAMPLES
    seed: int = SEED

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """The settings that the options of the suite say."""
        return cls(options["as_given"], not options["unmerged"], options["first_reference"], options["partial_credit"])


def row_summaries(rows: Sequence[SystemScores], settings: ScoringSettings) -> list[RowJson]:
    """The rows of one set as JSON values: mean, SD of single replies (ddof SD_DDOF) and interval of each measure."""
    estimates = _estimates([row.values for row in rows], rows[0].clusters, settings)
    return [_row_json(row, own) for row, own in zip(rows, estimates, strict=True)]


def _estimates(
    blocks: Sequence[Floats], clusters: Sequence[int] | None, settings: ScoringSettings
) -> list[list[Estimate]]:
    """The estimates of the columns of each block (records, repeats, columns); blocks of the same shape share draws."""
    found: dict[int, list[Estimate]] = {}
    for repeats in {block.shape[1] for block in blocks}:
        alike = [k for k, block in enumerate(blocks) if block.shape[1] == repeats]
        columns = np.concatenate([blocks[k] for k in alike], axis=2)
        estimates = iter(bootstrap_columns(columns, clusters, resamples=settings.resamples, seed=settings.seed))
        found |= {k: [next(estimates) for _ in range(blocks[k].shape[2])] for k in alike}
    return [found[k] for k in range(len(blocks))]


def _row_json(row: SystemScores, estimates: Sequence[Estimate]) -> RowJson:
    sds = np.std(row.singles, axis=0, ddof=SD_DDOF).tolist() if len(row.singles) > SD_DDOF else [None] * len(MEASURES)
    found = {
        "set": row.set,
        "system": row.system,
        "annotator": row.annotator,
        "kind": row.kind,
        "weights": row.weights,
        "n": row.n,
        **({"clusters": estimates[0].clusters} if row.clusters is not None else {}),
        "no_reply": row.no_reply,
        "unscored": len(row.values) - row.n,
        **({"note": row.note} if row.note else {}),
        **({"pairs": row.pairs} if row.pairs is not None else {}),
        "measures": {
            measure: {"mean": estimate.value, "sd": sd, "ci95": _from_0(estimate.interval)}
            for measure, estimate, sd in zip(MEASURES, estimates, sds, strict=True)
        },
    }
    return cast("RowJson", found)


def _from_0(interval: Sequence[float] | None) -> tuple[float, float] | None:
    """The interval of a mean that cannot be below 0; the shuffled references' is computed from a sum that can."""
    return (max(0.0, interval[0]), max(0.0, interval[1])) if interval else None


def comparisons(rows: Iterable[SystemScores], settings: ScoringSettings) -> list[ComparisonJson]:
    """Paired differences between all systems of a set and annotator, on the records that both are scored on.

    `difference` is a - b. `p` is from a sign-flip permutation test. `p_holm` is corrected for all comparisons returned.
    """
    systems = [row for row in rows if row.kind == "system" and row.weights == "given"]
    found: list[ComparisonJson] = []
    for (of, annotator), alike in groupby(sorted(systems, key=place_of), key=place_of):
        pairs = list(combinations(alike, 2))
        differences = [_differences(a, b) for a, b in pairs]
        names = [(a.system, b.system) for a, b in pairs]
        clusters = pairs[0][0].clusters if pairs else None
        found += paired(of, annotator or None, COMPARED, names, differences, clusters, settings)
    correct(found)
    return found


def correct(family: Sequence[ComparisonJson]) -> None:
    """Set `p_holm` of all comparisons of a document."""
    corrected = iter(holm([one["p"] for one in family if one["p"] is not None]))
    for one in family:
        one["p_holm"] = next(corrected) if one["p"] is not None else None


def place_of(row: SystemScores) -> tuple[str, str]:
    """The set and the annotator of a row; "" where nobody annotates."""
    return row.set, row.annotator or ""


def paired(
    of: str,
    annotator: str | None,
    measures: Sequence[str],
    names: Sequence[tuple[str, str]],
    differences: Sequence[Floats],
    clusters: Sequence[int] | None,
    settings: ScoringSettings,
) -> Iterator[ComparisonJson]:
    """The comparisons of pairs of systems on the set `of`; all use the same draws and flips. `p_holm` is still missing.

    names: a and b of each pair. differences: a - b of each pair, (records, repeats, measures), NaN where one of them
    has no value. clusters: of the records; see `RecordSet.clusters`.
    """
    if not names:
        return
    estimates = _estimates(differences, clusters, settings)
    items = [item_means(difference) for difference in differences]
    p_values = iter(sign_flip_p(np.hstack(items), clusters, flips=settings.resamples, seed=settings.seed))
    for (a, b), own, means in zip(names, estimates, items, strict=True):
        for k, measure in enumerate(measures):
            is_there = ~np.isnan(means[:, k])
            values = means[is_there, k]
            units = _units(values, None if clusters is None else np.asarray(clusters)[is_there])
            sd = spread_of(units)
            one: ComparisonJson = {
                "set": of,
                "annotator": annotator,
                "measure": measure,
                "a": a,
                "b": b,
                "n": len(values),
                "difference": own[k].value,
                "ci95": own[k].interval,
                "p": next(p_values),
                "sd": sd,
                "differing": int((np.abs(values) > ROUNDING).sum()),
                "smallest_detectable": detectable_difference(sd, len(units)),
                "p_holm": None,
            }
            if clusters is not None:
                one["clusters"] = len(units)
            yield one


def _units(values: Floats, clusters: npt.ArrayLike | None) -> Floats:
    """What counts as one difference: the values (n,) themselves, or one for each cluster, (k,), with their mean.

    A cluster's is mean + k / n * (its sum - its size * mean): the SD of these over the root of k is the standard error
    of a mean over clusters of unequal size, as of a ratio (Cochran 1977, Sampling Techniques).
    """
    if clusters is None or not len(values):
        return values
    sums, sizes = cluster_sums(np.column_stack([values, np.ones_like(values)]), clusters).T
    share = len(sums) / len(values)
    return np.asarray(sums * share - (sizes * share - 1) * values.mean())


def _differences(a: SystemScores, b: SystemScores) -> Floats:
    """(records, repeats, compared measures); of the means over repeats if the numbers of repeats differ."""
    left, right = a.values[..., COLUMNS], b.values[..., COLUMNS]
    if left.shape != right.shape:
        left, right = item_means(left)[:, None], item_means(right)[:, None]
    return np.asarray(left - right)


def variance_of(rows: Iterable[SystemScores]) -> tuple[dict[str, dict[str, list[float]]], list[str]]:
    """Of WED, by set and annotator: the share of each part, then its interval if it has one; and a note on it.

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
