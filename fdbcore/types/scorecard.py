"""What scoring a suite gave, and its scorecard: what the systems scored, for a screen, a page, tables and JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from fdbcore.types import Problem


@dataclass(frozen=True, slots=True)
class Scored:
    """What scoring gave.

    document: JSON values; "schema" says which they are, and "problems" what was left out. files: further texts to
    keep beside it, by name.
    """

    document: Mapping[str, Any]
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Scale:
    """A measure of a suite, as a column of its scorecard.

    direction: 1 if more is better, -1 if less is, 0 if neither. main: shown first, with its interval and SD. part:
    the title over columns that belong together. adds_to: the id of the scale that this one and its like sum to, none
    of them below 0; they are drawn as one bar.
    """

    id: str
    label: str
    direction: Literal[-1, 0, 1] = 0
    unit: str = ""
    decimals: int = 3
    main: bool = False
    part: str = ""
    adds_to: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """A value in the unit of its scale, the standard deviation of single cases, and the limits of its interval."""

    value: float | None
    sd: float | None = None
    interval: Sequence[float] | None = None


NO_FIGURE: Final = Figure(None)


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """What one system scored under one condition, over n cases (None: not stated).

    group: "system", or what systems are to be seen beside ("ceiling", "baseline", "published"). figures: by the ids of
    their scales. note: what is not in the figures, or counts as nothing. subset: which cases these are (of one topic,
    one task), empty where they are all of the condition.
    """

    condition: str
    group: str
    system: str
    n: int | None
    figures: Mapping[str, Figure]
    note: str = ""
    subset: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """How much more of a scale (its id) system `a` has than `b`, over n cases of both.

    p_corrected: for all differences of the scorecard. detectable: the least true difference that so many cases show.
    """

    condition: str
    a: str
    b: str
    scale: str
    n: int
    value: float | None
    interval: Sequence[float] | None
    p: float | None
    p_corrected: float | None
    detectable: float | None = None


@dataclass(frozen=True, slots=True)
class ScoredCase:
    """One case of one system, as a page lists it.

    id: of the case. text: its words, in the language `lang` (as BCP 47 has it). values: by the ids of their scales.
    subset: as in ScoreRow. note: what tells it from cases of the same id ("annotation 2"). tags: what it can be found
    by, in groups, such as {"missing": ("Question",)}; words: further texts to find it by. item: what the suite draws it
    from.
    """

    condition: str
    system: str
    id: str
    text: str
    values: Mapping[str, float]
    subset: str = ""
    note: str = ""
    lang: str = ""
    tags: Mapping[str, Sequence[str]] = field(default_factory=dict)
    words: Sequence[str] = ()
    item: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Telling:
    """A case to look at first: `what` it has of a scale (its id), such as the "most" or the "least"."""

    what: str
    scale: str
    case: ScoredCase


@dataclass(frozen=True, slots=True)
class Scorecard:
    """What the systems of a suite scored, for a screen, a page, tables and JSON.

    scales: the first main one ranks cases. conditions: a heading for each. rows: over all cases of a condition;
    subsets: over some, by what subsets_by says ("topic"). cases: all of them; telling: a few of them. facts: what was
    scored, in a few words; statements: what it comes to, in sentences. level: below 1 - level a corrected p tells two
    systems apart. caption: of its table in a paper. test: how p and its correction were found, and what detectable
    means. notes: what rows and columns mean, and how they were computed; terms: what each word means, at length.
    evidence: what the figures rest on, as JSON values.
    """

    title: str
    scales: Sequence[Scale]
    conditions: Mapping[str, str]
    rows: Sequence[ScoreRow]
    differences: Sequence[Difference] = ()
    telling: Sequence[Telling] = ()
    warnings: Sequence[str] = ()
    problems: Sequence[Problem] = ()
    caption: str = ""
    test: str = ""
    notes: Sequence[str] = ()
    facts: Sequence[str] = ()
    statements: Sequence[str] = ()
    subsets: Sequence[ScoreRow] = ()
    subsets_by: str = ""
    cases: Sequence[ScoredCase] = ()
    terms: Mapping[str, str] = field(default_factory=dict)
    evidence: Mapping[str, Any] = field(default_factory=dict)
    level: float = 0.95

    def scale(self, id: str) -> Scale:
        """The scale of that id."""
        return next(scale for scale in self.scales if scale.id == id)

    def better(self, one: Difference) -> str | None:
        """Which of the two systems is better, by the corrected p; None where it cannot be told, or neither is."""
        direction = self.scale(one.scale).direction
        if one.p_corrected is None or one.p_corrected >= 1 - self.level or not one.value or not direction:
            return None
        return one.a if (one.value > 0) == (direction > 0) else one.b
