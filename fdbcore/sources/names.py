"""Matches the names in a user's tables and labels to files, and gives sessions unique names."""

import hashlib
import itertools
import os
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import Final, TypeAlias
from urllib.parse import unquote

from fdbcore.errors import SettingsError
from fdbcore.recording.files import AUDIO
from fdbcore.recording.run import is_recorded

FILE_COLUMNS: Final = ("file", "filename", "file_name", "path", "audio", "recording", "name", "call", "call_id", "id")
"""Names, in any case, of the column that names the file. The first of these that a table has is used."""
DELIMITERS: Final = ",;\t"
V1_INPUT: Final = "input.wav"
V2_A: Final = "A.wav"

MOST_NAME_BYTES: Final = 200
"""The limit of the name of a session, a clip or a case. File systems allow 255 bytes, but files made from one add to
its name."""
_OF_RUNS: Final = re.compile(r"(?i)pages|reference|derived|meta|report|fdb[12]|.*\.(csv|html|jsonl?|log|parquet|part)")
"""Names like those of files and folders that are written into a run and its calls, in any case."""
_DIGEST: Final = 12
_SHOWN: Final = 3
_Parts: TypeAlias = tuple[str, ...]


def real_path(path: Path) -> Path:
    """The absolute path with links resolved. A link to itself, or a name that is too long, stays as it is."""
    return Path(os.path.realpath(path))  # Path.resolve would raise for these


def is_fork(name: str) -> bool:
    """True if a file is an AppleDouble file, which macOS puts beside another for metadata (`._NAME`)."""
    return name.startswith("._")


@dataclass(slots=True)
class Oddities:
    """Things that did not fit: all their names, by what they are ("rows without a file")."""

    found: dict[str, list[str]] = field(default_factory=dict)

    def add(self, what: str, names: Iterable[str]) -> None:
        """Add `names` under `what`; does nothing if there are none."""
        if names := list(names):
            self.found.setdefault(what, []).extend(names)


class NameIndex:
    """Finds calls by the names that tables and label files use for them. Everything is joined by this one rule.

    A text names a call by the name of one of its files, with or without suffix, or by the call's own name. If the text
    gives folders, they must be the file's last folders. An absolute path or a URL may come from another machine: then
    at least one folder must agree, and all folders below the one that these texts have in common; URLs of one folder
    may have any. Case is ignored only if nothing matches with it.

    known: for each call its name and its files. The folders above a relative path count as unknown. The files of
    Full-Duplex-Bench all have the same name, so they also go by the name of their folder.
    """

    def __init__(self, known: Iterable[tuple[str, Sequence[Path]]]) -> None:
        self._names: list[str] = []
        self._indices = _Places(_composed), _Places(lambda name: _composed(name).casefold())
        folders: list[_Parts] = []
        for number, (name, paths) in enumerate(known):
            self._names.append(name)
            if paths:
                self._add(number, [name], None)
            for path in paths or [Path(name)]:
                *above, last = _parts(str(path)) or ("",)
                self._add(number, {last, PurePosixPath(last).stem}, tuple(above))
                if above and (last == V1_INPUT or (last == V2_A and len(paths) > 1)):
                    self._add(number, above[-1:], tuple(above[:-1]))
                folders.append(tuple(above))
        self._common = common_start(folders)

    def _add(self, number: int, names: Iterable[str], folder: _Parts | None) -> None:
        for index in self._indices:
            for name in names:
                index.add(number, name, folder)

    def knows(self, text: str) -> bool:
        """True if a text names a call, in whatever folder."""
        return any(index.fitting(_parts(text)[-1:], 0) for index in self._indices)

    def joined(self, texts: Iterable[str], source: Path) -> dict[str, int | None]:
        """The number of the call that each text names; None for a text that names none.

        If several texts name the same call, those that give the most of its folders win. SettingsError, with the
        `source` of the texts, if a text fits several calls.
        """
        paths = {text: _parts(text) for text in texts}
        if len({parts[:-1] for text, parts in paths.items() if "://" in text}) == 1:
            paths |= {text: parts[-1:] for text, parts in paths.items() if "://" in text}
        roots = [parts[:-1] for parts in paths.values() if _is_absolute(parts)]
        free = len(common_start(roots))
        fitting = {text: self._fitting(parts, free if _is_absolute(parts) else 0) for text, parts in paths.items()}
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
        """The calls that a text fits best, each with the number of folders that both share.

        Those that share the most folders fit best; among them, one whose whole path below the common folder of all
        calls is the text. free: how many of the text's first folders may differ.
        """
        found = next(filter(None, (index.fitting(parts, free) for index in self._indices)), [])
        most = max((shared for _, shared, _ in found), default=0)
        found = [each for each in found if each[1] == most]
        whole = (*self._common, *parts[:-1])
        exact = [each for each in found if each[2] == whole]
        return {number: shared for number, shared, _ in exact or found}


def _composed(name: str) -> str:
    """A name with each letter and its accents in one, as most tables write it; file systems of Macs part them."""
    return unicodedata.normalize("NFC", name)


class _Places:
    """An index of calls by the last folder and the name of their files. fold: applied to each name (e.g. casefold)."""

    def __init__(self, fold: Callable[[str], str]) -> None:
        self._fold = fold
        self._by_end: dict[_Parts, list[tuple[int, _Parts]]] = defaultdict(list)

    def add(self, number: int, name: str, folder: _Parts | None) -> None:
        """Add a call under a name in a folder: () if the folder is unknown, None if the name has no folder."""
        place = (number, folder or ())
        self._by_end[(self._fold(name),)].append(place)
        if folder is not None:
            self._by_end[self._fold(folder[-1]) if folder else "", self._fold(name)].append(place)

    def fitting(self, parts: _Parts, free: int) -> list[tuple[int, int, _Parts]]:
        """The calls that a text fits: number, how many folders both share, and the folders of the call's file."""
        *folders, last = map(self._fold, parts) if parts else ("",)
        ends = [(folders[-1], last), ("", last)] if folders else [(last,)]
        found = []
        for number, own in (place for end in ends for place in self._by_end.get(end, ())):
            differing = (x != y for x, y in zip(reversed(folders), map(self._fold, reversed(own)), strict=False))
            shared = next((n for n, differs in enumerate(differing) if differs), min(len(folders), len(own)))
            if shared >= min(len(folders) - free, len(own)):
                found.append((number, shared, own))
        return found


def session_names(found: Sequence[tuple[Path, str]]) -> list[str]:
    """A unique name for each session. found: the folder that it lies in, and its name there.

    If several sessions have the same name, each gets its last folders in front: as few as make the names differ. So a
    name does not depend on the order of the sessions. Sessions in the same folder get numbers.
    """
    alike: dict[str, list[int]] = defaultdict(list)
    for number, (_, name) in enumerate(found):
        alike[name].append(number)
    names = [name for _, name in found]
    for numbers in alike.values():
        if len(numbers) > 1:
            for number, name in zip(numbers, _with_folders([found[number] for number in numbers]), strict=True):
                names[number] = name
    return _numbered([file_name(name) for name in names])


def _with_folders(alike: Sequence[tuple[Path, str]]) -> list[str]:
    """Names for sessions of the same name, with the fewest of their last folders that make the most names differ."""
    deepest = max(len(folder.parts) for folder, _ in alike)
    tails = [["-".join((*folder.parts[1:][::-1][:n][::-1], name)) for folder, name in alike] for n in range(deepest)]
    return max(tails, key=lambda names: len(set(names)))  # of equals, max takes the first: the fewest folders


def file_name(name: str) -> str:
    """The name, fit for a file or a folder in a run: valid text, neither "." nor ".." nor like a name of what a run
    itself writes, and at most MOST_NAME_BYTES long.

    Bytes that are not text, and the dots of "." and "..", become %-escapes. A name like those of a run's own files gets
    "-call" behind it. A long name is cut and ends in a digest.
    """
    text = re.sub("[\udc80-\udcff]", lambda found: f"%{ord(found[0]) - 0xDC00:02X}", name)
    text = text.replace(".", "%2E") if text in (".", "..") else text
    text += "-call" if _OF_RUNS.fullmatch(text) else ""
    if len(encoded := text.encode()) <= MOST_NAME_BYTES:
        return text
    kept = encoded[: MOST_NAME_BYTES - _DIGEST - 1].decode(errors="ignore")
    return f"{kept}-{hashlib.sha256(os.fsencode(name)).hexdigest()[:_DIGEST]}"


def refuse_names_of_runs(path: Path) -> None:
    """SettingsError if a user's file would stand in a run, or in one of its calls, under a name of what they write."""
    if any(map(is_recorded, path.absolute().parents[:2])) and (_OF_RUNS.fullmatch(path.name) or path.name == AUDIO):
        raise SettingsError(f"{path}: expected a name that nothing of a run has, or another folder")


def _numbered(names: list[str]) -> list[str]:
    """The names, with -2, -3, ... appended to those that occurred before."""
    unique: dict[str, None] = {}
    following: dict[str, itertools.count[int]] = {}
    for name in names:
        numbered = (f"{name}-{number}" for number in following.setdefault(name, itertools.count(2)))
        unique[next(candidate for candidate in itertools.chain([name], numbered) if candidate not in unique)] = None
    return list(unique)


def _parts(text: str) -> _Parts:
    """The folders and the name in a path or a URL, without leading ".." that lead out of the folder of the table."""
    if "://" in text:
        text = unquote(re.sub(r"[?#].*", "", text))
    parts = PurePosixPath(normpath(text.replace("\\", "/"))).parts
    return tuple(itertools.dropwhile("..".__eq__, parts))


def _is_absolute(parts: _Parts) -> bool:
    """True if a path begins with a root, a drive, or the scheme of a URL."""
    return len(parts) > 1 and (parts[0].startswith("/") or parts[0].endswith(":"))


def common_start(found: Iterable[Sequence[str]]) -> _Parts:
    """The first parts that all have in common, such as folders of paths."""
    same = itertools.takewhile(lambda parts: len(set(parts)) == 1, zip(*found, strict=False))
    return tuple(parts[0] for parts in same)
