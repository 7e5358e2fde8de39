"""Finds agents' logs in files, folders and patterns, and joins them to calls by their names."""

import glob
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Final

from fdbcore.audio.decode import AUDIO_SUFFIXES
from fdbcore.clock import iso_s
from fdbcore.errors import SettingsError
from fdbcore.runtime.numbers import number_of
from fdbcore.sources.agent_logs import LogFile
from fdbcore.sources.names import NameIndex, Oddities, is_fork

SUFFIXES: Final = frozenset({".json", ".jsonl", ".ndjson", ".log", ".txt"})
"""The names of logs in a folder end in one of these. A pattern may name any file."""
OFFSET: Final = "agent_log_offset_ms"
STARTED: Final = "agent_log_started_at"
SESSION: Final = "agent_log_session"
"""Columns of a table of calls: what to add to a log's times; or what the log's clock shows as the recording begins, in
seconds or ISO 8601; and which entries of the log are the call's (see `read_log`). A column `started_at`, as vendors
export it, is not read: it has whole seconds, or the time of dialling."""


def joined_logs(path: Path, known: Sequence[tuple[str, Sequence[Path]]], oddities: Oddities) -> dict[int, Path]:
    """The log of each call that has one, by the number of the call.

    path: a log, a folder of logs, or a pattern. known: the calls, as in `NameIndex`. A log belongs to the call that has
    its name, up to the suffix; if it lies in a folder below `path`, the call lies in a folder of the same name. A
    single log of a single call may have any name. Logs that fit no call, and calls without a log, are noted in
    `oddities`. SettingsError if there is no log, if none fits, if one fits several calls, or if several fit one call.
    """
    top, files = _found(path)
    if len(known) == 1 and files == [path]:
        return {0: path}
    index = NameIndex(known)
    below = {file: file.relative_to(top) for file in files}
    numbers = index.joined({_without_suffix(name) for name in below.values()}, path)
    bare = index.joined({_without_suffixes(name) for name in below.values()}, path)
    fitting = {
        file: bare[_without_suffixes(name)] if (number := numbers[_without_suffix(name)]) is None else number
        for file, name in below.items()
    }
    found: dict[int, Path] = {}
    for file, number in fitting.items():
        if number is not None and (first := found.setdefault(number, file)) != file:
            raise SettingsError(f"{path}: expected one log of the call {known[number][0]}, got {first} and {file}")
    if not found:
        expected = f"logs of the calls to replay, such as {known[0][0]}.jsonl"
        raise SettingsError(f"{path}: expected {expected}; got only others, such as {files[0].name}")
    oddities.add(f"logs in {path} that fit no call", [str(file) for file, number in fitting.items() if number is None])
    oddities.add(f"calls without a log in {path}", [name for n, (name, _) in enumerate(known) if n not in found])
    return found


def log_of_row(log: LogFile, columns: Mapping[str, str], name: str, oddities: Oddities) -> LogFile:
    """A call's log with what the call's row of a table says of it, by the columns `OFFSET`, `STARTED` and `SESSION`.

    A cell that cannot be read is noted in `oddities`, and the clock of the log is looked for.
    """
    cells = {column.lower(): text for column, text in columns.items() if text}
    offset_ms, session = log.offset_ms, cells.get(SESSION, log.session)
    try:
        if OFFSET in cells:
            offset_ms = number_of(cells[OFFSET])
        elif STARTED in cells:
            text = cells[STARTED]
            started_s = iso_s(text) if ":" in text else number_of(text)
            offset_ms = -1000 * started_s
            if started_s == int(started_s):
                oddities.add(f"{STARTED} in whole seconds, so the outer stages may be wrong by as much", [name])
    except ValueError:
        got = f"{name}: {cells.get(OFFSET) or cells[STARTED]!r}"
        oddities.add(f"{OFFSET} or {STARTED} that cannot be read, so the clock is looked for", [got])
    return LogFile(log.path, offset_ms, session)


def _found(path: Path) -> tuple[Path, list[Path]]:
    """The logs that a path names, and the folder below which they lie."""
    if os.path.isdir(path):
        files = sorted(file for file in path.rglob("*") if file.suffix.lower() in SUFFIXES and not is_fork(file.name))
        if not files:
            counts = Counter(file.suffix.lower() for file in path.rglob("*") if file.is_file())
            got = ", ".join(f"{n} {suffix or 'without suffix'}" for suffix, n in counts.most_common(3)) or "no file"
            raise SettingsError(f"{path}: expected logs ({', '.join(sorted(SUFFIXES))}), got {got}")
        return path, files
    if not os.path.exists(path) and glob.has_magic(str(path)):
        files = [Path(match) for match in sorted(glob.glob(str(path), recursive=True)) if os.path.isfile(match)]
        files = [file for file in files if file.suffix.lower() not in AUDIO_SUFFIXES]
        if not files:
            raise SettingsError(f"{path}: expected a pattern of logs, got one that matches none")
        fixed = [part for part in path.parts[: next(n for n, p in enumerate(path.parts) if glob.has_magic(p))]]
        return Path(*fixed), files
    return path.parent, [path]


def _without_suffix(name: PurePath) -> str:
    return name.with_suffix("").as_posix()


def _without_suffixes(name: PurePath) -> str:
    return (name.parent / name.name.split(".")[0]).as_posix()
