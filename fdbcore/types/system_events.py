"""The kinds of events in which a system tells what it heard, said and decided: a `Happening` each, in events.jsonl."""

from __future__ import annotations

from typing import Final

ITEM: Final = "item"
"""An utterance of the system was heard to its end. Fields: `item` (its name), `said_samples` (at 48 kHz)."""

INTERRUPTED: Final = "interrupted"
"""An utterance was cut short. Fields: `item`, `said_ms` (how much of it had come), `heard_ms` (how much was heard)."""

TRANSCRIPT: Final = "transcript"
"""The system's own transcript. Fields: `of` ("partner": what it heard; "self": what it says), `text`, `item`."""

SYSTEM_TURN: Final = "system_turn"
"""The system's own detector decided on the partner's speech. Fields: `name` ("speech_started" or "speech_stopped");
`claimed_ms`, what the system states, if it states a time; `at_ms`, the same without its padding, in ms of the session.
"""
