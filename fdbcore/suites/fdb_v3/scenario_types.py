"""The types of a file of recorded scenarios, `fdbcore.fdb_v3_scenarios/1`, as JSON.

`fdbcore.runtime.shape` checks files against these types; the published schema is made of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, NotRequired, TypeAlias, TypedDict, get_args

from fdbcore.suites.fdb_v3.released.released_types import Difficulty, Disfluency, Domain

LabelKind: TypeAlias = Literal["as_released", "repaired"]
LABELS: Final[Sequence[LabelKind]] = get_args(LabelKind)
RepairKind: TypeAlias = Literal[
    "missing_argument",
    "unknown_argument",
    "filter_type",
    "missing_reference",
    "unsaid_city",
    "no_predicate",
]


class ExpectedCallEntry(TypedDict):
    """A call that the label expects. note: such as its condition. optional: right with it, and without it."""

    function: str
    args: dict[str, Any]
    note: NotRequired[str]
    optional: NotRequired[bool]


class RepairEntry(TypedDict):
    """A change of a label. call: of which expected call, from 1. before, after: of the argument; left out for none."""

    kind: RepairKind
    call: int
    argument: NotRequired[str]
    before: NotRequired[Any]
    after: NotRequired[Any]
    reason: str


class RollbackEntry(TypedDict):
    """Arguments before and after the user's correction."""

    original: NotRequired[dict[str, Any]]
    corrected: NotRequired[dict[str, Any]]


class RecordedAudioEntry(TypedDict):
    """The user's recording. path: from the folder of this file. length_s: as its header says."""

    path: str
    rate_hz: int
    channels: int
    bit_depth: NotRequired[int]
    length_s: NotRequired[float]


class ResultEntry(TypedDict):
    """What a system did with the recording, elsewhere. result, audio: paths from the folder of this file."""

    provider: str
    result: str
    audio: NotRequired[str]


class SpokenWordEntry(TypedDict):
    """A word of the user, in ticks of 10 ms from the beginning of the recording."""

    text: str
    start_tick: int
    end_tick: int


class DisfluencySpan(TypedDict):
    """Where a disfluency lies, in ticks of 10 ms from the beginning of the recording."""

    kind: Disfluency
    start_tick: int
    end_tick: int


class RecordedScenarioEntry(TypedDict):
    """A scenario as one speaker said it. scenario: which of the scenarios. script: what the user was to say.

    user_end_tick: where the user has finished, in ticks of 10 ms from the beginning of the recording. words, spans:
    what the user says, and its disfluencies. as_released, repaired: the expected calls of both labels; `repairs` says
    what differs, and why. Left out: none, or not known.
    """

    id: str
    scenario: str
    speaker: str
    domain: Domain
    difficulty: Difficulty
    title: NotRequired[str]
    script: NotRequired[str]
    reply: NotRequired[str]
    acting_notes: NotRequired[str]
    disfluencies: NotRequired[list[Disfluency]]
    rollback_test: NotRequired[bool]
    rollback: NotRequired[RollbackEntry]
    latency_profile: NotRequired[str]
    audio: RecordedAudioEntry
    user_end_tick: NotRequired[int]
    words: NotRequired[list[SpokenWordEntry]]
    spans: NotRequired[list[DisfluencySpan]]
    as_released: NotRequired[list[ExpectedCallEntry]]
    repaired: NotRequired[list[ExpectedCallEntry]]
    repairs: NotRequired[list[RepairEntry]]
    results: NotRequired[list[ResultEntry]]


class DataCounts(TypedDict):
    """How much there is in a file of recorded scenarios."""

    recordings: int
    scenarios: int
    speakers: int


class DataCard(DataCounts):
    """Where the recordings come from. silent_scenarios: those without a recording."""

    silent_scenarios: int
    annotators: str
    guideline: str
    agreement: str
    synthetic: bool


class RecordedScenarioFile(TypedDict):
    """A file of recorded scenarios. credit: whose they are."""

    schema: Literal["fdbcore.fdb_v3_scenarios/1"]
    credit: str
    card: DataCard
    record: list[RecordedScenarioEntry]
