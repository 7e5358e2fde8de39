"""Scores of replies against their references, item by item: each act sequence is aligned with its reference.

Measures of an item: `wlcs`, and `wed` with its parts `deletion` (redundant), `insertion` (missing) and `substitution`
(swapped), are those of the paper (sections 4.1.1 and 4.1.2). `wlcs` uses the importances of the reply, so a reply of
one act can reach 1. `recall` (ours) uses the importances of the reference instead, and `f1` is the harmonic mean of the
two.

WED is symmetric, but no metric: equal acts match at no cost whatever they weigh, so a detour by a sequence with other
weights can be shorter. The triangle inequality holds between sequences of equally many acts of equal weight.
"""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Annotated, Final, Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Meta, Struct

from fdbcore.suites.dialogue_acts.records import REFERENCE, LiveReply, Record, Response, Step, quoted
from fdbcore.suites.dialogue_acts.scoring.alignment import (
    UNITS_PER_WEIGHT,
    ActAlignment,
    ActAlignments,
    ActSequence,
    ActWarning,
    AlignmentStep,
    PackedActs,
    align_acts_batch,
    pack_acts,
)
from fdbcore.suites.dialogue_acts.sets import Answers
from fdbcore.suites.dialogue_acts.tag_sets import TagSet

MEASURES: Final = ("wlcs", "wed", "deletion", "insertion", "substitution", "recall", "f1")

Kind: TypeAlias = Literal["system", "ceiling", "baseline"]
Weights: TypeAlias = Literal["given", "uniform"]
WEIGHTS: Final[tuple[Weights, Weights]] = ("given", "uniform")
"""uniform: all acts of a sequence have the same weight, on both sides; a control, against the reference that counts by
the given weights."""

Floats: TypeAlias = npt.NDArray[np.float64]
Indexes: TypeAlias = npt.NDArray[np.intp]


class CountedReference(Struct, frozen=True):
    """The reference that counts."""

    text: str
    steps: Sequence[Step]
    index: int


class ContentVerdict(Struct, frozen=True, omit_defaults=True):
    """A judge's verdict on the content of a reply."""

    right: Annotated[bool | None, Meta(description="null: unscored; the reason says why")]
    reason: str
    repeats: Annotated[Sequence[bool | None], Meta(description="of each answer, if there are several")] = ()


class ScoredReply(Struct, frozen=True, omit_defaults=True):
    """A reply. reason: why there is none."""

    text: str | None
    steps: Sequence[Step]
    reason: str = ""
    live: Annotated[LiveReply | None, Meta(description="of a reply that was given in a call")] = None
    verdict: Annotated[ContentVerdict | None, Meta(description="of a judge on its content, with --judge")] = None


class ActsItem(Struct, frozen=True, omit_defaults=True):
    """A reply with its scores, and how it is aligned with the reference."""

    set: str
    id: str
    topic: str
    system: str
    annotator: str
    kind: Kind
    repeat: int
    background: str
    user: str
    reference: CountedReference
    response: ScoredReply
    scores: dict[str, float]
    path: Sequence[AlignmentStep]
    trial: Annotated[int | None, Meta(description="of a system with several replies to a record, from 1")] = None
    recorded_user: Annotated[str, Meta(description="of a turn: who was recorded; intervals resample these")] = ""


@dataclass(frozen=True, slots=True, eq=False)
class NearestScores:
    """The scores of predictions, each against the nearest reference of its record.

    scores: (predictions, measures). reference: which reference of the record counted, (predictions,). alignments and
    chosen: those of all pairs, and which pair counted.
    """

    scores: Floats
    reference: Indexes
    alignments: ActAlignments
    chosen: Indexes

    def alignment(self, prediction: int) -> ActAlignment:
        """The alignment of the prediction with the reference that counted."""
        return self.alignments[int(self.chosen[prediction])]


@dataclass(frozen=True, slots=True, eq=False)
class References:
    """The references of the records of a set; those of record k are packed[starts[k]:starts[k] + counts[k]]."""

    packed: PackedActs
    starts: Indexes
    counts: Indexes

    @classmethod
    def of(cls, records: Iterable[Record], weights: Weights, tags: TagSet | None = None) -> Self:
        """The references of the records, in their order."""
        sequences = [[reference.annotation.sequence for reference in record.references] for record in records]
        counts = np.array([len(choices) for choices in sequences], dtype=np.intp)
        flat = [sequence for choices in sequences for sequence in choices]
        return cls(packed(flat, weights, tags), np.cumsum(counts) - counts, counts)

    def score(self, records: Indexes, predictions: PackedActs, counted: Indexes | None = None) -> NearestScores:
        """Each prediction k against the references of record records[k].

        The reference with the smallest WED counts, for all measures; of equal ones, that with the greatest WLCS, then
        the first. counted: which reference counts instead, (predictions,): uniform weights choose none of their own.
        """
        if counted is not None:
            pairs = taken(self.packed, self.starts[records] + counted)
            scores, alignments = score_pairs(pairs, predictions)
            return NearestScores(scores, counted, alignments, np.arange(len(counted)))
        counts = self.counts[records]
        starts = np.cumsum(counts) - counts
        owners = np.repeat(np.arange(len(records)), counts)
        choices = np.repeat(self.starts[records] - starts, counts) + np.arange(len(owners))
        scores, alignments = score_pairs(taken(self.packed, choices), taken(predictions, owners))
        order = np.lexsort((-scores[:, MEASURES.index("wlcs")], scores[:, MEASURES.index("wed")], owners))
        chosen = order[starts]
        return NearestScores(scores[chosen], chosen - starts, alignments, chosen)


@dataclass(frozen=True, slots=True, eq=False)
class SystemScores:
    """The scores of one system, ceiling or baseline on one set.

    annotator: None for a baseline, which nobody annotates. of_trials: (records, trials, repeats, measures), NaN if
    there is no score. singles: (n, measures), the scores of single replies, for the SD. no_reply: how many replies were
    not given; these score as replies without acts. scored, cells: the alignments, and the record, the place of the
    trial among its replies, and the repeat of each (k, 3); None for a baseline. note: what a baseline replies, and what
    it ties with. clusters: of the records; see `RecordSet.clusters`.
    """

    set: str
    system: str
    annotator: str | None
    kind: Kind
    weights: Weights
    of_trials: Floats
    singles: Floats
    no_reply: int = 0
    scored: NearestScores | None = None
    cells: Indexes | None = None
    repeats: tuple[int, ...] = (1,)
    pairs: int | None = None
    note: str = ""
    clusters: Sequence[int] | None = None

    @property
    def values(self) -> Floats:
        """(records, repeats, measures), the mean over the trials of a record, NaN if it has no score."""
        return item_means(self.of_trials)

    @property
    def n(self) -> int:
        """The number of records that are scored."""
        return int((~np.isnan(self.values[..., 0])).any(axis=1).sum())


def condition_of(of: str, annotator: str) -> str:
    """The name of a set, or of the turns of a side, as one annotator labels it."""
    return f"{of}, annotated by {annotator}"


def item_means(values: Floats) -> Floats:
    """The mean of each item over its repeats or trials, (items, repeats, ...); NaN where it has none."""
    counts = (~np.isnan(values)).sum(axis=1)
    means: Floats = np.divide(np.nansum(values, axis=1), counts, out=np.full(counts.shape, np.nan), where=counts > 0)
    return means


def score_pairs(references: PackedActs, predictions: PackedActs) -> tuple[Floats, ActAlignments]:
    """All measures of the pairs (references k, predictions k), (pairs, measures), and their alignments."""
    there = align_acts_batch(references, predictions)
    precision, recall = there.weighted_lcs, align_acts_batch(predictions, references).weighted_lcs
    total = precision + recall
    f1 = np.divide(2 * precision * recall, total, out=np.zeros_like(total), where=total > 0)
    return np.column_stack(
        [precision, there.wed, there.deletion, there.insertion, there.substitution, recall, f1]
    ), there


def packed(sequences: Sequence[ActSequence], weights: Weights, tags: TagSet | None = None) -> PackedActs:
    """The sequences, with their importances as they are, or all the same. tags: None for the acts of the paper."""
    if weights == "uniform":
        sequences = [[(act, 1 / len(sequence)) for act, _ in sequence] for sequence in sequences]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ActWarning)  # sums were judged where the lines were read
        return pack_acts(sequences, tags=tags)


def taken(sequences: PackedActs, which: Indexes) -> PackedActs:
    """The sequences with the numbers `which`, in that order."""
    lengths = np.diff(sequences.offsets)[which]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    items = np.repeat(sequences.offsets[which] - offsets[:-1], lengths) + np.arange(offsets[-1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ActWarning)
        weights = sequences.weights[items] / UNITS_PER_WEIGHT
        return PackedActs(sequences.acts[items], weights, offsets, tags=sequences.tags)


def no_reply(response: Response) -> bool:
    """True if the system gave no reply, or only spaces."""
    return not (response.text or "").strip()


def annotated(response: Response, annotator: str, repeat: int) -> tuple[Step, ...] | None:
    """The acts of a response by one annotator; no acts if there is no reply; None if it is not annotated."""
    if no_reply(response):
        return ()
    found = (a.steps for a in response.annotations if (a.annotator, a.repeat) == (annotator, repeat))
    return next(found, None)


def annotated_by(response: Response, annotator: str, repeats: int, rules: str) -> bool:
    """True if the response has this many annotations by the annotator under these rules, or needs none."""
    there = {one.repeat for one in response.annotations if (one.annotator, one.rules) == (annotator, rules)}
    return no_reply(response) or there >= set(range(1, repeats + 1))


def without(response: Response, annotator: str) -> Response:
    """The response without its annotations by an annotator."""
    return replace(response, annotations=tuple(a for a in response.annotations if a.annotator != annotator))


def system_row(answers: Answers, annotator: str, weights: Weights) -> SystemScores:
    """The scores of a system's replies, as one annotator labels them.

    Of several trials, the score of a record is their mean: intervals and tests then resample records.
    """
    records = list(answers.set.records.values())
    replies = [answers.responses.get(record.id, []) for record in records]
    labels = [label for reply in answers.replies for label in reply.annotations]
    repeats = tuple(sorted({label.repeat for label in labels if label.annotator == annotator})) or (1,)
    cells, sequences = [], []
    numbered = [(index, place, reply) for index, trials in enumerate(replies) for place, reply in enumerate(trials)]
    for (index, trial, reply), (which, repeat) in product(numbered, enumerate(repeats)):
        steps = annotated(reply, annotator, repeat)
        if steps is not None:
            cells.append((index, trial, which))
            sequences.append([(step.act, step.importance) for step in steps])
    places = np.array(cells, dtype=np.intp).reshape(-1, 3)
    tags = answers.set.tags
    scored = References.of(records, "given", tags).score(places[:, 0], packed(sequences, "given", tags))
    if weights == "uniform":
        alike, counted = packed(sequences, weights, tags), scored.reference
        scored = References.of(records, weights, tags).score(places[:, 0], alike, counted)
    of_trials = np.full((len(records), max(map(len, replies), default=0) or 1, len(repeats), len(MEASURES)), np.nan)
    of_trials[tuple(places.T)] = scored.scores
    kind: Kind = "ceiling" if answers.system == REFERENCE else "system"
    found = SystemScores(answers.set.name, answers.system, annotator, kind, weights, of_trials, scored.scores)
    silent = sum(map(no_reply, answers.replies))
    return replace(found, no_reply=silent, scored=scored, cells=places, repeats=repeats)


def items_of(row: SystemScores, answers: Sequence[Answers]) -> Iterator[ActsItem]:
    """The replies of a system with their scores; baselines and uniform importances have no items."""
    if row.scored is None or row.cells is None or row.weights != "given":
        return
    (one,) = (one for one in answers if (one.set.name, one.system) == (row.set, row.system))
    records = list(one.set.records.values())
    scores = row.scored.scores.tolist()
    for number, (index, trial, which) in enumerate(row.cells.tolist()):
        record, repeat = records[index], row.repeats[which]
        response, counted = one.responses[record.id][trial], int(row.scored.reference[number])
        reference = record.references[counted]
        steps = annotated(response, str(row.annotator), repeat) or ()
        yield ActsItem(
            row.set,
            record.id,
            record.topic,
            row.system,
            str(row.annotator),
            row.kind,
            repeat,
            record.background,
            record.user_text,
            CountedReference(reference.text, quoted(reference.annotation.steps, reference.text), counted),
            ScoredReply(response.text, quoted(steps, response.text), response.reason, response.live),
            dict(zip(MEASURES, scores[number], strict=True)),
            row.scored.alignment(number).path,
            response.trial if one.has_trials else None,
            record.user,
        )
