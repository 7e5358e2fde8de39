"""What a judge says of a system on a recording, by its answers, of which there may be several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median_low
from typing import Annotated, Any, NamedTuple

from msgspec import Meta, Struct

from fdbcore.runs import JudgeAnswer, Verdict, why_not


class SaidPart(Struct, frozen=True):
    """Words of the system that a judge took for filler, or for the key information."""

    text: str
    start_s: Annotated[float, Meta(description="from the beginning of the user's recording")]
    end_s: float


class GivenVerdict(Struct, frozen=True, omit_defaults=True):
    """A verdict of the first judge. Of several answers it is what more than half of them say."""

    right: Annotated[bool | None, Meta(description="null: unscored; the reason says why")]
    reason: str
    repeats: Annotated[list[bool | None], Meta(description="of each answer, if there are several")] = []

    @classmethod
    def of(cls, verdict: Verdict) -> GivenVerdict:
        """A verdict as it is kept."""
        return cls(verdict.right, verdict.reason, list(verdict.repeats) if len(verdict.repeats) > 1 else [])


class V3Verdicts(Struct, frozen=True):
    """What the first judge says of a call, by the released label."""

    arguments: Annotated[list[GivenVerdict | None], Meta(description="of each expected call; null: it was not made")]
    response: Annotated[GivenVerdict | None, Meta(description="null: it was not asked")]
    filler: Annotated[SaidPart | None, Meta(description="null: none, or unscored")]
    key: Annotated[SaidPart | None, Meta(description="null: none, or unscored")]
    speech_reason: Annotated[str | None, Meta(description="of filler and key; null: it was not asked")]


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


def speech_verdict_of(answers: Sequence[JudgeAnswer]) -> SpeechVerdict:
    """The parts that more than half of the answers find, each as the answer with the middle beginning has it."""
    given = [each.marks for each in answers if each.marks is not None]
    if not given:
        return SpeechVerdict(0, None, None, why_not(answers))
    reason = str(given[0].get("reason", ""))
    return SpeechVerdict(len(given), _middle("filler", given), _middle("key", given), reason, why_not(answers))


def _middle(part: str, given: Sequence[Mapping[str, Any]]) -> SaidPart | None:
    found = [
        SaidPart(text, float(marks[f"{part}_from_s"]), float(marks[f"{part}_to_s"]))
        for marks in given
        if (text := marks[part].strip())
    ]
    if 2 * len(found) <= len(given):
        return None
    middle_s = median_low(each.start_s for each in found)
    return next(each for each in found if each.start_s == middle_s)
