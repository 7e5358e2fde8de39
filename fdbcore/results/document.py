"""The shared part of suites' scores documents: rows, differences, passes, settings, and what was left out.

A suite's document derives from `Scores` and adds what only it has. It is made of values that are Structs themselves, is
stored as `msgspec.to_builtins` has it, and its type is its published schema.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Annotated, Any, TypedDict, Unpack

import msgspec
from msgspec import Meta, Struct

from fdbcore._version import __version__
from fdbcore.stats.bootstrap import LEVEL, RESAMPLES, SEED
from fdbcore.stats.significance import POWER
from fdbcore.types import Problem
from fdbcore.types.scorecard import Difference, Measure, Passes, Scorecard, ScoreRow


class ProblemEntry(Struct, frozen=True):
    """An item that was left out, or what is missing of one that is scored, and why."""

    where: str
    reason: str


class PooledWith(Struct, frozen=True, kw_only=True):
    """Settings with which figures were pooled and compared. A suite's settings derive from it."""

    fdbcore: str = __version__
    resamples: int = RESAMPLES
    seed: int = SEED
    level: Annotated[float, Meta(description="of the intervals")] = LEVEL
    power: Annotated[float, Meta(description="with which a detectable difference is found")] = POWER
    family: Annotated[int, Meta(description="how many differences p_corrected is corrected for")] = 0


class Scores(Struct, frozen=True, kw_only=True):
    """The scores of systems by a suite. Fields may be added under the same version; a field is never given another
    meaning."""

    schema: str
    rows: Annotated[list[ScoreRow], Meta(description="over all items of a condition, and over those of subsets")]
    differences: list[Difference] = []
    passes: list[Passes] = []
    problems: list[ProblemEntry] = []
    warnings: Annotated[list[str], Meta(description="what must be known before any number")] = []
    notes: Annotated[list[str], Meta(description="what a choice does to the figures, or leaves out")] = []


def problem_entries(problems: Iterable[Problem]) -> list[ProblemEntry]:
    """Problems as a document has them."""
    return [ProblemEntry(*problem) for problem in problems]


class CardWords(TypedDict, total=False):
    """A suite's words on its scorecard: see `Scorecard`."""

    caption: str
    test: str
    detectable: str
    correction: str
    not_compared: str
    notes: Sequence[str]
    facts: Sequence[str]
    subsets_by: str
    conditions_by: str
    terms: Mapping[str, str]
    evidence: Mapping[str, Any]


def scorecard(
    title: str,
    document: Mapping[str, Any],
    scales: Iterable[Measure],
    conditions: Mapping[str, str],
    scored: Collection[str] = (),
    **words: Unpack[CardWords],
) -> Scorecard:
    """The scorecard of a stored document: its rows and differences, the scales that are known of any row, its problems.

    scored: the items that are scored all the same if something is missing of them, by where their problem stands.
    """
    rows = msgspec.convert(document["rows"], list[ScoreRow])
    problems = [Problem(**problem) for problem in document["problems"]]
    known = {name for row in rows for name, figure in row.measures.items() if figure.value is not None}
    words["notes"] = [*document.get("notes", ()), *words.get("notes", ())]
    return Scorecard(
        title,
        [scale for scale in scales if scale.id in known],
        conditions,
        [row for row in rows if not row.subset],
        msgspec.convert(document["differences"], list[Difference]),
        subsets=[row for row in rows if row.subset],
        warnings=document["warnings"],
        problems=[each for each in problems if each.where not in scored],
        gaps=[each for each in problems if each.where in scored],
        level=document.get("settings", {}).get("level", LEVEL),
        **words,
    )
