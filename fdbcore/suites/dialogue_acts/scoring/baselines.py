"""Scores of replies that ignore the request: they show what the other scores are worth."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from fdbcore.stats import SEED
from fdbcore.suites.dialogue_acts.records import Record
from fdbcore.suites.dialogue_acts.scoring.alignment import ActSequence
from fdbcore.suites.dialogue_acts.scoring.scores import (
    MEASURES,
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
from fdbcore.suites.dialogue_acts.tag_sets import TagSet

ALWAYS_INFORM: Final = "always Inform"
MOST_FREQUENT: Final = "most frequent"
BEST_CONSTANT: Final = "best constant"
SHUFFLED: Final = "shuffled"
PAIRS: Final = 1_000_000
"""Up to this many pairs of records, all pairs are scored for the shuffled references; above it, a sample."""


def baseline_rows(of: RecordSet, seed: int = SEED) -> Iterator[SystemScores]:
    """The baselines of a set: always one Inform (if there is this act), the most frequent sequence, the best constant
    one, the reference of another record.
    """
    records = list(of.records.values())
    same: dict[str, ActSequence] = {
        **({ALWAYS_INFORM: [("Inform", 1.0)]} if "Inform" in of.tags.names else {}),
        MOST_FREQUENT: most_frequent(records),
        BEST_CONSTANT: best_constant(records, seed, of.tags),
    }
    told = ", ".join(f"{act} {weight:.2f}" for act, weight in same[BEST_CONSTANT])
    notes = {MOST_FREQUENT: _how_frequent(records), BEST_CONSTANT: told}
    given, every = References.of(records, "given", of.tags), np.arange(len(records))
    for weights in WEIGHTS:
        references = given if weights == "given" else References.of(records, weights, of.tags)
        for name, sequence in same.items():
            counted = given.score(every, packed([sequence] * len(records), "given", of.tags)).reference
            scores = references.score(every, packed([sequence] * len(records), weights, of.tags), counted).scores
            yield SystemScores(
                of.name, name, None, "baseline", weights, scores[:, None, None], scores, note=notes.get(name, "")
            )
        if len(records) > 1:
            yield shuffled_row(of.name, references, given, weights, seed)


def most_frequent(records: Sequence[Record]) -> ActSequence:
    """The most frequent act sequence among the first references (of several, the earliest), with mean importances.

    It is taken from the same set that it is scored on, which no system could do.
    """
    sequences = [record.references[0].annotation.sequence for record in records]
    labels = [tuple(act for act, _ in sequence) for sequence in sequences]
    acts = Counter(labels).most_common(1)[0][0]
    importances = [
        [weight for _, weight in sequence] for sequence, of in zip(sequences, labels, strict=True) if of == acts
    ]
    return list(zip(acts, np.mean(importances, axis=0).tolist(), strict=True))


def best_constant(records: Sequence[Record], seed: int = SEED, tags: TagSet | None = None) -> ActSequence:
    """The reference of the set that, as the reply to every request, has the least mean WED; of equal ones, the first.

    It is what a system can get that listens to nothing, and is chosen from the set that it is scored on. All distinct
    references are tried, up to PAIRS pairs with records; above that, a seeded draw of them.
    """
    every = (tuple(one.annotation.sequence) for record in records for one in record.references)
    candidates = list(dict.fromkeys(every))
    if len(candidates) > (most := max(1, PAIRS // len(records))):
        generator = np.random.Generator(np.random.PCG64(seed))
        candidates = [candidates[k] for k in np.sort(generator.choice(len(candidates), most, replace=False))]
    references, predictions = References.of(records, "given", tags), packed(candidates, "given", tags)
    asked = np.tile(np.arange(len(records)), len(candidates))
    replied = np.repeat(np.arange(len(candidates)), len(records))
    wed = references.score(asked, taken(predictions, replied)).scores[:, MEASURES.index("wed")]
    means = wed.reshape(len(candidates), len(records)).mean(axis=1)
    return list(candidates[int(np.argmin(means.round(9)))])


def _how_frequent(records: Sequence[Record]) -> str:
    """The count of the most frequent sequence, and how many others occur as often."""
    counts = Counter(tuple(act for act, _ in one.references[0].annotation.sequence) for one in records)
    (_, times), *_ = ranked = counts.most_common()
    tied = sum(count == times for _, count in ranked) - 1
    return f"{times} of {len(records)} records" + (f", as often as {tied} more; the first is taken" if tied else "")


def shuffled_row(name: str, references: References, given: References, weights: Weights, seed: int) -> SystemScores:
    """Each record's references against the first reference of other records.

    All other records, up to PAIRS pairs; above that, a seeded draw chooses at which distances the other record stands,
    the same for all records. A record takes part both as the request and as the reply, and the interval resamples it in
    both roles: its value is the sum of its two means less the mean of all (Hájek's projection of a statistic of pairs).
    given: the references with their importances, by which the reference that counts is chosen.
    """
    n, shifts = len(references.counts), np.arange(1, len(references.counts))
    if n * (n - 1) > PAIRS:
        drawn = np.random.Generator(np.random.PCG64(seed)).choice(n - 1, size=max(1, PAIRS // n), replace=False)
        shifts = 1 + np.sort(drawn)
    asked = np.repeat(np.arange(n), len(shifts))
    replied = (asked + np.tile(shifts, n)) % n
    counted = given.score(asked, taken(given.packed, given.starts[replied])).reference
    scores = references.score(asked, taken(references.packed, references.starts[replied]), counted).scores
    values = _means(scores, asked, n) + _means(scores, replied, n) - scores.mean(axis=0)
    return SystemScores(name, SHUFFLED, None, "baseline", weights, values[:, None, None], scores, pairs=len(scores))


def _means(scores: Floats, owners: Indexes, n: int) -> Floats:
    counts = np.bincount(owners, minlength=n)
    return np.column_stack([np.bincount(owners, weights=column, minlength=n) / counts for column in scores.T])
