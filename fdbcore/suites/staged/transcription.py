"""The words of staged dialogues: those of transcribers, and what a judge reads, with the events that it marks."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from msgspec.structs import replace as replaced

from fdbcore.analysis import CallToHear, SelfReported, hear_calls
from fdbcore.endpoints import Brief
from fdbcore.errors import MissingExtraError
from fdbcore.measures import Reading, Spans, fto, lines_of, opportunities_in, turn_start
from fdbcore.recording import Transcript, converted
from fdbcore.sources import WordSource, word_source_of
from fdbcore.suites.staged.cases import StagedCase
from fdbcore.suites.staged.goals import MET, NOT_HEARD, UNMET, GoalResult, heard_wordings
from fdbcore.types import SIDES, TICK_MS, TICKS_PER_S, Problem, Side
from fdbcore.types.examiner_events import SAID, SAYS
from fdbcore.types.words import as_text

Heard: TypeAlias = Mapping[Side, Transcript]
"""The transcripts of a dialogue; a side that nobody asked for, or that has no words, is missing."""

PAUSE_TICKS: Final = TICKS_PER_S
"""A shorter silence of a side in which the other says nothing may lie within a sentence."""


def hear(
    cases: Sequence[StagedCase], source: WordSource, for_judge: bool, jobs: int | None, show: Callable[[str], None]
) -> tuple[dict[Path, Heard], list[Problem], list[str]]:
    """The words of dialogues by their paths, what could not be transcribed, and of which sides nobody told words.

    What was transcribed before is used again. for_judge: see `sides_wanted`. jobs: see `Transcribing`. SettingsError if
    the source gives no words with times.
    """
    heard = hear_calls(calls_to_hear(cases, for_judge), source, jobs, show, "dialogues")
    return by_side(heard.transcripts), list(heard.problems), list(heard.missing)


def calls_to_hear(cases: Sequence[StagedCase], for_judge: bool) -> list[CallToHear]:
    """The dialogues of which words are wanted, by `sides_wanted`."""
    return [
        CallToHear(case.call, case.path, sides, language_of(Reading(case.path)))
        for case in cases
        if (sides := sides_wanted(case, for_judge))
    ]


def by_side(transcripts: Mapping[str, Sequence[Transcript]]) -> dict[Path, Heard]:
    """The words of dialogues by their paths and sides."""
    return {Path(where): {each.side: each for each in own} for where, own in transcripts.items()}


def sides_wanted(case: StagedCase, for_judge: bool) -> Sequence[Side]:
    """Both sides for a judge, if not all of B is echo; else B's where nobody heard whether a goal was met."""
    if for_judge and not case.only_echo:
        return SIDES
    return ("B",) if any(goal.verdict == NOT_HEARD for goal in case.goals) else ()


def why_not_heard(cases: Sequence[StagedCase], sources: Sequence[WordSource]) -> list[str]:
    """A sentence that nobody heard whether goals were met, and the remedy. sources: asked ones; the first decides."""
    deaf = [case for case in cases if any(goal.verdict == NOT_HEARD for goal in case.goals)]
    if not deaf:
        return []
    what = f"In {len(deaf)} of {len(cases)} dialogues it is not known whether goals were met"
    why = f", because {sources[0].name} has no words of the system" if sources else ""
    mends = [
        _mended_by(deaf, {source.name for source in sources}),
        "fdbcore run --examiner-transcriber whisper hears during the call",
    ]
    return [f"{what}{why}; {'; '.join(filter(None, mends))}"]


def _mended_by(deaf: Sequence[StagedCase], asked: Collection[str]) -> str:
    """The source of words that would decide their goals now, and what it still needs; "" if it was asked already."""
    told = word_source_of(SelfReported.name)
    assert isinstance(told, SelfReported)
    if not any(told.why_not(Reading(case.path), "B", "") for case in deaf):
        return "--transcriber told takes what the system tells of its own words"
    try:
        whisper = word_source_of("whisper")
    except MissingExtraError as error:
        return f"--transcriber whisper hears them once it is there ({error})"
    return "" if whisper.name in asked else "--transcriber whisper hears them now"


def language_of(recording: Reading) -> str:
    """The language of a dialogue for a transcriber, as ISO 639-1; "" where it changes."""
    brief: Brief = converted(recording.meta["parties"]["A"]["brief"], Brief)
    return brief.language if all(goal.language == brief.language for goal in brief.goals) else ""


def goals_heard(case: StagedCase, b: Transcript) -> list[GoalResult]:
    """The goals of a dialogue; those that nobody heard are decided by B's words since B could first hear them."""
    recording, found = Reading(case.path), []
    brief: Brief = converted(recording.meta["parties"]["A"]["brief"], Brief)
    events = [event for event in recording.events if event["side"] == "A"]
    for number, (result, goal) in enumerate(zip(case.goals, brief.goals, strict=True), 1):
        heard, ticks = heard_wordings(events, number), result.ticks
        if result.verdict != NOT_HEARD or not goal.heard or ticks is None or not heard:
            found.append(result)
            continue
        own = [
            word
            for word in b.words
            if not word.is_doubtful and heard[0]["tick"] <= (word.start_ms + word.end_ms) / 2 / TICK_MS < ticks[1]
        ]
        words = as_text(own)
        found.append(replaced(result, words=words, verdict=MET if goal.is_met_by(words) else UNMET))
    return found


class JudgedDialogue(NamedTuple):
    """The evidence for a judge on a dialogue by the words of one source."""

    evidence: Mapping[str, Any]
    events: Sequence[Mapping[str, Any]]


def judged_dialogue(path: Path, heard: Heard) -> JudgedDialogue:
    """The evidence for a judge on the dialogue of a recording, up to A's closing statement."""
    recording = Reading(path)
    brief: Brief = converted(recording.meta["parties"]["A"]["brief"], Brief)
    until = closing_tick(recording.events, recording.n_ticks)
    events = events_of(recording, until)
    return JudgedDialogue(evidence_of(recording, brief, heard, until), events)


def evidence_of(recording: Reading, brief: Brief, heard: Mapping[Side, Transcript], until_tick: int) -> dict[str, Any]:
    """The evidence for a judge beside the events: the goals, and what both said, up to A's closing statement.

    heard: the words of both sides; those that most likely nobody said are left out. A is the user, B the system.
    """
    said = [each for side in SIDES for each in _said(recording, heard[side], until_tick)]
    return {
        "user": brief.role,
        "goals": [{"goal": goal.goal, "met_if": goal.met} for goal in brief.goals],
        "said": sorted(said, key=itemgetter("from_s")),
    }


def events_of(recording: Reading, until_tick: int) -> list[dict[str, Any]]:
    """Every turn of B and every opportunity that it let pass, up to A's closing statement, as a judge reads them.

    after_the_user_s: the delay of an answer, from the end of A's turn.
    """
    dialogue = recording.dialogue
    found = opportunities_in(dialogue)
    delays = {turn_start(each): fto(each) / TICKS_PER_S for each in (*found.answered, *found.premature)}
    kinds = {turn_start(each): "answer" for each in found.answered}
    kinds |= {turn_start(each): "cuts the user off" for each in found.premature}
    turns = [each for each in dialogue.events if each.kind == "turn" and each.side == "B"]
    both = dialogue.speaking["A"] & dialogue.speaking["B"]

    def event(kind: str, start_tick: int, end_tick: int, both_ticks: int = 0) -> dict[str, Any]:
        starts_s, ends_s, both_s = (ticks / TICKS_PER_S for ticks in (start_tick, end_tick, both_ticks))
        return {"kind": kind, "from_s": starts_s, "to_s": ends_s, "both_speak_s": both_s}

    events = []
    for each in turns:
        start, end = each.start_tick, each.end_tick or recording.n_ticks
        told = event(kinds.get(start, "takes the floor"), start, end, int(both[start:end].sum()))
        events.append({**told, "after_the_user_s": delays[start]} if start in delays else told)
    events += [event("no answer", each.start_tick, each.end_tick or each.start_tick) for each in found.missed]
    judged = sorted((each for each in events if each["from_s"] < until_tick / TICKS_PER_S), key=itemgetter("from_s"))
    return [{"event": number, **each} for number, each in enumerate(judged, 1)]


def closing_tick(events: Sequence[Mapping[str, Any]], n_ticks: int) -> int:
    """The tick at which A's closing statement begins; the end of the dialogue if there is none."""
    return next(
        (each["tick"] for each in events if each["kind"] == SAYS and each["side"] == "A" and each["what"] == "closing"),
        n_ticks,
    )


def _said(recording: Reading, heard: Transcript, until_tick: int) -> list[dict[str, Any]]:
    """The words of a side, a stretch of speech with its short pauses each; A's last before it broke off is marked."""
    kept = [
        word
        for word in heard.words
        if not word.is_doubtful and (word.start_ms + word.end_ms) // 2 < until_tick * TICK_MS
    ]
    said = [
        {
            "who": "user" if heard.side == "A" else "system",
            "from_s": each["start_tick"] / TICKS_PER_S,
            "to_s": each["end_tick"] / TICKS_PER_S,
            "words": each["text"],
        }
        for each in lines_of(replace(heard, words=tuple(kept)), _stretches(recording, heard.side))
    ]
    if heard.side == "B":
        return said
    cuts = [each["tick"] for each in recording.events if each["kind"] == SAID and each["said_ms"] < each["of_ms"]]
    for tick in cuts:
        if before := [each for each in said if each["from_s"] < tick / TICKS_PER_S]:
            before[-1]["broken_off"] = True
    return said


def _stretches(recording: Reading, side: Side) -> Spans:
    """The IPUs of a side, (n, 2) in ticks, joined over pauses in which neither the other speaks nor A begins anew."""
    (other,) = (speaking for each, speaking in recording.dialogue.speaking.items() if each != side)
    begun = [each["tick"] for each in recording.events if each["kind"] == SAYS]
    found: list[list[int]] = []
    for start, end in recording.dialogue.ipus[side].tolist():
        since = found[-1][1] if found else start - PAUSE_TICKS
        if start - since >= PAUSE_TICKS or other[since:start].any() or any(since <= tick <= start for tick in begun):
            found.append([start, end])
        else:
            found[-1][1] = end
    return np.array(found, np.int64).reshape(-1, 2)
