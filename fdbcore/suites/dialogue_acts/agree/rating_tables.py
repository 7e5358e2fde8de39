"""Reads how people rate replies: CSV tables with a header, a row a reply and rater.

- `id`: of the record; `system`: whose reply it is; `rater`: who rated it.
- `rating`: a number, the higher the better; empty if it was not rated.
- `set`: the set of the record, needed only where several sets of the scores have the reply.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from fdbcore.errors import SettingsError
from fdbcore.runtime.numbers import number_of
from fdbcore.sources.tables import columns_of, rated_rows
from fdbcore.types import Problem

if TYPE_CHECKING:
    from fdbcore.suites.dialogue_acts.document_types import ActsDocument

NEEDED: Final = ("id", "system", "rater", "rating")


class ReplyKey(NamedTuple):
    """A reply: the set and the id of its record, and the system."""

    set: str
    id: str
    system: str


@dataclass(slots=True)
class ReplyRater:
    """A person, or a measure that stands beside people. marks: by reply."""

    name: str
    marks: dict[ReplyKey, float] = field(default_factory=dict)


def holds_ratings(path: Path) -> bool:
    """Whether it is a table of ratings of replies, by its header."""
    return {*NEEDED} <= {*columns_of(path)}


def read_ratings(paths: Sequence[Path], scores: ActsDocument) -> tuple[list[ReplyRater], list[Problem]]:
    """The people in some tables. A row that cannot be used, or whose reply has no score, is a problem.

    SettingsError for a table that cannot be read, and for a rater who rated a reply twice, and differently.
    """
    scored: dict[tuple[str, str], set[str]] = {}
    for item in scores["items"]:
        if item["kind"] == "system":
            scored.setdefault((item["id"], item["system"]), set()).add(item["set"])
    people: dict[str, ReplyRater] = {}
    problems: list[Problem] = []
    for path in paths:
        for where, row in rated_rows(path, NEEDED):
            if reason := _take(row, where, scored, people):
                problems.append(Problem(where, reason))
    return list(people.values()), problems


def _take(
    row: Mapping[str, str],
    where: str,
    scored: Mapping[tuple[str, str], set[str]],
    people: dict[str, ReplyRater],
) -> str:
    """Add the rating of a row; or say why it is left out."""
    if not all(row.get(name) for name in ("id", "system", "rater")):
        return "expected an id, a system and a rater, got an empty cell"
    if not row.get("rating"):
        return ""
    try:
        rating = number_of(row["rating"])
    except ValueError:
        return f"rating: expected a number, got {row['rating']!r}"
    sets = scored.get((row["id"], row["system"]), set())
    if named := row.get("set"):
        sets = sets & {named}
    if not sets:
        of_set = f" of {named}" if named else ""
        return f"expected a reply that is scored, got that of {row['system']} to {row['id']}{of_set}"
    if len(sets) > 1:
        return f"expected a set, one of {', '.join(sorted(sets))}, which all have {row['id']}; got none"
    (of,) = sets
    reply = ReplyKey(of, row["id"], row["system"])
    rater = people.setdefault(row["rater"], ReplyRater(row["rater"]))
    if rater.marks.setdefault(reply, rating) != rating:
        raise SettingsError(
            f"{where}: expected one rating of the reply of {reply.system} to {reply.id} by {rater.name}, "
            f"got {rater.marks[reply]:g} and {rating:g}"
        )
    return ""
