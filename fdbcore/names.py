"""What a user's files call things: found by file name, and noted where nothing fits."""

from __future__ import annotations

import hashlib
import itertools
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from os.path import commonpath
from pathlib import Path, PurePosixPath
from typing import Final

FILE_COLUMNS: Final = ("file", "filename", "file_name", "path", "audio", "recording", "name", "call", "call_id", "id")
"""What the column that names the file may be called, in any case; the first of these that is there."""
DELIMITERS: Final = ",;\t"
V1_INPUT: Final = "input.wav"

MOST_NAME_BYTES: Final = 200
"""Of a session's name: file systems allow 255, and what is made of a session adds to its name."""
_DIGEST: Final = 12


@dataclass(slots=True)
class Oddities:
    """What did not fit, by what it is ("rows without a file"): names, none left out."""

    found: dict[str, list[str]] = field(default_factory=dict)

    def add(self, what: str, names: Iterable[str]) -> None:
        """Note `names`, if there are any."""
        if names := list(names):
            self.found.setdefault(what, []).extend(names)


class NameIndex:
    """Finds things by a name, or by that of a file of theirs with or without folders and suffix.

    known: of each thing its name, and the files that it is made of. Those of Full-Duplex-Bench v1 are all called the
    same, and known by their folder.
    """

    def __init__(self, known: Iterable[tuple[str, Sequence[Path]]]) -> None:
        self._by_name: dict[str, list[int]] = defaultdict(list)
        self._in_any_case: dict[str, list[int]] = defaultdict(list)
        self._parts: list[list[tuple[str, ...]]] = []
        folders_of_all: list[str] = []
        for number, (name, paths) in enumerate(known):
            self._parts.append([_parts(str(path.absolute())) for path in paths] or [(name,)])
            folders = {paths[0].parent.name} if paths and paths[0].name == V1_INPUT else set()
            named = {name, *(path.name for path in paths), *(path.stem for path in paths)} | folders
            for each in named:
                self._by_name[each].append(number)
            for each in {each.casefold() for each in named}:
                self._in_any_case[each].append(number)
            folders_of_all += [str(path.parent.absolute()) for path in paths]
        self._folder = _parts(commonpath(folders_of_all)) if folders_of_all else ()

    def fitting(self, text: str) -> list[int]:
        """The numbers of the things that a text names; in another case only where nothing is called just so.

        Of several the ones that share most of its folders, and of these the one whose whole path it is, seen from the
        folder that all things lie in.
        """
        parts = _parts(text)
        last = parts[-1] if parts else ""
        found = self._by_name.get(last) or self._in_any_case.get(last.casefold(), [])
        if len(found) > 1:
            shared = [max(_common_end(parts, own) for own in self._parts[number]) for number in found]
            found = [number for number, length in zip(found, shared, strict=True) if length == max(shared)]
        if len(found) > 1:
            whole = (*self._folder, *parts)
            found = [number for number in found if whole in self._parts[number]] or found
        return found


def session_names(found: Sequence[tuple[Path, str]]) -> list[str]:
    """A name for each session, from the folder that it lies in and its name there; no two are the same.

    Names that several share get the last of their folders in front, as few as tell them apart, and all of them do:
    what a session is called does not depend on which of them came first. Numbers are for what no folder tells apart.
    """
    alike: dict[str, list[int]] = defaultdict(list)
    for number, (_, name) in enumerate(found):
        alike[name].append(number)
    names = [name for _, name in found]
    for numbers in alike.values():
        if len(numbers) > 1:
            for number, name in zip(numbers, _by_folder([found[number] for number in numbers]), strict=True):
                names[number] = name
    return _unique([_safe(name) for name in names])


def _by_folder(alike: Sequence[tuple[Path, str]]) -> list[str]:
    """Sessions of one name, with as many of their folders as it takes; the fewest that tell the most of them apart."""
    deepest = max(len(folder.parts) for folder, _ in alike)
    tails = [["-".join((*folder.parts[1:][::-1][:n][::-1], name)) for folder, name in alike] for n in range(deepest)]
    return max(tails, key=lambda names: len(set(names)))


def _safe(name: str) -> str:
    """The name as text, with the bytes that are none in hex; cut where it is too long, and told apart by a digest."""
    text = re.sub("[\udc80-\udcff]", lambda found: f"%{ord(found[0]) - 0xDC00:02X}", name)
    if len(encoded := text.encode()) <= MOST_NAME_BYTES:
        return text
    kept = encoded[: MOST_NAME_BYTES - _DIGEST - 1].decode(errors="ignore")
    return f"{kept}-{hashlib.sha256(os.fsencode(name)).hexdigest()[:_DIGEST]}"


def _unique(names: list[str]) -> list[str]:
    """The names, with -2, -3, ... appended to those that occurred before."""
    unique: dict[str, None] = {}
    following: dict[str, itertools.count[int]] = {}
    for name in names:
        numbered = (f"{name}-{number}" for number in following.setdefault(name, itertools.count(2)))
        unique[next(candidate for candidate in itertools.chain([name], numbered) if candidate not in unique)] = None
    return list(unique)


def _parts(text: str) -> tuple[str, ...]:
    return PurePosixPath(text.replace("\\", "/")).parts


def _common_end(a: Sequence[str], b: Sequence[str]) -> int:
    """How many of the last parts are the same."""
    pairs = enumerate(zip(reversed(a), reversed(b), strict=False))
    return next((n for n, (x, y) in pairs if x != y), min(len(a), len(b)))
