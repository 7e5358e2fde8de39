"""Has judges give verdicts on arguments, responses, filler and key information, and puts the first one's into the logs.

What a judge did not answer stays unscored: it is a problem, and no number. The released code falls back on the exact
matcher there, and does not say so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median_low
from typing import Annotated, Any, Final, NamedTuple

from msgspec import Meta

from fdbcore.analysis import JudgingSpent
from fdbcore.runs import (
    JUDGED,
    JudgeAnswer,
    JudgeOptions,
    JudgeRequest,
    KeptAnswers,
    Verdict,
    verdict_of,
    why_not,
)
from fdbcore.suites.fdb_v3.cases import GivenVerdict, SaidPart, V3Case, V3Verdicts
from fdbcore.suites.fdb_v3.compat import SystemLog
from fdbcore.suites.fdb_v3.judge_agreement import JudgeAgreement, PassedBy, agreement_of, passed_by, right_by
from fdbcore.suites.fdb_v3.questions import (
    CaseVerdicts,
    SpeechVerdict,
    labelled_pairs,
    pair_key,
    questions_of,
)
from fdbcore.types import Problem

SAID_NOTHING: Final = Verdict(False, "it said nothing")


class V3Judging(JudgingSpent):
    """The use of judges, what that took, and how far they agree with the exact matcher and with each other."""

    judges: Annotated[list[str], Meta(description="the first one gives the verdicts of all tables")]
    agreement: list[JudgeAgreement]
    passed: list[PassedBy]


@dataclass(slots=True)
class JudgedCases:
    """The results of judging. judging: of the document; None without a judge. told: what was asked now, in words."""

    problems: Sequence[Problem] = ()
    warnings: Sequence[str] = ()
    judging: V3Judging | None = None
    told: Sequence[str] = ()


def judge_cases(
    cases: Sequence[V3Case], options: JudgeOptions, kept_file: Path, jobs: int | None, show: Callable[[str], None]
) -> JudgedCases:
    """Ask all judges about all cases, and put the verdicts of the first one into their logs.

    Answers are kept with the recordings, those about released results in `kept_file`. jobs: requests at a time.
    SettingsError if a judge cannot be asked at all.
    """
    if not options.judges:
        return JudgedCases()
    planned = plan_of(cases, options, kept_file)
    asked = options.ask([question for each in planned for question in each.questions.values()], jobs, show)
    answers = iter(asked.answers)
    given = {each.judge: [CaseVerdicts({}) for _ in cases] for each in planned}
    for each in planned:
        own = {name: next(answers) for name in each.questions}
        given[each.judge][each.number] = _verdicts(cases[each.number], own)
    for case, verdicts in zip(cases, next(iter(given.values())), strict=True):
        case.log = _filled(replace(case.log, arguments_right=right_by(verdicts, case, "as_released")), verdicts)
        case.repaired_right = right_by(verdicts, case, "repaired")
        case.verdicts = _given(case, verdicts)
    problems, warnings = list(_problems(cases, given, options.repeats)), list(_warnings(cases))
    judging: V3Judging = {
        **asked.spent,
        "judges": list(given),
        "agreement": list(agreement_of(cases, given)),
        "passed": list(passed_by(cases, given)),
    }
    return JudgedCases(problems, warnings, judging, [asked.told])


class CaseQuestions(NamedTuple):
    """Questions to one judge about one case. questions: by what is judged, see `questions_of`. number: of the case."""

    judge: str
    number: int
    questions: Mapping[str, JudgeRequest]


def plan_of(cases: Sequence[V3Case], options: JudgeOptions, kept_file: Path) -> list[CaseQuestions]:
    """All that judges are to be asked; the first judge comes first, so that it is whole if the desk stops."""
    files = [kept_file if case.path is None or case.world is None else case.path / JUDGED for case in cases]
    places = {file: KeptAnswers(file) for file in files}
    questions = [questions_of(case) for case in cases]
    return [
        CaseQuestions(judge.name, number, {name: JudgeRequest(places[file], judge, each) for name, each in own.items()})
        for judge in options.judges
        for number, (file, own) in enumerate(zip(files, questions, strict=True))
    ]


def _verdicts(case: V3Case, answers: Mapping[str, Sequence[JudgeAnswer]]) -> CaseVerdicts:
    response = verdict_of(answers["response"]) if "response" in answers else None
    if case.b_words is not None and not case.log.transcript.strip():
        response = SAID_NOTHING
    return CaseVerdicts(
        {key: verdict_of(own) for key, own in answers.items() if key not in ("response", "speech")},
        response,
        speech_verdict_of(answers["speech"]) if "speech" in answers else None,
    )


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


def _filled(log: SystemLog, verdicts: CaseVerdicts) -> SystemLog:
    """The log with what was found in the response and in the speech."""
    speech = verdicts.speech
    if speech is not None and speech.n:
        filler = "" if speech.filler is None else speech.filler.text
        log = replace(log, filler=filler, key_start_s=None if speech.key is None else speech.key.start_s)
    return replace(log, response_right=None if verdicts.response is None else verdicts.response.right)


def _problems(cases: Sequence[V3Case], given: Mapping[str, Sequence[CaseVerdicts]], repeats: int) -> Iterator[Problem]:
    """Each verdict that a judge did not give, and how many of several answers there are where some are missing."""
    first = next(iter(given))
    for judge, verdicts in given.items():
        by = "" if judge == first else f" by {judge}"
        for case, own in zip(cases, verdicts, strict=True):
            for line in dict.fromkeys(_missing(own, by, repeats)):
                yield Problem(case.where, line)


def _missing(verdicts: CaseVerdicts, by: str, repeats: int) -> Iterator[str]:
    found = [("arguments", each) for each in verdicts.arguments.values()]
    if verdicts.response is not None:
        found.append(("response", verdicts.response))
    for what, each in found:
        if each.right is None:
            yield f"unscored{by}: {what}: {each.reason}"
        elif each.why_not:
            yield f"{repeats - each.repeats.count(None)} of {repeats} answers{by}: {what}: {each.why_not}"
    if (speech := verdicts.speech) is not None and speech.n < repeats:
        told = f"{speech.n} of {repeats} answers{by}" if speech.n else f"unscored{by}"
        yield f"{told}: filler and key information: {speech.why_not or speech.reason}"


def _warnings(cases: Sequence[V3Case]) -> Iterator[str]:
    """Warnings of what a judge could not be asked, and why."""
    if deaf := sum(case.b_words is None for case in cases):
        yield (
            f"response, filler and key information are unscored in {deaf} of {len(cases)} calls: "
            "nobody transcribed the system (--transcriber)"
        )
    said = [case for case in cases if case.b_words is not None and case.log.transcript.strip()]
    if unknown := sum(not case.record.reply for case in said):
        yield f"responses are unscored in {unknown} of {len(cases)} calls: their labels have no reference reply"


def _given(case: V3Case, verdicts: CaseVerdicts) -> V3Verdicts:
    speech, pairs = verdicts.speech, labelled_pairs(case, "as_released")
    return V3Verdicts(
        [None if made is None else _as_kept(verdicts.arguments[pair_key(each, made)]) for each, made in pairs],
        None if verdicts.response is None else _as_kept(verdicts.response),
        *((None, None, None) if speech is None else (speech.filler, speech.key, speech.reason)),
    )


def _as_kept(verdict: Verdict) -> GivenVerdict:
    return GivenVerdict(verdict.right, verdict.reason, list(verdict.repeats) if len(verdict.repeats) > 1 else [])
