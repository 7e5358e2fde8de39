"""From what a user names (folders, patterns, lists) to the calls of a corpus, and a table of columns joined to them."""

from __future__ import annotations

import csv
import glob
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any, Final

from fdbcore.audio import AUDIO_SUFFIXES
from fdbcore.corpus import CORPUS, RUN
from fdbcore.errors import SettingsError
from fdbcore.recording import AUDIO, META
from fdbcore.sources import V1_FILES, SessionInput

FILE_COLUMNS: Final = ("file", "filename", "file_name", "path", "audio", "recording", "name", "call", "call_id", "id")
"""What the column that names the file may be called, in any case; the first of these that is there."""
AGENT_CHANNEL: Final = "agent_channel"
LISTS: Final = frozenset({".txt", ".list"})
_SWAPPED: Final = {"left": True, "l": True, "1": True, "right": False, "r": False, "2": False}
_DELIMITERS: Final = ",;\t"


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A session to replay, with the columns of its row; error: why it cannot be."""

    session: SessionInput
    columns: Mapping[str, str] = field(default_factory=dict)
    error: str | None = None


@dataclass(slots=True)
class Oddities:
    """What did not fit, by what it is ("rows without a file"): names, none left out."""

    found: dict[str, list[str]] = field(default_factory=dict)

    def add(self, what: str, names: Iterable[str]) -> None:
        """Note `names`, if there are any."""
        if names := list(names):
            self.found.setdefault(what, []).extend(names)


def named_files(paths: Sequence[Path], oddities: Oddities) -> list[Path]:
    """The files and folders of sessions that `paths` name, each of which may be a folder, a pattern or a list.

    A folder is searched with all below it; one that is itself a session (Full-Duplex-Bench v1, a recording, a run of
    these) stays as it is. A list has a path in each line, relative to its own folder. Raises SettingsError where
    nothing is found, or a list cannot be read.
    """
    return [found for path in paths for found in _named(path, oddities)]


def _named(path: Path, oddities: Oddities) -> list[Path]:
    if path.is_dir():
        return [path] if _is_session(path) or _is_run(path) else _searched(path, oddities)
    if path.suffix.lower() in LISTS:
        return _listed(path)
    if not path.exists() and glob.has_magic(str(path)):
        matches = [Path(match) for match in sorted(glob.glob(str(path), recursive=True))]
        if not matches:
            raise SettingsError(f"{path}: expected a pattern of files, got one that fits none")
        return [found for match in matches for found in (_named(match, oddities) if match.is_dir() else [match])]
    return [path]


def _is_session(folder: Path) -> bool:
    return (folder / META).is_file() or all((folder / name).is_file() for name in V1_FILES)


def _is_run(folder: Path) -> bool:
    """Whether it has recordings, and no audio beside them."""
    return any(folder.glob(f"*/{META}")) and not any(map(_is_audio, os.listdir(folder)))


def _is_audio(name: str) -> bool:
    return Path(name).suffix.lower() in AUDIO_SUFFIXES


def _searched(top: Path, oddities: Oddities) -> list[Path]:
    """All sessions below a folder, by path; runs and what they left behind are none."""
    found: list[Path] = []
    others: Counter[str] = Counter()
    seen: set[str] = set()
    for name, folders, files in os.walk(top, followlinks=True):
        folder = Path(name)
        real = os.path.realpath(folder)
        if real in seen or (folder != top and ({CORPUS, RUN} & set(files) or META in files)):
            folders.clear()
            found += [folder] if META in files and AUDIO in files and real not in seen else []
            continue
        seen.add(real)
        folders.sort()
        if set(V1_FILES) <= set(files):
            found.append(folder)
            continue
        audio = set(filter(_is_audio, files))
        found += [folder / file for file in sorted(audio)]
        others.update(Path(file).suffix.lower() or file for file in set(files) - audio)
    if not found:
        raise SettingsError(f"{top}: expected a folder with audio ({', '.join(sorted(AUDIO_SUFFIXES))}), found none")
    oddities.add(f"other files in {top}", [f"{count} {suffix}" for suffix, count in sorted(others.items())])
    return found


def _listed(path: Path) -> list[Path]:
    try:
        lines = [line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: expected a list of paths in UTF-8, got: {error}") from error
    found = [path.parent / line for line in lines if line and not line.startswith("#")]
    if not found:
        raise SettingsError(f"{path}: expected a path in each line, got none")
    return found


def read_table(path: Path) -> tuple[str, list[dict[str, str]]]:
    """The name of the column with the files, and the rows of a CSV with a header (comma, semicolon or tab).

    Raises SettingsError if it cannot be read, has no column that names files, or a row of another length.
    """
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            head = file.readline()
            file.seek(0)
            table = csv.reader(file, delimiter=max(_DELIMITERS, key=head.count), strict=True)
            header = [name.strip() for name in next(table, [])]
            rows = [(table.line_num, row) for row in table if any(cell.strip() for cell in row)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise SettingsError(f"{path}: expected a CSV table in UTF-8, got: {error}") from error
    by_name = {name.lower(): name for name in reversed(header)}
    key = next((by_name[name] for name in FILE_COLUMNS if name in by_name), None)
    if key is None or len(set(header)) < len(header):
        names = ", ".join(header)
        raise SettingsError(f"{path}: expected different columns, one of them {', '.join(FILE_COLUMNS)}; got {names}")
    for line, row in rows:
        if len(row) != len(header):
            raise SettingsError(f"{path}, line {line}: expected {len(header)} fields, got {len(row)}")
    return key, [{name: cell.strip() for name, cell in zip(header, row, strict=True)} for _, row in rows]


def planned(sessions: Sequence[SessionInput], meta: Path | None, oddities: Oddities) -> list[PlannedCall]:
    """The sessions with their rows of the table `meta`, joined by file name, or by as much of the path as is given.

    The column agent_channel (left, right, 1 or 2) says where side B is. Rows without files, files without rows, and
    rows that fit several files or the same one are noted in `oddities`; nothing is left out.
    """
    _note_doubles(sessions, oddities)
    if meta is None:
        return [PlannedCall(session) for session in sessions]
    key, table = read_table(meta)
    index = _Index(sessions)
    rows: dict[int, dict[str, str]] = {}
    for row in table:
        fitting = index.fitting(row[key])
        if len(fitting) != 1:
            what = f"rows of {meta.name} that fit several files" if fitting else f"rows of {meta.name} without a file"
            oddities.add(what, [row[key]])
        elif rows.setdefault(fitting[0], row) != row:
            oddities.add(f"rows of {meta.name} for a file that has another, left out", [row[key]])
    without = [session.name for number, session in enumerate(sessions) if number not in rows]
    oddities.add(f"files without a row in {meta.name}", without)
    return [
        _with_row(session, {name: text for name, text in rows.get(number, {}).items() if name != key})
        for number, session in enumerate(sessions)
    ]


def _note_doubles(sessions: Sequence[SessionInput], oddities: Oddities) -> None:
    """Files of the same name, of which all but the first got a number."""
    counts = Counter(session.a.stem if session.recording is None else session.name for session in sessions)
    doubles = [name for name, count in counts.items() if count > 1 and f"{name}-2" in {s.name for s in sessions}]
    oddities.add("names that several files share, the others numbered", doubles)


class _Index:
    """Finds sessions by a file name, with or without folders and suffix."""

    def __init__(self, sessions: Sequence[SessionInput]) -> None:
        self._by_name: dict[str, list[int]] = defaultdict(list)
        self._parts: list[list[tuple[str, ...]]] = []
        for number, session in enumerate(sessions):
            paths = [session.recording] if session.recording else session.paths
            self._parts.append([_parts(str(path.absolute())) for path in paths])
            names = {session.name, *(path.name for path in paths), *(path.stem for path in paths)}
            for name in names | ({paths[0].parent.name} if paths[0].name in V1_FILES else set()):
                self._by_name[name].append(number)

    def fitting(self, text: str) -> list[int]:
        """The sessions that a text names; of several the ones that share most of its folders."""
        parts = _parts(text)
        found = self._by_name.get(parts[-1], []) if parts else []
        if len(found) > 1:
            shared = [max(_common_end(parts, own) for own in self._parts[number]) for number in found]
            found = [number for number, length in zip(found, shared, strict=True) if length == max(shared)]
        return found


def _parts(text: str) -> tuple[str, ...]:
    return PurePosixPath(text.replace("\\", "/")).parts


def _common_end(a: Sequence[str], b: Sequence[str]) -> int:
    """How many of the last parts are the same."""
    return next(
        (n for n, (x, y) in enumerate(zip(reversed(a), reversed(b), strict=False)) if x != y), min(len(a), len(b))
    )


def _with_row(session: SessionInput, columns: dict[str, str]) -> PlannedCall:
    """The session with its columns, and its sides exchanged where these say so."""
    told = next((text for name, text in columns.items() if name.lower() == AGENT_CHANNEL), "")
    if not told:
        return PlannedCall(session, columns)
    swap = _SWAPPED.get(told.lower())
    if swap is None:
        return PlannedCall(session, columns, f"{AGENT_CHANNEL}: expected left, right, 1 or 2, got {told!r}")
    if swap == session.swap:
        return PlannedCall(session, columns)
    try:
        return PlannedCall(replace(session, swap=swap, words=_exchanged(session.words)), columns)
    except SettingsError as error:
        return PlannedCall(session, columns, str(error))


def _exchanged(words: Mapping[Any, Path]) -> dict[Any, Path]:
    return {{"A": "B", "B": "A"}[side]: path for side, path in words.items()}
