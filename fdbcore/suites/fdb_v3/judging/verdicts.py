"""Verdicts of a judge from its answers, of which there may be several: what most of them say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median_low
from typing import Any, NamedTuple

from fdbcore.runs.asking import JudgeAnswer

CANNOT_TELL = "the judge cannot tell"


class Verdict(NamedTuple):
    """Yes or no. right: None for no verdict, `reason` then says why. repeats: of each answer; None: it gave none.

    why_not: why answers have none, if some have.
    """

    right: bool | None
    reason: str
    repeats: tuple[bool | None, ...] = ()
    why_not: str = ""


class SaidPart(NamedTuple):
    """Filler, or key information: its words, and from when to when they were said."""

    text: str
    start_s: float
    end_s: float


class SpeechVerdict(NamedTuple):
    """What a judge found in what was said. n: answers that can be used; 0: no verdict, `reason` then says why.

    filler, key: None: not there. why_not: why other answers cannot be used, if there are any.
    """

    n: int
    filler: SaidPart | None
    key: SaidPart | None
    reason: str
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class CaseVerdicts:
    """What one judge says of a system on a recording. arguments: by `questions.pair_key`. None: it was not asked."""

    arguments: Mapping[str, Verdict] = field(default_factory=dict)
    response: Verdict | None = None
    speech: SpeechVerdict | None = None


def verdict_of(answers: Sequence[JudgeAnswer]) -> Verdict:
    """What more than half of the answers say that have a verdict; none if they are split."""
    repeats = tuple(None if each.marks is None else _yes(each.marks["right"]) for each in answers)
    known = [each for each in repeats if each is not None]
    why_not = _why_not(answers) or (CANNOT_TELL if None in repeats else "")
    if not known:
        return Verdict(None, why_not, repeats)
    if 2 * sum(known) == len(known):
        return Verdict(None, f"{len(known)} answers are split", repeats, why_not)
    right = 2 * sum(known) > len(known)
    first = next(each for each, is_right in zip(answers, repeats, strict=True) if is_right is right)
    return Verdict(right, str((first.marks or {}).get("reason", "")), repeats, why_not)


def _why_not(answers: Sequence[JudgeAnswer]) -> str:
    """Why the first answer that cannot be used cannot; "" if all can."""
    return next((each.reason for each in answers if each.marks is None), "")


def _yes(right: bool | float | None) -> bool | None:
    """The verdict of an answer; a probability of yes counts as no where it is not above 0.5."""
    return None if right is None else right > 0.5


def speech_verdict_of(answers: Sequence[JudgeAnswer]) -> SpeechVerdict:
    """The parts that more than half of the answers find, each as the answer with the middle beginning has it."""
    given = [each.marks for each in answers if each.marks is not None]
    if not given:
        return SpeechVerdict(0, None, None, _why_not(answers))
    reason = str(given[0].get("reason", ""))
    return SpeechVerdict(len(given), _middle("filler", given), _middle("key", given), reason, _why_not(answers))


def _middle(part: str, given: Sequence[Mapping[str, Any]]) -> SaidPart | None:
    found = [
        SaidPart(marks[part].strip(), float(marks[f"{part}_from_s"]), float(marks[f"{part}_to_s"]))
        for marks in given
        if marks[part].strip()
    ]
    if 2 * len(found) <= len(given):
        return None
    middle_s = median_low(each.start_s for each in found)
    return next(each for each in found if each.start_s == middle_s)
