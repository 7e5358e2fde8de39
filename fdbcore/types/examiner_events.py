"""The kinds of events in which an examiner tells what it does and why: a `Happening` each, in events.jsonl."""

from typing import Final

SAYS: Final = "examiner_says"
"""It begins to speak. Fields: `what` ("goal", "closing" or "backchannel"); `cue` ("opening", "answered", "no answer",
"breaks in", "goal met", "system speaks", "limit"); for a goal its number `goal` and that of its wording `saying`, both
from 1; `reaction_ms`, from the system's last early end to now, if it answers one, and `silence_ms`, after which it was
to; `waited_ms`, from the cue to now, if it had to wait for its models."""

SAID: Final = "examiner_said"
"""It stops. Fields: `said_ms`, and `of_ms`, which is more if it yielded."""

GOAL: Final = "examiner_goal"
"""It leaves a goal. Fields: `goal`, from 1; `verdict` ("met", "unmet", "not heard": it has no ears, or cannot tell, and
"not reached"); `sayings`, how many it needed; `since_tick`, when it first said it, if it did; `reason`, if whoever
judged gave one."""

JUDGED: Final = "examiner_judged"
"""A model has judged by the system's words whether a goal is met. Fields: `goal`, `met`, and `reason` in its words."""

CUE_CONTRADICTED: Final = "cue_contradicted"
"""It acted on an early edge of the system's speech that no final event confirms. Fields: `edge` ("start" or "end"),
`edge_tick`."""

SPOKE_FIRST: Final = "spoke_before_examiner"
"""The system spoke before the examiner had opened the conversation. No fields."""

ENDS: Final = "examiner_ends"
"""It goes on to its closing statement. Fields: `reason` ("all goals", "turn limit", "time limit", "silence")."""

ASKS: Final = "examiner_asks"
"""An examiner that is a live party is asked to speak. Fields: `text`, what it is told for that."""

TAKES_BACK: Final = "examiner_takes_back"
"""Words of a live party, dropped before any of them was heard: the system went on, or the call ends."""
