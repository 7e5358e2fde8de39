"""The recorded users of a folder, with what a file of labels says of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

from msgspec import to_builtins

from fdbcore.errors import SettingsError
from fdbcore.runs import users_of
from fdbcore.runtime import query_of, split_query
from fdbcore.sources import CallTable, NameIndex, Oddities, clips_in, label_columns, read_labels, read_table
from fdbcore.types import Clip, Material, Problem, SideA, UserLabels

NAME: Final = "clips"
LABELS: Final = "labels"
OF_A_RUN: Final = frozenset(("system", "clip", "line", "trial", "outcome"))
"""The columns that every run has."""
OF_LABELS: Final = frozenset(("side", "kind"))
"""A table with both has labels."""
_TABLES: Final = (".csv", ".tsv")


def side_a(data: str) -> SideA:
    """The users in "DIR" or "DIR?labels=FILE&SETTINGS", with the settings of the clip endpoint.

    InputError if there are no clips or labels that can be read. What of the labels fits no clip is a problem.
    """
    folder, query = split_query(data, file=True)
    settings = query_of(query)
    path = settings.pop(LABELS, None)
    clips = clips_in(folder)
    users = users_of(clips, urlencode(settings))
    source = str(Path(folder).absolute())
    if path is None:
        return SideA(users, material=Material(NAME, source, {}))
    columns, labels, oddities = _told(Path(path), clips)
    warnings = [
        Problem(path, f"{what}: {', '.join(names[:3])}{', ...' if len(names) > 3 else ''}")
        for what, names in oddities.found.items()
    ]
    return SideA(
        [
            replace(user, columns=columns.get(number, {}), labels=labels.get(number))
            for number, user in enumerate(users)
        ],
        material=Material(NAME, source, {}),
        warnings=warnings,
    )


def _told(
    path: Path, clips: Sequence[Clip]
) -> tuple[Mapping[int, Mapping[str, str]], Mapping[int, UserLabels], Oddities]:
    """The columns and the labels of each clip, by its number, and what fits none; SettingsError if that is most."""
    known = [(clip.name, [clip.path]) for clip in clips]
    oddities = Oddities()
    columns: dict[int, dict[str, str]] = {}
    if path.suffix.lower() in _TABLES and path.is_file():
        table = read_table(path, oddities)
        of_labels = label_columns(list(table.rows[0])) if table.rows else set()
        header = list(table.rows[0]) if table.rows else []
        if not of_labels and OF_LABELS <= {name.lower() for name in header}:
            got = ", ".join(header)
            raise SettingsError(f"{path}: expected the columns file, side, kind, start_s, end_s; got {got}")
        columns = _columns(table, of_labels, known, oddities)
        if not of_labels:
            oddities.add("expected rows, found none in", [] if table.rows else [path.name])
            return columns, {}, oddities
    given = read_labels(path, oddities)
    if len(clips) > 1 or not given.is_one_call:
        _refuse_of_others([label.call for label in given.labels], known, path)
    found = given.by_call(known, lambda number: False, oddities)
    source = str(path.absolute())
    kept = {number: UserLabels(source, to_builtins(sorted(labels))) for number, labels in found.items()}
    return columns, kept, oddities


def _refuse_of_others(named: Sequence[str], known: Sequence[tuple[str, Sequence[Path]]], path: Path) -> None:
    """SettingsError if most of these names fit no clip: the file is of other clips, or names them otherwise."""
    numbers = NameIndex(known).joined(dict.fromkeys(named), path)
    strange = [name for name, number in numbers.items() if number is None]
    if 2 * len(strange) > len(numbers):
        names, clips = ", ".join(strange[:3]), ", ".join(name for name, _ in known[:3])
        raise SettingsError(
            f"{path}: expected names of the clips ({clips}{', ...' if len(known) > 3 else ''}), got {len(strange)} of "
            f"{len(numbers)} that fit none: {names}{', ...' if len(strange) > 3 else ''}"
        )


def _columns(
    table: CallTable, of_labels: Collection[str], known: Sequence[tuple[str, Sequence[Path]]], oddities: Oddities
) -> dict[int, dict[str, str]]:
    """What the rows of each clip say of it. of_labels: the columns that do not. SettingsError if rows differ in that,
    or for a column that has the name of one that every run has."""
    index = NameIndex(known)
    table = table.naming(index)
    named = [row[table.files[0]] for row in table.rows]
    numbers = index.joined(dict.fromkeys(named), table.path)
    if not of_labels:  # rows of labels that fit none are named with these
        _refuse_of_others(named, known, table.path)
        oddities.add("rows that fit no clip", [name for name, number in numbers.items() if number is None])
    found: dict[int, dict[str, str]] = {}
    for name, row in zip(named, table.rows, strict=True):
        own = {column: value for column, value in table.columns(row).items() if column not in of_labels}
        if taken := own.keys() & OF_A_RUN:
            raise SettingsError(f"{table.path}: expected another name for the column {min(taken)}: each run has one")
        if (number := numbers[name]) is None:
            continue
        for column, value in own.items():
            before = found.setdefault(number, {}).setdefault(column, value)
            if before != value:
                raise SettingsError(f"{table.path}: {name}: expected one {column} for a clip, got {before} and {value}")
    return found
