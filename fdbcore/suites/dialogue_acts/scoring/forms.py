"""The form in which records and responses are scored: neighbours of one act merged, all references or the first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby, pairwise

from fdbcore.suites.dialogue_acts.records import Annotation, Record, Response, Step
from fdbcore.suites.dialogue_acts.sets import RecordSet


def merged(annotation: Annotation) -> Annotation:
    """The annotation with one step for neighbours of the same act, which has their importances and rationales."""
    runs = [(act, list(steps)) for act, steps in groupby(annotation.steps, lambda step: step.act)]
    return replace(annotation, steps=tuple(steps[0] if len(steps) == 1 else _one(act, steps) for act, steps in runs))


def _one(act: str, steps: Sequence[Step]) -> Step:
    return Step(
        act, sum(step.importance for step in steps), " ".join(filter(None, (s.rationale for s in steps))) or None
    )


def has_neighbours(annotation: Annotation) -> bool:
    """Whether an act follows itself."""
    return any(left.act == right.act for left, right in pairwise(annotation.steps))


def merged_set(of: RecordSet) -> RecordSet:
    """The set with the acts of its references merged."""
    return replace(of, records={id: _merged_record(record) for id, record in of.records.items()})


def _merged_record(record: Record) -> Record:
    references = tuple(replace(one, annotation=merged(one.annotation)) for one in record.references)
    return replace(record, references=references)


def merged_responses(responses: Iterable[Response]) -> list[Response]:
    """The responses with the acts of their annotations merged."""
    return [replace(one, annotations=tuple(map(merged, one.annotations))) for one in responses]


def first_references(of: RecordSet) -> RecordSet:
    """The set with only the first good reply of each record, as the paper has it."""
    return replace(of, records={id: replace(one, references=one.references[:1]) for id, one in of.records.items()})
