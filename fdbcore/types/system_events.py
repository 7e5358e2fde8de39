"""The kinds of events in which a system tells what it heard, said and decided: a `Happening` each, in events.jsonl."""

from typing import Final

ITEM: Final = "item"
"""An utterance of the system was heard to its end. Fields: `item` (its name), `said_samples` (at 48 kHz)."""

INTERRUPTED: Final = "interrupted"
"""An utterance was cut short, or began before tick 0, when nothing is heard. Fields: `item`, `said_ms` (how much of it
had come), `heard_ms` (how much was heard)."""

TRANSCRIPT: Final = "transcript"
"""The system's own transcript. Fields: `of` ("partner": what it heard; "self": what it says), `text`; `item`, if it
names one; `start_ms` and `end_ms` of the session, if it says when that was."""

SYSTEM_TURN: Final = "system_turn"
"""The system's own detector decided on the partner's speech. Fields: `name` ("speech_started" or "speech_stopped");
`claimed_ms`, what the system states, if it states a time; `at_ms`, the same without its padding, in ms of the session;
`item`, that of the transcript of this speech, if the system names it.
"""

GOING_AWAY: Final = "going_away"
"""The system announces that it ends the connection. Fields: `time_left_s` (null if it does not say)."""

RESUMED: Final = "resumed"
"""The session was cut, and goes on over a new connection. Fields: `gap_ms`, how long there was none; `dropped_ms`, how
much of what was said then the system is not sent; `state_ms`, how old the state is from which it goes on: it may have
forgotten what came later; `claimed_ms`, how much audio came before what it is sent now, of which it counts from 0
again; `at_ms`, the same in ms of the session.
"""

STAGE: Final = "stage"
"""An answer of the system has come so far. Fields: `name`, one of "speech final" (the partner's turn is over),
"transcribed", "first token" (of the language model), "first audio"."""

PROVIDER_CLOCK: Final = "provider_clock"
"""The system's own place of what it said in this second. A chunk that ends at E ms of the system, and comes at T ms of
the session, has the offset T - E. Fields: `chunks`; of the last one `end_ms`, and `received_ms`, how much audio had
come by then; `offset_ms`, the median, and `spread_ms`, the largest offset less the smallest; `lost_ms`, gaps between
chunks.
"""
