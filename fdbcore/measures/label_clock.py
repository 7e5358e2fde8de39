"""A check that labels run on the recording's clock: they may be faster or slower, or later from some label on."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from fdbcore.measures.dialogue import Spans
from fdbcore.types import TICKS_PER_S, Side

REACH_TICKS: Final = 3 * TICKS_PER_S // 10
"""A label fits the end of speech so near to it."""
FEWEST, FEWEST_OF_PART = 10, 4
MOST: Final = 500
MOST_OWN, LEAST_FITTING = 0.6, 0.9
"""Of labels, so many may fit where they are, and so many must fit elsewhere: wrong times are looked for only then."""
MOST_FASTER, FASTER_STEP, MOST_LATE_S = 0.09, 0.002, 5.0
LEAST_CHANGE_TICKS: Final = 4 * TICKS_PER_S // 10

_Ticks: TypeAlias = npt.NDArray[np.int64]
_Fit: TypeAlias = Callable[[npt.NDArray[Any]], npt.NDArray[np.bool_]]
"""A check of each label: True if it fits at these ticks, bool (..., n)."""


def late_in_parts(labels: Sequence[tuple[Side, int]], ipus: Mapping[Side, Spans]) -> list[tuple[int, float]] | None:
    """The ticks of the first and of the last label, and how many ticks each is late, if labels fit speech only so; else
    None. labels: sides and end ticks, by time. ipus: int64 (n, 2) in ticks.
    """
    if not FEWEST <= len(labels) <= MOST:
        return None
    sides = np.array([side for side, _ in labels])
    ticks = np.array([tick for _, tick in labels])
    order = np.argsort(ticks, kind="stable")
    sides, ticks = sides[order], ticks[order]

    def fit(moved: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        found = np.zeros(moved.shape, np.bool_)
        for side, spans in ipus.items():
            ends = np.concatenate([[-np.inf], spans[:, 1], [np.inf]])
            own = moved[..., sides == side]
            after = np.searchsorted(ends, own)
            found[..., sides == side] = np.minimum(own - ends[after - 1], ends[after] - own) <= REACH_TICKS
        return found

    if fit(ticks).mean() > MOST_OWN:
        return None
    late = _of_rate(ticks, fit)
    if late is None:
        late = _of_jump(ticks, fit)
    if late is None or abs(late[1] - late[0]) < LEAST_CHANGE_TICKS:
        return None
    return [(int(ticks[0]), late[0]), (int(ticks[-1]), late[1])]


def _of_rate(ticks: _Ticks, fit: _Fit) -> tuple[float, float] | None:
    """The delay of the first and the last label if they run faster or slower; None if they do not fit so."""
    step = min(FASTER_STEP, REACH_TICKS / max(1, int(ticks[-1])))
    best, late = 0.0, None
    for begin in np.arange(-1.0, 1.01, 0.2) * TICKS_PER_S:
        faster = np.arange(-MOST_FASTER, MOST_FASTER + step, step)
        moved = ticks * (1 + faster[:, None]) - begin
        share = fit(moved).mean(axis=1)
        if share.max() > best:
            best, at = float(share.max()), int(share.argmax())
            late = float(ticks[0] - moved[at, 0]), float(ticks[-1] - moved[at, -1])
    return late if best >= LEAST_FITTING else None


def _of_jump(ticks: _Ticks, fit: _Fit) -> tuple[float, float] | None:
    """The same if they are late by another constant from some label on."""
    shifts = np.round(np.arange(-MOST_LATE_S, MOST_LATE_S + 0.05, 0.1), 1) * TICKS_PER_S
    shifts = shifts[np.argsort(np.abs(shifts), kind="stable")]
    before = np.cumsum(fit(ticks - shifts[:, None]), axis=1)
    of_first: _Ticks = before.max(axis=0)
    of_rest: _Ticks = (before[:, -1:] - before).max(axis=0)
    parts = np.arange(FEWEST_OF_PART, len(ticks) - FEWEST_OF_PART + 1)
    at = int(parts[(of_first + of_rest)[parts - 1].argmax()]) - 1
    if of_first[at] + of_rest[at] < LEAST_FITTING * len(ticks):
        return None
    return _middle(shifts, before[:, at]), _middle(shifts, (before[:, -1:] - before)[:, at])


def _middle(shifts: npt.NDArray[Any], counts: npt.NDArray[Any]) -> float:
    """The middle of the shifts that fit best, around the nearest of them."""
    best = shifts[counts == counts.max()]
    return float(np.median(best[np.abs(best - best[0]) <= 2 * REACH_TICKS]))
