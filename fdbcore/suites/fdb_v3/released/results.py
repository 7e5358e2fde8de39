"""Released results of systems, result_{provider}.json, as logs that the published measures read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NotRequired, TypedDict, cast

from msgspec.structs import replace

from fdbcore.errors import InputError
from fdbcore.runtime import json_value, known_part, misfits, read_whole, unknown_fields, without_empty
from fdbcore.suites.fdb_v3.compat.logs import AsrWord, LoggedCall, SystemLog, user_end_s
from fdbcore.suites.fdb_v3.compat.measures import matches_exactly
from fdbcore.suites.fdb_v3.pairing import right_pairs
from fdbcore.suites.fdb_v3.scenarios import ExpectedCallEntry
from fdbcore.suites.fdb_v3.world import FunctionCall, outcome, state_differences

UNTOUCHED: Final = ("args", "original_param", "corrected_param", "result")
"""Fields whose values are tables of others: what is empty in them is a value."""
LATEST_S: Final = 86_400.0
"""Times are from the start of a stream: what is more than a day off is a time of the clock, or none."""


class ReleasedWord(TypedDict):
    """A word of a recogniser. timestamp: its start and end in s."""

    text: NotRequired[str]
    timestamp: list[float]


class ReleasedToolCall(TypedDict):
    """A call that a system made, in s from the start of the stream. timestamp: in older files."""

    function: str
    args: NotRequired[dict[str, Any]]
    timestamp_start: NotRequired[float]
    timestamp_end: NotRequired[float]
    timestamp: NotRequired[float]
    result: NotRequired[Any]


class ReleasedResult(TypedDict):
    """What a system did: a result_{provider}.json. A run that failed has few of these. What is Any is not read."""

    pid: NotRequired[Any]
    example_id: NotRequired[Any]
    category: NotRequired[Any]
    title: NotRequired[Any]
    provider: NotRequired[Any]
    evaluated_at: NotRequired[Any]
    status: NotRequired[str]
    room_name: NotRequired[Any]
    stream_start_time: NotRequired[Any]
    inference_time_s: NotRequired[Any]
    input_transcript: NotRequired[Any]
    input_asr_chunks: NotRequired[list[ReleasedWord]]
    asr_chunks: NotRequired[list[ReleasedWord]]
    transcript: NotRequired[str]
    user_speech_end_rel: NotRequired[float]
    audio_agent_speech_start: NotRequired[float]
    perceived_total_latency: NotRequired[Any]
    latency: NotRequired[Any]
    actual_tool_calls: NotRequired[list[ReleasedToolCall]]


@dataclass(frozen=True, slots=True)
class SystemResult:
    """What one system did with one recording, as far as its file says. has_failed: it was not completed.

    user_words: of the user, as far as they were transcribed. first_word_s: when the system began to speak, where the
    file says so.
    """

    has_failed: bool
    transcript: str
    words: tuple[AsrWord, ...]
    user_words: tuple[AsrWord, ...]
    user_end_s: float | None
    calls: tuple[LoggedCall, ...]
    first_word_s: float | None = None

    def log(self, expected: Iterable[ExpectedCallEntry]) -> SystemLog:
        """The log by a label. An optional call that was not made is not expected."""
        label = wanted(expected, self.calls)
        return SystemLog(
            label, self.calls, self.transcript, self.words, self.user_end_s, first_word_s=self.first_word_s
        )

    def leaves_right_state(self, expected: Iterable[ExpectedCallEntry]) -> bool:
        """Whether its calls leave the world as the expected ones do.

        References count all calls of the label, also the optional ones that were not made.
        """
        entries = list(expected)
        label = outcome(entries).calls
        resolved = [replace(entry, args=call.args) for entry, call in zip(entries, label, strict=True)]
        made = outcome(self.calls, resolves=False)
        return not state_differences(outcome(wanted(resolved, self.calls), resolves=False).state, made.state)


def wanted(expected: Iterable[ExpectedCallEntry], made: Sequence[LoggedCall]) -> tuple[FunctionCall, ...]:
    """The calls of a label, without the optional ones that were not made.

    Each required call takes one of the calls of its function, if there is one, optional ones what is left: first those
    whose arguments are right, then in their order.
    """
    entries = list(expected)
    required = [number for number, entry in enumerate(entries) if not entry.optional]
    optional = [number for number, entry in enumerate(entries) if entry.optional]
    right = [
        [
            place
            for place, call in enumerate(made)
            if call.function == entry.function and matches_exactly(entry.args, call.args)
        ]
        for entry in entries
    ]
    fitting = right_pairs(right, [*required, *optional])
    left = Counter(call.function for call in made)
    left.subtract(entries[number].function for number in required)
    kept = set(required)
    for number in sorted(optional, key=lambda number: number not in fitting):
        if left[entries[number].function] > 0:
            left[entries[number].function] -= 1
            kept.add(number)
    return tuple(entries[number] for number in sorted(kept))


def read_result(path: Path) -> tuple[SystemResult, set[str]]:
    """The result in a file, and the names of the fields that are not understood.

    InputError in one line if it cannot be used.
    """
    content, unknown = known_table(released_json(path), ReleasedResult, str(path))
    found = cast("ReleasedResult", content)
    try:
        calls = tuple(_call(each) for each in found.get("actual_tool_calls", ()))
        words, user_words = _words(found.get("asr_chunks", ())), _words(found.get("input_asr_chunks", ()))
        stated_s = _known_s(found.get("user_speech_end_rel"), "user_speech_end_rel")
        first_s = _known_s(found.get("audio_agent_speech_start"), "audio_agent_speech_start")
        end_s = user_end_s(user_words) if stated_s is None and user_words else stated_s
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None
    has_failed = found.get("status", "completed") != "completed"
    said = found.get("transcript", "")
    return SystemResult(has_failed, said, words, user_words, end_s, calls, first_s), unknown


def released_json(path: Path) -> Any:  # noqa: ANN401
    """The content of a file of the release. InputError if it is no JSON; NaN and infinity are none."""
    try:
        return json_value(read_whole(path))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: expected JSON, got: {error}") from None


def known_table(content: Any, kind: Any, where: str) -> tuple[dict[str, Any], set[str]]:  # noqa: ANN401
    """A table as far as the type `kind` knows it, and the names of its other fields. InputError if it is wrong.

    where: the place at which it was read.
    """
    content = without_empty(content, UNTOUCHED)
    known: dict[str, Any] = known_part(content, kind)
    if faults := list(misfits(known, kind, where)):
        raise InputError("; ".join(f"{fault.where}: {fault.reason}" for fault in faults))
    return known, set(unknown_fields(content, kind))


def _call(call: ReleasedToolCall) -> LoggedCall:
    start_s, end_s = call.get("timestamp_start", call.get("timestamp")), call.get("timestamp_end")
    where = f"{call['function']}: timestamp"
    if end_s is not None:
        end_s = _stream_s(end_s, f"{where}_end", -LATEST_S if start_s is None else start_s)
    return LoggedCall(call["function"], call.get("args", {}), _known_s(start_s, f"{where}_start"), end_s)


def _stream_s(time_s: float, where: str, least_s: float = -LATEST_S) -> float:
    """A time, if it can be one since the start of a stream, or before it. ValueError if not."""
    if not least_s <= time_s <= LATEST_S:
        raise ValueError(
            f"{where}: expected s from the start of the stream, {least_s:g} to {LATEST_S:g}, got {time_s:g}"
        )
    return time_s


def _known_s(time_s: float | None, where: str) -> float | None:
    return None if time_s is None else _stream_s(time_s, where)


def _words(chunks: Iterable[ReleasedWord]) -> tuple[AsrWord, ...]:
    found = []
    for chunk in chunks:
        if len(chunk["timestamp"]) != 2:
            raise ValueError(f"timestamp: expected a start and an end, got {chunk['timestamp']}")
        start_s, end_s = chunk["timestamp"]
        text = chunk.get("text", "")
        where = f"{text!r}: timestamp"
        found.append(AsrWord(text, _stream_s(start_s, where), _stream_s(end_s, where, start_s)))
    return tuple(found)
