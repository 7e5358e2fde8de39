"""Who is compared with whom, where people and judges have rated the same items."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Literal, TypeAlias, TypeVar

RaterT = TypeVar("RaterT")
Between: TypeAlias = Literal["people", "judge and people", "judges"]


def groups_of_raters(
    people: Sequence[RaterT], judges: Sequence[RaterT], pooled: Callable[[Sequence[RaterT]], RaterT]
) -> Iterator[tuple[Between, Sequence[RaterT]]]:
    """All people, their pairs, each judge with the people as one and with each of them, and pairs of judges.

    pooled: makes one rater of several people.
    """
    if len(people) > 2:
        yield "people", people
    yield from (("people", pair) for pair in combinations(people, 2))
    for judge in judges:
        if len(people) > 1:
            yield "judge and people", (judge, pooled(people))
        yield from (("judge and people", (judge, person)) for person in people)
    yield from (("judges", pair) for pair in combinations(judges, 2))
