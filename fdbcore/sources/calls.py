"""From what a user names (folders, patterns, lists) to the calls of a corpus, and a table of columns joined to them."""

from __future__ import annotations

import glob
import os
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
from fdbcore.sources.names import NameIndex, Oddities, is_fork, real_path
from fdbcore.sources.pairs import Pair, paired_by_patterns, paired_by_table
from fdbcore.sources.sessions import V1_FILES, SessionInput, session_inputs
from fdbcore.sources.tables import CallTable, read_table

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
    pair: tuple[str, str] | None = None,
    meta: str | os.PathLike[str] | None = None,
    labels: str | os.PathLike[str] | None = None,
) -> list[PlannedCall]:
    """The calls that `paths` (see `named_files`), or the files of both sides, name; joined with what is known of them.

    pair: patterns of the files of side A and of side B, where each call has two (see `paired_by_patterns`). meta: a
    table of columns, which may name the two files itself; labels: what people have labelled. What fits nothing is added
    to `oddities`. Raises InputError for what cannot be used.
    """
    table = None if meta is None else read_table(Path(meta))
    named = named_files(paths, oddities)
    searched = named != list(paths)
    pairs = _paired(named, pair, table, oddities) if file_a is None and file_b is None else []
    sessions = session_inputs(
        [] if pairs else named, file_a, file_b, pairs=pairs, swap=swap, offset_ms=offset_ms, searched=searched
    )
    calls = planned(sessions, table, oddities)
    return calls if labels is None else with_labels(calls, Path(labels), oddities)


def _paired(
    files: Sequence[Path], patterns: tuple[str, str] | None, table: CallTable | None, oddities: Oddities
) -> list[Pair]:
    """The two files of each call, where patterns or a table say which; none where neither does."""
    names_both = table is not None and len(table.files) == 2
    if patterns is not None and names_both:
        raise SettingsError("give --pair, or the columns a_file and b_file of --meta, not both")
    if patterns is not None:
        return paired_by_patterns(files, patterns, oddities)
    return paired_by_table(files, table, oddities) if table is not None and names_both else []


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


def planned(sessions: Sequence[SessionInput], table: CallTable | None, oddities: Oddities) -> list[PlannedCall]:
    """The sessions with their rows of the table, joined as `NameIndex` does, by path before name.

    The column agent_channel (left, right, 1 or 2) says where side B is. Rows without files and files without rows are
    noted in `oddities`. Raises SettingsError where a row could be of several files, or a file has several rows that
    differ, and where no row is of any file.
    """
    _note_doubles(sessions, oddities)
    if table is None:
        return [PlannedCall(session) for session in sessions]
    key = table.files[0]
    numbers = NameIndex(map(_known, sessions)).joined((row[key] for row in table.rows), table.path)
    rows: dict[int, Mapping[str, str]] = {}
    for row in table.rows:
        number = numbers[row[key]]
        if number is None:
            oddities.add(f"rows of {table.path.name} without a file", [row[key]])
        elif table.columns(row) != table.columns(first := rows.setdefault(number, row)):
            raise SettingsError(
                f"{table.path}: expected one row of the call {sessions[number].name}, "
                f"got {first[key]!r} and {row[key]!r}, which differ"
            )
    _refuse_none(rows, numbers, sessions, table.path, "rows")
    without = [session.name for number, session in enumerate(sessions) if number not in rows]
    oddities.add(f"files without a row in {table.path.name}", without)
    return [_with_row(session, table.columns(rows.get(number, {}))) for number, session in enumerate(sessions)]


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
