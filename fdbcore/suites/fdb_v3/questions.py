"""Questions to a judge about a system on a recording, in our words, and what its answers mean.

The three judges are those of Full-Duplex-Bench v3 (Lin et al., arXiv 2604.04847), whose prompts are not copied: of
arguments, of the response, and of filler and key information.
"""

import json
import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from fdbcore.errors import InputError
from fdbcore.runs import VERDICT, JudgeQuestion, Verdict, check_verdict
from fdbcore.suites.fdb_v3.cases import SaidPart, V3Case
from fdbcore.suites.fdb_v3.compat import LoggedCall, paired_calls
from fdbcore.suites.fdb_v3.scenarios import LABELS, LabelKind
from fdbcore.suites.fdb_v3.world import FunctionCall
from fdbcore.types import TICKS_PER_S, Rubric, RubricQuestion

_TEXT: Final = {"type": "string"}
_TIME: Final = {"type": ["number", "null"]}
_FOUND: Final[Mapping[str, Any]] = {
    "filler": _TEXT,
    "filler_from_s": _TIME,
    "filler_to_s": _TIME,
    "key": _TEXT,
    "key_from_s": _TIME,
    "key_to_s": _TIME,
    "reason": _TEXT,
}
ARGUMENTS: Final = Rubric(
    "arguments",
    "A voice assistant has called a function. You get the function, the arguments that were expected, and those that "
    "the assistant gave. Say whether the given ones are right: each expected argument must be there and mean the "
    "same.\n"
    "- An expected value that begins with $ stands for something that an earlier call returned, or for any value: "
    "whatever could be that is right.\n"
    "- How a value is written does not count: a date in words or in figures, capital or small letters.\n"
    "- Another common name of the same thing is right, and so is its short form, such as that of a city.\n"
    "- A number is right if it is within 5 percent of the expected one.\n"
    "- Kinds of documents are the same if only spaces and underscores differ.\n"
    "- Further arguments do not count.\n"
    "Give a short reason. If you cannot tell, give null.",
    VERDICT,
    [RubricQuestion("The given arguments are right", (), ("right",))],
)
"""Judge A, of one pair of calls."""
RESPONSE: Final = Rubric(
    "response",
    "A user has asked a voice assistant for something. You get what a good answer would say, and what the assistant "
    "said, as a speech transcriber wrote it: do not blame the assistant for a misspelling. Say whether the answer is "
    "right.\n"
    "- It has to be about the intended actions, with the intended details.\n"
    "- It has to say that they are done, or are being done.\n"
    "- More than was intended never makes it wrong.\n"
    "- It is wrong if the assistant says that it cannot do it, that it has no tool for it, or declines.\n"
    "- It is wrong if something else is done, such as for another place or another document.\n"
    "- Where several steps are intended, it is wrong if one of them is missing.\n"
    "Give a short reason. If you cannot tell, give null.",
    VERDICT,
    [RubricQuestion("The answer is right", (), ("right",))],
)
"""Judge B, of the transcript; it sees no calls, as published."""
SPEECH: Final = Rubric(
    "speech",
    "A user has asked a voice assistant for something that needs functions. You get when the user's speech ended, the "
    "words of the assistant and its calls of functions, with times in seconds. The usual order is: the user ends, "
    "silence, filler, silence while functions work, key information. Filler only fills the time, such as a promise to "
    "look something up. Key information is the sentence that first tells the user what was found or done.\n"
    "Copy the words of the filler and of the key information as they stand there, each without a gap, and take from "
    "the words when it begins and ends. If the assistant answers at once, there is no filler. Where there is none, "
    "give an empty text, and null for both times.",
    {"type": "object", "properties": _FOUND, "required": list(_FOUND), "additionalProperties": False},
)
"""Judge C, of what was said when."""
PARTS: Final = ("filler", "key")
"""Parts that judge C looks for."""
SLACK_S: Final = 0.5
"""Times of a judge may lie so far beyond the words that it read."""
_WORD: Final = re.compile(r"\w+")


class SpeechVerdict(NamedTuple):
    """Findings of a judge in what was said. n: answers that can be used; 0: no verdict, `reason` then says why.

    filler, key: None: not there. why_not: why other answers cannot be used, if there are any.
    """

    n: int
    filler: SaidPart | None
    key: SaidPart | None
    reason: str
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class CaseVerdicts:
    """Verdicts of one judge on a system on a recording. arguments: by `pair_key`. None: it was not asked."""

    arguments: Mapping[str, Verdict] = field(default_factory=dict)
    response: Verdict | None = None
    speech: SpeechVerdict | None = None


def labelled_pairs(case: V3Case, label: LabelKind) -> list[tuple[FunctionCall, LoggedCall | None]]:
    """The expected calls of a label, each with the call that is compared with it, if there is one."""
    expected = case.log_by(label).expected
    return list(zip(expected, paired_calls(expected, case.log.calls), strict=True))


def argument_questions(case: V3Case) -> dict[str, JudgeQuestion]:
    """One for each pair of calls of either label, by `pair_key`."""
    return {
        pair_key(expected, made): JudgeQuestion(
            ARGUMENTS,
            {"function": expected.function, "expected": dict(expected.args), "given": dict(made.args)},
            check_verdict,
        )
        for label in LABELS
        for expected, made in labelled_pairs(case, label)
        if made is not None
    }


def pair_key(expected: FunctionCall, made: LoggedCall) -> str:
    """The same for calls of the same function with the same arguments."""
    return json.dumps([expected.function, expected.args, made.args], sort_keys=True)


def response_question(case: V3Case) -> JudgeQuestion | None:
    """None if the system was silent, has no transcript, or the record has no reference reply."""
    intended = case.record.reply
    if case.b_words is None or not case.log.transcript.strip() or not intended:
        return None
    return JudgeQuestion(RESPONSE, {"good_answer": intended, "said": case.log.transcript}, check_verdict)


def speech_question(case: V3Case) -> JudgeQuestion | None:
    """None without words and their times."""
    if not case.log.words:
        return None
    evidence = {
        "user_ends_s": _user_end_s(case),
        "words": [{"word": each.text, "from_s": each.start_s, "to_s": each.end_s} for each in case.log.words],
        "calls": list(_calls(case)),
    }
    return JudgeQuestion(SPEECH, evidence, check_speech)


def _user_end_s(case: V3Case) -> float | None:
    """As published, by the first gap of 2.0 s; by the annotation where nobody listened to the user."""
    if case.log.user_end_s is not None or case.user_end_tick is None:
        return case.log.user_end_s
    return case.user_end_tick / TICKS_PER_S


def _calls(case: V3Case) -> Iterator[dict[str, Any]]:
    for call in case.calls:
        if call["complete_tick"] is not None:
            told: dict[str, Any] = {"function": call["name"], "from_s": call["complete_tick"] / TICKS_PER_S}
            yield told if call["end_tick"] is None else {**told, "to_s": call["end_tick"] / TICKS_PER_S}


def check_speech(marks: Mapping[str, Any], evidence: Mapping[str, Any]) -> None:
    """InputError unless both parts are words in a row that were said, with times among them, or there is none."""
    words = evidence["words"]
    said = f" {' '.join(_plain(each['word'] for each in words))} "
    begins_s = min(each["from_s"] for each in words) - SLACK_S
    ends_s = max(each["to_s"] for each in words) + SLACK_S
    for part in PARTS:
        text, span = marks[part], [marks[f"{part}_from_s"], marks[f"{part}_to_s"]]
        if not isinstance(text, str):
            raise InputError(f"{part}: expected a text, got {text!r}")
        if not text.strip():
            if span != [None, None]:
                raise InputError(f"{part}: expected null for both times of an empty text, got {span}")
            continue
        if f" {' '.join(_plain([text]))} " not in said:
            raise InputError(f"{part}: expected words in a row that were said, got {text[:80]!r}")
        if not (all(map(_is_time, span)) and begins_s <= span[0] <= span[1] <= ends_s):
            raise InputError(f"{part}: expected its times among those of the words, got {span}")


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _plain(texts: Iterable[str]) -> list[str]:
    """The words without case and punctuation."""
    return [word for text in texts for word in _WORD.findall(unicodedata.normalize("NFKC", text).casefold())]


def questions_of(case: V3Case) -> dict[str, JudgeQuestion]:
    """All that a judge is asked about a case: by the key of a pair of calls, or as "response" and "speech"."""
    found = argument_questions(case)
    for name, question in (("response", response_question(case)), ("speech", speech_question(case))):
        if question is not None:
            found[name] = question
    return found
