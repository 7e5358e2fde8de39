"""The types of what the release of Full-Duplex-Bench v3 has in its JSON files.

`fdbcore.runtime.shape` checks files against them. What is empty in a file counts as left out.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

Domain: TypeAlias = Literal["travel_identity", "finance_billing", "housing_location", "ecommerce_support"]
Difficulty: TypeAlias = Literal["easy", "medium", "hard"]
Disfluency: TypeAlias = Literal["FILLER", "PAUSE", "HESITATION", "FALSE_START", "SELF_CORRECTION"]


class ReleasedTurn(TypedDict):
    """What a user says, and what a system should reply."""

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
