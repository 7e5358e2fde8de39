"""Decides A's last turn at the end of a recording: B left it unanswered, or nobody knows, as A may have hung up."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Literal, TypeAlias

from fdbcore.errors import InputError
from fdbcore.recording.files import AUDIO_END
from fdbcore.recording.reader import Recording
from fdbcore.sources.benchmark_folders import V1_FILES, labelled_span
from fdbcore.sources.recorded import replays
from fdbcore.types import TICKS_PER_S, TurnEvent, TurnSettings

Line: TypeAlias = Literal["closed", "recorded", "held", "cut", "open"]
"""The chance of B to answer after A's last turn. open: yes, until the end of the recording, as in a benchmark of one
turn; an answer that has not come by then is missing. held: we ran the call ourselves, so A did not hang up; an answer
is missing if the whole response window was recorded. cut: the same, and we ended the call at its time limit. recorded:
the same for a recording that somebody else made: who hangs up leaves no silence as long as the window behind. closed:
the file of one side ends before the other's, so the silence after it was not recorded, and A may have hung up.
"""


def line_of(recording: Recording) -> Line:
    """The line of a recording, from its settings, its suite, the layout of its files, or its live parties."""
    kinds = [party.get("kind", "replay") for party in recording.parties.values()]
    if recording.meta["settings"].get("line_open") or replays(recording, V1_FILES):
        return "open"
    if all(kind == "replay" for kind in kinds):
        return "recorded" if _holds_both_sides_to_the_end(recording) else "closed"
    if _is_cut_off(recording):
        return "cut"
    return "open" if "clip" in kinds else "held"


def _holds_both_sides_to_the_end(recording: Recording) -> bool:
    ends = [event["tick"] for event in recording.events if event["kind"] == AUDIO_END]
    return not ends or min(ends) > recording.n_ticks - TICKS_PER_S


def _is_cut_off(recording: Recording) -> bool:
    """True if we ended a live call at its time limit: B could not answer any more, though A had not hung up."""
    max_s = recording.original_meta["settings"].get("max_s")
    return max_s is not None and recording.n_ticks >= int(max_s * TICKS_PER_S)


def pauses_of(recording: Recording) -> list[tuple[int, int]]:
    """The pauses of A by labels, or by the suite of a recording, as half-open spans of ticks."""
    labels = recording.labels
    spans = [(label.start_tick, label.end_tick) for label in (labels.of("A", "pause") if labels else ())]
    swapped = (recording.meta.get("source") or {}).get("swap", False)
    noted = [note for note in recording.meta.get("annotations", ()) if note["kind"] == "pause" and not swapped]
    spans += [_span(note["start_s"], note["end_s"]) for note in noted]
    case = recording.original_meta.get("case")
    clip = case.get("clip") if case else None
    of_clip = clip.get("labels", {}).get("pause") if clip else None
    return [*spans, *_spans_of_clip(of_clip)]  # a clip is played from tick 0


def _spans_of_clip(notes: object) -> Iterator[tuple[int, int]]:
    """The pauses in the JSON beside a clip, if that is what it has under this name: it may be of any form."""
    for note in notes if isinstance(notes, Sequence) else ():
        with suppress(InputError):
            yield _span(*labelled_span(note.get("timestamp") if isinstance(note, Mapping) else None))


def _span(start_s: float, end_s: float) -> tuple[int, int]:
    return round(start_s * TICKS_PER_S), round(end_s * TICKS_PER_S)


def is_missing(silent_ticks: int, settings: TurnSettings, line: Line) -> bool:
    """True if B's answer to A's last turn is missing; nobody spoke for the last `silent_ticks` of the recording."""
    ended = silent_ticks >= settings.ticks("min_silence_ms")
    return ended and (line == "open" or (line != "closed" and silent_ticks >= settings.ticks("response_window_ms")))


def at_the_end(events: Sequence[TurnEvent], n_ticks: int, settings: TurnSettings, line: Line) -> list[TurnEvent]:
    """The detector's events, with A's last turn decided by the line, if nobody spoke after it. n_ticks: where they end.

    Either the answer is missing and the turn counts, or both are censored. All other events stay as they are.
    """
    turns = [number for number, event in enumerate(events) if event.kind == "turn"]
    if not turns or events[turns[-1]].side != "A":
        return list(events)
    number, window_ticks = turns[-1], settings.ticks("response_window_ms")
    last = events[number]
    since = max((e.end_tick or 0 for e in events if e.kind == "speech_end"), default=0)
    missing = is_missing(n_ticks - since, settings, line)
    detected = [k for k, e in enumerate(events) if e.kind == "no_response" and e.side == "B" and e.start_tick == since]
    decided = [replace(e, censored=not missing) if k in (number, *detected) else e for k, e in enumerate(events)]
    if missing and not detected:
        end = min(since + window_ticks, n_ticks)
        decided.insert(number, TurnEvent("no_response", "B", since, end, last.known_tick))
    return decided
