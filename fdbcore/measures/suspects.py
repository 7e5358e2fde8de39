"""Events that may owe themselves to echo: what becomes of a dialogue without the speech that echo explains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fdbcore.measures.dialogue import Dialogue
from fdbcore.recording import Recording
from fdbcore.turns import detect_turns
from fdbcore.types import SIDES, TurnEvent

Bools: TypeAlias = npt.NDArray[np.bool_]


def without_suspects(recording: Recording, dialogue: Dialogue) -> Dialogue | None:
    """The dialogue told anew, without the activity that is echo of the other side; None if there is no such activity.

    A function of the recording: its activity, its settings, and the spans in its health.
    """
    if not has_suspects(recording):
        return None
    a, b = own_activity(recording, recording.activity)
    return replace(dialogue, events=detect_turns(a, b, dialogue.settings))


def own_dialogue(recording: Recording) -> Dialogue:
    """The dialogue without the speech that is echo of the other side; what comparisons are made of."""
    dialogue = Dialogue.of(recording)
    return without_suspects(recording, dialogue) or dialogue


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


def suspects(events: Sequence[TurnEvent], cleaned: Dialogue | None) -> list[bool]:
    """Of each event, whether it is not told again without echo."""
    if cleaned is None:
        return [False] * len(events)
    left = Counter(map(_timeless, cleaned.events))
    flags = []
    for event in map(_timeless, events):
        flags.append(not left[event])
        left[event] -= left[event] > 0
    return flags


def _timeless(event: TurnEvent) -> TurnEvent:
    """The event, whenever it became known."""
    return replace(event, known_tick=0)
