"""The scores document of staged dialogues: everything that can be computed from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, to_builtins

from fdbcore.analysis import JudgingSpent
from fdbcore.results import PooledWith, Scores, problem_entries
from fdbcore.suites.staged.cases import LostCase, StagedCase, StagedItem
from fdbcore.suites.staged.curves import StagedCurve, StagedFinding, curves_of, findings_of
from fdbcore.suites.staged.examined import StagedExaminer, StagedVariance, examiners_of, variance_of
from fdbcore.suites.staged.released import StagedPublished, published, published_rows
from fdbcore.suites.staged.rows import (
    RULE,
    StagedCondition,
    differences_of,
    groups_of,
    passes_of_group,
    rows_of,
    rule_of,
)
from fdbcore.suites.staged.variants import OtherSetup, StagedVariant, variant_of
from fdbcore.types import Problem

SCHEMA: Final = "fdbcore.staged/2"


class StagedJudging(JudgingSpent):
    """How judges were asked, and what that took, whenever it was."""

    rubrics: Annotated[list[int], Meta(description="the wordings, from 1")]
    reasons: Annotated[int, Meta(description="of marks in the main tables")]
    unquoted: Annotated[int, Meta(description="reasons that quote neither words nor a time; their marks are scored")]


class StagedSettings(PooledWith, frozen=True, kw_only=True):
    """How the figures were computed."""

    transcriber: Annotated[str | None, Meta(description="judged goals that nobody heard during the call")]
    judge: str | None
    passes: Annotated[dict[str, float], Meta(description="the least of each measure that a dialogue needs to pass")]


class StagedDocument(Scores, frozen=True, kw_only=True):
    """The scores of staged dialogues."""

    schema: Literal["fdbcore.staged/2"]
    settings: StagedSettings
    conditions: Annotated[dict[str, StagedCondition], Meta(description="by their names")]
    published: Annotated[StagedPublished | None, Meta(description="null unless asked for")]
    curves: Annotated[list[StagedCurve], Meta(description="over time and by goal")]
    findings: Annotated[list[StagedFinding], Meta(description="of systems with a slow examiner")]
    variants: Annotated[list[StagedVariant], Meta(description="by further transcribers, judges and wordings")]
    judging: Annotated[StagedJudging | None, Meta(description="null without a judge")]
    examiners: Annotated[list[StagedExaminer], Meta(description="the examiners, measured themselves")]
    variance: list[StagedVariance]
    items: list[StagedItem]


def document(
    cases: Sequence[StagedCase],
    problems: Sequence[Problem],
    hears: str | None = None,
    marks: str | None = None,
    lost: Sequence[LostCase] = (),
    rule: Mapping[str, float] | None = None,
    variants: Sequence[OtherSetup] = (),
    judging: StagedJudging | None = None,
    with_published: bool = False,
    warnings: Sequence[str] = (),
) -> dict[str, Any]:
    """Everything that can be computed from these dialogues, a `StagedDocument` as JSON values.

    hears, marks: the recogniser, the judge. lost: the calls that are not scored, which are counted beside each mean.
    rule: what a dialogue needs to pass, see `rows.rule_of`. variants: what others hear and judge. judging: how judges
    were asked, and what that took. with_published: also what Full-Duplex-Bench v2 published.
    """
    rule = rule_of(RULE) if rule is None else rule
    groups, families = groups_of(cases, lost), list(dict.fromkeys(case.family for case in cases))
    compared, beside = differences_of(groups), published() if with_published else None
    sources = list(dict.fromkeys(table.source for table in beside.table)) if beside else []
    made = StagedDocument(
        schema=SCHEMA,
        settings=StagedSettings(transcriber=hears, judge=marks, passes=dict(rule), family=len(compared)),
        conditions={group.condition: StagedCondition(group.pacing, group.examiner) for group in groups},
        rows=[*rows_of(groups, families), *(published_rows(beside) if beside else ())],
        differences=compared,
        passes=[row for group in groups for row in passes_of_group(group, families, rule)],
        published=None if beside is None else StagedPublished(beside.label, beside.conditions, sources),
        curves=[curve for group in groups for curve in curves_of(group)],
        findings=list(findings_of(groups, compared)),
        variants=[variant_of(groups, each) for each in variants],
        judging=judging,
        examiners=list(examiners_of(cases, lost)),
        variance=list(variance_of(cases)),
        items=[case.item for case in cases],
        problems=problem_entries(problems),
        warnings=list(warnings),
    )
    found: dict[str, Any] = to_builtins(made)
    return found
