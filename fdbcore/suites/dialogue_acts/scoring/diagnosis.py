"""Differences of replies from references: which acts are missing, redundant or swapped, by topic, with examples.

Everything is computed from the `items` of a document.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby, product
from typing import Annotated, Final, TypedDict

import numpy as np
from msgspec import Meta, Struct

from fdbcore.suites.dialogue_acts.page.phrases import steps_of
from fdbcore.suites.dialogue_acts.scoring.scores import ActsItem, Floats, Kind, condition_of
from fdbcore.suites.dialogue_acts.tag_sets import NO_ACT
from fdbcore.types.scorecard import Figure, ScoreRow

CASES: Final = ("insertion", "deletion", "substitution", "smallest")
"""The four cases of the paper's Table 2: the largest cost of each kind, and the smallest distance."""
TOPICAL: Final = ("wed", "wlcs")
"""The measures by topic."""


class CaseJson(TypedDict):
    """An example. item: its place in `items`."""

    case: str
    item: int


class Swap(Struct, frozen=True):
    """One act in the place of another, as weight per reply."""

    reference: str
    predicted: str
    weight: float


class Diagnosis(Struct, frozen=True):
    """The errors of one system, as one annotator labels its replies."""

    set: str
    system: str
    annotator: str
    kind: Kind
    acts: Sequence[str]
    matrix: Annotated[list[list[float]], Meta(description="[act of the reference][act of the reply]; the last is none")]
    missing: dict[str, float]
    redundant: dict[str, float]
    swapped: list[Swap]


def diagnoses(items: Sequence[ActsItem], acts: Sequence[str]) -> Iterator[Diagnosis]:
    """For each system and annotator, which acts the replies lack, add and swap, as weight per reply.

    items: those of one system and annotator stand together. acts: the names of the tag set.
    """
    none = len(acts)
    for (of, system, annotator), own in by_annotator(items):
        matrix = _act_matrix(own, acts).tolist()
        swapped = [
            Swap(acts[r], acts[p], matrix[r][p])
            for r, p in product(range(none), repeat=2)
            if r != p and matrix[r][p] > 0
        ]
        yield Diagnosis(
            of,
            system,
            annotator,
            own[0].kind,
            [*acts, NO_ACT],
            matrix,
            {act: matrix[k][none] for k, act in enumerate(acts) if matrix[k][none] > 0},
            {act: matrix[none][k] for k, act in enumerate(acts) if matrix[none][k] > 0},
            sorted(swapped, key=lambda one: -one.weight),
        )


def by_annotator(items: Sequence[ActsItem]) -> Iterator[tuple[tuple[str, str, str], list[ActsItem]]]:
    """The items of each set, system and annotator, which stand together."""
    yield from ((of, list(own)) for of, own in groupby(items, lambda item: (item.set, item.system, item.annotator)))


def _act_matrix(items: Sequence[ActsItem], acts: Sequence[str]) -> Floats:
    """The mean weight per reply of each [act of the reference][act of the reply], (n, n); the last of both is none.

    A deleted or inserted act weighs its importance, a matched pair the mean of the two, a substituted pair what it
    costs: this mean, times the factor of the two acts if related acts get credit. So the cells off the diagonal sum to
    the mean WED: the last row to its deletions, the last column to its insertions.
    """
    codes: dict[str | None, int] = {act: code for code, act in enumerate((*acts, None))}
    matrix = np.zeros((len(codes),) * 2)
    for operation, asked, given, cost in (step for item in items for step in steps_of(item)):
        weights = [one.importance for one in (asked, given) if one]
        weight = cost if operation == "substitution" else sum(weights) / len(weights)
        matrix[codes[asked.act if asked else None], codes[given.act if given else None]] += weight
    return matrix / len(items)


def topic_rows(items: Sequence[ActsItem]) -> Iterator[ScoreRow]:
    """WED and WLCS by topic, of each system and annotator, whose items stand together; a record may have no topic."""
    for (of, system, annotator), own in by_annotator(items):
        kind = own[0].kind
        for topic in filter(None, dict.fromkeys(item.topic for item in own)):
            members = [item for item in own if item.topic == topic]
            means = {name: Figure(float(np.mean([item.scores[name] for item in members]))) for name in TOPICAL}
            n, name = len({item.id for item in members}), kind if kind == "ceiling" else system
            yield ScoreRow(condition_of(of, annotator), kind, name, n, means, subset=topic)


def cases(items: Sequence[ActsItem], of: str | None = None) -> list[CaseJson]:
    """The items to show as examples, by their index: the largest cost of each kind, and the smallest distance.

    of: the name of the set that they are from; None: of any. Of equal items, the one with the most acts, then the
    first. Items without a reply show nothing, and are left out; so is the ceiling.
    """
    candidates = [
        place
        for place, item in enumerate(items)
        if item.kind == "system" and item.response.steps and of in (None, item.set)
    ]
    found: list[CaseJson] = []
    for case in CASES:
        place = min(candidates, key=lambda place: _rank(case, items[place]), default=None)
        if place is not None and (case == "smallest" or items[place].scores[case] > 0):
            found.append({"case": case, "item": place})
    return found


def _rank(case: str, item: ActsItem) -> tuple[float, int]:
    cost = item.scores["wed"] if case == "smallest" else -item.scores[case]
    return cost, -len(item.reference.steps) - len(item.response.steps)
