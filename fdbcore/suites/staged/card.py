"""Turns a scores document of staged dialogues into a scorecard."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from msgspec import to_builtins
from msgspec.structs import replace

from fdbcore.endpoints.examiner.actor import SCRIPTED
from fdbcore.recording.form import converted
from fdbcore.report.format import counted, judging_took
from fdbcore.results.document import scorecard
from fdbcore.suites.staged.document import StagedDocument, StagedJudging
from fdbcore.suites.staged.findings import sentences
from fdbcore.suites.staged.replied import EXAMINER, UNKNOWN
from fdbcore.suites.staged.scales import EVENTS_MEAN, FAMILIES_MEAN, SCALES, TERMS
from fdbcore.suites.staged.variants import statements
from fdbcore.types.scorecard import Scorecard, ScoredCase, ScoreRow

OURS: Final = "The examiner is ours: these rows do not stand beside published ones of another examiner and judge."
PUBLISHED: Final = (
    "What was published is of another examiner, other scenarios and another judge: it is shown beside, and nothing is "
    "tested against it. It has task scores, and turn-taking and instruction following from 0 to 75 s."
)


def card(stored: Mapping[str, Any]) -> Scorecard:
    """The scorecard of a document as it is stored. A condition is a pacing of the examiner."""
    document = read(stored)
    settings = document.settings
    is_ours = any(each.examiner != EXAMINER for each in document.conditions.values())
    systems = dict.fromkeys(item.system for item in document.items)
    pacings = dict.fromkeys(each.pacing for each in document.conditions.values())
    found = scorecard(
        "Staged dialogues",
        stored,
        SCALES,
        dict(_conditions(document)),
        {item.call for item in document.items},
        caption="Staged dialogues with an automated examiner; means over scenarios, CI: bootstrap over scenarios.",
        test=f"paired differences on the same scenarios; p by sign flips; Holm over {settings.family} comparisons",
        detectable=f"the least true difference found with power {settings.power:.0%} at this n",
        notes=(PUBLISHED,) if document.published else (OURS,) if is_ours else (),
        facts=[
            f"{len({item.scenario for item in document.items})} scenarios",
            f"systems: {', '.join(systems)}",
            f"pacing: {', '.join(pacings)}",
        ],
        subsets_by="family",
        conditions_by="pacing",
        terms=TERMS,
        evidence={
            "made with": f"fdbcore {settings.fdbcore}",
            "heard by": settings.transcriber or "the examiner",
            "judged by": settings.judge or "nobody",
        },
    )
    took = [] if document.judging is None else [_took(document.judging)]
    return dataclasses.replace(
        found,
        rows=list(map(_shown, found.rows)),
        subsets=[_shown(row) for row in found.subsets if _says_more(row, document.rows)],
        statements=[*sentences(document.findings), *statements(document.variants), *took],
        cases=list(_cases(document)),
    )


def read(stored: Mapping[str, Any]) -> StagedDocument:
    """A document as it is stored."""
    found: StagedDocument = converted(stored, StagedDocument)
    return found


def _conditions(document: StagedDocument) -> Iterator[tuple[str, str]]:
    """The headings of the conditions, a pacing and an examiner each; then of what was published."""
    for name, each in document.conditions.items():
        yield name, heading(each.pacing, each.examiner)
    if beside := document.published:
        for row in document.rows:
            if row.group == "published":
                pacing = row.condition.removeprefix("published ")
                yield row.condition, f"{pacing} examiner, {beside.label} ({beside.conditions}; means of families)"


def heading(pacing: str, examiner: str) -> str:
    """An examiner in words; the scripted one has no name."""
    return ("examiner of unknown pacing" if pacing == UNKNOWN else f"{pacing} examiner") + (
        "" if examiner == SCRIPTED else f": {examiner}"
    )


def _shown(row: ScoreRow) -> ScoreRow:
    """A row as the scorecard has it: how many dialogues a mean is over stands in the note of its row."""
    return replace(row, measures={name: replace(figure, n=None) for name, figure in row.measures.items()})


def _says_more(row: ScoreRow, rows: Sequence[ScoreRow]) -> bool:
    """Whether a subset says more than others: means over families and events do, where all have scenarios enough for
    intervals.
    """
    if row.group != "overall":
        return True
    ns = {each.subset: each.n or 0 for each in rows if each.group == "system" and of(each) == of(row)}
    return (row.subset == EVENTS_MEAN and ns[""] > 1) or (row.subset == FAMILIES_MEAN and min(ns.values()) > 1)


def of(row: ScoreRow) -> tuple[str, str]:
    """Whose row it is."""
    return row.condition, row.system


def _cases(document: StagedDocument) -> Iterator[ScoredCase]:
    names = {(each.pacing, each.examiner): name for name, each in document.conditions.items()}
    trials = max((item.trial for item in document.items), default=1)
    for item in document.items:
        verdicts = [goal.verdict for goal in item.goals]
        yield ScoredCase(
            names[item.pacing, item.examiner],
            item.system,
            item.scenario,
            f"goals: {', '.join(verdicts)}",
            item.measures,
            subset=item.family,
            note=f"trial {item.trial}" if trials > 1 else "",
            lang="en",
            tags={"goal": tuple(dict.fromkeys(verdicts)), "class": (item.class_,)},
            words=[goal.words or "" for goal in item.goals],
            item=cast("Mapping[str, Any]", to_builtins(item)),
            recording=item.call,
        )


def _took(judging: StagedJudging) -> str:
    """What judging took, in a sentence or two."""
    reasons = counted(judging["reasons"], "reason")
    unquoted = f" {judging['unquoted']:,} of {reasons} quote neither words nor a time." if judging["unquoted"] else ""
    return judging_took(judging, "these dialogues") + unquoted
