"""Finds the calls that a user names by folders, patterns and lists, and joins tables and labels to them."""

import glob
import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from fdbcore.audio.decode import AUDIO_SUFFIXES, OTHER_AUDIO_SUFFIXES
from fdbcore.errors import SettingsError
from fdbcore.recording.files import AUDIO, META
from fdbcore.recording.run import CORPUS, RUN
from fdbcore.runtime.texts import text_of
from fdbcore.sources.agent_logs import LogFile
from fdbcore.sources.benchmark_folders import call_in
from fdbcore.sources.columns import AGENT_CHANNEL, ChannelColumn
from fdbcore.sources.label_files import read_labels
from fdbcore.sources.left_out import AskedSpan, with_row
from fdbcore.sources.log_files import joined_logs, log_of_row
from fdbcore.sources.names import NameIndex, Oddities, is_fork, real_path
from fdbcore.sources.pairs import Pair, paired_by_patterns, paired_by_table
from fdbcore.sources.sessions import SessionInput, session_inputs
from fdbcore.sources.tables import LOG_FILE, CallTable, read_table
from fdbcore.types import other_side

LISTS: Final = frozenset({".txt", ".list"})
_SWAPPED: Final = {"left": True, "l": True, "right": False, "r": False}


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A session to replay, with the columns of its row in the table. error: why it cannot be replayed, else None."""

    session: SessionInput
    columns: Mapping[str, str] = field(default_factory=dict)
    error: str | None = None


@dataclass(frozen=True, slots=True)
class NamedInput:
    """The input that a user names for a replay.

    paths: see `named_files`; or file_a, file_b: the files of both sides. swap: exchange the sides. offset_ms: how much
    later B begins. pair: if each call has two files, the patterns of side A's and side B's (see `paired_by_patterns`).
    meta: the file of a table with columns, which may name the two files itself, and the log. labels: a label file, or a
    folder of them. marks: agents' logs, as a file, a folder or a pattern; marks_offset_ms: what to add to their times,
    None to find it out; marks_session: which of their entries count (see `read_log`). leave_out: what is not measured
    of each call, unless its row says otherwise.
    """

    paths: Sequence[Path] = ()
    file_a: Path | None = None
    file_b: Path | None = None
    swap: bool = False
    offset_ms: int = 0
    pair: tuple[str, str] | None = None
    meta: Path | None = None
    labels: Path | None = None
    marks: Path | None = None
    marks_offset_ms: float | None = None
    marks_session: str | None = None
    leave_out: Sequence[AskedSpan] | None = None


def named_calls(named: NamedInput, oddities: Oddities) -> list[PlannedCall]:
    """The calls that a user names, with their columns and labels.

    Rows, labels, logs and files that fit nothing are added to `oddities`. InputError for what cannot be used.
    """
    is_by_side = named.file_a is not None or named.file_b is not None
    if named.pair is not None and is_by_side:
        raise SettingsError("give --pair, or -a FILE and -b FILE, not both")
    table = None if named.meta is None else read_table(named.meta, oddities)
    files = named_files(named.paths, oddities)
    pairs = [] if is_by_side else _paired(files, named.pair, table, oddities)
    sessions = session_inputs(
        [] if pairs else files,
        named.file_a,
        named.file_b,
        pairs=pairs,
        swap=named.swap,
        offset_ms=named.offset_ms,
        searched=files != list(named.paths),
    )
    calls = planned([replace(session, leave_out=named.leave_out) for session in sessions], table, oddities)
    if named.labels is not None:
        calls = with_labels(calls, named.labels, oddities)
    return with_logs(calls, named, oddities)


def _paired(
    files: Sequence[Path], patterns: tuple[str, str] | None, table: CallTable | None, oddities: Oddities
) -> list[Pair]:
    """The two files of each call, where patterns or a table say which; none where neither does."""
    names_both = table is not None and len(table.files) == 2
    if patterns is not None and names_both:
        raise SettingsError("give --pair, or the columns a_file and b_file of --meta, not both")
    files = [file for path in files for file in call_in(path) or (path,)]
    if patterns is not None:
        return paired_by_patterns(files, patterns, oddities)
    return paired_by_table(files, table, oddities) if table is not None and names_both else []


def named_files(paths: Sequence[Path], oddities: Oddities) -> list[Path]:
    """The files and folders of sessions that `paths` name. Each path may be a file, a folder, a pattern or a list.

    A folder is searched with everything below it. A folder that is itself a session (of Full-Duplex-Bench, or a
    recording) or a run of recordings stays as it is. A list has a path in each line, relative to its own folder.
    SettingsError if nothing is found, or if a list cannot be read.
    """
    return [found for path in paths for found in _named(path, oddities)]


def _named(path: Path, oddities: Oddities) -> list[Path]:
    if os.path.isdir(path) and os.access(path, os.R_OK | os.X_OK):  # Path.is_dir would raise if the name is too long
        is_session = (path / META).is_file() or call_in(path) is not None
        is_run = any(path.glob(f"*/{META}")) and not any(map(_is_audio, os.listdir(path)))  # audio: a folder to search
        return [path] if is_session or is_run else _searched(path, oddities)
    if path.suffix.lower() in LISTS:
        return _listed(path, oddities)
    if not os.path.exists(path) and glob.has_magic(str(path)):
        matches = [Path(match) for match in sorted(glob.glob(str(path), recursive=True))]
        if not matches:
            raise SettingsError(f"{path}: expected a pattern of files, got one that matches none")
        return [found for match in matches for found in (_named(match, oddities) if match.is_dir() else [match])]
    return [path]


def _is_audio(name: str) -> bool:
    return Path(name).suffix.lower() in AUDIO_SUFFIXES


def _searched(top: Path, oddities: Oddities) -> list[Path]:
    """All sessions below a folder, by path, without the runs in it. What is not taken is noted in `oddities`."""
    found: list[Path] = []
    others: Counter[str] = Counter()
    left_by_macos: list[str] = []
    seen: set[str] = set()
    for name, folders, files in os.walk(top, followlinks=True):
        folder = Path(name)
        real = os.path.realpath(folder)  # links may lead to a folder twice, or in a circle
        if real in seen or (folder != top and ({CORPUS, RUN} & set(files) or META in files)):
            folders.clear()  # os.walk then does not go below
            found += [folder] if META in files and AUDIO in files and real not in seen else []
            continue
        seen.add(real)
        folders.sort()
        if call_in(folder) is not None:
            found.append(folder)
            continue
        forks = set(filter(is_fork, files))
        left_by_macos += sorted(forks)
        audio = set(filter(_is_audio, files)) - forks
        found += [folder / file for file in sorted(audio)]
        others.update(Path(file).suffix.lower() or file for file in set(files) - audio - forks)
    unsearched = {suffix: count for suffix, count in sorted(others.items()) if suffix in OTHER_AUDIO_SUFFIXES}
    unsearched_counts = [f"{count} {suffix}" for suffix, count in unsearched.items()]
    remedy = f"'{top}/**/*{next(iter(unsearched))}'" if unsearched else ""
    if not found:
        more = f"; name {', '.join(unsearched_counts)} to read them, as by {remedy}" if unsearched else ""
        kinds = ", ".join(sorted(AUDIO_SUFFIXES))
        raise SettingsError(f"{top}: expected a folder with audio ({kinds}), found none{more}")
    oddities.add(f"audio in {top} that is not searched for, left out: name it, as by {remedy}", unsearched_counts)
    oddities.add(f"files of macOS beside others in {top}, left out", left_by_macos)
    rest = sorted(others.items() - unsearched.items())
    oddities.add(f"other files in {top}", [f"{count} {suffix}" for suffix, count in rest])
    return found


def _listed(path: Path, oddities: Oddities) -> list[Path]:
    lines = [line.strip() for line in text_of(path, oddities.add).splitlines()]
    if any("\0" in line for line in lines):
        raise SettingsError(f"{path}: expected a list of paths as text, got binary data")
    found = [path.parent / line for line in lines if line and not line.startswith("#")]
    if not found:
        raise SettingsError(f"{path}: expected a path in each line, got none")
    return found


def planned(sessions: Sequence[SessionInput], table: CallTable | None, oddities: Oddities) -> list[PlannedCall]:
    """The sessions, each with its row of the table. `NameIndex` finds the file that a row names.

    The column agent_channel (left and right, 1 and 2, or 0 and 1) says on which channel side B is. Rows without a file
    and files without a row are noted in `oddities`. SettingsError if a row fits several files, if a file has several
    rows that differ, or if no row fits any file.
    """
    _note_doubles(sessions, oddities)
    if table is None:
        return [PlannedCall(session) for session in sessions]
    index = NameIndex(map(_known, sessions))
    table = table.naming(index)
    key = table.files[0]
    numbers = index.joined((row[key] for row in table.rows), table.path)
    rows: dict[int, Mapping[str, str]] = {}
    for row in table.rows:
        number = numbers[row[key]]
        if number is None:
            oddities.add(f"rows of {table.path.name} without a file", [row[key] or "an empty cell"])
        elif _said(table, row) != _said(table, first := rows.setdefault(number, row)):
            raise SettingsError(
                f"{table.path}: expected one row of the call {sessions[number].name}, "
                f"got {first[key]!r} and {row[key]!r}, which differ"
            )
    _refuse_none(rows, numbers, sessions, table.path, "rows")
    without = [session.name for number, session in enumerate(sessions) if number not in rows]
    oddities.add(f"files without a row in {table.path.name}", without)
    with_log = [replace(session, log=table.log(rows.get(number, {}))) for number, session in enumerate(sessions)]
    channels = ChannelColumn(map(_agent_channel, table.rows), f"{table.path}, column {AGENT_CHANNEL}")
    if channels.is_ambiguous:
        raise SettingsError(
            f"{table.path}, column {AGENT_CHANNEL}: expected left and right, or another number beside 1: 1 is left if "
            "channels count from 1 (1 and 2), right if they count from 0 (0 and 1)"
        )
    if channels.is_from_0:
        oddities.add(f"{table.path.name} counts channels from 0", [f"{AGENT_CHANNEL} 0 is left, 1 is right"])
    names = {number: channels.name(_agent_channel(row)) for number, row in rows.items()}
    if any(names.values()):
        empty = [sessions[number].name for number, name in sorted(names.items()) if not name]
        oddities.add(f"calls without {AGENT_CHANNEL}, which others have: taken as if the column were not there", empty)
    columns = [table.columns(rows.get(number, {})) for number in range(len(sessions))]
    return [_with_row(session, own, channels) for session, own in zip(with_log, columns, strict=True)]


def _said(table: CallTable, row: Mapping[str, str]) -> tuple[object, ...]:
    return table.columns(row), table.log(row)


def with_labels(calls: Sequence[PlannedCall], path: Path, oddities: Oddities) -> list[PlannedCall]:
    """The calls, each with its labels (perhaps none) from a label file or a folder of them.

    Labels that cannot be read or fit no call are noted in `oddities`. SettingsError if there is no label at all, if no
    label fits any call, or if one fits several calls.
    """
    sessions = [call.session for call in calls]
    found = read_labels(path, oddities)
    by_call = found.by_call([_known(session) for session in sessions], lambda n: sessions[n].swap, oddities)
    _refuse_none(by_call, (label.call for label in found.labels), sessions, path, "labels")
    source = str(real_path(path))
    labels = [(source, by_call.get(number, ())) for number in range(len(calls))]
    return [replace(call, session=replace(call.session, labels=own)) for call, own in zip(calls, labels, strict=True)]


def with_logs(calls: Sequence[PlannedCall], named: NamedInput, oddities: Oddities) -> list[PlannedCall]:
    """The calls, each with its agent's log: by a path (see `joined_logs`), or by the table's column agent_log_file.

    What a row says of the log comes before what `named` says (see `log_of_row`). SettingsError if both name logs, for
    an offset or a session without logs, for an offset that is not a number, and as in `joined_logs`.
    """
    sessions, path, offset_ms = [call.session for call in calls], named.marks, named.marks_offset_ms
    by_table = any(session.log is not None for session in sessions)
    if path is not None and by_table:
        raise SettingsError(f"give --agent-log, or the column {LOG_FILE} of --meta, not both")
    for option, value in (("--agent-log-offset-ms", offset_ms), ("--agent-log-session", named.marks_session)):
        if value is not None and not (path is not None or by_table):
            raise SettingsError(f"{option}: expected --agent-log, or the column {LOG_FILE} of --meta")
    if offset_ms is not None and not math.isfinite(offset_ms):
        raise SettingsError(f"--agent-log-offset-ms: expected milliseconds, got {offset_ms}")
    found = {} if path is None else joined_logs(path, [_known(session) for session in sessions], oddities)
    logged = []
    for number, call in enumerate(calls):
        log = LogFile(found[number]) if number in found else call.session.log
        if log is not None:
            log = log_of_row(
                LogFile(log.path, offset_ms, named.marks_session), call.columns, call.session.name, oddities
            )
        logged.append(replace(call, session=replace(call.session, log=log)))
    return logged


def _refuse_none(
    found: Mapping[int, object], texts: Iterable[str], sessions: Sequence[SessionInput], path: Path, what: str
) -> None:
    """Raise SettingsError if nothing was `found` for any session. texts: what the file calls them, for the message."""
    text = next(iter(texts), None)
    if not found:
        file = _known(sessions[0])[1][0]
        got = "an empty table" if text is None else f"only others, such as {text!r}"
        raise SettingsError(f"{path}: expected {what} of the calls to replay, such as {file}; got {got}")


def _note_doubles(sessions: Sequence[SessionInput], oddities: Oddities) -> None:
    """Note files whose folder and name are the same: one file named twice, or two that differ only in their suffix.

    All but the first of them got a number.
    """
    places: dict[Path, list[str]] = {}
    for session in sessions:
        if session.b is None:
            places.setdefault((session.recording or session.a).with_suffix(""), []).append(session.name)
    doubles = [
        f"{len(names)} are called {place.name}: {', '.join(names)}" for place, names in places.items() if len(names) > 1
    ]
    oddities.add("files of one name, listed with numbers", doubles)


def _known(session: SessionInput) -> tuple[str, list[Path]]:
    """The name of a session, and the paths by which a table may name it; for a recording its folder and its links."""
    own = session.recording is not None and session.a.parent == session.recording
    paths = [*filter(None, [session.recording]), *([] if own else session.paths)]
    return session.name, [path.absolute() for path in paths]


def _with_row(session: SessionInput, columns: dict[str, str], channels: ChannelColumn) -> PlannedCall:
    """The session with its columns. They may exchange its sides (agent_channel), and say what to leave out of it."""
    try:
        leave_out = with_row(session.leave_out, columns)
        return PlannedCall(
            replace(_on_channel(session, channels.name(_agent_channel(columns))), leave_out=leave_out), columns
        )
    except SettingsError as error:
        return PlannedCall(session, columns, str(error))


def _agent_channel(row: Mapping[str, str]) -> str:
    return row.get(AGENT_CHANNEL, "")


def _on_channel(session: SessionInput, channel: str) -> SessionInput:
    """The session with side B on a channel; as it is for an empty text."""
    if not channel:
        return session
    swap = _SWAPPED.get(channel.lower())
    if swap is None:
        raise SettingsError(f"{AGENT_CHANNEL}: expected left, right, 1 or 2, got {channel!r}")
    if swap == session.swap:
        return session
    session.refuse_change()
    words = {other_side(side): path for side, path in session.words.items()}
    return replace(session, swap=swap, words=words)
