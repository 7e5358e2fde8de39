"""A dialogue as a judge reads it: what each side said and when, and the events at which the system is judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from fdbcore.endpoints.examiner.brief import Brief
from fdbcore.measures.dialogue import Spans
from fdbcore.measures.heard_words import lines_of
from fdbcore.measures.opportunities import fto, opportunities, turn_start
from fdbcore.measures.reading import Reading
from fdbcore.recording.words import Transcript
from fdbcore.types import SIDES, TICK_MS, TICKS_PER_S, Side, other_side
from fdbcore.types.examiner_events import SAID, SAYS

PAUSE_TICKS: Final = TICKS_PER_S
"""A shorter silence of a side in which the other says nothing may lie within a sentence."""


@dataclass(frozen=True, slots=True)
class SpokenWords:
    """Words of one side in one stretch of speech. A side that was cut said only part of them."""

    side: Side
    start_tick: int
    end_tick: int
    words: str
    is_cut: bool = False

    def to_json(self) -> dict[str, Any]:
        """As a judge reads it: the user is A, the system B."""
        told = {
            "who": "user" if self.side == "A" else "system",
            "from_s": self.start_tick / TICKS_PER_S,
            "to_s": self.end_tick / TICKS_PER_S,
            "words": self.words,
        }
        return {**told, "broken_off": True} if self.is_cut else told


@dataclass(frozen=True, slots=True)
class SystemEvent:
    """A turn of B, or an opportunity that it let pass.

    delay_s: of an answer, from the end of A's turn. overlap_s: for how long both spoke.
    """

    kind: str
    start_tick: int
    end_tick: int
    delay_s: float | None = None
    overlap_s: float = 0.0

    def to_json(self, number: int) -> dict[str, Any]:
        """As a judge reads it."""
        told = {
            "event": number,
            "kind": self.kind,
            "from_s": self.start_tick / TICKS_PER_S,
            "to_s": self.end_tick / TICKS_PER_S,
            "both_speak_s": self.overlap_s,
        }
        return told if self.delay_s is None else {**told, "after_the_user_s": self.delay_s}


def evidence_of(recording: Reading, brief: Brief, heard: Mapping[Side, Transcript], until_tick: int) -> dict[str, Any]:
    """What a judge reads of a dialogue beside its events: the goals, and what both said, up to A's closing statement.

    heard: the words of both sides; those that most likely nobody said are left out.
    """
    said = [each for side in SIDES for each in _said(recording, heard[side], until_tick)]
    return {
        "user": brief.role,
        "goals": [{"goal": goal.goal, "met_if": goal.met} for goal in brief.goals],
        "said": [each.to_json() for each in sorted(said, key=lambda each: each.start_tick)],
    }


def events_of(recording: Reading, until_tick: int) -> list[SystemEvent]:
    """Every turn of B and every opportunity that it let pass, up to A's closing statement."""
    dialogue = recording.dialogue
    found = opportunities(dialogue)
    delays = {turn_start(each): fto(each) / TICKS_PER_S for each in (*found.answered, *found.premature)}
    kinds = {turn_start(each): "answer" for each in found.answered}
    kinds |= {turn_start(each): "cuts the user off" for each in found.premature}
    turns = [each for each in dialogue.events if each.kind == "turn" and each.side == "B"]
    both = dialogue.speaking["A"] & dialogue.speaking["B"]
    events = [
        SystemEvent(
            kinds.get(each.start_tick, "takes the floor"),
            each.start_tick,
            end,
            delays.get(each.start_tick),
            int(both[each.start_tick : end].sum()) / TICKS_PER_S,
        )
        for each in turns
        for end in (each.end_tick or recording.n_ticks,)
    ]
    events += [SystemEvent("no answer", each.start_tick, each.end_tick or each.start_tick) for each in found.missed]
    return sorted((each for each in events if each.start_tick < until_tick), key=lambda each: each.start_tick)


def closing_tick(events: Sequence[Mapping[str, Any]], n_ticks: int) -> int:
    """When A's closing statement begins; the end of the dialogue if there is none."""
    return next((each["tick"] for each in events if each["kind"] == SAYS and each["what"] == "closing"), n_ticks)


def _said(recording: Reading, heard: Transcript, until_tick: int) -> list[SpokenWords]:
    """What a side said, a stretch of speech with its short pauses each; A's last before it broke off is marked."""
    kept = [
        word
        for word in heard.words
        if not word.is_doubtful and (word.start_ms + word.end_ms) // 2 < until_tick * TICK_MS
    ]
    lines = lines_of(replace(heard, words=tuple(kept)), _stretches(recording, heard.side))
    said = [SpokenWords(heard.side, each["start_tick"], each["end_tick"], each["text"]) for each in lines]
    if heard.side == "B":
        return said
    cuts = [each["tick"] for each in recording.events if each["kind"] == SAID and each["said_ms"] < each["of_ms"]]
    for tick in cuts:
        before = [number for number, each in enumerate(said) if each.start_tick < tick]
        if before:
            said[before[-1]] = replace(said[before[-1]], is_cut=True)
    return said


def _stretches(recording: Reading, side: Side) -> Spans:
    """The IPUs of a side, (n, 2) in ticks, joined over pauses in which neither the other speaks nor A begins anew."""
    other = recording.dialogue.speaking[other_side(side)]
    begun = [each["tick"] for each in recording.events if each["kind"] == SAYS]
    found: list[list[int]] = []
    for start, end in recording.dialogue.ipus[side].tolist():
        since = found[-1][1] if found else start - PAUSE_TICKS
        if start - since >= PAUSE_TICKS or other[since:start].any() or any(since <= tick <= start for tick in begun):
            found.append([start, end])
        else:
            found[-1][1] = end
    return np.array(found, np.int64).reshape(-1, 2)
