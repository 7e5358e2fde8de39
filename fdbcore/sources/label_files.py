"""Reads label files of other tools: tables, TextGrid, RTTM, Audacity labels, subtitles; one or a folder of them.

An entry that cannot be read as a label is left out. It is noted with what is wrong and its place in the file.
"""

import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

from fdbcore.errors import SettingsError, nearest
from fdbcore.recording.form import MOST_TICKS
from fdbcore.runtime.numbers import number_of, whole_of
from fdbcore.runtime.texts import text_of
from fdbcore.sources.columns import ChannelColumn, TimeColumn
from fdbcore.sources.label_set import (
    EVENTS,
    KIND_NAMES,
    SIDE_NAMES,
    Entry,
    FileLabel,
    LabelSet,
    Parser,
    meanings_in_tier,
    plain,
    side_and_kind,
)
from fdbcore.sources.names import FILE_COLUMNS, Oddities
from fdbcore.sources.tables import table_rows
from fdbcore.sources.utterance_files import is_of_elan, of_elan, subtitles
from fdbcore.types import TICKS_PER_S

_SUGGESTED: Final = 100  # so many unknown names are compared with the known ones at most
_CENSORED: Final = "(censored)"  # our exports mark so what only the end of the recording decided

# Seconds per unit of a time, by the name of its column.
_START: Final = {"start_s": 1.0, "start": 1.0, "begin_s": 1.0, "begin": 1.0, "onset": 1.0, "start_ms": 0.001}
_END: Final = {"end_s": 1.0, "end": 1.0, "stop": 1.0, "offset": 1.0, "end_ms": 0.001}
_LENGTH: Final = {"duration_s": 1.0, "duration": 1.0, "length_s": 1.0, "length": 1.0, "duration_ms": 0.001}
_UNITS: Final = _START | _END | _LENGTH
_SIDE_COLUMNS: Final = ("side", "channel", "speaker")
_KIND_COLUMNS: Final = ("kind", "label", "type", "event")
_COLUMNS: Final = (_SIDE_COLUMNS, _KIND_COLUMNS, tuple(_START), tuple(_END), tuple(_LENGTH), ("censored",))
"""The names of each column of a table of labels; the first three are needed."""


def read_labels(path: Path, oddities: Oddities) -> LabelSet:
    """The labels of a file, or of all label files in a folder and below it. What is left out is noted in `oddities`.

    A TextGrid, an Audacity track, and a CSV without a column of files belong to the call that has the file's name and,
    if the file lies in a folder below `path`, lies in a folder of the same name. SettingsError if a single file cannot
    be read (in a folder, such a file is noted instead), or if there is no label at all.
    """
    files = sorted(file for file in path.rglob("*") if _suffix(file) in PARSERS) if os.path.isdir(path) else [path]
    entries_of: dict[Path, list[Entry]] = {}
    for file in files:
        try:
            entries_of[file] = list(_parser(file)(text_of(file, oddities.add), file, oddities))
        except SettingsError as error:
            if file == path:
                raise
            oddities.add("label files that cannot be read, left out", [str(error)])
    channels = ChannelColumn((entry.side for entries in entries_of.values() for entry in entries), f"{path}: sides")
    if channels.is_from_0:
        oddities.add("labels that count channels from 0", [f"{path.name}: 0 is left, 1 is right"])
    labels: list[FileLabel] = []
    named = False
    for file, entries in entries_of.items():
        call = _call_of_file(file, path)
        entries = [entry._replace(side=channels.name(entry.side)) for entry in entries]
        found = [label for entry in entries if (label := _label(entry, call, oddities)) is not None]
        oddities.add("label files without a label", [] if found else [str(file)])
        named = named or any(entry.call is not None for entry in entries)
        labels += found
    if not labels:
        kinds = ", ".join(sorted(PARSERS))
        why = next((f": {what}: {names[0]}" for what, names in oddities.found.items()), "")
        raise SettingsError(f"{path}: expected labels ({kinds}), found none{why}")
    return LabelSet(path, labels, is_one_call=len(files) == 1 and not named)


def _suffix(path: Path) -> str:
    return path.suffix.lower()


def _call_of_file(path: Path, top: Path) -> str:
    """The name of the call that a label file belongs to: its folders below `top`, and its own name without suffix."""
    below = path.relative_to(top) if path != top else Path(path.name)
    return (below.parent / path.stem.removesuffix(".labels")).as_posix()  # Audacity exports NAME.labels.txt


def _parser(path: Path) -> Parser:
    parser = PARSERS.get(_suffix(path))
    if not os.path.exists(path):
        raise SettingsError(f"{path}: expected a label file, or a folder of them, got no such file")
    if parser is None:
        raise SettingsError(f"{path}: expected a label file ({', '.join(sorted(PARSERS))}), got {_suffix(path)!r}")
    return parser


def _label(entry: Entry, call: str, oddities: Oddities) -> FileLabel | None:
    """The label that an entry stands for; None if it is not a label, which is noted unless it is one of EVENTS.

    call: the call it belongs to if the entry names none.
    """
    if plain(entry.kind) in EVENTS:
        return None
    kind, place = KIND_NAMES.get(plain(entry.kind)), SIDE_NAMES.get(plain(entry.side))
    if kind is None:
        near = nearest(plain(entry.kind), KIND_NAMES) if len(oddities.found) < _SUGGESTED else ""
        oddities.add(f"labels of unknown kind {entry.kind!r}{near}, left out", [entry.where])
        return None
    if place is None:
        near = nearest(plain(entry.side), SIDE_NAMES) if len(oddities.found) < _SUGGESTED else ""
        oddities.add(f"labels of unknown side {entry.side!r} (expected A or B){near}, left out", [entry.where])
        return None
    start_s, end_s = entry.start_s, entry.end_s
    if kind == "turn_end":  # a moment: the end of its span
        start_s = end_s = start_s if end_s is None else end_s
    if start_s is None or end_s is None or not 0 <= start_s <= end_s < math.inf:
        told = " to ".join("no time" if time_s is None else f"{time_s:g} s" for time_s in (start_s, end_s))
        oddities.add("labels whose times are not a span, left out", [f"{entry.where}: {told}"])
        return None
    if end_s * TICKS_PER_S > MOST_TICKS:
        oddities.add("labels later than a week, left out: in samples or ms?", [f"{entry.where}: {end_s:g} s"])
        return None
    if kind != "turn_end" and start_s == end_s:
        oddities.add(f"labels of kind {kind} without a length, left out", [entry.where])
        return None
    return FileLabel(entry.call or call, place, kind, start_s, end_s)


def _number(text: str) -> float | None:
    """The number that a text states; None if it is not a number."""
    try:
        return number_of(text)
    except ValueError:
        return None


def _csv(text: str, path: Path, oddities: Oddities) -> Iterator[Entry]:
    """The entries of a table with a header. The columns may have any order, and unknown ones are skipped."""
    all_rows = [*table_rows(path, text)]
    if is_of_elan(all_rows):
        yield from of_elan(all_rows, path, oddities)
        return
    rows = iter(all_rows)
    header = [plain(name) for name in next(rows, (0, []))[1]]
    side, kind, start, end, length, censored, call = (_column(header, names) for names in (*_COLUMNS, FILE_COLUMNS))
    if side is None or kind is None or start is None:
        got, what = ", ".join(header) or "none", ""
        if not text.strip():
            what = "the table is empty: "
        elif all(each is None for each in (side, kind, start, end, call)):
            what = "none of its headers is known: "
        raise SettingsError(f"{path}: {what}expected the columns side, kind, start_s, end_s; got {got}")
    whole: list[tuple[str, list[str]]] = []
    for line, row in rows:
        where = f"{path.name}, line {line}"
        if len(row) >= len(header):
            whole.append((where, row))
        elif any(cell.strip() for cell in row):
            oddities.add(f"rows with fewer than {len(header)} fields, left out", [where])
    columns = _time_columns(path, header, [at for at in (start, end, length) if at is not None], whole)
    for where, row in whole:
        is_censored = censored is not None and row[censored].strip().lower() == "true"
        if is_censored and KIND_NAMES.get(plain(row[kind])) != "speech":  # censored speech was still heard
            continue
        if not any(map(str.strip, row)):
            continue
        times: dict[int | None, float | None] = {}
        for at, column in columns.items():
            try:
                times[at] = column.seconds(row[at])
            except ValueError:
                oddities.add("labels whose times are not numbers, left out", [f"{where}, {header[at]}: {row[at]!r}"])
                break
        else:
            start_s, end_s, length_s = times[start], times.get(end), times.get(length)
            if end is None and start_s is not None and length_s is not None:
                end_s = start_s + length_s
            name = row[call].strip() if call is not None else None
            yield Entry(name, row[side].strip(), row[kind].strip(), start_s, end_s, where)


def _time_columns(
    path: Path, header: Sequence[str], columns: Sequence[int], rows: Sequence[tuple[str, list[str]]]
) -> dict[int, TimeColumn]:
    """The reader of each column of times: columns of one unit are read alike, since one program wrote them."""
    units = {at: _UNITS[header[at]] for at in columns}
    read = {
        unit_s: TimeColumn((row[at] for _, row in rows for at in columns if units[at] == unit_s), unit_s, str(path))
        for unit_s in dict.fromkeys(units.values())
    }
    return {at: read[unit_s] for at, unit_s in units.items()}


def label_columns(header: Sequence[str]) -> set[str]:
    """The columns of a CSV that say what each row labels; the others tell of its call. Empty if rows are no labels."""
    plain_names = [plain(name) for name in header]
    found = [_column(plain_names, names) for names in _COLUMNS]
    return {header[at] for at in found if at is not None} if None not in found[:3] else set()


def _lines(text: str) -> list[str]:
    """The lines of a file. str.splitlines also splits at characters that may be part of a name (U+2028, ...)."""
    return re.split(r"\r\n|\r|\n", text)


def _column(header: Sequence[str], names: Sequence[str]) -> int | None:
    return next((header.index(name) for name in names if name in header), None)


def rttm_name(call: str) -> str:
    """The name of a call as one field of RTTM: blanks, control characters and % are escaped as in a URL (%20)."""
    return re.sub(r"[\s%\x00-\x1f\x7f]", lambda found: quote(found[0], safe=""), call)


def _rttm(text: str, path: Path, oddities: Oddities) -> Iterator[Entry]:
    """The SPEAKER lines of an RTTM file (NIST RT-09), as speech.

    The side is the speaker's name; if that is not a known name and nobody else speaks on the channel, it is the
    channel. The names of calls are escaped as in `rttm_name`.
    """
    speakers: dict[tuple[str, str], set[str]] = {}
    for fields in map(str.split, _lines(text)):
        if fields[:1] == ["SPEAKER"] and len(fields) >= 8:
            speakers.setdefault((fields[1], fields[2]), set()).add(fields[7])
    for call in {call for call, _ in speakers}:
        of_call = [(channel, name) for (each, channel), found in speakers.items() if each == call for name in found]
        if len(of_call) == 1 and plain(of_call[0][1]) not in SIDE_NAMES:
            only = f"{unquote(call)}: {of_call[0][1]!r} on channel {of_call[0][0]}"
            oddities.add("calls with one speaker in RTTM, taken as the side on its channel", [only])
    for number, line in enumerate(_lines(text), 1):
        fields, where = line.split(), f"{path.name}, line {number}"
        if not fields or fields[0].startswith(";"):
            continue
        if fields[0] != "SPEAKER":
            oddities.add(f"RTTM lines of type {fields[0]}, left out", [where])
        elif len(fields) < 8:
            oddities.add("RTTM lines with fewer than 8 fields, left out", [where])
        else:
            start, length = _number(fields[3]), _number(fields[4])
            end = None if start is None or length is None else start + length
            alone = len(speakers[fields[1], fields[2]]) == 1
            side = fields[2] if alone and plain(fields[7]) not in SIDE_NAMES else fields[7]
            yield Entry(unquote(fields[1]), side, "speech", start, end, where)


def _audacity(text: str, path: Path, oddities: Oddities) -> Iterator[Entry]:
    """Lines of start, end and a text that begins with the side and the kind: "A pause", "A interruption: cut off"."""
    tabbed = [(number, line.split("\t")) for number, line in enumerate(_lines(text), 1)]
    if is_of_elan(tabbed):
        yield from of_elan(tabbed, path, oddities)
        return
    split = [line.split("\t", 2) for line in _lines(text)]
    column = TimeColumn((cell for fields in split if len(fields) == 3 for cell in fields[:2]), 1.0, str(path))
    for number, fields in enumerate(split, 1):
        if not "".join(fields).strip() or fields[0] == "\\":  # of the same label: its range of frequencies
            continue
        where = f"{path.name}, line {number}"
        if len(fields) < 3:
            oddities.add("lines that are not start, end and text, left out", [where])
            continue
        if fields[2].endswith(_CENSORED):
            continue
        side, kind = side_and_kind(fields[2])
        try:
            start_s, end_s = map(column.seconds, fields[:2])
        except ValueError:
            start_s = end_s = None
        yield Entry(None, side, kind, start_s, end_s, where)


_TOKEN: Final = re.compile(
    r'"((?:[^"]|"")*)"'  # a quote in a text is doubled
    r"|(?<!\S)(-?\.?\d[\w.+-]*)(?!\S)"
    r"|(?<!\S)<(\w+)>"
    r"|(?<!\S)![^\n]*"  # a comment
)


class _Tokens:
    """The tokens that Praat reads in a text file: texts in double quotes, and free-standing numbers and flags.

    Everything else is skipped, so the long and the short form read alike.
    """

    def __init__(self, text: str, path: Path) -> None:
        self._found = (match for match in _TOKEN.finditer(text) if match[0][0] != "!")
        self._path = path

    def text(self) -> str:
        return self._next(1, "a text in quotes").replace('""', '"')

    def number(self, read: Callable[[str], float] = number_of) -> float:
        written = self._next(2, "a number")
        try:
            return read(written)
        except ValueError as error:
            raise SettingsError(f"{self._path}: {error}") from None

    def count(self) -> int:
        return int(self.number(whole_of))

    def flag(self) -> str:
        return self._next(3, "<exists>")

    def _next(self, group: int, what: str) -> str:
        match = next(self._found, None)
        if match is None or match[group] is None:
            got = f"got {match[0]!r} at character {match.start()}" if match else "the file ends"
            raise SettingsError(f"{self._path}: expected a TextGrid with {what} here, {got}")
        return match[group]


def _textgrid(text: str, path: Path, oddities: Oddities) -> Iterator[Entry]:
    """The intervals and points of a TextGrid, whose tiers are named by side and kind ("A pause").

    A tier may be named by only one of the two; the text of each interval then gives the other.
    """
    tokens = _Tokens(text, path)
    if (form := tokens.text()) != "ooTextFile" or (form := tokens.text()) != "TextGrid":
        raise SettingsError(f"{path}: expected a TextGrid in one of Praat's text forms, got {form!r}")
    tokens.number(), tokens.number()  # start and end of the file
    if tokens.flag() == "exists":
        for _ in range(tokens.count()):
            yield from _tier(tokens, path, oddities)


def _tier(tokens: _Tokens, path: Path, oddities: Oddities) -> Iterator[Entry]:
    is_points, name = tokens.text() == "TextTier", tokens.text()
    tokens.number(), tokens.number()  # start and end of the tier
    marks: list[tuple[float, float, str]] = []
    for _ in range(tokens.count()):
        start = tokens.number()
        end = start if is_points else tokens.number()
        marks.append((start, end, tokens.text().strip()))
    has_kind = plain(side_and_kind(name)[1]) in KIND_NAMES
    marks = [mark for mark in marks if mark[2] or (is_points and has_kind)]  # a point needs no text: its time is enough
    marks = [mark for mark in marks if not mark[2].endswith(_CENSORED)]
    meanings = meanings_in_tier(name, [text for *_, text in marks])
    if not meanings:
        tier = [f"{path.name}: {name!r} ({len(marks)})"] if marks else []
        oddities.add("TextGrid tiers without a kind in their name or their texts, left out", tier)
        return
    for (start, end, text), (own_side, own_kind) in zip(marks, meanings, strict=True):
        yield Entry(None, own_side, own_kind, start, end, f"{path.name}, tier {name!r} at {start:g} s: {text[:30]!r}")


PARSERS: Final[Mapping[str, Parser]] = {
    ".csv": _csv,
    ".tsv": _csv,
    ".rttm": _rttm,
    ".txt": _audacity,
    ".textgrid": _textgrid,
    ".srt": subtitles,
    ".vtt": subtitles,
}
