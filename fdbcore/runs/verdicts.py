"""Verdicts of a judge, yes or no, from its answers, of which there may be several: what most of them say."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from fdbcore.errors import InputError
from fdbcore.runs.asking import JudgeAnswer

CANNOT_TELL: Final = "the judge cannot tell"
VERDICT: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"right": {"type": ["boolean", "null"]}, "reason": {"type": "string"}},
    "required": ["right", "reason"],
    "additionalProperties": False,
}
"""The schema of an answer: `right` is null if the judge cannot tell."""


class Verdict(NamedTuple):
    """Yes or no. right: None for no verdict, `reason` then says why. repeats: of each answer; None: it gave none.

    why_not: why answers have none, if some have.
    """

    right: bool | None
    reason: str
    repeats: tuple[bool | None, ...] = ()
    why_not: str = ""


def verdict_of(answers: Sequence[JudgeAnswer]) -> Verdict:
    """The verdict of more than half of the answers that have one; none if they are split."""
    repeats = tuple(None if each.marks is None else _yes(each.marks["right"]) for each in answers)
    known = [each for each in repeats if each is not None]
    missing = why_not(answers) or (CANNOT_TELL if None in repeats else "")
    if not known:
        return Verdict(None, missing, repeats)
    if 2 * sum(known) == len(known):
        return Verdict(None, f"{len(known)} answers are split", repeats, missing)
    right = 2 * sum(known) > len(known)
    first = next(each for each, is_right in zip(answers, repeats, strict=True) if is_right is right)
    return Verdict(right, str((first.marks or {}).get("reason", "")), repeats, missing)


def why_not(answers: Sequence[JudgeAnswer]) -> str:
    """The reason why the first answer that cannot be used cannot; "" if all can."""
    return next((each.reason for each in answers if each.marks is None), "")


def _yes(right: bool | float | None) -> bool | None:
    """The verdict of an answer; a probability of yes counts as no where it is not above 0.5."""
    return None if right is None else right > 0.5


def check_verdict(marks: Mapping[str, Any], evidence: Mapping[str, Any]) -> None:
    """InputError unless the verdict is yes, no, null, or a probability of yes."""
    right = marks["right"]
    if not (right is None or isinstance(right, bool) or (isinstance(right, float) and 0 <= right <= 1)):
        raise InputError(f"right: expected true, false or null, got {right!r}")
