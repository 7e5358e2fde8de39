"""Lays an agent's own log on the timeline of a recording, and notes when in each answer its events come."""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate
from operator import attrgetter
from typing import Final

from msgspec import to_builtins

from fdbcore.errors import InputError
from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.log_clock import TOLERANCE_S, first_of_bursts, on_timeline
from fdbcore.measures.opportunities import fto, opportunities_in, turn_start
from fdbcore.recording.agent_log import AgentLog, LogClock, SplitAnswer
from fdbcore.recording.files import MARKS_SCHEMA
from fdbcore.sources.agent_logs import Mark
from fdbcore.sources.mark_names import EVENTS, event_of, events_of
from fdbcore.types import TICK_MS, Side, ticks_to_s

EARLIEST_S: Final = -0.5
"""An event belongs to an answer from this time after A's end (or B's onset, if that is earlier) until B's onset."""
BESIDE_S: Final = 0.3
"""A mark fits a turn if it is no farther from it."""
GIVEN_BESIDE_S: Final = 0.8
"""The same, where the clock was given: the way of the sound is no part of it then."""
FEWEST_STRAYS: Final = 5
LEAST_SHARE: Final = 0.2
"""A known event is shown if this share of the answers has it; a name that stands for no known event needs half."""

_time_s = attrgetter("time_s")
_Answers = Sequence[tuple[tuple[float, float], Mapping[str, float]]]
"""A's end and B's onset of each answer, and the time (s) of the last mark of each name in it."""


def laid(marks: Sequence[Mark], dialogue: Dialogue, clock: LogClock) -> AgentLog:
    """The log on the timeline of the recording, and the events of each answer of B, as JSON values.

    Of marks of one name in an answer the last counts, of a burst of them (`log_clock.BURST_S`) the first.
    """
    aligned = sorted(on_timeline(clock, mark) for mark in marks)
    answers = _answers(first_of_bursts(aligned), dialogue)
    names = _events(answers)
    length_s = ticks_to_s(dialogue.n_ticks)
    within = [mark for mark in aligned if 0 <= mark.time_s <= length_s]
    return {
        **refused(None),
        "clock": to_builtins(clock),
        "marks": [{"time_s": mark.time_s, "name": mark.name} for mark in within],
        "outside": len(aligned) - len(within),
        "events": {event: name for name, event in names.items()},
        "answers": [_split(span, times_s, names) for span, times_s in answers],
    }


def refuse_other_calls(marks: Sequence[Mark], dialogue: Dialogue, clock: LogClock) -> None:
    """InputError if many of the marks that the clock rests on fit no turn of their side: it holds other calls too.

    Their marks would fall into answers of this one, where nobody can tell them apart. Of a clock that was given, the
    marks of playback are looked at.
    """
    given = clock.anchor is None
    anchors = [mark.name for mark in marks if event_of(mark.name) == EVENTS[-1]] if given else [clock.anchor]
    if not anchors:
        return
    anchor, beside_s = anchors[0], GIVEN_BESIDE_S if given else BESIDE_S
    side: Side = "A" if clock.place is not None and clock.place.endswith("A's turns") else "B"
    length_s = ticks_to_s(dialogue.n_ticks)
    own = [on_timeline(clock, mark) for mark in first_of_bursts(sorted(marks)) if mark.name == anchor]
    within_s = [mark.time_s for mark in own if 0 <= mark.time_s <= length_s]
    turns = sorted((turn.start_tick, turn.end_tick or dialogue.n_ticks) for turn in dialogue.turns(side))
    starts_s = [ticks_to_s(start_tick) - beside_s for start_tick, _ in turns]
    ends_s = [-math.inf, *accumulate((ticks_to_s(end_tick) + beside_s for _, end_tick in turns), max)]
    strays = sum(ends_s[bisect_right(starts_s, time_s)] < time_s for time_s in within_s)
    # A detector of the user's speech also hears noise; what the system plays is its own turns.
    matched = min(len(within_s) - strays, len(turns)) if given else clock.matched
    if strays >= FEWEST_STRAYS and strays > matched * (0.5 if side == "B" else 2):
        raise InputError(
            f"it seems to hold other calls too: {strays} of the {len(within_s)} {anchor!r} within the recording "
            f"fit no turn of {side}. Give a log of this call alone"
        )


def refused(why: str | None) -> AgentLog:
    """The state of a log that cannot be laid on the timeline, and why it cannot."""
    return {
        "schema": MARKS_SCHEMA,
        "source": None,
        "sha256": None,
        "given_offset_ms": None,
        "refused": why,
        "clock": None,
        "marks": [],
        "outside": 0,
        "events": {},
        "answers": [],
    }


def _answers(marks: Sequence[Mark], dialogue: Dialogue) -> _Answers:
    found = opportunities_in(dialogue)
    last_onset_s, answers = -math.inf, []
    for onset, end in sorted((turn_start(e), turn_start(e) - fto(e)) for e in [*found.answered, *found.premature]):
        end_s, onset_s = ticks_to_s(end), ticks_to_s(onset)
        first_s = max(min(end_s, onset_s) + EARLIEST_S, last_onset_s + TOLERANCE_S)
        own = marks[bisect_right(marks, first_s, key=_time_s) : bisect_right(marks, onset_s + TOLERANCE_S, key=_time_s)]
        times_s = {mark.name: mark.time_s for mark in own}
        answers.append(((end_s, onset_s), times_s))
        last_onset_s = onset_s
    return answers


def _events(answers: _Answers) -> dict[str, str]:
    """The names that split answers, each with its event: those that half of the answers have go before rarer ones."""
    counts = Counter(name for _, times_s in answers for name in times_s)
    found = events_of([name for name, n in counts.items() if 2 * n >= len(answers)])
    rare = [name for name, n in counts.items() if LEAST_SHARE * len(answers) <= n < len(answers) / 2]
    known = events_of([name for name in rare if event_of(name) is not None])
    return found | {name: event for name, event in known.items() if event not in found.values()}


def _split(span: tuple[float, float], times_s: Mapping[str, float], names: Mapping[str, str]) -> SplitAnswer:
    end_s, onset_s = span
    return {
        "a_end_s": end_s,
        "b_onset_s": onset_s,
        "answer_ms": round((onset_s - end_s) * 1000 / TICK_MS) * TICK_MS,
        "events_ms": {
            event: round(1000 * (times_s[name] - end_s), 1) for name, event in names.items() if name in times_s
        },
    }
