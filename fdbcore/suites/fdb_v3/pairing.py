"""Which call was made for which expected one: as many right ones as possible, and of those the earliest."""

from __future__ import annotations

from collections.abc import Sequence


def right_pairs(right: Sequence[Sequence[int]], by_weight: Sequence[int]) -> dict[int, int]:
    """For each expected call that can have a right call for itself, the place of that call.

    right: for each expected call, the places of the calls that are right for it, ascending. by_weight: the numbers of
    all expected calls; none takes the only call of one that stands before it. Of all ways to deal the calls it is the
    one in which the first expected call has the earliest call, then the second, and so on.
    """
    served: list[int] = []
    for number in by_weight:
        if _can_deal([right[each] for each in (*served, number)]):
            served.append(number)
    served.sort()
    pairs: dict[int, int] = {}
    for place, number in enumerate(served, 1):
        later = [right[each] for each in served[place:]]
        pairs[number] = next(
            call
            for call in right[number]
            if call not in pairs.values() and _can_deal(later, taken={*pairs.values(), call})
        )
    return pairs


def _can_deal(choices: Sequence[Sequence[int]], taken: set[int] | None = None) -> bool:
    """Whether each can have one of its choices for itself, without those that are taken (Kuhn 1955)."""
    owner: dict[int, int] = {}

    def give(number: int, tried: set[int]) -> bool:
        for call in choices[number]:
            if call not in tried:
                tried.add(call)
                if call not in owner or give(owner[call], tried):
                    owner[call] = number
                    return True
        return False

    return all(give(number, set(taken or ())) for number in range(len(choices)))
