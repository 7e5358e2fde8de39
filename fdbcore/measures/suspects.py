"""Speech that is echo of the other side, and the events that only it makes: these are shown, and no figure counts them.

What a recording has of them is a function of its activity, its settings, and the spans in its health.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fdbcore.recording import Recording
from fdbcore.types import SIDES, TurnEvent

Bools: TypeAlias = npt.NDArray[np.bool_]


def own_activity(recording: Recording, activity: tuple[Bools, Bools]) -> tuple[Bools, Bools]:
    """The activity of A and B, bool (n_ticks,) each, without what is echo of the other side; changed in place."""
    for side, track in zip(SIDES, activity, strict=True):
        for start, end in suspect_spans(recording)[side]:
            track[start:end] = False
    return activity


def has_suspects(recording: Recording) -> bool:
    """Whether any speech of it may be echo."""
    return any(suspect_spans(recording).values())


def suspect_spans(recording: Recording) -> Mapping[str, Sequence[Sequence[int]]]:
    """The spans of ticks in which the activity of each side is echo of the other's."""
    spans: dict[str, Any] = (recording.health or {}).get("suspect", {})
    return {side: spans.get(side, []) for side in SIDES}


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
