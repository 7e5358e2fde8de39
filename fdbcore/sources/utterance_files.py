"""Reads files of utterances as labels: tables that ELAN exports, and subtitles (SubRip and WebVTT)."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from fdbcore.clock import clock_s
from fdbcore.errors import SettingsError
from fdbcore.sources.columns import TimeColumn
from fdbcore.sources.label_set import SIDE_NAMES, Entry, is_known, meanings_in_tier, plain, side_and_kind
from fdbcore.sources.names import Oddities
from fdbcore.sources.tables import MOST_COLUMNS

_FORMS: Final = {
    "hh:mm:ss.ms": r"(?a)\d{1,9}:[0-5]\d:[0-5]\d[.,]\d+",
    "ss.msec": r"(?a)\d{1,9}[.,]\d+",
    "msec": r"(?a)\d{1,9}",
}
"""Forms of times that ELAN writes, by how it ends the headers of their columns, in any language."""
_CUE: Final = re.compile(r"\s*([\d:.,]+)\s+-->\s+([\d:.,]+)")
_VOICE: Final = re.compile(r"<v(?:\.[^\s<>]*)?[ \t]([^<>]*)>")
_PREFIX: Final = re.compile(r"[-–\s]*[\[(]?([^:\])]{1,40})[\])]?:(?!\S)\s*")
_TAG: Final = re.compile(r"<[^<>]*>")

Rows = Sequence[tuple[int, list[str]]]


def is_of_elan(rows: Rows) -> bool:
    """True if a table is one that ELAN exports: by its header, or by a tier, times and an annotation in each row."""
    first = [cell.strip() for cell in next((row for _, row in rows if not _is_comment(row)), [])][:MOST_COLUMNS]
    headed = any(name.lower().endswith(tuple(f"- {form}" for form in _FORMS)) for name in first)
    is_time = [any(re.fullmatch(form, cell) for form in _FORMS.values()) for cell in first]
    return headed or (sum(is_time) > 1 and not is_time[0] and not is_time[-1])


def of_elan(rows: Rows, path: Path, oddities: Oddities) -> Iterator[Entry]:
    """The annotations in a table of ELAN, with or without a header; a tier is named by its side, and perhaps a kind.

    Annotations of a tier that is named by a side alone, none of which is a kind, are speech.
    """
    rows = [(number, [cell.strip() for cell in row]) for number, row in rows if not _is_comment(row)]
    width = min(len(rows[0][1]), MOST_COLUMNS)
    rows = [(number, (row + [""] * width)[:width]) for number, row in rows]
    header = rows[0][1] if not any(re.fullmatch(form, cell) for cell in rows[0][1] for form in _FORMS.values()) else []
    rows = rows[bool(header) :]
    places = range(width if rows else 0)
    forms = [[at for at in places if all(re.fullmatch(form, row[at]) for _, row in rows)] for form in _FORMS.values()]
    columns = next((found for found in forms if len(found) > 1), [])
    texts = [at for at in places if not any(at in found for found in forms)]
    if not columns or not texts:
        raise SettingsError(f"{path}: expected begin, end and annotation in each row of an export of ELAN, found none")
    unit_s = 0.001 if columns is forms[-1] else 1.0
    column = TimeColumn((row[at] for _, row in rows for at in columns), unit_s, str(path))
    spans = {number: [column.seconds(row[at]) or 0.0 for at in columns[:2]] for number, row in rows}
    if any(end_s < start_s for start_s, end_s in spans.values()):  # lengths in place of ends
        spans = {number: [start_s, start_s + length_s] for number, (start_s, length_s) in spans.items()}
    tiers: dict[str, list[tuple[int, str]]] = {}
    for number, row in rows:
        has_tiers = bool(header) and columns[0] < texts[0]  # a column a tier
        named = [(header[at], row[at]) for at in texts] if has_tiers else [(row[texts[0]], row[texts[-1]])]
        for tier, text in named:
            tiers.setdefault(tier, []).extend([(number, text)] if text or not has_tiers else [])
    for tier, found in tiers.items():
        is_speech = plain(tier) in SIDE_NAMES and not any(is_known(text) for _, text in found)
        meanings = [(tier, "speech")] * len(found) if is_speech else meanings_in_tier(tier, [text for _, text in found])
        if not meanings and found:
            oddities.add("tiers of ELAN without a side and kind, left out", [f"{path.name}: {tier!r} ({len(found)})"])
        for (number, _), (side, kind) in zip(found, meanings, strict=False):
            yield Entry(None, side, kind, spans[number][0], spans[number][1], f"{path.name}, line {number}")


def _is_comment(row: Sequence[str]) -> bool:
    return not any(row) or row[0].lstrip('"').startswith("#file:")


def subtitles(text: str, path: Path, oddities: Oddities) -> Iterator[Entry]:
    """The subtitles of a file as speech of who speaks; if each is a side and a kind, which Audacity exports, as labels.

    SettingsError for times that are none.
    """
    cues = list(_cues(re.split(r"\r\n|\r|\n", text), path))
    meanings = [side_and_kind(f"{cue.side}: {cue.kind}") for cue in cues]
    are_labels = all(plain(side) in SIDE_NAMES and is_known(kind) for side, kind in meanings)
    for cue, (side, kind) in zip(cues, meanings, strict=True):
        if are_labels:
            yield cue._replace(side=side, kind=kind)
        elif cue.side:
            yield cue._replace(kind="speech")
        else:
            told = f"{cue.where}: {cue.kind[:30]!r}"
            oddities.add("subtitles without a speaker (expected 'A: ' or <v A>), left out", [told])


def _cues(lines: Sequence[str], path: Path) -> Iterator[Entry]:
    """The words of each speaker in each subtitle: its side is the speaker ("" if none is named), its kind the text."""
    times = {at: match for at, line in enumerate(lines) if (match := _CUE.match(line))}
    for at, match in times.items():
        where = f"{path.name}, line {at + 1}"
        try:
            start_s, end_s = (clock_s(each.replace(",", ".")) for each in match.groups())
        except ValueError:
            start_s = end_s = None
        if start_s is None or end_s is None:
            raise SettingsError(f"{path.parent / where}: expected times such as 00:02.793, got {lines[at][:60]!r}")
        end = next((n for n in range(at + 1, len(lines)) if n in times or not lines[n].strip()), len(lines))
        for speaker, said in _said(lines[at + 1 : end]):
            yield Entry(None, speaker, said, start_s, end_s, where)


def _said(lines: Sequence[str]) -> list[tuple[str, str]]:
    """Speaker and text of each part of a subtitle: by <v NAME>, or by "NAME: " at the beginning of a line."""
    before, *voices = _VOICE.split(" ".join(lines))
    parts = zip(["", *voices[::2]], [before, *voices[1::2]], strict=True)
    said = [(speaker, [text]) for speaker, text in parts] if voices else []
    for line in [] if voices else lines:
        named = _PREFIX.match(bare := _TAG.sub("", line))
        if named is not None or not said:
            said.append((named[1], [bare[named.end() :]]) if named else ("", [bare]))
        else:
            said[-1][1].append(bare)
    texts = ((speaker.strip(), _TAG.sub("", " ".join(each)).strip()) for speaker, each in said)
    return [(speaker, text) for speaker, text in texts if text]
