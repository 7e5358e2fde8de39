"""Good replies by turn: a table with a row for each good reply of B to a turn of A.

    call,turn,text,acts
    sample,1,残り4分20秒です。,Answer 0.8 Inform 0.2

call: the name of the call, or of the recorded user that several systems talked with. turn: of A, from 1; 0 for what B
says before A first speaks. Several rows for one turn are several good replies, the first of which is the ceiling's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from fdbcore.errors import InputError
from fdbcore.runtime.numbers import number_of
from fdbcore.sources.tables import rated_rows
from fdbcore.suites.dialogue_acts.records import Annotation, Reference, parse_steps
from fdbcore.suites.dialogue_acts.tag_sets import TagSet
from fdbcore.types import Problem

COLUMNS: Final = ("call", "turn", "text", "acts")
GIVEN: Final = "given"
"""Who annotated the good replies of a table."""


class Asked(NamedTuple):
    """A turn of A that B answers: of which call, or with which recorded user, and its number from 1."""

    call: str
    turn: int


def read_turn_references(
    paths: Sequence[Path], as_given: bool, tags: TagSet
) -> tuple[Mapping[Asked, tuple[Reference, ...]], list[Problem]]:
    """The good replies by turn, and what is wrong with other rows. as_given, tags: as of `parse_steps`.

    SettingsError for a table that cannot be read, or lacks a column.
    """
    found: dict[Asked, tuple[Reference, ...]] = {}
    problems: list[Problem] = []
    for path in paths:
        for where, row in rated_rows(path, COLUMNS):
            try:
                asked, reference = _row(row, as_given, tags)
                found[asked] = (*found.get(asked, ()), reference)
            except InputError as error:
                problems.append(Problem(where, str(error)))
    return found, problems


def _row(row: Mapping[str, str], as_given: bool, tags: TagSet) -> tuple[Asked, Reference]:
    if empty := [name for name in COLUMNS if not row.get(name)]:
        raise InputError(f"{empty[0]}: expected a text, got none")
    if not re.fullmatch("[0-9]{1,9}", row["turn"]):
        raise InputError(f"turn: expected the number of a turn of A, got {row['turn']!r}")
    words = row["acts"].replace(",", " ").split()
    acts = [{"act": act, "importance": _number(weight)} for act, weight in zip(words[::2], words[1::2], strict=False)]
    if len(words) % 2:
        raise InputError(f"acts: expected an act and its importance in turn, got {row['acts']!r}")
    steps, scaled_from = parse_steps({"steps": acts}, as_given, tags)
    return Asked(row["call"], int(row["turn"])), Reference(row["text"], Annotation(GIVEN, steps, 1, scaled_from))


def _number(text: str) -> float | str:
    """A number; any other text as it is, which is then told to be none."""
    try:
        return number_of(text)
    except ValueError:
        return text
