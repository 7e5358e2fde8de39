"""The tables that Full-Duplex-Bench-v2 published, to show beside one's own."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from statistics import fmean
from typing import TYPE_CHECKING, Final, TypedDict, cast

from fdbcore.suites.staged.released import FAMILIES

if TYPE_CHECKING:
    from fdbcore.suites.staged.document_types import StagedPublished

FILE: Final = "fdb2_published.toml"


class PublishedLine(TypedDict):
    """The scores of a system at a pacing of the examiner, by family; they have no interval and no n."""

    pacing: str
    system: str
    scores: dict[str, float]


class PublishedTable(TypedDict):
    """A published table. measure: task, turn_taking or instruction_following. source: where it stands."""

    measure: str
    title: str
    source: str
    line: list[PublishedLine]


class PublishedAgreementLine(TypedDict):
    """How well judge and people agreed on a metric: Krippendorff's alpha and Pearson's r."""

    metric: str
    alpha: float
    r: float


class PublishedAgreement(TypedDict):
    """How well judge and people agreed. source: where it stands."""

    source: str
    line: list[PublishedAgreementLine]


class Published(TypedDict):
    """All that was published. label: what has to stand beside each figure. conditions: how they were measured."""

    label: str
    conditions: str
    table: list[PublishedTable]
    agreement: PublishedAgreement


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
    for table in found["table"]:
        for line in table["line"]:
            mean = fmean(line["scores"].values())  # which the paper quotes of its task scores
            scores = {FAMILIES[family]: score for family, score in line["scores"].items()}
            for family, score in [(None, mean), *scores.items()]:
                rows.setdefault((line["pacing"].lower(), line["system"], family), {})[SCALES[table["measure"]]] = score
    return {
        "label": found["label"],
        "conditions": found["conditions"],
        "sources": list(dict.fromkeys(table["source"] for table in found["table"])),
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
    return cast("Published", tomllib.loads(text))
