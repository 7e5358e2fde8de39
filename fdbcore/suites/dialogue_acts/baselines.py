"""What replies score that do not listen: the rows that give the others their meaning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from fdbcore.stats.bootstrap import SEED
from fdbcore.suites.dialogue_acts.alignment import ActSequence, PackedActs
from fdbcore.suites.dialogue_acts.records import Record
from fdbcore.suites.dialogue_acts.scoring import (
    WEIGHTS,
    Floats,
    Indexes,
    References,
    SystemScores,
    Weights,
    packed,
    taken,
)
from fdbcore.suites.dialogue_acts.sets import RecordSet

ALWAYS_INFORM: Final = "always Inform"
MOST_FREQUENT: Final = "most frequent sequence"
SHUFFLED: Final = "shuffled references"
PAIRS: Final = 1_000_000
"""Up to so many pairs of records the shuffled references are exact; beyond, so many are drawn."""


def baseline_rows(of: RecordSet, seed: int = SEED) -> Iterator[SystemScores]:
    """The rows of a set: each reply is one Inform, the most frequent sequence, another record's reference."""
    records = list(of.records.values())
    same: dict[str, ActSequence] = {ALWAYS_INFORM: [("Inform", 1.0)], MOST_FREQUENT: most_frequent(records)}
    for weights in WEIGHTS:
        references = References.of(records, weights)
        for name, sequence in same.items():
            predictions = packed([sequence] * len(records), weights)
            scores = references.score(np.arange(len(records)), predictions).scores
            yield SystemScores(of.name, name, None, "baseline", weights, scores[:, None], scores)
        if len(records) > 1:
            yield shuffled_row(of.name, references, weights, seed)


def most_frequent(records: Sequence[Record]) -> ActSequence:
    """The most frequent sequence of acts among the first references (the earliest of several), with mean importances.

    It is taken from the set that it is scored on, as no system can.
    """
    sequences = [record.references[0].annotation.sequence for record in records]
    labels = [tuple(act for act, _ in sequence) for sequence in sequences]
    acts = Counter(labels).most_common(1)[0][0]
    importances = [
        [weight for _, weight in sequence] for sequence, of in zip(sequences, labels, strict=True) if of == acts
    ]
    return list(zip(acts, np.mean(importances, axis=0).tolist(), strict=True))


def shuffled_row(name: str, references: References, weights: Weights, seed: int) -> SystemScores:
    """Each record's references against the first reference of other records.

    All others, up to PAIRS pairs; beyond, for all records the ones that stand as many places further on as seeded draws
    say. A record takes part as what is asked for and as what is replied; the interval resamples it in both roles, so
    its value is the sum of its two means less the mean of all (Hájek's projection of a statistic of pairs).
    """
    n = len(references.counts)
    shifts = _shifts(n, seed)
    asked = np.repeat(np.arange(n), len(shifts))
    replied = (asked + np.tile(shifts, n)) % n
    firsts: PackedActs = taken(references.packed, references.starts)
    scores = references.score(asked, taken(firsts, replied)).scores
    values = _means(scores, asked, n) + _means(scores, replied, n) - scores.mean(axis=0)
    return SystemScores(name, SHUFFLED, None, "baseline", weights, values[:, None], scores, pairs=len(scores))


def _shifts(n: int, seed: int) -> Indexes:
    if n * (n - 1) <= PAIRS:
        return np.arange(1, n)
    generator = np.random.Generator(np.random.PCG64(seed))
    return 1 + np.sort(generator.choice(n - 1, size=max(1, PAIRS // n), replace=False))


def _means(scores: Floats, owners: Indexes, n: int) -> Floats:
    counts = np.bincount(owners, minlength=n)
    return np.column_stack([np.bincount(owners, weights=column, minlength=n) / counts for column in scores.T])
