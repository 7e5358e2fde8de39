"""Reads which parts of a call a user leaves out: times as people write them, and spans of them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from fdbcore.clock import clock_s
from fdbcore.errors import SettingsError
from fdbcore.recording.left_out import NO_END, LeftOut, kept_spans
from fdbcore.types import TICKS_PER_S, clock_text

FROM: Final = "--from"
TO: Final = "--to"
FROM_COLUMN: Final = "measure_from"
TO_COLUMN: Final = "measure_to"
LEAVE_OUT: Final = "leave_out"
"""Columns of a table of calls. They are not called from and to, since telephone systems call the two numbers so."""

SLACK_TICKS: Final = TICKS_PER_S
"""A span may reach this far past the end of a call: players and reports show its length in whole seconds."""

_SECONDS: Final = re.compile(r"\d{1,9}(?:\.\d*)?", re.ASCII)
_SPAN: Final = re.compile(r"(-?[\d:.]+)\s*(?:-|–|to)\s*(-?[\d:.]+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class AskedSpan:
    """A span to leave out, in seconds of a call; negative: from its end. end_s: None for the end itself.

    by: what asks for it, such as "--from".
    """

    start_s: float
    end_s: float | None
    by: str

    @property
    def is_from_end(self) -> bool:
        """True if an edge counts from the end of the call."""
        return self.start_s < 0 or (self.end_s or 0.0) < 0


def asked_spans(spans: Sequence[tuple[float, float | None]] | None) -> list[AskedSpan] | None:
    """Spans of seconds that a program gives, as `AskedSpan`s; None if it gives none."""
    return None if spans is None else [AskedSpan(start_s, end_s, LEAVE_OUT) for start_s, end_s in spans]


def measured_between(start: str | None, end: str | None) -> list[AskedSpan] | None:
    """Spans that --from and --to leave out; None if neither is given. SettingsError for what is no time."""
    return None if start is None and end is None else _outside(start, end, FROM, TO)


def with_row(asked: Sequence[AskedSpan] | None, columns: Mapping[str, str]) -> Sequence[AskedSpan] | None:
    """Spans left out by a row of a table: its columns replace --from and --to of `asked`. SettingsError as above."""
    start, end, spans = (columns.get(name) or None for name in (FROM_COLUMN, TO_COLUMN, LEAVE_OUT))
    if start is None and end is None and spans is None:
        return asked
    replaced = {FROM: start, TO: end}
    found = [span for span in asked or () if replaced.get(span.by) is None]
    found += _outside(start, end, f"column {FROM_COLUMN}", f"column {TO_COLUMN}")
    by = f"column {LEAVE_OUT}"
    texts = filter(None, map(str.strip, re.split("[;,]", spans or "")))
    return found + [AskedSpan(*_span(text, by), by) for text in texts]


def _outside(start: str | None, end: str | None, by_start: str, by_end: str) -> list[AskedSpan]:
    start_s = None if start is None else seconds_of(start, by_start)
    end_s = None if end is None else seconds_of(end, by_end)
    if start_s is not None and end_s is not None and start_s * end_s >= 0 and start_s >= end_s:
        raise SettingsError(f"expected {by_start} before {by_end}, got {start} and {end}")
    before = [] if start_s is None else [AskedSpan(0.0, start_s, by_start)]
    return before + ([] if end_s is None else [AskedSpan(end_s, None, by_end)])


def seconds_of(text: str, by: str) -> float:
    """A time in seconds, from "12.5", "3:40" or "1:02:03"; with a minus it counts from the end. Else SettingsError."""
    sign, digits = (-1, text.strip()[1:]) if text.strip().startswith("-") else (1, text.strip())
    expected = "a time such as 12.5, 3:40 or 1:02:03"
    try:
        if (clock := clock_s(digits)) is not None:
            return sign * clock
        if _SECONDS.fullmatch(digits):
            if not 0 < float(digits) < 1 / TICKS_PER_S:
                return sign * float(digits)
            expected += f", or 0 (a spreadsheet's fraction of a day, {clock_text(float(digits) * 86_400)}?)"
    except ValueError as error:
        expected = str(error) if ":" in digits else expected
    raise SettingsError(f"{by}: expected {expected}, got {text!r}")


def _span(text: str, by: str) -> tuple[float, float]:
    found = _SPAN.fullmatch(text)
    if found is None:
        raise SettingsError(f"{by}: expected spans such as 0:00-0:12; 1:30-2:05, got {text!r}")
    return seconds_of(found[1], by), seconds_of(found[2], by)


def in_ticks(asked: Sequence[AskedSpan], n_ticks: int | None) -> list[LeftOut]:
    """The spans to leave out of a call of `n_ticks` (None: not known yet), in ticks and sorted, without empty ones.

    The end of a call is NO_END. A span that overlaps one of another origin, such as a column's one of --from, is cut
    there: both are left out. SettingsError if a span ends before it begins, overlaps another of its own origin, or
    counts from an end that is not known; and as for `within_call`.
    """
    found = sorted((_in_ticks(span, n_ticks) for span in asked), key=lambda span: span.start_tick)
    found = _apart([span for span in found if span.start_tick < span.end_tick])
    if n_ticks is not None:
        within_call(found, n_ticks)
    return found


def _apart(spans: Sequence[LeftOut]) -> list[LeftOut]:
    """Sorted spans, each without what an earlier one leaves out. SettingsError if two of one origin overlap."""
    last_of: dict[str, LeftOut] = {}
    found, reached = [], 0
    for span in spans:
        before = last_of.get(span.by)
        if before is not None and span.start_tick < before.end_tick:
            raise SettingsError(f"expected spans that do not overlap, got {before.text}, and {span.text}")
        last_of[span.by] = span
        if span.end_tick > reached:
            found.append(replace(span, start_tick=max(span.start_tick, reached)))
            reached = span.end_tick
    return found


def _in_ticks(span: AskedSpan, n_ticks: int | None) -> LeftOut:
    start = _tick(span.start_s, n_ticks, span.by)
    end = NO_END if span.end_s is None else _tick(span.end_s, n_ticks, span.by)
    if start > end:
        raise SettingsError(f"{span.by}: expected the start before the end, got {span.start_s:g} s to {span.end_s:g} s")
    return LeftOut(start, end, span.by)


def _tick(edge_s: float, n_ticks: int | None, by: str) -> int:
    if edge_s < 0 and n_ticks is None:
        raise SettingsError(f"{by}: expected a time from the start, as the file does not state its length")
    tick = round(edge_s * TICKS_PER_S) + (n_ticks or 0 if edge_s < 0 else 0)
    if tick < 0:
        raise SettingsError(f"{by}: expected a time within the call, got one {-edge_s:g} s before its end")
    return tick


def within_call(spans: Sequence[LeftOut], n_ticks: int) -> list[LeftOut]:
    """The spans, cut at the end of the call, which is `n_ticks` long.

    SettingsError if one lies outside the call, or if nothing remains to be measured.
    """
    for span in spans:
        reached = span.start_tick if span.end_tick == NO_END else span.end_tick
        if reached > n_ticks + SLACK_TICKS:
            length = clock_text(n_ticks / TICKS_PER_S)
            raise SettingsError(f"expected spans within the call, which lasts {length}, got {span.text}")
    cut = [replace(span, end_tick=min(span.end_tick, n_ticks)) for span in spans if span.start_tick < n_ticks]
    if n_ticks and not kept_spans(cut, n_ticks):
        raise SettingsError(f"expected something to measure, got a call that is left out as a whole: {cut[0].text}")
    return cut
