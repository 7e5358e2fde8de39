"""What a judge says of a system on a recording, by its answers, of which there may be several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median_low
from typing import TYPE_CHECKING, Any, NamedTuple

from fdbcore.runs.asking import JudgeAnswer
from fdbcore.runs.verdicts import Verdict, why_not

if TYPE_CHECKING:
    from fdbcore.suites.fdb_v3.document_types import V3SaidPart


class SpeechVerdict(NamedTuple):
    """What a judge found in what was said. n: answers that can be used; 0: no verdict, `reason` then says why.

    filler, key: None: not there. why_not: why other answers cannot be used, if there are any.
    """

    n: int
    filler: V3SaidPart | None
    key: V3SaidPart | None
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


def _middle(part: str, given: Sequence[Mapping[str, Any]]) -> V3SaidPart | None:
    found: list[V3SaidPart] = [
        {"text": text, "start_s": float(marks[f"{part}_from_s"]), "end_s": float(marks[f"{part}_to_s"])}
        for marks in given
        if (text := marks[part].strip())
    ]
    if 2 * len(found) <= len(given):
        return None
    middle_s = median_low(each["start_s"] for each in found)
    return next(each for each in found if each["start_s"] == middle_s)
