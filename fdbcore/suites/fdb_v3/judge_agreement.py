"""Agreement of judges with the exact matcher and with each other: on arguments, on responses, and on filler."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Annotated, Final, Literal, TypeAlias

import numpy as np
from msgspec import Meta, Struct

from fdbcore.results import AgreementFigure
from fdbcore.stats import Floats, agreement
from fdbcore.suites.fdb_v3.cases import V3Case
from fdbcore.suites.fdb_v3.compat import LoggedCall, matches_exactly, passes
from fdbcore.suites.fdb_v3.questions import CaseVerdicts, labelled_pairs, pair_key
from fdbcore.suites.fdb_v3.scenarios import LabelKind
from fdbcore.suites.fdb_v3.world import FunctionCall

MATCHER: Final = "exact matcher"

Judged: TypeAlias = Literal["arguments", "response", "filler"]
Given: TypeAlias = Mapping[str, Sequence[CaseVerdicts]]
"""The verdicts of each judge on each case."""


class JudgeAgreement(Struct, frozen=True):
    """Agreement of two judges, or of a judge and the exact matcher, on what both gave a verdict on."""

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
    """Counts of what they say: no and no, no and yes, yes and no, yes and yes."""
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
