"""The tables that Full-Duplex-Bench-v2 published, to show beside one's own."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from statistics import fmean
from typing import Annotated, Final

from msgspec import Meta, Struct

from fdbcore.recording.form import converted
from fdbcore.suites.staged.released import FAMILIES
from fdbcore.types.scorecard import Figure, ScoreRow

FILE: Final = "fdb2_published.toml"
SCALES: Final = {
    "task": "task_score",
    "turn_taking": "turn_taking_75_s",
    "instruction_following": "instruction_following_75_s",
}
"""The scale of each measure of a table; turn-taking and instruction following are of 0 to 75 s."""


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
    """How well judge and people agreed on a metric: Krippendorff's alpha and Pearson's r."""

    metric: str
    alpha: float
    r: float


class PublishedAgreement(Struct, frozen=True):
    """How well judge and people agreed. source: where it stands."""

    source: str
    line: list[PublishedAgreementLine]


class StagedPublished(Struct, frozen=True):
    """What Full-Duplex-Bench v2 published, to be seen beside. Nothing is tested against it."""

    label: Annotated[str, Meta(description="what has to stand beside each figure")]
    conditions: Annotated[str, Meta(description="how it was measured")]
    sources: list[str] = []


class PublishedFile(StagedPublished, frozen=True, kw_only=True):
    """All that was published."""

    table: list[PublishedTable]
    agreement: PublishedAgreement

    @property
    def told(self) -> StagedPublished:
        """What has to stand beside its rows."""
        return StagedPublished(self.label, self.conditions, list(dict.fromkeys(each.source for each in self.table)))


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
                own[SCALES[table.measure]] = Figure(score)
    return [
        ScoreRow(f"published {pacing}", "published", system, None, found[key], subset=family)
        for pacing, system in dict.fromkeys(key[:2] for key in found)
        for family in ("", *FAMILIES.values())
        if (key := (pacing, system, family)) in found
    ]


def published() -> PublishedFile:
    """The tables that ship with fdbcore."""
    text = (files("fdbcore.suites.staged") / "data" / FILE).read_text(encoding="utf-8")
    found: PublishedFile = converted(tomllib.loads(text), PublishedFile)
    return found
