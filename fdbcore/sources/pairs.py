"""Two mono files a call: which files of a folder are the sides of one, by patterns or by a table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Final, TypeAlias

from fdbcore.errors import SettingsError
from fdbcore.sources.names import NameIndex, Oddities
from fdbcore.sources.tables import CallTable

Pair: TypeAlias = tuple[Path, Path]
"""The file of side A, and that of side B."""

_SEPARATOR: Final = re.compile(r"[-_. ]+")


def paired_by_patterns(files: Sequence[Path], patterns: tuple[str, str], oddities: Oddities) -> list[Pair]:
    """The files of each call, of which one fits the first pattern (A) and one the second (B), in the order of A's.

    A pattern is the end of a path: "*-caller.wav", "caller/*.wav", "caller.wav". `*` stands for any letters but "/";
    two files belong together where it stands for the same in both, in the same folder above the pattern. Files that fit
    no pattern, or have no partner, are noted in `oddities`. Raises SettingsError for patterns that cannot be used, and
    where no two files belong together.
    """
    stars = [pattern.count("*") for pattern in patterns]
    told = f"--pair {patterns[0]!r} {patterns[1]!r}"
    if stars[0] != stars[1] or patterns[0] == patterns[1]:
        raise SettingsError(f"{told}: expected two different patterns with as many * in each")
    expressions = [_expression(pattern) for pattern in patterns]
    sides: list[dict[tuple[str, ...], Path]] = [{}, {}]
    others: list[Path] = []
    for file in files:
        fits = [expression.fullmatch(file.as_posix()) for expression in expressions]
        if all(fits):
            raise SettingsError(f"{told}: expected patterns of which a file fits one, got {file}, which fits both")
        for side, fit in zip(sides, fits, strict=True):
            if fit:
                side[fit.groups()] = file
        if not any(fits):
            others.append(file)
    together = [key for key in sides[0] if key in sides[1]]
    if not together:
        counts = " and ".join(f"{len(side):,} of {pattern!r}" for side, pattern in zip(sides, patterns, strict=True))
        raise SettingsError(f"{told}: expected two files that belong together, got none; of {len(files):,}: {counts}")
    alone = [str(file) for side in sides for key, file in side.items() if key not in together]
    oddities.add("files without the other side, left out", alone)
    oddities.add("files that fit neither pattern of --pair, left out", map(str, others))
    return [(sides[0][key], sides[1][key]) for key in together]


def _expression(pattern: str) -> re.Pattern[str]:
    """Fits the whole path of a file; its groups are the folder above the pattern, and what each * stands for."""
    end = "([^/]*)".join(map(re.escape, pattern.split("*")))
    return re.compile(f"(|.*/){end}", re.DOTALL)


def paired_by_table(files: Sequence[Path], table: CallTable, oddities: Oddities) -> list[Pair]:
    """The files of each row of a table that names one of each side, joined as `NameIndex` does, in its order.

    Files of no row with both sides are noted in `oddities`. Raises SettingsError where a row could mean several files,
    two rows a file, and where no row has both files.
    """
    a_file, b_file = table.files
    index = NameIndex((file.name, [file.absolute()]) for file in files)
    found = index.joined(dict.fromkeys(row[column] for row in table.rows for column in table.files), table.path)
    pairs: list[tuple[int, int]] = []
    row_of: dict[int, str] = {}
    for row in table.rows:
        a, b = found[row[a_file]], found[row[b_file]]
        if a is None or b is None:
            continue
        for number in (a, b):
            if row_of.setdefault(number, row[a_file]) != row[a_file] or a == b:
                raise SettingsError(f"{table.path}: expected each file in one call, got {files[number]} in several")
        if (a, b) not in pairs:
            pairs.append((a, b))
    if not pairs:
        first = next(iter(table.rows), None)
        got = "an empty table" if first is None else f"none that is there, such as {first[a_file]!r}, {first[b_file]!r}"
        raise SettingsError(f"{table.path}: expected {a_file} and {b_file} among the files that are named; got {got}")
    alone = [str(file) for number, file in enumerate(files) if number not in row_of]
    oddities.add(f"files of no row of {table.path.name} with both sides, left out", alone)
    return [(files[a], files[b]) for a, b in pairs]


def pair_name(a: str, b: str) -> str:
    """What a call of two files is called, by their names without suffix: the words they begin with, or else end with.

    "call1-caller" and "call1-agent" are "call1"; names that share no word are joined, "in+out".
    """
    if a == b:
        return a
    for common in (_common_start(a, b), _common_start(a[::-1], b[::-1])[::-1]):
        if common:
            return common
    return f"{a}+{b}"


def _common_start(a: str, b: str) -> str:
    """The whole words that both begin with, as `a` writes them."""
    words = [_SEPARATOR.split(name) for name in (a, b)]
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*words, strict=False)))
    ends = [0, *(found.start() for found in _SEPARATOR.finditer(a)), len(a)]
    return a[: ends[same]].strip("-_. ")
