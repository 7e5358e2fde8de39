"""A test of one side for more of the largest values than chance explains: exact, for any distribution."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fdbcore.stats.bootstrap import Floats

# Two ways to add the same probabilities differ by rounding, and count as equal.
_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Largest:
    """The values of two sides, in the order of their size, and the limits between them that few exceed.

    is_a: whether each value is of side A, from the largest. above: how many values exceed each limit, the fewest first;
    equal values are on one side of a limit. dealt: how many values each side could have in all, if chance deals them;
    None if it throws a coin for each value: it is the difference of a pair, and is of A if it is in favour of A.

    The limits are chosen by size alone, blind to the side. So if the sides of a pair could as well be exchanged (the
    sign test), or all values are draws of one distribution (Gumbel and von Schelling 1950), every probability here is
    exact; it counts that the limit was searched for (Miller and Siegmund 1982, Maximally Selected Chi Square
    Statistics).
    """

    is_a: Sequence[bool]
    above: Sequence[int]
    dealt: tuple[int, int] | None

    @classmethod
    def of(cls, sizes: npt.ArrayLike, is_a: npt.ArrayLike, most: int, dealt: tuple[int, int] | None = None) -> Largest:
        """The values with these sizes (n,) and sides (n,); sizes of 0 count for no side. most: the most values that
        may exceed a limit."""
        found = np.asarray(sizes, np.float64)
        order = np.argsort(-found, kind="stable")
        found = found[order][: np.count_nonzero(found > 0)]
        above = [n for n in range(1, min(most, len(found)) + 1) if n == len(found) or found[n] < found[n - 1]]
        return cls([bool(each) for each in np.asarray(is_a, np.bool_)[order]], above, dealt)

    def most_uneven(self) -> tuple[int, float]:
        """The number of values above the limit at which A has the most, given chance; and that chance.

        It is the probability that of so many values as many or more are of A. (0, 1.0) without a limit.
        """
        tails = [(tail[sum(self.is_a[:n])], n) for n, _, tail in self._limits(0.0)]
        tail, n = min(tails, default=(1.0, 0))
        return n, float(tail)

    def chance(self, tail: float) -> float:
        """The probability that above any limit A has so many values that as many or more have at most this chance."""
        return float(sum(crossed for _, crossed, _ in self._limits(tail)))

    def _limits(self, tail: float) -> Iterator[tuple[int, float, Floats]]:
        """Of each limit: how many values exceed it; the probability that A has too many of them by `tail`, and had not
        above a higher limit; and that of as many of A or more, (n + 1,)."""
        free, left, thrown = np.ones(1), np.ones(1), 0
        for n in self.above:
            for number in range(thrown, n):
                free, left = self._next(free, number), self._next(left, number)
            thrown = n
            tails = np.cumsum(free[::-1])[::-1]
            crossed = tails <= tail * (1 + _TOLERANCE)
            yield n, float(left[crossed].sum()), tails
            left = np.where(crossed, 0.0, left)

    def _next(self, of_counts: Floats, thrown: int) -> Floats:
        """The probabilities that of one more value 0, 1, ... are of A. of_counts: (thrown + 1,), before it."""
        if self.dealt is None:
            to_a: Floats = np.full(thrown + 1, 0.5)
        else:
            of_a, of_b = self.dealt
            to_a = np.clip((of_a - np.arange(thrown + 1)) / (of_a + of_b - thrown), 0.0, 1.0)
        counts: Floats = np.append(of_counts * (1 - to_a), 0.0) + np.append(0.0, of_counts * to_a)
        return counts
