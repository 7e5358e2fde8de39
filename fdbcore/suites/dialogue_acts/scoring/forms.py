"""The form in which records and responses are scored: neighbours of one act merged, all references or the first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby, pairwise

from fdbcore.suites.dialogue_acts.records import Annotation, Record, Response, Step
from fdbcore.suites.dialogue_acts.sets import RecordSet


def merged(annotation: Annotation, text: str | None) -> Annotation:
    """The annotation with one step for neighbours of the same act, which has their importances, words and rationales.

    text: of the reply, in which the words lie.
    """
    runs = [list(steps) for _, steps in groupby(annotation.steps, lambda step: step.act)]
    return replace(annotation, steps=tuple(run[0] if len(run) == 1 else _one(run, text or "") for run in runs))


def _one(steps: Sequence[Step], text: str) -> Step:
    rationale = " ".join(filter(None, (step.rationale for step in steps)))
    words = _from_first_to_last([step.words for step in steps if step.words], text)
    return Step(steps[0].act, sum(step.importance for step in steps), rationale or None, words or None)


def _from_first_to_last(words: Sequence[str], text: str) -> str:
    """What the text has from the first of the words to the last; the words alone if it does not have these in order."""
    if not words or words[0] not in text:
        return " ".join(words)
    start = text.index(words[0])
    last = text.find(words[-1], start)
    return " ".join(words) if last < 0 else text[start : last + len(words[-1])]


def has_neighbours(annotation: Annotation) -> bool:
    """Whether an act follows itself."""
    return any(left.act == right.act for left, right in pairwise(annotation.steps))


def merged_set(of: RecordSet) -> RecordSet:
    """The set with the acts of its references merged."""
    return replace(of, records={id: _merged_record(record) for id, record in of.records.items()})


def _merged_record(record: Record) -> Record:
    references = tuple(replace(one, annotation=merged(one.annotation, one.text)) for one in record.references)
    return replace(record, references=references)


def merged_responses(responses: Iterable[Response]) -> list[Response]:
    """The responses with the acts of their annotations merged."""
    return [replace(one, annotations=tuple(merged(each, one.text) for each in one.annotations)) for one in responses]


def first_references(of: RecordSet) -> RecordSet:
    """The set with only the first good reply of each record, as the paper has it."""
    return replace(of, records={id: replace(one, references=one.references[:1]) for id, one in of.records.items()})
