"""A run as predictions in the submission format of TurnBench (arXiv 2608.25218), for the benchmark's own scoring.

What is handed in is the turn detector, not a system under test: for each side the moments at which it knew of the end
of a turn, and of an interruption that took the floor. A moment is when the event became known, with the delay of the
voice activity, as the benchmark demands: no decision is told before all audio that it rests on was heard.

Its scorer looks for the end of a turn until 3 s after it. Ours is known once the other side has the floor, with the
default settings 1.4 s after it began to speak. So a turn is found if it is answered within 1.6 s; the last turn of a
conversation never is.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from fdbcore.errors import InputError
from fdbcore.measures.reading import Reading
from fdbcore.recording.files import write_text
from fdbcore.recording.reader import Recording
from fdbcore.types import SIDES, Side, TurnEvent, ticks_to_s

SCHEMA_VERSION: Final = 1
FILE: Final = "turnbench.json"


def export_turnbench(recordings: Sequence[Recording], folder: Path) -> Path:
    """Write turnbench.json, of all recordings together, into a folder. RecordingError if it cannot be written.

    A conversation has the name of its recording; speaker_1 is side A. Raises InputError for two of the same name.
    """
    names = [recording.name for recording in recordings]
    if len(set(names)) < len(names):
        raise InputError(f"{folder}: expected recordings of different names, got one twice")
    predictions = [_conversation(Reading(recording.path)) for recording in recordings]  # one at a time in memory
    path = folder / FILE
    write_text(path, json.dumps({"schema_version": SCHEMA_VERSION, "predictions": predictions}, indent=1) + "\n")
    return path


def _conversation(reading: Reading) -> dict[str, Any]:
    told = [event for event in reading.dialogue.events if not event.censored]
    speakers = {f"speaker_{number}": _speaker(told, side, reading.n_ticks) for number, side in enumerate(SIDES, 1)}
    return {"conversation_id": reading.name, **speakers}


def _speaker(told: Sequence[TurnEvent], side: Side, n_ticks: int) -> dict[str, list[float]]:
    own = [event for event in told if event.side == side]
    taken = [event for event in own if event.kind == "intrusion" and event.onset == "overlap"]
    return {
        "eot": _moments([event for event in own if event.kind == "turn"], n_ticks),
        "interruption": _moments([event for event in taken if event.outcome == "taken"], n_ticks),
    }


def _moments(events: Sequence[TurnEvent], n_ticks: int) -> list[float]:
    """When they became known, in seconds: strictly increasing, within the audio."""
    return [ticks_to_s(tick) for tick in sorted({event.known_tick for event in events}) if tick <= n_ticks]
