"""Reads an agent's own log: what it noted, and when, in the formats of agents and their frameworks.

The content of the file decides the format: lines {"time": ..., "name": ...}, or a list of them; traces and logs of
OpenTelemetry as OTLP JSON, from any framework; session reports and JSON logs of LiveKit Agents
(`SessionReport.to_dict`, 1.8); logs of Pipecat (loguru lines, 1.14); or calls of Vapi (the call object, its artifact,
or the end-of-call report). A log has its own clock: only differences of its times count.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from fdbcore.clock import iso_s
from fdbcore.errors import InputError
from fdbcore.runtime.json_values import parsed_json
from fdbcore.runtime.numbers import number_of

_NS: Final = 1e-9
LATEST_S: Final = 1e11  # no log has a later time: since 1970, these are three thousand years
_DOCUMENTS: Final = frozenset({"resourceSpans", "resourceLogs", "events", "chat_history", "artifact", "messages"})
"""A file with one of these keys is one JSON document; any other file is a list, or is read line by line."""
_LOGURU: Final = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+) \| +\w+ +\| [^ ]*:\d+ - (.*)")
_FIRST_OUTPUT: Final = (
    "metrics.ttfb",
    "lk.response.ttft",
    "lk.response.ttfb",
    "gen_ai.response.time_to_first_chunk",
    "gen_ai.server.time_to_first_token",
)
"""Attributes of spans that hold the seconds from their start to the first token or byte.

Pipecat also sets `metrics.ttfb` on its spans `stt`, which begin once the transcript is there, and on spans `tts` that
have ended before the first byte, where it is the value of the sentence before. Neither is an output of the span.
"""
_PIPECAT: Final = (
    (re.compile(r"(?:.*: ?|\S+ )?((?:VAD user|User|Bot) (?:started|stopped) speaking).*"), "{0}"),
    (re.compile(r"(\w+)#\d+ TTFB: .*"), "{0} first output"),
    (re.compile(r"(\w+)#\d+: Generating (?:\w+ )?(?:TTS|chat|response).*"), "{0} asked"),
)
"""Messages in Pipecat's logs that report a stage, and the name of the stage."""
_FORMS: Final = '{"time": seconds or ISO 8601, "name": text}, or a log of OpenTelemetry, LiveKit, Pipecat or Vapi'


class Mark(NamedTuple):
    """One entry of a log. time_s: on the log's own clock."""

    time_s: float
    name: str


class LogFile(NamedTuple):
    """The file of a call's log. offset_ms: what to add to its times, None to find it out."""

    path: Path
    offset_ms: float | None = None


def read_marks(path: Path) -> list[Mark]:
    """The entries of a log, sorted by time. InputError if a line cannot be used (it is named), or if there is none."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    document = _document(text)
    try:
        if isinstance(document, list):
            numbered = enumerate(document, 1)
            marks = [mark for number, entry in numbered for mark in _of_json(entry, f"{path}: entry {number}")]
        else:
            marks = list(_of_lines(text.splitlines(), path) if document is None else _of_document(document))
    except InputError:
        raise
    except KeyError as error:
        raise InputError(f"{path}: expected {_FORMS}, got one in which an entry has no {error}") from None
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{path}: expected {_FORMS}, got one with a fault: {error}") from None
    if not marks:
        raise InputError(f"{path}: expected marks, got {'an empty file' if not text.strip() else 'none in it'}")
    marks.sort()
    if abs((far := max(marks, key=lambda mark: abs(mark.time_s))).time_s) > LATEST_S:
        raise InputError(f"{path}: expected seconds, at most {LATEST_S:g}, got {far.time_s:g}: {far.name[:80]!r}")
    return marks


def _document(text: str) -> Mapping[str, Any] | list[Any] | None:
    """The file as one JSON value if it is a known document, or a list; None if it must be read line by line."""
    try:
        found = parsed_json(text)
    except ValueError:
        return None
    if isinstance(found, list):
        return found
    if isinstance(found, dict) and isinstance(found.get("message"), dict):  # what Vapi sends to servers
        found = found["message"]
    return found if isinstance(found, dict) and not _DOCUMENTS.isdisjoint(found) else None


def _of_document(found: Mapping[str, Any]) -> Iterator[Mark]:
    if "resourceSpans" in found or "resourceLogs" in found:
        yield from _otlp(found)
    elif "events" in found or "chat_history" in found:
        yield from _livekit_report(found)
    else:
        yield from _vapi(found.get("artifact", found)["messages"])


def _of_lines(lines: Sequence[str], path: Path) -> Iterator[Mark]:
    is_loguru = False
    for number, line in enumerate(lines, 1):
        if found := _LOGURU.fullmatch(line.rstrip()):
            is_loguru = True
            yield from _pipecat(found[1], found[2])
        elif line.strip() and not is_loguru:  # in loguru's logs such a line continues the message above it
            try:
                entry = parsed_json(line)
            except ValueError:
                entry = line
            yield from _of_json(entry, f"{path}: line {number}")


def _of_json(values: object, place: str) -> Iterator[Mark]:
    if not isinstance(values, dict):
        raise _unknown(values, place)
    if "resourceSpans" in values or "resourceLogs" in values:
        yield from _otlp(values)
    elif "timestamp" in values and "message" in values:  # LiveKit's JSON log
        yield Mark(iso_s(values["timestamp"]), str(values["message"]))
    else:
        yield _own(values, place)


def _unknown(found: object, place: str) -> InputError:
    text = found if isinstance(found, str) else json.dumps(found)
    return InputError(f"{place}: expected {_FORMS}, got {text[:80]!r}")


def _own(values: Mapping[str, Any], place: str) -> Mark:
    if "time" not in values or "name" not in values:
        raise _unknown(values, place)
    time, name = values["time"], values["name"]
    if not isinstance(name, str) or not name:
        raise InputError(f"{place}: name: expected a text, got {name!r}")
    try:
        return Mark(iso_s(time) if isinstance(time, str) else number_of(time), name)
    except ValueError:
        got = repr(time)[:80]
    raise InputError(f"{place}: time: expected seconds as a number, or ISO 8601, got {got}")


def _pipecat(time: str, message: str) -> Iterator[Mark]:
    """The stage that an entry of Pipecat's log reports, if it reports one."""
    for expression, name in _PIPECAT:
        if found := expression.fullmatch(message):
            yield Mark(iso_s(time), name.format(found[1]))
            return


def _otlp(data: Mapping[str, Any]) -> Iterator[Mark]:
    """OTLP JSON (OpenTelemetry Protocol 1.x): start, first output and end of each span; span events; log records."""
    for scope in _each(data.get("resourceSpans", ()), "scopeSpans"):
        for span in scope["spans"]:
            name, start_s = span["name"], number_of(span["startTimeUnixNano"]) * _NS
            yield Mark(start_s, f"{name} begins")
            if end_ns := number_of(span.get("endTimeUnixNano", 0)):
                yield Mark(end_ns * _NS, f"{name} ends")
            output_s = start_s + _first_output_s(span)
            if name != "stt" and output_s <= (end_ns * _NS or math.inf):
                yield Mark(output_s, f"{name} first output")
            for event in span.get("events", ()):
                yield Mark(number_of(event["timeUnixNano"]) * _NS, f"{name}: {event['name']}")
    for scope in _each(data.get("resourceLogs", ()), "scopeLogs"):
        for entry in scope["logRecords"]:
            time_ns = number_of(entry.get("timeUnixNano") or 0) or number_of(entry["observedTimeUnixNano"])
            if name := entry.get("eventName") or entry.get("body", {}).get("stringValue"):
                yield Mark(time_ns * _NS, str(name))


def _first_output_s(span: Mapping[str, Any]) -> float:
    """The seconds from the start of a span to its first output, NaN if it does not say."""
    values = {each["key"]: each["value"] for each in span.get("attributes", ())}
    found: Mapping[str, Any] = next((values[key] for key in _FIRST_OUTPUT if key in values), {})
    given = found.get("doubleValue", found.get("intValue"))
    return math.nan if given is None else number_of(given)


def _each(resources: Iterable[Mapping[str, Any]], scopes: str) -> Iterator[Mapping[str, Any]]:
    return (scope for resource in resources for scope in resource[scopes])


_LIVEKIT_EVENTS: Final[Mapping[str, Callable[[Mapping[str, Any]], str | None]]] = {
    "user_state_changed": lambda event: f"user {event['new_state']}",
    "agent_state_changed": lambda event: f"agent {event['new_state']}",
    "user_input_transcribed": lambda event: "transcript final" if event["is_final"] else "transcript",
    "speech_created": lambda event: "speech created",
    "eot_prediction": lambda event: "end of turn predicted",
    "function_tools_executed": lambda event: "tools executed",
}


def _livekit_report(report: Mapping[str, Any]) -> Iterator[Mark]:
    """A session report of LiveKit Agents: its events, and what the metrics of each message say of its times."""
    for event in report.get("events", ()):
        if named := _LIVEKIT_EVENTS.get(event["type"]):
            yield Mark(number_of(event["created_at"]), str(named(event)))
    for item in report.get("chat_history", {}).get("items", ()):
        metrics = item.get("metrics") or {}
        for key, name in (("started_speaking_at", "begins"), ("stopped_speaking_at", "ends")):
            if (time_s := metrics.get(key)) is not None:
                yield Mark(number_of(time_s), f"{item['role']} {name}")
        begins_s, ends_s = metrics.get("started_speaking_at"), metrics.get("stopped_speaking_at")
        if (delay_s := metrics.get("end_of_turn_delay")) is not None and ends_s is not None:
            yield Mark(number_of(ends_s) + number_of(delay_s), "turn decided")
        if (delay_s := metrics.get("tts_node_ttfb")) is not None and begins_s is not None:
            audio_s = number_of(begins_s) - number_of(metrics.get("playback_latency") or 0)
            # `tts_node_ttfb` counts from the first token of text.
            yield Mark(audio_s - number_of(delay_s), "first token")


def _vapi(messages: Iterable[Mapping[str, Any]]) -> Iterator[Mark]:
    """The messages of a Vapi call; `secondsFromStart` is in seconds, `time` and `endTime` are in milliseconds."""
    for message in messages:
        if "secondsFromStart" not in message:
            continue
        start_s, role = number_of(message["secondsFromStart"]), message["role"]
        yield Mark(start_s, f"{role} begins")
        if "endTime" in message:
            yield Mark(start_s + (number_of(message["endTime"]) - number_of(message["time"])) / 1000, f"{role} ends")
