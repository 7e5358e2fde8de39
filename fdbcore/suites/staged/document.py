"""The scores document of staged dialogues: everything that can be computed from them, and what was published.

Other transcribers, judges and wordings of the rubrics than the main ones are variants: which scores and orders they
move. One of the three is changed at a time, so each difference has one cause.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, Final, Literal

import numpy as np
from msgspec import Meta, Struct, to_builtins
from msgspec.structs import replace

from fdbcore.analysis import JudgingSpent, LostCall
from fdbcore.recording import converted
from fdbcore.results import PooledWith, Scores, means_of_ids, problem_entries
from fdbcore.stats import bootstrap_columns
from fdbcore.suites.staged.cases import StagedCase, StagedItem
from fdbcore.suites.staged.curves import StagedCurve, StagedFinding, curves_of, findings_of
from fdbcore.suites.staged.examined import StagedExaminer, StagedVariance, examiners_of, variance_of
from fdbcore.suites.staged.judging import Aspect, OtherSetup
from fdbcore.suites.staged.rows import (
    LABELS,
    RULE,
    Group,
    StagedCondition,
    StagedPlace,
    differences_of,
    groups_of,
    passes_of_group,
    rows_of,
    rule_of,
)
from fdbcore.suites.staged.scenario_files import FAMILIES
from fdbcore.suites.staged.scenarios import MARKS, data_of
from fdbcore.suites.staged.users import left_out_of
from fdbcore.types import Problem
from fdbcore.types.scorecard import Figure, Interval, ScoreRow

SCHEMA: Final = "fdbcore.staged/2"
ASPECTS: Final = {"transcriber": "transcriber", "judge": "judge", "rubrics": "wording of the rubrics"}
"""The aspects in words."""
MOVED: Final = ("turn_taking", "instruction_following", "task_score", "goals_met")
"""The measures that depend on who hears, who judges, or how that is asked."""

PUBLISHED_SCALES: Final = {"task": "task_score", **{mark: f"{mark}_75_s" for mark in MARKS}}
"""The scale of each measure of a table; turn-taking and instruction following are of 0 to 75 s."""


class VariantRow(StagedPlace, frozen=True):
    """A score of a system by the main setup and by another one, on the scenarios that are scored both ways."""

    measure: str
    n: int
    main: float
    other: float
    difference: Annotated[float, Meta(description="other minus main, paired by scenario")]
    ci95: Interval
    moves: Annotated[bool, Meta(description="whether the interval excludes 0")]


class SystemOrder(StagedCondition, frozen=True):
    """The systems by one score, the best first."""

    measure: str
    main: list[str]
    other: list[str]
    changes: bool


class StagedVariant(Struct, frozen=True):
    """The effect of another transcriber, judge or wording of the rubrics; all else is as in the main tables."""

    aspect: Aspect
    main: str
    other: str
    rows: list[VariantRow]
    orders: list[SystemOrder]


def variant_of(groups: Sequence[Group], variant: OtherSetup) -> StagedVariant:
    """The effect of a variant: the scores of each system under each pacing, and their order."""
    rows = [row for group in groups for row in _rows(group, variant.values)]
    return StagedVariant(variant.aspect, variant.main, variant.other, rows, list(_orders(rows)))


def _rows(main: Group, values: Mapping[Path, Mapping[str, float]]) -> Iterator[VariantRow]:
    """The paired differences of a system, on the scenarios that are scored both ways. values: by the other setup."""
    cases = [replace(case, values=dict(values.get(case.path, {})), draws=()) for case in main.cases]
    names = [own[0].scenario for own in main.scenarios]
    for measure in MOVED:
        means = (means_of_ids(items, measure) for items in (main.items, main._replace(cases=cases).items))
        a, b = (np.array([own.get(name, np.nan) for name in names]) for own in means)
        both = ~np.isnan(b - a)
        if both.any():
            interval = bootstrap_columns((b - a)[:, None])[0].interval
            yield VariantRow(
                *main.place,
                measure,
                int(both.sum()),
                float(a[both].mean()),
                float(b[both].mean()),
                float((b - a)[both].mean()),
                interval,
                interval is not None and not interval.low <= 0 <= interval.high,
            )


def _orders(rows: Sequence[VariantRow]) -> Iterator[SystemOrder]:
    """The systems by each score, the best first, where there are several."""
    for key in dict.fromkeys((row.pacing, row.examiner, row.measure) for row in rows):
        own = [row for row in rows if (row.pacing, row.examiner, row.measure) == key]
        if len(own) > 1:
            main = [row.system for row in sorted(own, key=lambda row: -row.main)]
            other = [row.system for row in sorted(own, key=lambda row: -row.other)]
            changed = ((a.main - b.main) * (a.other - b.other) < 0 for a, b in combinations(own, 2))  # not if alike
            yield SystemOrder(*key, main, other, any(changed))


def statements(variants: Sequence[StagedVariant]) -> Iterator[str]:
    """A sentence a variant."""
    for variant in variants:
        moved = [
            f"{LABELS[row.measure]} of {row.system}, {row.pacing} from {row.main:.2f} to {row.other:.2f} "
            f"({difference_text(row).removesuffix(' *')})"
            for row in variant.rows
            if row.moves
        ]
        turned = [
            f"{LABELS[order.measure]} ({order.pacing}: {', '.join(order.main)}; now {', '.join(order.other)})"
            for order in variant.orders
            if order.changes
        ]
        orders = f"; the order of systems changes by {'; '.join(turned)}" if turned else ""
        if variant.orders and not turned:
            orders = "; no order of systems changes"
        yield f"Another {ASPECTS[variant.aspect]} ({variant.other} in place of {variant.main}) moves " + (
            f"{'; '.join(moved) or 'no score by more than its interval'}{orders}."
        )


def difference_text(row: VariantRow) -> str:
    """The difference of a row with its interval, and * where that excludes 0."""
    limits = "" if row.ci95 is None else f" [{row.ci95[0]:+.2f}, {row.ci95[1]:+.2f}]"
    return f"{row.difference:+.2f}{limits}{' *' if row.moves else ''}"


class PublishedLine(Struct, frozen=True):
    """The scores of a system at a pacing of the examiner, by family; they have no interval and no n."""

    pacing: str
    system: str
    scores: dict[str, float]


class PublishedTable(Struct, frozen=True):
    """A published table. measure: task, turn_taking or instruction_following. source: where it stands."""

    measure: str
    title: str
    source: str
    line: list[PublishedLine]


class PublishedAgreementLine(Struct, frozen=True):
    """Agreement of judge and people on a metric: Krippendorff's alpha and Pearson's r."""

    metric: str
    alpha: float
    r: float


class PublishedAgreement(Struct, frozen=True):
    """Agreement of judge and people. source: where it stands."""

    source: str
    line: list[PublishedAgreementLine]


class StagedPublished(Struct, frozen=True):
    """Figures that Full-Duplex-Bench v2 published, to be seen beside. Nothing is tested against it."""

    label: Annotated[str, Meta(description="what has to stand beside each figure")]
    conditions: Annotated[str, Meta(description="how it was measured")]
    sources: list[str] = []


class PublishedFile(StagedPublished, frozen=True, kw_only=True):
    """All that was published."""

    table: list[PublishedTable]
    agreement: PublishedAgreement


class StagedJudging(JudgingSpent):
    """The use of judges, and what that took, whenever it was."""

    rubrics: Annotated[list[int], Meta(description="the wordings, from 1")]
    reasons: Annotated[int, Meta(description="of marks in the main tables")]
    unquoted: Annotated[int, Meta(description="reasons that quote neither words nor a time; their marks are scored")]


class StagedSettings(PooledWith, frozen=True, kw_only=True):
    """Settings with which the figures were computed."""

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
    lost: Sequence[LostCall] = (),
    rule: Mapping[str, float] | None = None,
    variants: Sequence[OtherSetup] = (),
    judging: StagedJudging | None = None,
    with_published: bool = False,
    warnings: Sequence[str] = (),
    notes: Sequence[str] = (),
    runs: Sequence[Path] = (),
) -> dict[str, Any]:
    """Everything that can be computed from these dialogues, a `StagedDocument` as JSON values.

    hears, marks: the transcriber, the judge. lost: the calls that are not scored, which are counted beside each mean.
    rule: what a dialogue needs to pass, see `rows.rule_of`. variants: what others hear and judge. judging: how judges
    were asked, and what that took. with_published: also what Full-Duplex-Bench v2 published. runs: in which scenarios
    were perhaps left out.
    """
    rule = rule_of(RULE) if rule is None else rule
    groups, families = groups_of(cases, lost), list(dict.fromkeys(case.family for case in cases))
    rows, compared = list(rows_of(groups, families)), differences_of(groups)
    passes = [row for group in groups for row in passes_of_group(group, families, rule)]
    curves, findings = [curve for group in groups for curve in curves_of(group)], list(findings_of(groups, compared))
    beside = published() if with_published else None
    sources = list(dict.fromkeys(table.source for table in beside.table)) if beside else []
    made = StagedDocument(
        schema=SCHEMA,
        settings=StagedSettings(transcriber=hears, judge=marks, passes=dict(rule), family=len(compared)),
        conditions={group.condition: StagedCondition(group.pacing, group.examiner) for group in groups},
        rows=[*rows, *(published_rows(beside) if beside else ())],
        differences=compared,
        passes=passes,
        published=None if beside is None else StagedPublished(beside.label, beside.conditions, sources),
        curves=curves,
        findings=findings,
        variants=[variant_of(groups, each) for each in variants],
        judging=judging,
        examiners=list(examiners_of(cases, lost)),
        variance=list(variance_of(cases)),
        items=[case.item for case in cases],
        warnings=[
            *warnings,
            *(f"left out of {run}: {id_}: {reason}" for run in runs for id_, reason in left_out_of(run).items()),
        ],
        notes=list(notes),
        problems=problem_entries(problems),
    )
    found: dict[str, Any] = to_builtins(made)
    return found


def published() -> PublishedFile:
    """The tables that ship with fdbcore."""
    found: PublishedFile = converted(data_of("fdb2_published.toml"), PublishedFile)
    return found


def published_rows(published: PublishedFile) -> list[ScoreRow]:
    """A row for each pacing and system, the mean over families, and one for each family, which is a subset."""
    found: dict[tuple[str, str, str], dict[str, Figure]] = {}
    for table in published.table:
        for line in table.line:
            scores = {FAMILIES[family]: score for family, score in line.scores.items()}
            for family, score in {
                "": fmean(scores.values()),
                **scores,
            }.items():  # the paper quotes means of task scores
                own = found.setdefault((line.pacing.lower(), line.system, family), {})
                own[PUBLISHED_SCALES[table.measure]] = Figure(score)
    return [
        ScoreRow(f"published {pacing}", "published", system, None, found[key], subset=family)
        for pacing, system in dict.fromkeys(key[:2] for key in found)
        for family in ("", *FAMILIES.values())
        if (key := (pacing, system, family)) in found
    ]
