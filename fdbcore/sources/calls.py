"""From what a user names (folders, patterns, lists) to the calls of a corpus, and a table of columns joined to them."""

from __future__ import annotations

import codecs
import csv
import glob
import io
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from fdbcore.audio.decode import AUDIO_SUFFIXES, OTHER_AUDIO_SUFFIXES
from fdbcore.errors import SettingsError
from fdbcore.recording.files import AUDIO, META
from fdbcore.recording.run import CORPUS, RUN
from fdbcore.sources.label_files import read_labels
from fdbcore.sources.names import DELIMITERS, FILE_COLUMNS, NameIndex, Oddities, is_fork, real_path
from fdbcore.sources.sessions import V1_FILES, SessionInput, session_inputs

AGENT_CHANNEL: Final = "agent_channel"
LISTS: Final = frozenset({".txt", ".list"})
_SWAPPED: Final = {"left": True, "l": True, "1": True, "right": False, "r": False, "2": False}


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A session to replay, with the columns of its row; error: why it cannot be."""

    session: SessionInput
    columns: Mapping[str, str] = field(default_factory=dict)
    error: str | None = None


def named_calls(
    paths: Sequence[Path],
    oddities: Oddities,
    file_a: Path | None = None,
    file_b: Path | None = None,
    *,
    swap: bool = False,
    offset_ms: int = 0,
    meta: str | os.PathLike[str] | None = None,
    labels: str | os.PathLike[str] | None = None,
) -> list[PlannedCall]:
    """The calls that `paths` (see `named_files`), or the files of both sides, name; joined with what is known of them.

    meta: a table of columns; labels: what people have labelled. What fits nothing is added to `oddities`. Raises
    InputError for what cannot be used.
    """
    named = named_files(paths, oddities)
    sessions = session_inputs(named, file_a, file_b, swap=swap, offset_ms=offset_ms, searched=named != list(paths))
    calls = planned(sessions, None if meta is None else Path(meta), oddities)
    return calls if labels is None else with_labels(calls, Path(labels), oddities)


def named_files(paths: Sequence[Path], oddities: Oddities) -> list[Path]:
    """The files and folders of sessions that `paths` name, each of which may be a folder, a pattern or a list.

    A folder is searched with all below it; one that is itself a session (Full-Duplex-Bench v1, a recording, a run of
    these) stays as it is. A list has a path in each line, relative to its own folder. Raises SettingsError where
    nothing is found, or a list cannot be read.
    """
    return [found for path in paths for found in _named(path, oddities)]


def _named(path: Path, oddities: Oddities) -> list[Path]:
    if os.path.isdir(path) and os.access(path, os.R_OK | os.X_OK):  # of a name that is too long Path would raise
        return [path] if _is_session(path) or _is_run(path) else _searched(path, oddities)
    if path.suffix.lower() in LISTS:
        return _listed(path)
    if not os.path.exists(path) and glob.has_magic(str(path)):
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
    left_by_macos: list[str] = []
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
        forks = set(filter(is_fork, files))
        left_by_macos += sorted(forks)
        audio = set(filter(_is_audio, files)) - forks
        found += [folder / file for file in sorted(audio)]
        others.update(Path(file).suffix.lower() or file for file in set(files) - audio - forks)
    unsearched = {suffix: count for suffix, count in sorted(others.items()) if suffix in OTHER_AUDIO_SUFFIXES}
    told = [f"{count} {suffix}" for suffix, count in unsearched.items()]
    remedy = f"'{top}/**/*{next(iter(unsearched))}'" if unsearched else ""
    if not found:
        more = f"; {', '.join(told)} can be read if they are named, as by {remedy}" if unsearched else ""
        kinds = ", ".join(sorted(AUDIO_SUFFIXES))
        raise SettingsError(f"{top}: expected a folder with audio ({kinds}), found none{more}")
    oddities.add(f"audio in {top} that is not searched for, left out: name it, as by {remedy}", told)
    oddities.add(f"files of macOS beside others in {top}, left out", left_by_macos)
    rest = sorted(others.items() - unsearched.items())
    oddities.add(f"other files in {top}", [f"{count} {suffix}" for suffix, count in rest])
    return found


def _listed(path: Path) -> list[Path]:
    try:
        lines = [line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: expected a list of paths in UTF-8, got: {error}") from error
    if any("\0" in line for line in lines):
        raise SettingsError(f"{path}: expected a list of paths, got something else than text")
    found = [path.parent / line for line in lines if line and not line.startswith("#")]
    if not found:
        raise SettingsError(f"{path}: expected a path in each line, got none")
    return found


def read_table(path: Path) -> tuple[str, list[dict[str, str]]]:
    """The name of the column with the files, and the rows of a CSV with a header (comma, semicolon or tab).

    Raises SettingsError if it cannot be read, has no column that names files, or a row of another length.
    """
    lines, skipped, delimiter = _lines(path)
    table = csv.reader(lines, delimiter=delimiter, strict=True)
    rows: list[tuple[int, list[str]]] = []
    began = skipped + 1
    try:
        for row in table:
            if not rows or any(cell.strip() for cell in row):
                rows.append((began, row))
            began = skipped + table.line_num + 1
    except csv.Error as error:
        quote = ", a quote that is never closed" if "end of data" in str(error) else f": {error}"
        raise SettingsError(
            f"{path}, line {began}: expected a row of a CSV table, got something else{quote}"
        ) from error
    header = [name.strip() for name in rows.pop(0)[1]] if rows else []
    by_name = {name.lower(): name for name in reversed(header)}
    key = next((by_name[name] for name in FILE_COLUMNS if name in by_name), None)
    if key is None or len(set(header)) < len(header):
        names = ", ".join(header)
        raise SettingsError(f"{path}: expected different columns, one of them {', '.join(FILE_COLUMNS)}; got {names}")
    for line, row in rows:
        if len(row) != len(header):
            raise SettingsError(f"{path}, line {line}: expected {len(header)} fields, got {len(row)}")
    return key, [{name: cell.strip() for name, cell in zip(header, row, strict=True)} for _, row in rows]


def _lines(path: Path) -> tuple[list[str], int, str]:
    """The lines of a table, how many were skipped before them, and its delimiter.

    In UTF-8, or in UTF-16 with a byte order mark; a first line "sep=;" is for spreadsheets and tells the delimiter.
    """
    try:
        data = path.read_bytes()
        wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        text = data.decode("utf-16" if wide else "utf-8-sig")
    except OSError as error:
        raise SettingsError(f"{path}: expected a CSV table, got: {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        got = f"the byte 0x{data[error.start]:02X}"
        raise SettingsError(
            f"{path}, line {line}: expected text in UTF-8, got {got}: save the table as UTF-8"
        ) from error
    lines = io.StringIO(text, newline="").readlines()
    head = lines[0] if lines else ""
    if told := re.fullmatch(r'"?sep=(.)"?\s*', head, re.IGNORECASE):
        return lines[1:], 1, told[1]
    return lines, 0, max(DELIMITERS, key=head.count)


def planned(sessions: Sequence[SessionInput], meta: Path | None, oddities: Oddities) -> list[PlannedCall]:
    """The sessions with their rows of the table `meta`, joined as `NameIndex` does, by path before name.

    The column agent_channel (left, right, 1 or 2) says where side B is. Rows without files and files without rows are
    noted in `oddities`. Raises SettingsError where a row could be of several files, or a file has several rows that
    differ, and where no row is of any file.
    """
    _note_doubles(sessions, oddities)
    if meta is None:
        return [PlannedCall(session) for session in sessions]
    key, table = read_table(meta)
    numbers = NameIndex(map(_known, sessions)).joined((row[key] for row in table), meta)
    rows: dict[int, dict[str, str]] = {}
    for row in table:
        number = numbers[row[key]]
        if number is None:
            oddities.add(f"rows of {meta.name} without a file", [row[key]])
        elif _without(key, first := rows.setdefault(number, row)) != _without(key, row):
            raise SettingsError(
                f"{meta}: expected one row of the call {sessions[number].name}, "
                f"got {first[key]!r} and {row[key]!r}, which differ"
            )
    _refuse_none(rows, numbers, sessions, meta, "rows")
    without = [session.name for number, session in enumerate(sessions) if number not in rows]
    oddities.add(f"files without a row in {meta.name}", without)
    return [_with_row(session, _without(key, rows.get(number, {}))) for number, session in enumerate(sessions)]


def with_labels(calls: Sequence[PlannedCall], path: Path, oddities: Oddities) -> list[PlannedCall]:
    """The calls, each with its labels from a file or a folder of them; without labels where it has none there.

    What cannot be read, or fits no call, is noted in `oddities`. Raises SettingsError if there is no label at all, or
    none of any call, or one that could be of several.
    """
    sessions = [call.session for call in calls]
    found = read_labels(path, oddities)
    by_call = found.by_call([_known(session) for session in sessions], lambda n: sessions[n].swap, oddities)
    _refuse_none(by_call, (label.call for label in found.labels), sessions, path, "labels")
    source = str(real_path(path))
    labelled = [replace(session, labels=(source, by_call.get(n, ()))) for n, session in enumerate(sessions)]
    return [replace(call, session=session) for call, session in zip(calls, labelled, strict=True)]


def _without(key: str, row: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in row.items() if name != key}


def _refuse_none(
    found: Mapping[int, object], texts: Iterable[str], sessions: Sequence[SessionInput], path: Path, what: str
) -> None:
    """SettingsError where nothing was found of any of the sessions."""
    text = next(iter(texts), None)
    if not found:
        file = _known(sessions[0])[1][0]
        got = "an empty table" if text is None else f"none that is, such as {text!r}"
        raise SettingsError(f"{path}: expected {what} of the calls that are named, such as {file}; got {got}")


def _note_doubles(sessions: Sequence[SessionInput], oddities: Oddities) -> None:
    """Files that no folder tells apart: the same one again, or of another suffix. All but the first got a number."""
    places: dict[Path, list[str]] = {}
    for session in sessions:
        if session.b is None:
            places.setdefault((session.recording or session.a).with_suffix(""), []).append(session.name)
    doubles = [
        f"{len(names)} are called {place.name}: {', '.join(names)}" for place, names in places.items() if len(names) > 1
    ]
    oddities.add("files of one name, listed with numbers", doubles)


def _known(session: SessionInput) -> tuple[str, list[Path]]:
    """The name of a session, and the files by which a table may know it: of a recording its folder, what it links."""
    own = session.recording is not None and session.a.parent == session.recording
    paths = [*filter(None, [session.recording]), *([] if own else session.paths)]
    return session.name, [path.absolute() for path in paths]


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
        session.refuse_change()
        return PlannedCall(replace(session, swap=swap, words=_exchanged(session.words)), columns)
    except SettingsError as error:
        return PlannedCall(session, columns, str(error))


def _exchanged(words: Mapping[Any, Path]) -> dict[Any, Path]:
    return {{"A": "B", "B": "A"}[side]: path for side, path in words.items()}
