"""Speech that is echo of the other side, and the events that only it makes: these are shown, and no figure counts them.

What a recording has of them is a function of its activity, its settings, and the spans in its health.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from fdbcore.types import SIDES, Side, TurnEvent

Bools: TypeAlias = npt.NDArray[np.bool_]
Spans: TypeAlias = Sequence[Sequence[int]]
"""Half-open spans in ticks: [start, end] each."""


def echo_free_activity(activity: tuple[Bools, Bools], suspect: Mapping[Side, Spans]) -> tuple[Bools, Bools]:
    """The activity of A and B, bool (n_ticks,) each, without what is echo of the other side."""
    a, b = activity[0].copy(), activity[1].copy()
    for side, track in zip(SIDES, (a, b), strict=True):
        for start, end in suspect[side]:
            track[start:end] = False
    return a, b


def with_suspects(own: Sequence[TurnEvent], with_echo: Sequence[TurnEvent]) -> list[tuple[TurnEvent, bool]]:
    """Every event with whether it is suspect: those of the dialogue's `own`, and those that are there with echo alone.

    In the order in which they became known.
    """
    left = Counter(map(_timeless, own))
    told = [(event, False) for event in own]
    for event in with_echo:
        known = _timeless(event)
        if left[known]:
            left[known] -= 1
        else:
            told.append((event, True))
    return sorted(told, key=lambda each: each[0].known_tick)


def _timeless(event: TurnEvent) -> TurnEvent:
    """The event, whenever it became known."""
    return replace(event, known_tick=0)
