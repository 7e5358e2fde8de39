"""Has judges give verdicts on arguments, responses, filler and key information, and puts the first one's into the logs.

What a judge did not answer stays unscored: it is a problem, and no number. The released code falls back on the exact
matcher there, and does not say so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Final, NamedTuple

from msgspec import Meta

from fdbcore.analysis import JudgingSpent
from fdbcore.runs import (
    JUDGED,
    Desk,
    JudgeAnswer,
    JudgeOptions,
    JudgeQuestion,
    JudgeRequest,
    KeptAnswers,
    Verdict,
    ask_each_once,
    spent_on,
    verdict_of,
)
from fdbcore.suites.fdb_v3.cases import V3Case
from fdbcore.suites.fdb_v3.compat.logs import SystemLog
from fdbcore.suites.fdb_v3.judging.agreement import JudgeAgreement, PassedBy, agreement_of, passed_by, right_by
from fdbcore.suites.fdb_v3.judging.questions import (
    argument_questions,
    labelled_pairs,
    pair_key,
    response_question,
    speech_question,
)
from fdbcore.suites.fdb_v3.judging.verdicts import CaseVerdicts, GivenVerdict, V3Verdicts, speech_verdict_of
from fdbcore.types import Problem

DEFAULT_REQUESTS: Final = 4
SAID_NOTHING: Final = Verdict(False, "it said nothing")


class V3Judging(JudgingSpent):
    """How judges were asked, what that took, and how far they agree with the exact matcher and with each other."""

    judges: Annotated[list[str], Meta(description="the first one gives the verdicts of all tables")]
    agreement: list[JudgeAgreement]
    passed: list[PassedBy]


@dataclass(slots=True)
class JudgedCases:
    """What is told of judging. judging: of the document; None without a judge. told: what was asked now, in words."""

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
    requests = [request for each in planned for request in each.requests]
    desk = Desk(options.limit_usd)
    asked = ask_each_once(requests, desk, jobs or DEFAULT_REQUESTS, show)
    answers = iter(asked.answers)
    given = {each.judge: [CaseVerdicts({}) for _ in cases] for each in planned}
    for each in planned:
        own = {name: [next(answers) for _ in range(options.repeats)] for name in each.questions}
        given[each.judge][each.number] = _verdicts(cases[each.number], own)
    for case, verdicts in zip(cases, next(iter(given.values())), strict=True):
        case.log = _filled(replace(case.log, arguments_right=right_by(verdicts, case, "as_released")), verdicts)
        case.repaired_right = right_by(verdicts, case, "repaired")
        case.verdicts = _given(case, verdicts)
    judging: V3Judging = {
        **spent_on(requests, options.repeats, desk.stopped),
        "judges": list(given),
        "agreement": list(agreement_of(cases, given)),
        "passed": list(passed_by(cases, given)),
    }
    problems = list(_problems(cases, given, options.repeats))
    return JudgedCases(problems, list(_warnings(cases)), judging, [asked.told])


class CaseQuestions(NamedTuple):
    """What one judge is asked about one case: each question so many times as there are repeats.

    questions: by what is judged, see `_questions`. number: of the case.
    """

    judge: str
    number: int
    questions: Mapping[str, JudgeQuestion]
    requests: Sequence[JudgeRequest]


def plan_of(cases: Sequence[V3Case], options: JudgeOptions, kept_file: Path) -> list[CaseQuestions]:
    """All that judges are to be asked; the first judge comes first, so that it is whole if the desk stops."""
    files = [kept_file if case.path is None or case.world is None else case.path / JUDGED for case in cases]
    places = {file: KeptAnswers(file) for file in files}
    questions = [_questions(case) for case in cases]
    return [
        CaseQuestions(
            judge.name,
            number,
            own,
            [
                JudgeRequest(places[file], judge, question, repeat)
                for question in own.values()
                for repeat in range(options.repeats)
            ],
        )
        for judge in options.judges
        for number, (file, own) in enumerate(zip(files, questions, strict=True))
    ]


def _questions(case: V3Case) -> dict[str, JudgeQuestion]:
    """By the key of a pair of calls, or as "response" and "speech", which is the key of no pair."""
    found = argument_questions(case)
    for name, question in (("response", response_question(case)), ("speech", speech_question(case))):
        if question is not None:
            found[name] = question
    return found


def _verdicts(case: V3Case, answers: Mapping[str, Sequence[JudgeAnswer]]) -> CaseVerdicts:
    response = verdict_of(answers["response"]) if "response" in answers else None
    if case.b_words is not None and not case.log.transcript.strip():
        response = SAID_NOTHING
    return CaseVerdicts(
        {key: verdict_of(own) for key, own in answers.items() if key not in ("response", "speech")},
        response,
        speech_verdict_of(answers["speech"]) if "speech" in answers else None,
    )


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
    """What a judge could not be asked, and why."""
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
        [None if made is None else GivenVerdict.of(verdicts.arguments[pair_key(each, made)]) for each, made in pairs],
        None if verdicts.response is None else GivenVerdict.of(verdicts.response),
        *((None, None, None) if speech is None else (speech.filler, speech.key, speech.reason)),
    )
