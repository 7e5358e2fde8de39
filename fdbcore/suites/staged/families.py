"""The families of scenarios: their classes, and what the score of a whole dialogue is. A family is data."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from fdbcore.runtime.shape import unexpected
from fdbcore.types import Problem

if TYPE_CHECKING:
    from fdbcore.suites.staged.scenario_types import FamilyEntry, Part, RubricEntry

BUILTIN_FAMILIES: Final = ("daily", "correction", "entity", "safety")
"""Those that come with fdbcore; each has a file."""
LEVELS: Final = 5
"""Scores of a dialogue go from 1 to this."""


@dataclass(frozen=True, slots=True)
class Family:
    """A family. classes: their titles by id. parts: what its scenarios have beside goals.

    score: the title of the score of a dialogue; "" if there is none. rubric: its wordings.
    """

    id: str
    title: str
    about: str
    classes: Mapping[str, str]
    parts: tuple[Part, ...]
    score: str
    rubric: Sequence[RubricEntry]

    @classmethod
    def from_entry(cls, entry: FamilyEntry) -> Family:
        """The family of a table in a file; the table is of the right shape."""
        score = entry.get("score")
        return cls(
            id=entry["id"],
            title=entry["title"],
            about=entry["about"],
            classes={each["id"]: each["title"] for each in entry["class"]},
            parts=tuple(entry.get("parts", ())),
            score=score["title"] if score else "",
            rubric=score["rubric"] if score else (),
        )


def family_faults(family: Family, known: Collection[str], where: str) -> Iterator[Problem]:
    """What is wrong with a family of the right form. known: the ids of other families. where: "FILE: ID"."""
    if family.id in known:
        yield unexpected(f"{where}: id", f"another id than {', '.join(known)}", family.id)
    for number, wording in enumerate(family.rubric, 1):
        place = f"{where}: score: rubric {number}"
        levels, checks = wording.get("levels"), wording.get("check", [])
        if bool(levels) == bool(checks):
            yield Problem(place, f"expected levels or check, got {'both' if levels else 'neither'}")
        elif levels and len(levels) != LEVELS:
            yield unexpected(f"{place}: levels", f"{LEVELS} texts, for 1 to {LEVELS}", len(levels))
        elif [check["id"] for check in checks] != [check["id"] for check in family.rubric[0].get("check", [])]:
            yield Problem(place, "expected the same points as in the first wording")


@cache
def builtin_families() -> Mapping[str, Family]:
    """The families that come with fdbcore, by id, in their order."""
    folder = files("fdbcore.suites.staged") / "data" / "families"
    texts = [(folder / f"{name}.toml").read_text(encoding="utf-8") for name in BUILTIN_FAMILIES]
    entries: list[FamilyEntry] = [entry for text in texts for entry in tomllib.loads(text)["family"]]
    return {entry["id"]: Family.from_entry(entry) for entry in entries}
