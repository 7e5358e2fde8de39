"""The tables that Full-Duplex-Bench-v2 published, to show beside one's own."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from statistics import fmean
from typing import Any, Final

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
