"""Has judges give verdicts on arguments, responses, filler and key information, and puts the first one's into the logs.

What a judge did not answer stays unscored: it is a problem, and no number. The released code falls back on the exact
matcher there, and does not say so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from statistics import median_low
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np
from msgspec import Meta, Struct

from fdbcore.analysis import JudgingSpent
from fdbcore.results import AgreementFigure
from fdbcore.runs import JUDGED, JudgeAnswer, JudgeOptions, JudgeRequest, KeptAnswers, Verdict, verdict_of, why_not
from fdbcore.stats import Floats, agreement
from fdbcore.suites.fdb_v3.cases import GivenVerdict, SaidPart, V3Case, V3Verdicts
from fdbcore.suites.fdb_v3.compat import LoggedCall, SystemLog, matches_exactly, passes
from fdbcore.suites.fdb_v3.questions import CaseVerdicts, SpeechVerdict, labelled_pairs, pair_key, questions_of
from fdbcore.suites.fdb_v3.scenarios import LabelKind
from fdbcore.suites.fdb_v3.world import FunctionCall
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
    given = [each.scores for each in answers if each.scores is not None]
    if not given:
        return SpeechVerdict(0, None, None, why_not(answers))
    reason = str(given[0].get("reason", ""))
    return SpeechVerdict(len(given), _middle("filler", given), _middle("key", given), reason, why_not(answers))


def _middle(part: str, given: Sequence[Mapping[str, Any]]) -> SaidPart | None:
    found = [
        SaidPart(text, float(scores[f"{part}_from_s"]), float(scores[f"{part}_to_s"]))
        for scores in given
        if (text := scores[part].strip())
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


MATCHER: Final = "exact matcher"

Judged: TypeAlias = Literal["arguments", "response", "filler"]
Given: TypeAlias = Mapping[str, Sequence[CaseVerdicts]]
"""The verdicts of each judge on each case."""


class JudgeAgreement(Struct, frozen=True):
    """The agreement of two judges, or of a judge and the exact matcher, on what both gave a verdict on."""

    what: Annotated[Judged, Meta(description="arguments: of each pair of calls")]
    system: Annotated[str | None, Meta(description="null: all systems")]
    raters: Annotated[tuple[str, str], Meta(description="judges, or 'exact matcher'")]
    n: int
    both: Annotated[int, Meta(description="yes by both")]
    first_only: int
    second_only: int
    neither: int
    share: Annotated[AgreementFigure, Meta(description="on which they agree")]
    kappa: Annotated[AgreementFigure, Meta(description="Cohen's")]


class PassedBy(Struct, frozen=True):
    """Pass@1 as published, released label, by who decides on arguments."""

    system: str
    by: Annotated[str, Meta(description="a judge, or 'exact matcher'")]
    passed: int
    n: Annotated[int, Meta(description="recordings that are scored")]


def agreement_of(cases: Sequence[V3Case], given: Given) -> Iterator[JudgeAgreement]:
    """Of each two that can be compared, over all systems, and over each of several."""
    systems = list(dict.fromkeys(case.system for case in cases))
    for what in ("arguments", "response", "filler"):
        raters = _raters(what, cases, given)
        for pair in combinations(raters, 2):
            for system in [None, *(systems if len(systems) > 1 else ())]:
                chosen = [number for number, case in enumerate(cases) if system in (None, case.system)]
                counts = np.array([_counts(*(raters[name][number] for name in pair)) for number in chosen])
                if counts.sum():
                    yield _agreement(what, system, pair, counts, [cases[each].record.scenario for each in chosen])


def _raters(what: Judged, cases: Sequence[V3Case], given: Given) -> dict[str, list[list[bool | None]]]:
    """The verdicts of each rater on each case, in the same order."""
    found = {
        judge: [_said(what, each, case) for each, case in zip(verdicts, cases, strict=True)]
        for judge, verdicts in given.items()
    }
    if what == "arguments":
        found[MATCHER] = [[matches_exactly(wanted.args, made.args) for wanted, made in _made(case)] for case in cases]
    return found


def _said(what: Judged, verdicts: CaseVerdicts, case: V3Case) -> list[bool | None]:
    if what == "arguments":
        return [verdicts.arguments[pair_key(*pair)].right for pair in _made(case)]
    if what == "response":
        return [None if verdicts.response is None else verdicts.response.right]
    return [verdicts.speech.filler is not None if verdicts.speech is not None and verdicts.speech.n else None]


def _made(case: V3Case) -> list[tuple[FunctionCall, LoggedCall]]:
    return [(wanted, made) for wanted, made in labelled_pairs(case, "as_released") if made is not None]


def _counts(first: Sequence[bool | None], second: Sequence[bool | None]) -> list[int]:
    """The counts of their pairs of answers: no and no, no and yes, yes and no, yes and yes."""
    both = [(one, other) for one, other in zip(first, second, strict=True) if one is not None and other is not None]
    return [both.count(each) for each in ((False, False), (False, True), (True, False), (True, True))]


def _agreement(
    what: Judged, system: str | None, raters: tuple[str, str], counts: Floats, scenarios: Sequence[str]
) -> JudgeAgreement:
    neither, second_only, first_only, both = (int(each) for each in counts.sum(axis=0))
    share, kappa = map(AgreementFigure.of, agreement(counts, scenarios))
    n = int(counts.sum())
    return JudgeAgreement(what, system, raters, n, both, first_only, second_only, neither, share, kappa)


def passed_by(cases: Sequence[V3Case], given: Given) -> Iterator[PassedBy]:
    """Pass@1 of each system by each judge, and by the exact matcher."""
    for system in dict.fromkeys(case.system for case in cases):
        for rater in (*given, MATCHER):
            known = []
            for number, case in enumerate(cases):
                if case.system == system:
                    right = None if rater == MATCHER else right_by(given[rater][number], case, "as_released")
                    has_passed = passes(replace(case.log, arguments_right=right))
                    known += [] if has_passed is None else [has_passed]
            yield PassedBy(system, rater, sum(known), len(known))


def right_by(verdicts: CaseVerdicts, case: V3Case, label: LabelKind) -> tuple[bool | None, ...]:
    """The verdict on each expected call of a label; one that was not made is wrong."""
    return tuple(
        False if made is None else verdicts.arguments[pair_key(wanted, made)].right
        for wanted, made in labelled_pairs(case, label)
    )
