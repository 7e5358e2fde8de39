"""The tables that Full-Duplex-Bench-v2 published, to show beside one's own."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from fdbcore.suites.staged.released import FAMILIES

if TYPE_CHECKING:
    from fdbcore.suites.staged.document_types import StagedPublished

FILE: Final = "fdb2_published.toml"


@dataclass(frozen=True, slots=True)
class PublishedLine:
    """The scores of a system at a pacing of the examiner, by family; they have no interval and no n."""

    pacing: str
    system: str
    scores: Mapping[str, float]

    @property
    def mean(self) -> float:
        """The mean over families, which the paper quotes of its task scores."""
        return fmean(self.scores.values())


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A published table. measure: task, turn_taking or instruction_following. source: where it stands."""

    measure: str
    title: str
    source: str
    lines: Sequence[PublishedLine]


@dataclass(frozen=True, slots=True)
class PublishedAgreement:
    """How well judge and people agreed on a metric: Krippendorff's alpha and Pearson's r."""

    metric: str
    alpha: float
    r: float


@dataclass(frozen=True, slots=True)
class Published:
    """All that was published. label: what has to stand beside each figure. conditions: how they were measured."""

    label: str
    conditions: str
    tables: Sequence[PublishedTable]
    agreement: Sequence[PublishedAgreement]

    def table(self, measure: str) -> PublishedTable:
        """The table of a measure."""
        return next(table for table in self.tables if table.measure == measure)


SCALES: Final = {
    "task": "task_score",
    "turn_taking": "turn_taking_75_s",
    "instruction_following": "instruction_following_75_s",
}
"""What a table's measure is called in a scores document; turn-taking and instruction following are of 0 to 75 s."""


def published_scores() -> StagedPublished:
    """The tables as a scores document has them: a row for each pacing, system and family, and for the mean."""
    found = published()
    rows: dict[tuple[str, str, str | None], dict[str, float]] = {}
    for table in found.tables:
        for line in table.lines:
            scores = {FAMILIES[family]: score for family, score in line.scores.items()}
            for family, score in [(None, line.mean), *scores.items()]:
                rows.setdefault((line.pacing.lower(), line.system, family), {})[SCALES[table.measure]] = score
    return {
        "label": found.label,
        "conditions": found.conditions,
        "sources": list(dict.fromkeys(table.source for table in found.tables)),
        "rows": [
            {"pacing": pacing, "system": system, "family": family, "measures": measures}
            for pacing, system in dict.fromkeys(key[:2] for key in rows)
            for family in (None, *FAMILIES.values())
            if (measures := rows.get((pacing, system, family)))
        ],
    }


def published() -> Published:
    """The tables that ship with fdbcore."""
    text = (files("fdbcore.suites.staged") / "data" / FILE).read_text(encoding="utf-8")
    content: Mapping[str, Any] = tomllib.loads(text)
    return Published(
        content["label"],
        content["conditions"],
        [
            PublishedTable(
                table["measure"],
                table["title"],
                table["source"],
                [PublishedLine(line["pacing"], line["system"], line["scores"]) for line in table["line"]],
            )
            for table in content["table"]
        ],
        [PublishedAgreement(**line) for line in content["agreement"]["line"]],
    )
