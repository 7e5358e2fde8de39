"""What a user's files call things: found by file name, and noted where nothing fits."""

from __future__ import annotations

import hashlib
import itertools
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import Final, TypeAlias

from fdbcore.errors import SettingsError

FILE_COLUMNS: Final = ("file", "filename", "file_name", "path", "audio", "recording", "name", "call", "call_id", "id")
"""What the column that names the file may be called, in any case; the first of these that is there."""
DELIMITERS: Final = ",;\t"
V1_INPUT: Final = "input.wav"

MOST_NAME_BYTES: Final = 200
"""Of a session's name: file systems allow 255, and what is made of a session adds to its name."""
_DIGEST: Final = 12
_SHOWN: Final = 3
_Parts: TypeAlias = tuple[str, ...]


def real_path(path: Path) -> Path:
    """The absolute path without links; of a link onto itself, and of a name that is too long, as far as it goes."""
    return Path(os.path.realpath(path))  # Path.resolve raises for these


def is_fork(name: str) -> bool:
    """Whether a file is one of those in which macOS keeps, beside another, what other file systems cannot."""
    return name.startswith("._")


@dataclass(slots=True)
class Oddities:
    """What did not fit, by what it is ("rows without a file"): names, none left out."""

    found: dict[str, list[str]] = field(default_factory=dict)

    def add(self, what: str, names: Iterable[str]) -> None:
        """Note `names`, if there are any."""
        if names := list(names):
            self.found.setdefault(what, []).extend(names)


class NameIndex:
    """Finds things by what a table or label files call them: the one rule by which anything is joined.

    A text names a thing by the name of a file of it, with or without suffix, or by its own name. Folders that the text
    gives must be those of the file: all of them; of an absolute path or an address, which may come from another
    machine, at least one and all below the folder that these texts have in common. Upper and lower case count, unless
    nothing is called just so.

    known: of each thing its name, and the files that it is made of; what is above a relative path is not known. Those
    of Full-Duplex-Bench v1 are all called the same, and known by their folder.
    """

    def __init__(self, known: Iterable[tuple[str, Sequence[Path]]]) -> None:
        self._names: list[str] = []
        self._indices = _Places(str), _Places(str.casefold)
        folders: list[_Parts] = []
        for number, (name, paths) in enumerate(known):
            self._names.append(name)
            if paths:
                self._add(number, [name], None)
            for path in paths or [Path(name)]:
                *above, last = _parts(str(path)) or ("",)
                self._add(number, {last, PurePosixPath(last).stem}, tuple(above))
                if last == V1_INPUT and above:
                    self._add(number, above[-1:], tuple(above[:-1]))
                folders.append(tuple(above))
        self._common: _Parts = _common_start(folders)

    def _add(self, number: int, names: Iterable[str], folder: _Parts | None) -> None:
        for index in self._indices:
            for name in names:
                index.add(number, name, folder)

    def joined(self, texts: Iterable[str], source: Path) -> dict[str, int | None]:
        """The number of the thing that each text names; None for one that names none.

        Of several texts that name a thing, those that give most of its folders do. Raises SettingsError, with the
        `source` of the texts, where one could name several things.
        """
        parts = {text: _parts(text) for text in texts}
        roots = [of[:-1] for of in parts.values() if _is_absolute(of)]
        free = len(_common_start(roots))
        fitting = {text: self._fitting(of, free if _is_absolute(of) else 0) for text, of in parts.items()}
        most: dict[int, int] = {}
        for found in fitting.values():
            for number, shared in found.items():
                most[number] = max(shared, most.get(number, 0))
        wanted = {
            text: [number for number, shared in found.items() if shared == most[number]]
            for text, found in fitting.items()
        }
        several = [text for text, numbers in wanted.items() if numbers and len(fitting[text]) > 1]
        if several:
            first = several[0]
            names = ", ".join(self._names[number] for number in list(fitting[first])[:_SHOWN])
            more = f" and {len(several) - 1:,} more" if len(several) > 1 else ""
            raise SettingsError(
                f"{source}: {first!r}{more} fits {len(fitting[first]):,} of the calls ({names}): "
                "expected each call by its folder and full name"
            )
        return {text: numbers[0] if numbers else None for text, numbers in wanted.items()}

    def _fitting(self, parts: _Parts, free: int) -> dict[int, int]:
        """The things that a text fits, each with the number of folders they share.

        Of several the ones that share most, and of these the one whose whole path it is, seen from the folder that all
        things lie in. free: how many of the first folders may be others.
        """
        found = next(filter(None, (index.fitting(parts, free) for index in self._indices)), [])
        most = max((shared for _, shared, _ in found), default=0)
        found = [each for each in found if each[1] == most]
        whole = (*self._common, *parts[:-1])
        exact = [each for each in found if each[2] == whole]
        return {number: shared for number, shared, _ in exact or found}


class _Places:
    """Things by where they lie, read as `fold` makes of each name."""

    def __init__(self, fold: Callable[[str], str]) -> None:
        self._fold = fold
        self._by_end: dict[_Parts, list[tuple[int, _Parts]]] = defaultdict(list)

    def add(self, number: int, name: str, folder: _Parts | None) -> None:
        """Note a thing in a folder; () where that is not known, None where it is known by its name alone."""
        place = (number, folder or ())
        self._by_end[(self._fold(name),)].append(place)
        if folder is not None:
            self._by_end[self._fold(folder[-1]) if folder else "", self._fold(name)].append(place)

    def fitting(self, parts: _Parts, free: int) -> list[tuple[int, int, _Parts]]:
        """The things that a text fits, with the number of folders they share, and their own."""
        *folders, last = map(self._fold, parts) if parts else ("",)
        ends = [(folders[-1], last), ("", last)] if folders else [(last,)]
        found = []
        for number, own in (place for end in ends for place in self._by_end.get(end, ())):
            shared = _common_end(folders, [self._fold(part) for part in own])
            if shared >= min(len(folders) - free, len(own)):
                found.append((number, shared, own))
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
    """The name as text, with the bytes that are none in hex, and the dots of "." and "..", which name other folders;
    cut where it is too long, and told apart by a digest."""
    text = re.sub("[\udc80-\udcff]", lambda found: f"%{ord(found[0]) - 0xDC00:02X}", name)
    text = text.replace(".", "%2E") if text in (".", "..") else text
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


def _parts(text: str) -> _Parts:
    """Folders and name, without the dots that lead out of the folder in which a table lies."""
    parts = PurePosixPath(normpath(text.replace("\\", "/"))).parts
    return tuple(itertools.dropwhile("..".__eq__, parts))


def _is_absolute(parts: _Parts) -> bool:
    """Whether it begins with a root, a drive, or the scheme of an address."""
    return len(parts) > 1 and (parts[0].startswith("/") or parts[0].endswith(":"))


def _common_start(found: Iterable[_Parts]) -> _Parts:
    """The first parts that all have in common."""
    same = itertools.takewhile(lambda parts: len(set(parts)) == 1, zip(*found, strict=False))
    return tuple(parts[0] for parts in same)


def _common_end(a: Sequence[str], b: Sequence[str]) -> int:
    """How many of the last parts are the same."""
    pairs = enumerate(zip(reversed(a), reversed(b), strict=False))
    return next((n for n, (x, y) in pairs if x != y), min(len(a), len(b)))
