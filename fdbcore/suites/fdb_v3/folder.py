"""The released folder of Full-Duplex-Bench v3 as a file of recorded scenarios.

    {example_id}_{speaker_id}/input.wav, metadata.json             the speaker's id is 24 hexadecimal digits
    {speaker_id}/example_{example_id}/input.wav                    older
    benchmark_data_v2.json                                         the scenarios; it wins over a metadata.json

Beside a recording may lie what systems did: result_{provider}.json, output_{provider}.wav.
"""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NotRequired, TypedDict, cast

from msgspec import UNSET

from fdbcore.audio import AudioFile
from fdbcore.errors import InputError
from fdbcore.recording import converted
from fdbcore.runtime import json_value, known_part, misfits, read_whole, unknown_fields, without_empty
from fdbcore.suites.fdb_v3.cases import SystemResult
from fdbcore.suites.fdb_v3.compat import AsrWord, LoggedCall, user_end_s
from fdbcore.suites.fdb_v3.scenarios import (
    SCHEMA,
    DataCard,
    Difficulty,
    Disfluency,
    Domain,
    ExpectedCallEntry,
    RecordedAudioEntry,
    RecordedScenarioEntry,
    RecordedScenarioFile,
    ResultEntry,
    RollbackEntry,
    counts_of,
    repaired,
)
from fdbcore.suites.fdb_v3.world import FUNCTIONS
from fdbcore.types import Problem

SCENARIOS: Final = "benchmark_data_v2.json"
METADATA: Final = "metadata.json"
CREDIT: Final = "Full-Duplex-Bench-v3 (Lin et al., arXiv 2604.04847), CC BY-NC 4.0, https://github.com/DanielLin94144/Full-Duplex-Bench"
NOT_PUBLISHED: Final = "not published"

_AUDIO: Final = ("input.wav", "input.flac", "input.opus")
_FLAT: Final = re.compile(r"(.+)_([0-9a-f]{24})", re.ASCII)
_SPEAKER: Final = re.compile(r"[0-9a-f]{24}", re.ASCII)
_NESTED: Final = "example_"
_RESULT: Final = re.compile(r"result_(.+)\.json")

UNTOUCHED: Final = ("args", "original_param", "corrected_param", "result")
"""Fields whose values are tables of others: what is empty in them is a value."""

LATEST_S: Final = 86_400.0
"""Times are from the start of a stream: what is more than a day off is a time of the clock, or none."""


class ReleasedTurn(TypedDict):
    """A turn: what a user says, and what a system should reply."""

    user: NotRequired[str]
    ai: NotRequired[str]


class ReleasedRollback(TypedDict):
    """Arguments before and after a correction."""

    original_param: NotRequired[dict[str, Any]]
    corrected_param: NotRequired[dict[str, Any]]


class ReleasedCall(TypedDict):
    """An expected call. A text under any other name is a note."""

    function: str
    args: NotRequired[dict[str, Any]]


class ReleasedScenario(TypedDict):
    """A scenario: an entry of benchmark_data_v2.json, and a metadata.json."""

    id: str
    domain: Domain
    title: NotRequired[str]
    difficulty: Difficulty
    dialogue: list[ReleasedTurn]
    acting_notes: NotRequired[str]
    disfluency_features: NotRequired[list[Disfluency]]
    expected_tool_calls: NotRequired[list[dict[str, Any]]]
    num_expected_calls: NotRequired[int]
    state_rollback_test: NotRequired[bool]
    state_rollback_details: NotRequired[ReleasedRollback]
    latency_profile: NotRequired[str]


class ReleasedWord(TypedDict):
    """A word of a transcriber. timestamp: its start and end in s."""

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
    """A system's result: a result_{provider}.json. A run that failed has few of these. What is Any is not read."""

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


@dataclass(slots=True)
class Imported:
    """The content of a folder. results: of each system, by the id of the record. problems: a line for each file that
    was left out. unknown: the fields that are not understood, with the number of files. scenarios: by id, unread.
    """

    records: list[RecordedScenarioEntry] = field(default_factory=list)
    results: dict[str, dict[str, SystemResult]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    unknown: Counter[str] = field(default_factory=Counter)
    scenarios: dict[str, Any] = field(default_factory=dict)

    def left_out(self, folder: Path) -> list[Problem]:
        """The problems, with the paths of files as they are in the folder."""
        return [Problem(str(folder), f"left out: {each.removeprefix(f'{folder}/')}") for each in self.problems]

    def file(self) -> RecordedScenarioFile:
        """The file of recorded scenarios."""
        card = DataCard(
            **counts_of(self.records),
            silent_scenarios=len(self.scenarios.keys() - {each.scenario for each in self.records}),
            annotators=NOT_PUBLISHED,
            guideline=NOT_PUBLISHED,
            agreement=NOT_PUBLISHED,
            synthetic=False,
        )
        return RecordedScenarioFile(SCHEMA, CREDIT, card, self.records)


def import_folder(folder: Path, out: Path, show: Callable[[str], None]) -> Imported:
    """All recordings in a folder of the release. out: the file to write; paths in it start from its folder.

    A recording or a result that cannot be used is a problem, and is left out. InputError if there is no recording.
    """
    found = Imported()
    try:
        found.scenarios = dict(_scenarios(folder))
    except InputError as error:
        found.problems.append(str(error))
    recordings = sorted({path for name in _AUDIO for path in folder.rglob(name)})
    if not recordings:
        got = "found none" if folder.is_dir() else "got no such folder"
        raise InputError(f"{folder}: expected folders with {', '.join(_AUDIO[:-1])} or {_AUDIO[-1]}, {got}")
    for number, audio in enumerate(recordings, 1):
        show(f"recording {number} of {len(recordings)}")
        try:
            record = _record(audio, out.parent, found)
        except InputError as error:
            found.problems.append(str(error))
            continue
        found.records.append(record)
    return found


def _scenarios(folder: Path) -> Iterator[tuple[str, Any]]:
    """The scenarios of all scenario files in the folder or beside it, by id."""
    for path in [*sorted(folder.rglob(SCENARIOS)), folder.resolve().parent / SCENARIOS]:
        if not path.is_file():
            continue
        content = released_json(path)
        scenarios = content.get("scenarios") if isinstance(content, dict) else content
        if not isinstance(scenarios, list) or not all(isinstance(each, dict) and "id" in each for each in scenarios):
            raise InputError(f"{path}: expected a list of scenarios, each with an id, got something else")
        yield from ((str(each["id"]), each) for each in scenarios)


def _names(folder: Path) -> tuple[str, str]:
    """The ids of the scenario and of the speaker, by the names of the folders."""
    if match := _FLAT.fullmatch(folder.name):
        return match[1], match[2]
    if folder.name.startswith(_NESTED) and _SPEAKER.fullmatch(folder.parent.name):
        return folder.name.removeprefix(_NESTED), folder.parent.name
    form = "EXAMPLE_SPEAKER or SPEAKER/example_EXAMPLE, with 24 hexadecimal digits for SPEAKER"
    raise InputError(f"{folder}: expected a folder {form}, got another name")


def _record(audio: Path, base: Path, found: Imported) -> RecordedScenarioEntry:
    folder = audio.parent
    scenario_id, speaker = _names(folder)
    metadata = folder / METADATA
    if scenario_id in found.scenarios:
        content, where = found.scenarios[scenario_id], f"{SCENARIOS}: {scenario_id}"
    elif metadata.is_file():
        content, where = released_json(metadata), str(metadata)
    else:
        raise InputError(f"{folder}: expected {METADATA}, or {scenario_id!r} in {SCENARIOS}, found neither")
    table, unknown = known_table(content, ReleasedScenario, where)
    scenario = cast("ReleasedScenario", table)
    found.unknown.update(f"{where.rpartition(os.sep)[2].partition(':')[0]}: {name}" for name in unknown)
    if scenario["id"] != scenario_id:
        raise InputError(f"{where}: id: expected {scenario_id!r}, as the folder is named, got {scenario['id']!r}")
    record_id = f"{scenario_id}_{speaker}"
    if any(each.id == record_id for each in found.records):
        raise InputError(f"{folder}: expected one recording of {record_id}, got two")
    script = scenario["dialogue"][0].get("user", "")
    released = [_expected(call, f"{where}: expected_tool_calls {n}", found)
                for n, call in enumerate(scenario.get("expected_tool_calls", ()), 1)]  # fmt: skip
    n_calls = scenario.get("num_expected_calls", len(released))
    if n_calls != len(released):
        raise InputError(f"{where}: num_expected_calls: expected {len(released)}, as calls are listed, got {n_calls}")
    calls, repairs = repaired(released, script)
    rollback = scenario.get("state_rollback_details", {})
    changes = {name.removesuffix("_param"): value for name, value in rollback.items()}
    return RecordedScenarioEntry(
        id=record_id,
        scenario=scenario_id,
        speaker=speaker,
        domain=scenario["domain"],
        difficulty=scenario["difficulty"],
        title=scenario.get("title", ""),
        script=script,
        reply=scenario["dialogue"][-1].get("ai", ""),
        acting_notes=scenario.get("acting_notes", ""),
        disfluencies=scenario.get("disfluency_features", []),
        rollback_test=scenario.get("state_rollback_test", False),
        rollback=converted(changes, RollbackEntry) if changes else UNSET,
        latency_profile=scenario.get("latency_profile", ""),
        audio=_audio(audio, base),
        as_released=released,
        repaired=calls,
        repairs=repairs,
        results=list(_results(record_id, folder, base, found)),
    )


def _expected(call: Mapping[str, Any], where: str, found: Imported) -> ExpectedCallEntry:
    known, unknown = known_table(call, ReleasedCall, where)
    if known["function"] not in FUNCTIONS:
        raise InputError(f"{where}: function: expected one of {', '.join(FUNCTIONS)}, got {known['function']!r}")
    notes = [str(call[name]) for name in sorted(unknown) if isinstance(call.get(name), str)]
    found.unknown.update(f"expected_tool_calls: {name}" for name in unknown if not isinstance(call.get(name), str))
    return ExpectedCallEntry(known["function"], known.get("args", {}), "; ".join(notes))


def _audio(path: Path, base: Path) -> RecordedAudioEntry:
    with AudioFile(path) as file:
        return RecordedAudioEntry(
            os.path.relpath(path, base),
            file.rate_hz,
            file.channels,
            UNSET if file.bit_depth is None else file.bit_depth,
            UNSET if file.stated_s is None else round(file.stated_s, 3),
        )


def _results(record_id: str, folder: Path, base: Path, found: Imported) -> Iterator[ResultEntry]:
    """Results of systems on a recording, which is read, too."""
    for path in sorted(folder.glob("result_*.json")):
        match = _RESULT.fullmatch(path.name)
        assert match is not None
        provider = match[1]
        try:
            result, unknown = read_result(path)
        except InputError as error:
            found.problems.append(str(error))
            continue
        found.unknown.update(f"result_*.json: {name}" for name in unknown)
        found.results.setdefault(provider, {})[record_id] = result
        audio = folder / f"output_{provider}.wav"
        heard = os.path.relpath(audio, base) if audio.is_file() else ""
        yield ResultEntry(provider, os.path.relpath(path, base), heard)


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
