"""Our measures of Full-Duplex-Bench v3, each registered once: tables, terms and comparisons read this."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

FailureClass: TypeAlias = Literal[
    "silent",
    "wrong_tool",
    "stale_value",
    "wrong_argument",
    "missing_step",
    "wrong_order",
    "wrong_outcome",
]

FAILURES: Final[Mapping[FailureClass, tuple[str, str]]] = {
    "silent": ("silent", "The system said nothing, whatever it called."),
    "wrong_tool": ("wrong tool", "It called a function that the label does not have, and did not withdraw it."),
    "stale_value": ("stale value", "A value that the user took back stands: in a call, or in the final state."),
    "wrong_argument": ("wrong argument", "Another wrong value stands: in a call, or in the final state."),
    "missing_step": ("missing step", "An expected call was not made, or it failed and was not tried again."),
    "wrong_order": ("wrong order", "A call was made before the result that it needs had come."),
    "wrong_outcome": ("wrong outcome", "All calls are right, and the final state is not, as after a second booking."),
}
"""Why a recording does not pass, with a label and a meaning: the first that applies."""


class OursMeasure(NamedTuple):
    """A measure of one recording. direction: 1 if more is better, -1 if less is, 0 if neither.

    pooled: "share": 0 or 1 of each recording, and their share; "mean": the mean of shares from 0 to 1; "median": the
    median. over: the recordings that have it. part: the heading above it.
    """

    id: str
    label: str
    unit: Literal["", "ms"]
    direction: Literal[-1, 0, 1]
    pooled: Literal["share", "mean", "median"]
    over: str
    part: str
    meaning: str


_ALL: Final = "all"
_TASK: Final = "the task"
_AHEAD: Final = "ahead of the user's end"
_BACK: Final = "after a correction"
_TIME: Final = "where the time goes"
_REPLY: Final = "the reply"

_MEASURES: Final = (
    OursMeasure(
        "passed", "passed", "", 1, "share", _ALL, _TASK,
        "All expected calls are right and answered, no wrong one stands, the final state is right, and the system says "
        "something.",
    ),
    OursMeasure(
        "tool_selection", "tools", "", 1, "mean", _ALL, _TASK,
        "F1 of the functions called, as multisets. Calls that were withdrawn, tried again or put right after a refusal "
        "do not count.",
    ),
    OursMeasure(
        "arguments", "arguments", "", 1, "mean", _ALL, _TASK,
        "Expected calls with a right call of their own. 1 if none is expected.",
    ),
    OursMeasure(
        "in_order", "in order", "", 1, "share", "two expected calls or more", _TASK,
        "All expected calls were made, in the order of the label.",
    ),
    OursMeasure(
        "needs_met", "needs met", "", 1, "mean", "a call needs a result", _TASK,
        "Where an expected call needs the result of another: both were made, and the result had come before the call.",
    ),
    OursMeasure(
        "final_state", "final state", "", 1, "share", _ALL, _TASK,
        "The calls leave the world as the expected ones do.",
    ),
    OursMeasure(
        "preemptive", "called ahead", "", 0, "share", _ALL, _AHEAD,
        "A call was made before the user's end.",
    ),
    OursMeasure(
        "preemptive_right", "ahead and right", "", 1, "mean", "a call before the user's end", _AHEAD,
        "Calls before the user's end that turned out right: what the user said after them did not change them.",
    ),
    OursMeasure(
        "preemptive_wrong", "ahead and wrong", "", -1, "share", _ALL, _AHEAD,
        "A call before the user's end was wrong, and stands: neither withdrawn nor put right.",
    ),
    OursMeasure(
        "interrupted", "interrupted", "", -1, "share", _ALL, _AHEAD,
        "The system began to speak before the user's end.",
    ),
    OursMeasure(
        "corrected", "correction kept", "", 1, "share", "the user corrects himself", _BACK,
        "In the end all expected calls are right, and the state too: nothing that the user took back stands.",
    ),
    OursMeasure(
        "recovered", "recovered", "", 1, "share", "a call had a value that was taken back", _BACK,
        "The same, of those in which the system had acted on what the user then took back.",
    ),
    OursMeasure(
        "answered", "answered", "", 1, "share", _ALL, _REPLY,
        "The system speaks after the user's end.",
    ),
    OursMeasure(
        "response", "response", "", 1, "share", "all, with a judge", _REPLY,
        "A judge takes the reply for right; one that was not given is not.",
    ),
    OursMeasure(
        "filler_words", "filler, by words", "", -1, "mean", "words, and a verdict", _REPLY,
        "Words of the system that a judge took for filler, of all its words.",
    ),
    OursMeasure(
        "filler_time", "filler, by time", "", -1, "mean", "words, and a verdict", _REPLY,
        "The time of these words, of the time of all its words.",
    ),
    OursMeasure(
        "first_sound_ms", "first sound", "ms", -1, "median", "answered", _TIME,
        "From the user's end to the system's first sound; negative if it was speaking then. What it had said before, "
        "and ended, does not count.",
    ),
    OursMeasure(
        "first_call_ms", "first call", "ms", -1, "median", "a call", _TIME,
        "From the user's end to the first call; negative if it was made ahead.",
    ),
    OursMeasure(
        "calls_ms", "calls", "ms", -1, "median", "a result", _TIME,
        "From the first call to the last result.",
    ),
    OursMeasure(
        "world_ms", "calls: the world", "ms", 0, "median", "a result", _TIME,
        "The part of this in which a result was awaited: the world's own latency.",
    ),
    OursMeasure(
        "between_calls_ms", "calls: the system", "ms", -1, "median", "a result", _TIME,
        "The part of this in which no result was awaited: the system's own.",
    ),
    OursMeasure(
        "result_to_speech_ms", "result to speech", "ms", -1, "median", "speech after a result", _TIME,
        "From the last result until the system speaks; 0 if it is speaking then.",
    ),
    OursMeasure(
        "result_to_key_ms", "result to key", "ms", -1, "median", "a result, and a key by a judge", _TIME,
        "From the last result to the key information; negative if that was said before it was known.",
    ),
    OursMeasure(
        "key_ms", "key information", "ms", -1, "median", "a key by a judge", _TIME,
        "From the user's end to the key information of the reply, as a judge places it.",
    ),
    OursMeasure(
        "own_ms", "key: the system", "ms", -1, "median", "a key by a judge", _TIME,
        "The same without the time in which a result was awaited: the system's own.",
    ),
)  # fmt: skip

MEASURES: Final[Mapping[str, OursMeasure]] = {measure.id: measure for measure in _MEASURES}
COMPARED: Final = ("passed", "tool_selection", "arguments", "final_state", "interrupted", "first_sound_ms", "key_ms")
"""The measures by which systems are compared; Holm's family is all comparisons of a set of systems."""
