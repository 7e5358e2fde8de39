"""Reads an agent's own log: what it noted, and when, in the formats of agents and their frameworks.

The content of the file decides the format: lines {"time": ..., "name": ...}, or a list of them; traces and logs of
OpenTelemetry as OTLP JSON, from any framework; session reports and JSON logs of LiveKit Agents
(`SessionReport.to_dict`, 1.8); logs of Pipecat (loguru lines or its JSON, 1.14); or calls of Vapi (the call object, its
artifact, or the end-of-call report). Lines may be as containers print them: in colours, and behind a time, a stream or
the name of a container. A log has its own clock: only differences of its times count.
"""

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
from fdbcore.runtime.texts import text_of

_NS: Final = 1e-9
LATEST_S: Final = 1e11  # no log has a later time: since 1970, these are three thousand years
_DOCUMENTS: Final = frozenset({"resourceSpans", "resourceLogs", "events", "chat_history", "artifact", "messages"})
"""A file with one of these keys is one JSON document; any other file is a list, or is read line by line."""
_COLOUR: Final = re.compile(r"\x1b\[[\d;]*m")
_LOGURU: Final = re.compile(r"[^{]{0,300}?(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+) \| +\w+ +\| [^ ]*:\d+ - (.*)")
"""A line of loguru, behind what the container prints before it."""
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
_SESSION: Final = re.compile(r"\b((?:session|call|conversation|room)_?s?id)\W{1,5}([\w-]+)", re.IGNORECASE)
"""The name of a call in the entry of a log, such as "call_id": "x" or session_id=x."""
_ENTRIES: Final = ({"time", "name"}, {"text", "record"}, {"timestamp", "message"}, {"resourceSpans"}, {"resourceLogs"})
"""The keys of entries that are JSON."""
_TOO_COARSE: Final = {
    "transcript_object": "a call of Retell, whose times of words are approximate",
    "time_in_call_secs": "a conversation of ElevenLabs, whose times are whole seconds",
    "concatenated_transcript": "a call of Bland, whose times do not say when something was heard",
}
"""Fields of vendors' documents that hold no times of stages, and what such a document is."""
_FORMS: Final = '{"time": seconds or ISO 8601, "name": text}, or a log of OpenTelemetry, LiveKit, Pipecat or Vapi'


class Mark(NamedTuple):
    """One entry of a log. time_s: on the log's own clock."""

    time_s: float
    name: str


class LogFile(NamedTuple):
    """The file of a call's log. offset_ms: what to add to its times, None to find it out. session: see `read_log`."""

    path: Path
    offset_ms: float | None = None
    session: str | None = None


class ReadLog(NamedTuple):
    """The entries of a log, sorted by time, and which others are left out and why, a text each."""

    marks: list[Mark]
    left_out: list[str]


def read_log(path: Path, session: str | None = None) -> ReadLog:
    """The entries of a log. One that cannot be used (the last line of a process that was killed, say) costs itself.

    session: only entries that hold this text, such as the id of one of the calls in the log. InputError if there is no
    entry that can be used, if most of them cannot, or for a document of a vendor that holds no times of stages.
    """
    text = _COLOUR.sub("", text_of(path))
    left_out, marks = list[str](), list[Mark]()
    try:
        document = _document(text)
    except ValueError as error:
        raise InputError(f"{path}: {error}") from error
    items = [*(_lines(text.splitlines()) if document is None else _items(document))]
    if session is not None:
        whole = re.compile(rf"(?<![\w-]){re.escape(session)}(?![\w-])")
        items = [item for item in items if whole.search(f"{item.before} {item.content}")]
        if not items:
            raise InputError(f"{path}: expected entries that hold {session!r}, got none")
    for where, read, content, _ in items:
        try:
            marks += [mark for mark in read(content) if _is_possible(mark)]
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


def session_hint(log: LogFile) -> str:
    """A hint at whose entries a log holds, if they name several calls and nobody said which is meant; else empty."""
    found: dict[str, dict[str, None]] = {}
    try:
        text = text_of(log.path) if log.session is None else ""
    except InputError:
        return ""
    for key, value in _SESSION.findall(text):
        found.setdefault(key, {})[value] = None
    key, values = max(found.items(), key=lambda each: len(each[1]), default=("", {}))
    if len(values) < 2:
        return ""
    more = f" and {len(values) - 3:,} more" if len(values) > 3 else ""
    named = f"{key} {', '.join([*values][:3])}{more}"
    return f". Its entries name {named}: expected --agent-log-session, or a column agent_log_session of --meta"


def _is_possible(mark: Mark) -> bool:
    if abs(mark.time_s) > LATEST_S:
        raise ValueError(f"expected seconds, at most {LATEST_S:g}, got {mark.time_s:g}: {mark.name[:80]!r}")
    return True


def _document(text: str) -> Mapping[str, Any] | list[Any] | None:
    """The file as one JSON value if it is a known document, or a list; None if it must be read line by line.

    ValueError for a document without times of stages.
    """
    try:
        found = parsed_json(text)
    except ValueError:
        return None
    for field, what in _TOO_COARSE.items():
        if _holds(found, field):
            raise ValueError(f"expected {_FORMS}, got {what}: leave it out, or give a log of the agent's own")
    if isinstance(found, list):
        return found
    if isinstance(found, dict) and isinstance(found.get("message"), dict):  # as Vapi sends it to servers
        found = found["message"]
    return found if isinstance(found, dict) and not _DOCUMENTS.isdisjoint(found) else None


def _holds(found: object, field: str) -> bool:
    """True if a call has this field, or what it said; webhooks send calls as `call` or `data`, and there are lists."""
    if isinstance(found, list):
        return bool(found) and _holds(found[0], field)
    inner = [found.get(key) for key in ("call", "data", "transcript")] if isinstance(found, dict) else []
    return isinstance(found, dict) and (field in found or any(_holds(value, field) for value in inner))


class _Item(NamedTuple):
    """A part of a log that is read by itself: its place, what reads it, its content, and the text printed before it."""

    where: str
    read: Callable[[Any], Iterable[Mark]]
    content: Any
    before: str = ""


def _items(found: Mapping[str, Any] | list[Any]) -> Iterator[_Item]:
    """The parts of a file that is one JSON value."""
    if isinstance(found, list):
        for number, entry in enumerate(found, 1):
            yield from _of_json(entry, f"entry {number}")
    elif "resourceSpans" in found or "resourceLogs" in found:
        yield from _of_json(found, "")
    elif "events" in found or "chat_history" in found:
        history = found.get("chat_history")
        yield from _numbered("event", _livekit_event, _each(found.get("events")))
        yield from _numbered("item", _livekit_item, _inner(_each(history), "items"))
    else:
        yield from _numbered("message", _vapi, _inner([found.get("artifact") or found], "messages"))


def _numbered(what: str, read: Callable[[Any], Iterable[Mark]], items: Iterable[Any]) -> Iterator[_Item]:
    return (_Item(f"{what} {number}", read, item) for number, item in enumerate(items, 1))


def _each(values: object) -> list[Any]:
    """The values of a list, none of null; anything else is one value, which nothing can read."""
    return values if isinstance(values, list) else [] if values is None else [values]


def _inner(values: Iterable[Any], key: str) -> Iterator[Any]:
    """The values in the lists by this key; a value that has none stands for itself, and nothing can read it."""
    for value in values:
        yield from _each(value[key]) if isinstance(value, dict) and key in value else [value]


def _lines(lines: Sequence[str]) -> Iterator[_Item]:
    """The parts of a file of lines. Where some are loguru's, others that are no entries go on with the line above."""
    loguru = {number: found for number, line in enumerate(lines, 1) if (found := _LOGURU.fullmatch(line.rstrip()))}
    for number, line in enumerate(lines, 1):
        where, (before, brace, rest) = f"line {number}", line.partition("{")
        if number in loguru:
            yield _Item(where, _pipecat, loguru[number].groups(), line)
        elif line.strip():
            try:
                entry = parsed_json(brace + rest)
            except ValueError:
                entry = None
            if isinstance(entry, dict) and (not loguru or any(keys <= entry.keys() for keys in _ENTRIES)):
                yield from (item._replace(before=before) for item in _of_json(entry, where))
            elif not loguru:
                yield _Item(where, _unreadable, line)


def _of_json(entry: object, where: str) -> Iterator[_Item]:
    """The parts of a JSON value: the spans and the log records of OTLP JSON (OpenTelemetry Protocol 1.x), or itself."""
    if not isinstance(entry, dict) or not ("resourceSpans" in entry or "resourceLogs" in entry):
        yield _Item(where, _entry, entry)
        return
    spans = _inner(_inner(_each(entry.get("resourceSpans")), "scopeSpans"), "spans")
    records = _inner(_inner(_each(entry.get("resourceLogs")), "scopeLogs"), "logRecords")
    for item in (*_numbered("span", _of_span, spans), *_numbered("record", _of_record, records)):
        yield item._replace(where=f"{where}, {item.where}" if where else item.where)


def _entry(values: object) -> Iterable[Mark]:
    if not isinstance(values, dict):
        raise _unknown(values)
    if "record" in values and "text" in values:  # loguru's JSON
        record = values["record"]
        return _pipecat((record["time"]["timestamp"], record["message"]))
    if "timestamp" in values and "message" in values:  # LiveKit's JSON log
        return [Mark(_time_s(values["timestamp"], "timestamp"), str(values["message"]))]
    return [_own(values)]


def _unreadable(line: str) -> Iterable[Mark]:
    raise _unknown(line)


def _time_s(value: object, field: str) -> float:
    """A time in s: a number, or ISO 8601. ValueError names its field."""
    try:
        return iso_s(value) if isinstance(value, str) else number_of(value)
    except ValueError:
        raise ValueError(f"{field}: expected seconds as a number, or ISO 8601, got {repr(value)[:80]}") from None


def _number(values: Mapping[str, Any], field: str) -> float:
    """The number in a field. ValueError names the field."""
    try:
        return number_of(values[field])
    except ValueError:
        raise ValueError(f"{field}: expected a number, got {repr(values[field])[:80]}") from None


def _unknown(found: object) -> InputError:
    text = found if isinstance(found, str) else json.dumps(found)
    return InputError(f"expected {_FORMS}, got {text[:80]!r}")


def _own(values: Mapping[str, Any]) -> Mark:
    if "time" not in values or "name" not in values:
        raise _unknown(values)
    if not isinstance(name := values["name"], str) or not name:
        raise InputError(f"name: expected a text, got {name!r}")
    return Mark(_time_s(values["time"], "time"), name)


def _pipecat(entry: tuple[object, str]) -> Iterator[Mark]:
    """The stage that a message of Pipecat's log reports, if it reports one. entry: its time and its text."""
    time, message = entry
    for expression, name in _PIPECAT:
        if found := expression.fullmatch(message):
            yield Mark(_time_s(time, "time"), name.format(found[1]))
            return


def _of_span(span: Mapping[str, Any]) -> Iterator[Mark]:
    """Start, first output and end of a span, and its events."""
    name, start_s = span["name"], _number(span, "startTimeUnixNano") * _NS
    yield Mark(start_s, f"{name} begins")
    if end_ns := _number({"endTimeUnixNano": 0, **span}, "endTimeUnixNano"):
        yield Mark(end_ns * _NS, f"{name} ends")
    output_s = start_s + _first_output_s(span)
    if name != "stt" and output_s <= (end_ns * _NS or math.inf):
        yield Mark(output_s, f"{name} first output")
    for event in span.get("events", ()):
        yield Mark(_number(event, "timeUnixNano") * _NS, f"{name}: {event['name']}")


def _of_record(entry: Mapping[str, Any]) -> Iterator[Mark]:
    time_ns = _number(entry, "timeUnixNano") if entry.get("timeUnixNano") else 0.0
    time_ns = time_ns or _number(entry, "observedTimeUnixNano")
    if name := entry.get("eventName") or entry.get("body", {}).get("stringValue"):
        yield Mark(time_ns * _NS, str(name))


def _first_output_s(span: Mapping[str, Any]) -> float:
    """The seconds from the start of a span to its first output, NaN if it does not say."""
    values = {each["key"]: each["value"] for each in span.get("attributes", ())}
    found: Mapping[str, Any] = next((values[key] for key in _FIRST_OUTPUT if key in values), {})
    field = "doubleValue" if "doubleValue" in found else "intValue"
    return _number(found, field) if field in found else math.nan


_LIVEKIT_TIMES: Final = {"started_speaking_at": "begins", "stopped_speaking_at": "ends"}
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
    """Times in the metrics of a message in a session report of LiveKit Agents."""
    metrics = item.get("metrics") or {}
    times_s = {name: _time_s(metrics[name], name) for name in _LIVEKIT_TIMES if metrics.get(name) is not None}
    for name, time_s in times_s.items():
        yield Mark(time_s, f"{item['role']} {_LIVEKIT_TIMES[name]}")
    if metrics.get("end_of_turn_delay") is not None and "stopped_speaking_at" in times_s:
        yield Mark(times_s["stopped_speaking_at"] + _number(metrics, "end_of_turn_delay"), "turn decided")
    if metrics.get("tts_node_ttfb") is not None and "started_speaking_at" in times_s:
        latency_s = _number(metrics, "playback_latency") if metrics.get("playback_latency") else 0.0
        # `tts_node_ttfb` counts from the first token of text.
        yield Mark(times_s["started_speaking_at"] - latency_s - _number(metrics, "tts_node_ttfb"), "first token")


def _vapi(message: Mapping[str, Any]) -> Iterator[Mark]:
    """A message of a Vapi call; `secondsFromStart` is in seconds, `time` and `endTime` are in milliseconds."""
    if "secondsFromStart" not in message.keys():  # a text has none
        return
    start_s, role = _number(message, "secondsFromStart"), message["role"]
    yield Mark(start_s, f"{role} begins")
    if "endTime" in message:
        yield Mark(start_s + (_number(message, "endTime") - _number(message, "time")) / 1000, f"{role} ends")
