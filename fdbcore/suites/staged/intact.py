"""Whether the files of a dialogue hold all of it: what is cut off or damaged is not scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fdbcore.errors import RecordingError
from fdbcore.measures.reading import Reading
from fdbcore.recording.files import EVENTS
from fdbcore.types import TICKS_PER_S
from fdbcore.types.examiner_events import ENDS, GOAL, SAID, SAYS

_LONGEST_PAUSE_TICKS: Final = 3 * TICKS_PER_S
"""Within one saying."""


def refuse_damaged_events(recording: Reading, n_goals: int) -> None:
    """RecordingError if events.jsonl does not tell all that the examiner did.

    Recordings of earlier versions do not say how many lines it had. Its end may be missing where it had none: the
    system left, or time was up. Then its last words are the last told.
    """
    events = [event for event in recording.events if event["side"] == "A"]
    _refuse_gaps(events, n_goals)
    if not _has_ended(events):
        _refuse_untold_speech(recording, [event for event in events if event["kind"] in (SAYS, SAID)])


def _refuse_untold_speech(recording: Reading, events: Sequence[Mapping[str, Any]]) -> None:
    """RecordingError if the examiner speaks after its last event, or falls silent while it should still speak."""
    last_tick = events[-1]["tick"] if events else -1
    spoken = recording.dialogue.ipus["A"]
    untold = spoken[spoken[:, 0] > last_tick]
    if events and events[-1]["kind"] == SAYS:
        starts, ends = [*untold[:, 0], recording.n_ticks], [last_tick, *untold[:, 1]]
        is_untold = any(start - end > _LONGEST_PAUSE_TICKS for start, end in zip(starts, ends, strict=True))
    else:
        is_untold = len(untold) > 0
    if is_untold:
        raise _damaged("what the examiner does", f" from {max(last_tick, 0) / TICKS_PER_S:.2f} s on")


def _has_ended(events: Sequence[Mapping[str, Any]]) -> bool:
    """Whether it told that it closes the conversation; earlier examiners only say so."""
    return any(event["kind"] == ENDS or (event["kind"] == SAYS and event["what"] == "closing") for event in events)


def _refuse_gaps(events: Sequence[Mapping[str, Any]], n_goals: int) -> None:
    """RecordingError if it leaves goals out of order, or does not stop before it says the next."""
    left, speaks = 0, False
    for event in events:
        at = f" at {event['tick'] / TICKS_PER_S:.2f} s"
        if event["kind"] == GOAL:
            left += 1
            if event["goal"] != left:
                raise _damaged(f"the end of goal {left}", f": goal {event['goal']} ends{at}")
        elif event["kind"] == SAYS:
            if speaks:
                raise _damaged("the end of what the examiner says", f" before it speaks again{at}")
            if "goal" in event and event["goal"] != left + 1:
                raise _damaged(f"the end of goal {left + 1}", f": goal {event['goal']} is said{at}")
        elif event["kind"] == SAID and not speaks:
            raise _damaged("the begin of what the examiner says", f": it stops{at}")
        elif event["kind"] == ENDS and left < n_goals:
            raise _damaged(f"the end of goal {left + 1}", f": the examiner ends{at}")
        if event["kind"] in (SAYS, SAID):
            speaks = event["kind"] == SAYS


def _damaged(what: str, where: str = "") -> RecordingError:
    return RecordingError(f"{EVENTS}: {what} is missing or damaged{where}")
