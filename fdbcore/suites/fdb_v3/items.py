"""A case as an item of the document: what was said, called and expected, and what it is worth."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fdbcore.measures.reading import Reading
from fdbcore.suites.fdb_v3.cases import V3Case
from fdbcore.suites.fdb_v3.compat.measures import failure, matches_exactly
from fdbcore.suites.fdb_v3.compat.rows import values_of
from fdbcore.suites.fdb_v3.judging.questions import labelled_pairs
from fdbcore.suites.fdb_v3.ours.rows import OursItem
from fdbcore.types import TICKS_PER_S, Span

if TYPE_CHECKING:
    from fdbcore.measures.tool_calls import HeldToolCall
    from fdbcore.suites.fdb_v3.document_types import V3Call, V3Item


def item_of(case: V3Case, condition: str, ours: OursItem) -> V3Item:
    """The item of a case. ours: our measures of it."""
    record, log = case.record, case.log
    calls = [_call(call) for call in case.calls]
    speech = _user_speech(case)
    ends = [end for _, end in (*speech, *_seconds(case.b_speech))]
    ends += [call["end_s"] or call["start_s"] or 0.0 for call in calls]
    length_s = record["audio"].get("length_s", 0.0) if case.path is None else Reading(case.path).n_ticks / TICKS_PER_S
    return {
        "condition": condition,
        "system": case.system,
        "trial": case.trial,
        "line": case.line,
        "call": None if case.path is None else str(case.path),
        "record": record["id"],
        "scenario": record["scenario"],
        "speaker": record["speaker"],
        "domain": record["domain"],
        "difficulty": record["difficulty"],
        "disfluencies": record.get("disfluencies", []),
        "rollback": record.get("rollback_test", False),
        "script": record.get("script", ""),
        "length_s": max(length_s, *ends, 0.0) if ends else length_s,
        "user_end_s": None if case.user_end_tick is None else case.user_end_tick / TICKS_PER_S,
        "user_speech": speech,
        "system_speech": _seconds(case.b_speech),
        "transcript": None if case.b_words is None else log.transcript,
        "calls": calls,
        "as_released": record.get("as_released", []),
        "repaired": record.get("repaired", []),
        "repairs": [repair["reason"] for repair in record.get("repairs", ())],
        "state": case.state,
        "matched": [
            made is not None and matches_exactly(expected.args, made.args)
            for expected, made in labelled_pairs(case, "as_released")
        ],
        "verdicts": case.verdicts,
        "values": {**{name: value for name, value in ours.values.items() if value is not None}, **values_of(case)},
        "compat_failure": failure(log),
        "failure": ours.failure,
    }


def _user_speech(case: V3Case) -> list[tuple[float, float]]:
    if case.path is not None:
        return _seconds((int(start), int(end)) for start, end in Reading(case.path).dialogue.ipus["A"])
    return [(word.start_s, word.end_s) for word in case.a_words or ()]


def _seconds(spans: Iterable[Span]) -> list[tuple[float, float]]:
    return [(start / TICKS_PER_S, end / TICKS_PER_S) for start, end in spans]


def _call(call: HeldToolCall) -> V3Call:
    start, end = call["complete_tick"], call["end_tick"]
    return {
        "name": call["name"],
        "arguments": call["arguments"],
        "status": call["status"],
        "start_s": None if start is None else start / TICKS_PER_S,
        "end_s": None if end is None else end / TICKS_PER_S,
        "result": call.get("result"),
        "error": call.get("error"),
    }
