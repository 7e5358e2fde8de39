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
from typing import Any, Final, NamedTuple, TypeAlias

from fdbcore.clock import iso_s
from fdbcore.errors import InputError
from fdbcore.runtime.json_values import parsed_json
from fdbcore.runtime.numbers import number_of
from fdbcore.runtime.texts import text_of

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


class ReadLog(NamedTuple):
    """What is read of a log: its entries, sorted by time, and which others are left out and why, a text each."""

    marks: list[Mark]
    left_out: list[str]


def read_log(path: Path) -> ReadLog:
    """The entries of a log. One that cannot be used (the last line of a process that was killed, say) costs itself.

    InputError if there is none that can be used, or if most of them cannot.
    """
    text = text_of(path)
    document, left_out, marks = _document(text), list[str](), list[Mark]()
    try:
        items = [*(_lines(text.splitlines()) if document is None else _items(document))]
    except (TypeError, AttributeError, LookupError):
        raise InputError(f"{path}: expected {_FORMS}, got one of another form") from None
    for where, read, item in items:
        try:
            marks += [mark for mark in read(item) if _is_possible(mark)]
        except KeyError as error:
            left_out.append(f"{path}: {where}: expected {_FORMS}, got one without {error}")
        except ValueError as error:
            left_out.append(f"{path}: {where}: {error}")
        except (TypeError, AttributeError, LookupError):
            left_out.append(f"{path}: {where}: expected {_FORMS}, got one of another form")
    if left_out and 2 * len(left_out) > len(items):
        raise InputError(left_out[0])
    if not marks:
        raise InputError(f"{path}: expected marks, got {'an empty file' if not text.strip() else 'none in it'}")
    return ReadLog(sorted(marks), left_out)


def _is_possible(mark: Mark) -> bool:
    if abs(mark.time_s) > LATEST_S:
        raise ValueError(f"expected seconds, at most {LATEST_S:g}, got {mark.time_s:g}: {mark.name[:80]!r}")
    return True


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


_Item: TypeAlias = tuple[str, Callable[[Any], Iterable[Mark]], Any]
"""A part of a log that is read by itself: its place, what reads it, and its content."""


def _items(found: Mapping[str, Any] | list[Any]) -> Iterator[_Item]:
    """The parts of a file that is one JSON value."""
    if isinstance(found, list):
        yield from ((f"entry {number}", _of_json, entry) for number, entry in enumerate(found, 1))
    elif "resourceSpans" in found or "resourceLogs" in found:
        yield from _otlp_items(found)
    elif "events" in found or "chat_history" in found:
        yield from _numbered("event", _livekit_event, found.get("events", ()))
        yield from _numbered("item", _livekit_item, found.get("chat_history", {}).get("items", ()))
    else:
        yield from _numbered("message", _vapi, found.get("artifact", found)["messages"])


def _numbered(what: str, read: Callable[[Any], Iterable[Mark]], items: Iterable[Any]) -> Iterator[_Item]:
    return ((f"{what} {number}", read, item) for number, item in enumerate(items, 1))


def _lines(lines: Sequence[str]) -> Iterator[_Item]:
    is_loguru = False
    for number, line in enumerate(lines, 1):
        if found := _LOGURU.fullmatch(line.rstrip()):
            is_loguru = True
            yield f"line {number}", _pipecat, found
        elif line.strip() and not is_loguru:  # in loguru's logs such a line continues the message above it
            yield f"line {number}", _of_line, line


def _of_line(line: str) -> Iterable[Mark]:
    try:
        entry = parsed_json(line)
    except ValueError:
        raise _unknown(line) from None
    return _of_json(entry)


def _of_json(values: object) -> Iterable[Mark]:
    if not isinstance(values, dict):
        raise _unknown(values)
    if "resourceSpans" in values or "resourceLogs" in values:
        return _otlp(values)
    if "timestamp" in values and "message" in values:  # LiveKit's JSON log
        return [Mark(_time_s(values["timestamp"], "timestamp"), str(values["message"]))]
    return [_own(values)]


def _time_s(value: object, field: str) -> float:
    """A time in s: a number, or ISO 8601. ValueError names its field."""
    try:
        return iso_s(value) if isinstance(value, str) else number_of(value)
    except ValueError:
        raise ValueError(f"{field}: expected seconds as a number, or ISO 8601, got {repr(value)[:80]}") from None


def _unknown(found: object) -> InputError:
    text = found if isinstance(found, str) else json.dumps(found)
    return InputError(f"expected {_FORMS}, got {text[:80]!r}")


def _own(values: Mapping[str, Any]) -> Mark:
    if "time" not in values or "name" not in values:
        raise _unknown(values)
    if not isinstance(name := values["name"], str) or not name:
        raise InputError(f"name: expected a text, got {name!r}")
    return Mark(_time_s(values["time"], "time"), name)


def _pipecat(line: re.Match[str]) -> Iterator[Mark]:
    """The stage that a line of Pipecat's log reports, if it reports one."""
    for expression, name in _PIPECAT:
        if found := expression.fullmatch(line[2]):
            yield Mark(_time_s(line[1], "time"), name.format(found[1]))
            return


def _otlp(data: Mapping[str, Any]) -> Iterator[Mark]:
    """A line of OTLP JSON (OpenTelemetry Protocol 1.x)."""
    return (mark for _, read, item in _otlp_items(data) for mark in read(item))


def _otlp_items(data: Mapping[str, Any]) -> Iterator[_Item]:
    """The spans and the log records of OTLP JSON."""
    spans = (span for scope in _each(data.get("resourceSpans", ()), "scopeSpans") for span in scope["spans"])
    records = (each for scope in _each(data.get("resourceLogs", ()), "scopeLogs") for each in scope["logRecords"])
    yield from _numbered("span", _of_span, spans)
    yield from _numbered("record", _of_record, records)


def _of_span(span: Mapping[str, Any]) -> Iterator[Mark]:
    """Start, first output and end of a span, and its events."""
    name, start_s = span["name"], number_of(span["startTimeUnixNano"]) * _NS
    yield Mark(start_s, f"{name} begins")
    if end_ns := number_of(span.get("endTimeUnixNano", 0)):
        yield Mark(end_ns * _NS, f"{name} ends")
    output_s = start_s + _first_output_s(span)
    if name != "stt" and output_s <= (end_ns * _NS or math.inf):
        yield Mark(output_s, f"{name} first output")
    for event in span.get("events", ()):
        yield Mark(number_of(event["timeUnixNano"]) * _NS, f"{name}: {event['name']}")


def _of_record(entry: Mapping[str, Any]) -> Iterator[Mark]:
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


_LIVEKIT_TIMES: Final = ("started_speaking_at", "stopped_speaking_at")
_LIVEKIT_EVENTS: Final[Mapping[str, Callable[[Mapping[str, Any]], str | None]]] = {
    "user_state_changed": lambda event: f"user {event['new_state']}",
    "agent_state_changed": lambda event: f"agent {event['new_state']}",
    "user_input_transcribed": lambda event: "transcript final" if event["is_final"] else "transcript",
    "speech_created": lambda event: "speech created",
    "eot_prediction": lambda event: "end of turn predicted",
    "function_tools_executed": lambda event: "tools executed",
}


def _livekit_event(event: Mapping[str, Any]) -> Iterator[Mark]:
    """An event of a session report of LiveKit Agents."""
    if named := _LIVEKIT_EVENTS.get(event["type"]):
        yield Mark(_time_s(event["created_at"], "created_at"), str(named(event)))


def _livekit_item(item: Mapping[str, Any]) -> Iterator[Mark]:
    """What the metrics of a message in a session report of LiveKit Agents say of its times."""
    metrics = item.get("metrics") or {}
    times_s = {name: _time_s(metrics[name], name) for name in _LIVEKIT_TIMES if metrics.get(name) is not None}
    for key, name in (("started_speaking_at", "begins"), ("stopped_speaking_at", "ends")):
        if key in times_s:
            yield Mark(times_s[key], f"{item['role']} {name}")
    if (delay_s := metrics.get("end_of_turn_delay")) is not None and "stopped_speaking_at" in times_s:
        yield Mark(times_s["stopped_speaking_at"] + number_of(delay_s), "turn decided")
    if (delay_s := metrics.get("tts_node_ttfb")) is not None and "started_speaking_at" in times_s:
        audio_s = times_s["started_speaking_at"] - number_of(metrics.get("playback_latency") or 0)
        # `tts_node_ttfb` counts from the first token of text.
        yield Mark(audio_s - number_of(delay_s), "first token")


def _vapi(message: Mapping[str, Any]) -> Iterator[Mark]:
    """A message of a Vapi call; `secondsFromStart` is in seconds, `time` and `endTime` are in milliseconds."""
    if "secondsFromStart" not in message:
        return
    start_s, role = number_of(message["secondsFromStart"]), message["role"]
    yield Mark(start_s, f"{role} begins")
    if "endTime" in message:
        yield Mark(start_s + (number_of(message["endTime"]) - number_of(message["time"])) / 1000, f"{role} ends")
