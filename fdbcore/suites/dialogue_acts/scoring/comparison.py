"""Pools and compares systems on a set: rows with intervals, paired differences, and whose the variance is.

A record has a score for each of its annotations, so its values are arrays, and not items of `fdbcore.results.pooling`:
a resample draws records, or recorded users, and one of the annotations of each.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, groupby
from typing import Annotated, Any, Final, NamedTuple, Self

import numpy as np
from msgspec import Meta

from fdbcore.analysis import JudgingSpent
from fdbcore.results import PooledWith, cluster_units, detectable
from fdbcore.stats import (
    REPEATED,
    REST,
    Estimate,
    bootstrap_columns,
    pairs_needed,
    sign_flip_p,
    spread_of,
    variance_shares,
)
from fdbcore.suites.dialogue_acts.models.annotate import AnnotatedWith
from fdbcore.suites.dialogue_acts.records import ROUNDING
from fdbcore.suites.dialogue_acts.scoring.scores import MEASURES, Floats, SystemScores, condition_of, item_means
from fdbcore.types.scorecard import Difference, Figure, Interval, Measure, ScoreRow, scaled_interval

SCALES: Final = (
    Measure("wed", "WED", -1, main=True, compared=True),
    Measure("insertion", "missing", -1, part="parts of WED", adds_to="wed"),
    Measure("deletion", "redundant", -1, part="parts of WED", adds_to="wed"),
    Measure("substitution", "swapped", -1, part="parts of WED", adds_to="wed"),
    Measure("wlcs", "WLCS", 1, main=True, compared=True),
    Measure("recall", "recall", 1, part="ours"),
    Measure("f1", "F1", 1, part="ours", compared=True),
    Measure("uniform_wed", "WED", -1, part="uniform"),
    Measure("uniform_wlcs", "WLCS", 1, part="uniform"),
)
"""Holm's family is all comparisons of a document."""
CONTENT: Final = Measure(
    "content", "content right", 1, "%", 1, main=True, bounds=(0, 100), pools="share", compared=True
)
"""The score by a judge, if one was asked: 100 for a reply whose content is right, 0 for one whose content is not."""
COMPARED: Final = [scale.id for scale in SCALES if scale.compared]

SD_DDOF: Final = 1
COLUMNS: Final = [MEASURES.index(measure) for measure in COMPARED]

FACTORS: Final = ("record", "system")
PARTS: Final[Mapping[str, str]] = {
    **{each: each for each in (*FACTORS, "record x system")},
    REPEATED: "trial",
    REST: "annotator",
}
"""Parts to which the components of the variance belong."""


class JudgedBy(JudgingSpent):
    """The judge of the content of replies, and what that took."""

    judge: str


class ScoringSettings(PooledWith, frozen=True, kw_only=True):
    """Settings with which the figures of a document are computed."""

    annotators: Sequence[str] = ()
    repeats: Annotated[int, Meta(description="annotations of each reply")] = 1
    annotated_with: Annotated[
        Sequence[AnnotatedWith], Meta(description="one for each set and model that was to annotate")
    ] = ()
    as_given: Annotated[bool, Meta(description="importances were used as they are, whatever they sum to")] = False
    merged: Annotated[bool, Meta(description="neighbours of one act were one step")] = True
    first_reference: Annotated[bool, Meta(description="only the first reference of a record counted")] = False
    partial_credit: Annotated[bool, Meta(description="swaps of related acts cost their factor")] = False
    sd_ddof: int = SD_DDOF

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """The settings that the options of the suite say."""
        named = {name: options[name] for name in ("as_given", "first_reference", "partial_credit")}
        return cls(merged=not options["unmerged"], **named)


def score_rows(rows: Sequence[SystemScores], settings: ScoringSettings) -> list[ScoreRow]:
    """The rows of one set, by condition: mean, SD of single replies (ddof SD_DDOF) and interval of each measure.

    A control, in which all acts weigh the same, is the measures `uniform_...`. Each condition has the baselines, too.
    """
    annotators = annotators_of(rows)
    found: dict[tuple[str, str, str], ScoreRow] = {}
    for row, estimates in zip(rows, _estimates([row.values for row in rows], rows[0].clusters, settings), strict=True):
        sds = np.std(row.singles, axis=0, ddof=SD_DDOF).tolist() if len(row.singles) > SD_DDOF else [None] * 7
        figures = {
            f"{'' if row.weights == 'given' else 'uniform_'}{measure}": Figure(one.value, sd, _from_0(one.interval))
            for measure, one, sd in zip(MEASURES, estimates, sds, strict=True)
        }
        counts = {"no_reply": row.no_reply, "unscored": len(row.values) - row.n}
        counts |= {} if row.clusters is None else {"recorded_users": estimates[0].clusters}
        counts |= {} if row.pairs is None else {"pairs": row.pairs}
        for annotator in annotators if row.annotator is None else [row.annotator]:
            name = row.kind if row.kind == "ceiling" else row.system
            made = ScoreRow(condition_of(row.set, annotator), row.kind, name, row.n, {}, _note(row), "", counts)
            found.setdefault((annotator, row.kind, name), made).measures.update(figures)
    return list(found.values())


def annotators_of(rows: Iterable[SystemScores]) -> list[str]:
    """The annotators of replies of these rows."""
    return list(dict.fromkeys(row.annotator for row in rows if row.annotator is not None))


def _note(row: SystemScores) -> str:
    """The number of requests without a reply, and of records that are in no mean; or what a baseline replies."""
    none = f"{row.no_reply} not replied to (scored as empty)" if row.no_reply else ""
    unscored = 0 if row.kind == "baseline" else len(row.values) - row.n
    lost = f"{unscored} unscored (in no mean)" if unscored else ""
    return ", ".join(filter(None, [row.note, none, lost]))


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


def _from_0(interval: Sequence[float] | None) -> Interval:
    """The interval of a mean that cannot be below 0; the shuffled references' is computed from a sum that can."""
    return (max(0.0, interval[0]), max(0.0, interval[1])) if interval else None


class Compared(NamedTuple):
    """A difference of two systems on a set. spread: the SD of the differences, of turns that of recorded users."""

    set: str
    difference: Difference
    spread: float | None


def comparisons(rows: Iterable[SystemScores], settings: ScoringSettings) -> Iterator[Compared]:
    """Paired differences between all systems of a set and annotator, on the records that both are scored on."""
    for (of, annotator), alike in _systems(rows):
        pairs = list(combinations(alike, 2))
        names, apart = [(a.system, b.system) for a, b in pairs], [_differences(a, b) for a, b in pairs]
        yield from paired(of, condition_of(of, annotator), COMPARED, names, apart, alike[0].clusters, settings)


def _systems(rows: Iterable[SystemScores]) -> Iterator[tuple[tuple[str, str], list[SystemScores]]]:
    """The rows of systems by set and annotator."""
    systems = [row for row in rows if row.kind == "system" and row.weights == "given"]

    def place(row: SystemScores) -> tuple[str, str]:
        return row.set, row.annotator or ""

    yield from ((of, list(alike)) for of, alike in groupby(sorted(systems, key=place), key=place))


def paired(
    of: str,
    condition: str,
    measures: Sequence[str],
    names: Sequence[tuple[str, str]],
    differences: Sequence[Floats],
    clusters: Sequence[int] | None,
    settings: ScoringSettings,
    times: float = 1,
) -> Iterator[Compared]:
    """The comparisons of pairs of systems on the set `of`; all use the same draws and flips. None has `p_corrected`.

    names: a and b of each pair. differences: a - b of each pair, (records, repeats, measures), NaN where one of them
    has no value. clusters: of the records; see `RecordSet.clusters`. p is from a sign-flip permutation test. times:
    what differences are told in, such as 100 for percent.
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
            of_values = None if clusters is None else np.asarray(clusters)[is_there]
            units = cluster_units(values, of_values)
            value, found = own[k].value, detectable(values, of_values)
            made = Difference(
                condition,
                a,
                b,
                measure,
                len(values),
                None if value is None else times * value,
                scaled_interval(own[k].interval, times),
                next(p_values),
                None,
                None if found is None else times * found,
                pairs_needed(),
                int((np.abs(values) > ROUNDING).sum()),
                None if clusters is None else len(units),
            )
            yield Compared(of, made, spread_of(units))


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
    for (of, annotator), own in _systems(rows):
        trials, repeats = (min(row.of_trials.shape[axis] for row in own) for axis in (1, 2))
        values = np.stack([row.of_trials[:, :trials, :repeats, MEASURES.index("wed")] for row in own], axis=1)
        whole = values[~np.isnan(values).any(axis=(1, 2, 3))]
        if repeats > 1 and len(whole) > 1 and np.ptp(whole):
            found, where = variance_shares(whole, FACTORS, PARTS), condition_of(of, annotator)
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
