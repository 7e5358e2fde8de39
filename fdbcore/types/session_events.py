"""The kinds of events in which the session itself tells what it did: a `Happening` each, in events.jsonl."""

from typing import Final

MUTED: Final = "muted"
"""The side was muted, because its partner opens the session: what it said then is lost. Fields: `from_tick` and
`to_tick`; `loud_ms`, for how long it was louder than LOUD_DBFS, and `loudest_dbfs`, its peak (null: silence)."""

LOUD_DBFS: Final = -40.0
"""Speech peaks above this. A side without speech that does may play tones, or the detector errs."""

SPOKE_MS: Final = 60
"""A muted side that was loud for so long, or longer, is said to have spoken: nobody else decides it."""
