"""Removes speech that is echo of the other side, and marks the events that exist only because of it as suspect.

Suspect events are shown, but no figure counts them. They follow from the activity of a recording, its settings, and the
echo spans in its input health.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from fdbcore.recording.left_out import kept_ticks
from fdbcore.types import SIDES, Side, TurnEvent

Bools: TypeAlias = npt.NDArray[np.bool_]
Spans: TypeAlias = Sequence[Sequence[int]]
"""Half-open spans in ticks: [start, end] each."""

_BUT_KNOWN_TICK = attrgetter(*(field.name for field in fields(TurnEvent) if field.name != "known_tick"))


def echo_free_activity(activity: tuple[Bools, Bools], suspect: Mapping[Side, Spans]) -> tuple[Bools, Bools]:
    """The activity of A and B, bool (n_ticks,) each, set to False in the suspect spans of each side."""
    a, b = (track & ~kept_ticks(suspect[side], len(track)) for side, track in zip(SIDES, activity, strict=True))
    return a, b


def with_suspects(echo_free: Sequence[TurnEvent], with_echo: Sequence[TurnEvent]) -> list[tuple[TurnEvent, bool]]:
    """All events of both lists, each with whether it is suspect: only in `with_echo`. Sorted by when they became known.

    Events of the two lists are the same if they differ in nothing but the tick at which they became known.
    """
    unmatched = Counter(map(_BUT_KNOWN_TICK, echo_free if with_echo else ()))
    found = [(event, False) for event in echo_free]
    for event in with_echo:
        key = _BUT_KNOWN_TICK(event)
        if unmatched[key]:
            unmatched[key] -= 1
        else:
            found.append((event, True))
    return sorted(found, key=lambda each: each[0].known_tick)
