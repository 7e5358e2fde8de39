"""The published measures in words: what each is over, and what is wrong with it."""

from __future__ import annotations

from typing import Final, NamedTuple


class CompatTerm(NamedTuple):
    """A measure of `CompatScores` by the name of its field. over: the recordings that it is taken over."""

    name: str
    title: str
    over: str
    defect: str


TERMS: Final = (
    CompatTerm("turn_take", "turn-take", "all", "counts whatever is said, at any time, interruptions too"),
    CompatTerm(
        "tool_selection", "tool selection", "turn-taken", "silent recordings are left out, and order does not count"
    ),
    CompatTerm(
        "tool_selection_all", "tool selection, all", "all", "order does not count, and a repaired call is wrong"
    ),
    CompatTerm(
        "argument_accuracy", "arguments", "turn-taken", "two calls of one function in swapped order both count as wrong"
    ),
    CompatTerm(
        "response_quality",
        "response",
        "turn-taken",
        "the judge sees no tool calls, and is asked whether they are right",
    ),
    CompatTerm(
        "passed", "Pass@1", "all", "the words are not read, so a silent system can pass, and labels have errors"
    ),
    CompatTerm(
        "interruption",
        "interruption",
        "turn-taken, both times known",
        "a pause of more than 2 s ends the user's turn, so who cuts in after it is taken for late",
    ),
    CompatTerm(
        "preemptive",
        "pre-emptive",
        "with a call",
        "its denominator is not published; a call that is repaired counts, too",
    ),
    CompatTerm("filler", "filler", "in time, with a verdict", "one word of filler weighs as much as ten seconds of it"),
    CompatTerm(
        "first_response",
        "first word",
        "in time",
        "filler counts as a response; a mean, which late ones decide; "
        "a pause of more than 2 s ends the user's turn too early, and makes it too long",
    ),
    CompatTerm(
        "tool_call",
        "tool call",
        "in time",
        "calls ahead of the user's end stay in with negative times, and lower the mean; "
        "a pause of more than 2 s ends the user's turn too early, and makes it too long",
    ),
    CompatTerm(
        "completion",
        "completion",
        "in time",
        "recordings in which the judge finds no key information fall out of the mean; "
        "a pause of more than 2 s ends the user's turn too early, and makes it too long",
    ),
)
"""In time: turn-taken, and not before the user's end."""
