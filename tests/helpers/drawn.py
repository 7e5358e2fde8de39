"""Dialogues drawn as text: "A 0-3 3.8-6 | B 3.2-3.6" says when each side speaks, in seconds."""

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.hang_up import Line
from fdbcore.session.turns import detect_turns
from fdbcore.types import TurnSettings

Activity = npt.NDArray[np.bool_]


def activity(text: str, tail_s: float = 3.0) -> tuple[Activity, Activity]:
    """The activity of "A 0-3 3.8-6 | B 3.2-3.6", and `tail_s` of silence behind it."""
    spans = [[(float(a), float(b)) for a, b in re.findall(r"([\d.]+)-([\d.]+)", side)] for side in text.split("|")]
    n = round((max(end for side in spans for _, end in side) + tail_s) * 100)
    tracks = []
    for side in spans:
        track = np.zeros(n, dtype=np.bool_)
        for start, end in side:
            track[round(start * 100) : round(end * 100)] = True
        tracks.append(track)
    return tracks[0], tracks[1]


def dialogue(text: str, tail_s: float = 3.0, line: Line = "held", pauses: Sequence[tuple[int, int]] = ()) -> Dialogue:
    """What the measures see of a drawn dialogue. pauses: what is called a pause of A, spans in ticks."""
    a, b = activity(text, tail_s)
    return Dialogue(detect_turns(a, b), len(a), TurnSettings(), line=line, pauses=pauses)
