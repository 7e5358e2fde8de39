"""Pairs mono files: finds the two files that are the sides of one call, by patterns or by a table."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TypeAlias

from fdbcore.errors import SettingsError
from fdbcore.sources.names import NameIndex, Oddities, common_start
from fdbcore.sources.tables import CallTable

Pair: TypeAlias = tuple[Path, Path]
"""The file of side A and the file of side B."""

_SEPARATOR: Final = re.compile(r"[-_. ]+")


def paired_by_patterns(files: Sequence[Path], patterns: tuple[str, str], oddities: Oddities) -> list[Pair]:
    """The two files of each call: one fits the first pattern (A), the other the second (B). The order is that of A's.

    A pattern is the end of a path: "*-caller.wav", "caller/*.wav", "caller.wav". `*` stands for any characters except
    "/". Two files belong together if `*` stands for the same text in both, and if they have the same folder above the
    pattern. Files that fit no pattern or have no partner are noted in `oddities`. SettingsError for patterns that
    cannot be used, and if no two files belong together.
    """
    stars = [pattern.count("*") for pattern in patterns]
    given = f"--pair {patterns[0]!r} {patterns[1]!r}"
    if stars[0] != stars[1] or patterns[0] == patterns[1]:
        raise SettingsError(f"{given}: expected two different patterns with as many * in each")
    # An expression fits the whole path; its groups are the folder above the pattern, and what each * stands for.
    ends = ["([^/]*)".join(map(re.escape, pattern.split("*"))) for pattern in patterns]
    expressions = [re.compile(f"(|.*/){end}", re.DOTALL) for end in ends]
    sides: list[dict[tuple[str, ...], Path]] = [{}, {}]
    others: list[Path] = []
    for file in files:
        fits = [expression.fullmatch(file.as_posix()) for expression in expressions]
        if all(fits):
            raise SettingsError(f"{given}: expected patterns that share no file, got {file}, which fits both")
        for side, fit in zip(sides, fits, strict=True):
            if fit:
                side[fit.groups()] = file
        if not any(fits):
            others.append(file)
    together = [key for key in sides[0] if key in sides[1]]
    if not together:
        counts = " and ".join(f"{len(side):,} of {pattern!r}" for side, pattern in zip(sides, patterns, strict=True))
        raise SettingsError(f"{given}: expected two files that belong together, got none; of {len(files):,}: {counts}")
    alone = [str(file) for side in sides for key, file in side.items() if key not in together]
    oddities.add("files without the other side, left out", alone)
    oddities.add("files that fit neither pattern of --pair, left out", map(str, others))
    return [(sides[0][key], sides[1][key]) for key in together]


def paired_by_table(files: Sequence[Path], table: CallTable, oddities: Oddities) -> list[Pair]:
    """The two files of each row of a table, in its order. `NameIndex` finds the files that a row names.

    A row of which only one file is found is skipped. Files that are in no pair are noted in `oddities`. SettingsError
    if a row fits several files, if a file is in several calls, or if no row has both files.
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
        got = "an empty table" if first is None else f"only others, such as {first[a_file]!r}, {first[b_file]!r}"
        raise SettingsError(f"{table.path}: expected {a_file} and {b_file} of the files to replay; got {got}")
    alone = [str(file) for number, file in enumerate(files) if number not in row_of]
    oddities.add(f"files of no row of {table.path.name} with both sides, left out", alone)
    return [(files[a], files[b]) for a, b in pairs]


def pair_name(a: str, b: str) -> str:
    """The name of a call of two files, from their names without suffix: the words that both begin with, or end with.

    "call1-caller" and "call1-agent" give "call1". Names that share no word are joined: "in+out".
    """
    return a if a == b else _common_words(a, b) or _common_words(a[::-1], b[::-1])[::-1] or f"{a}+{b}"


def _common_words(a: str, b: str) -> str:
    """The whole words with which both begin, as `a` writes them."""
    same = len(common_start(_SEPARATOR.split(name) for name in (a, b)))
    ends = [0, *(found.start() for found in _SEPARATOR.finditer(a)), len(a)]
    return a[: ends[same]].strip("-_. ")
