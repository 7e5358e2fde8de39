"""Types of meta.json, which is about a recording, and their reader."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, Required, TypeAlias, TypedDict

from msgspec import Meta

from fdbcore.audio.files import SourceFile
from fdbcore.recording.files import RECORDING_SCHEMA
from fdbcore.recording.form import MOST_TICKS, converted, damaged, read_of_schema
from fdbcore.recording.left_out import LeftOut
from fdbcore.types import Side, TurnSettings
from fdbcore.types.timing import TimingCertificate, TimingSelftest
from fdbcore.types.units import Count, Tick
from fdbcore.types.usage import Takes

RecordingStatus: TypeAlias = Literal["running", "complete", "interrupted", "failed"]


class Detectors(TypedDict):
    """The voice activity detector of each side: its name, version and settings."""

    A: dict[str, Any]
    B: dict[str, Any]


Tools: TypeAlias = Annotated[
    dict[str, Any],
    Meta(
        description="what answers the tool calls of side B, as it describes itself: its settings, and functions, what "
        "may be called; of a recording also seed, of the latencies, and perhaps state, what the calls have changed"
    ),
]


class Settings(TypedDict, total=False):
    """The settings that decided the events."""

    turns: Required[Annotated[dict[str, int], Meta(description="of the turn detector, in ms")]]
    vad: Required[Annotated[Detectors, Meta(description="of each side's voice activity detector")]]
    max_s: Annotated[float, Meta(description="of a live call: its longest length")]
    clock: Annotated[str, Meta(description="of a live call: real or virtual")]
    ends: Annotated[
        dict[str, float],
        Meta(description="of a live call with a recorded user: when it is over (quiet_s, most_s), in seconds"),
    ]
    line_open: Annotated[bool, Meta(description="a silent line was taken as open, and so measured")]
    count_bad_input: Annotated[bool, Meta(description="a recording that went wrong is scored, too")]


Channel: TypeAlias = Literal["left", "right", "mono", "mean", "track 1", "track 2"]
Parties: TypeAlias = Annotated[
    dict[Side, dict[str, Any]], Meta(description="what each party says of itself, which is its own matter")
]


class Recipient(TypedDict):
    """A server beyond this machine and private networks."""

    takes: Annotated[Takes, Meta(description="what of the call it was sent")]
    host: str
    vendor: NotRequired[Annotated[str, Meta(description="whose server it is")]]
    model: NotRequired[str]


SentTo: TypeAlias = Annotated[
    dict[Side, list[Recipient]], Meta(description="where the party of each side sent audio or words of the call")
]


class SourceSide(TypedDict, total=False):
    """The origin of a side."""

    file: int
    channel: Channel
    lead_samples: int
    samples: int


class SourceFiles(TypedDict, total=False):
    """The files that were read."""

    files: list[SourceFile]
    sides: Annotated[
        dict[Side, SourceSide], Meta(description="which file (by number) and channel each side comes from")
    ]
    swap: bool
    offset_ms: int
    playable_in_browser: Annotated[
        bool, Meta(description="the file itself plays as the session; else session.wav does")
    ]


AnnotationKind: TypeAlias = Literal["pause", "turn_taking", "interrupt"]


class AnnotatedSpan(TypedDict):
    """An annotation of Full-Duplex-Bench v1."""

    kind: AnnotationKind
    start_s: float
    end_s: float


class LostOnDisk(TypedDict):
    """Parts that were not recorded because the disk was too slow."""

    spans: list[tuple[int, int]]
    events: int


LineOfCall: TypeAlias = Annotated[
    dict[str, Any],
    Meta(
        description="what changed what a side heard of the other, as it describes itself: name, the address; seed; "
        "to_b and perhaps to_a, each with delay_samples and what it added. What each side said is recorded as it was"
    ),
]


class OptionalMeta(TypedDict, total=False):
    """Facts that not every meta.json has of its recording."""

    reason: str | None
    created: str
    n_ticks: Tick
    n_events: Annotated[Count, Meta(description="lines that events.jsonl had when it was closed")]
    sha256s: Annotated[dict[str, str], Meta(description="of the files that were made with it")]
    settings_sha256: str
    versions: dict[str, str]
    platform: str
    source: SourceFiles
    parties: Parties
    timing: TimingCertificate
    annotations: list[AnnotatedSpan]
    left_out: list[LeftOut]
    outcome: Outcome
    case: PlannedCase
    attempts: list[Outcome]
    selftest: TimingSelftest | None
    lost: LostOnDisk
    tools: Tools
    line: LineOfCall
    sent_to: SentTo
    held: ReplayedRecording


class KnownMeta(OptionalMeta, total=False):
    """Facts known of a recording so far."""

    schema: Literal["fdbcore.recording/1"]
    status: RecordingStatus
    settings: Settings


class RecordingMeta(OptionalMeta):
    """The content of a recording's meta.json."""

    schema: Literal["fdbcore.recording/1"]
    status: RecordingStatus
    settings: Settings


class ReplayedRecording(TypedDict):
    """The recording that a recording replays."""

    path: Annotated[str, Meta(description="from the folder of the recording that replays it")]
    meta: RecordingMeta
    same: NotRequired[Annotated[bool | None, Meta(description="null where it was cut off")]]
    differences: NotRequired[list[str]]


class Outcome(TypedDict):
    """The end of a conversation."""

    kind: Annotated[
        Literal["done", "invalid", "failed"],
        Meta(description="invalid: the harness is to blame; failed: the system is"),
    ]
    side: Side | None
    reason: str | None
    transient: NotRequired[Annotated[bool, Meta(description="trying again may help")]]
    gone_tick: NotRequired[
        Annotated[int, Meta(description="since when nothing came from the side, if the call went on after it")]
    ]
    again: NotRequired[Annotated[bool, Meta(description="it is due to be held again")]]
    usd: NotRequired[Annotated[float, Meta(description="of an attempt: what it cost, as far as prices are known")]]


class PlannedClip(TypedDict):
    """A recorded user."""

    path: Annotated[str, Meta(description="from the folder of the run or the recording")]
    name: str
    group: Annotated[str, Meta(description="the task or class that it belongs to")]
    labels: dict[str, Any]


class PlannedLabels(TypedDict):
    """The labels of a recorded user."""

    source: Annotated[str, Meta(description="the file that they came from")]
    labels: Annotated[list[dict[str, Any]], Meta(description="side, kind, start_s and end_s of each")]


class PlannedCase(TypedDict):
    """A conversation to hold."""

    name: Annotated[str, Meta(description="of its folder in the run")]
    system: str
    trial: Annotated[int, Meta(ge=1)]
    clip: PlannedClip | None
    labels: NotRequired[PlannedLabels]
    columns: NotRequired[Annotated[dict[str, str], Meta(description="further columns, by what a benchmark says of it")]]
    may_be_silent: NotRequired[Annotated[bool, Meta(description="a system that says nothing does no wrong")]]


def left_out_of(meta: RecordingMeta) -> list[LeftOut]:
    """Spans that were left out by a meta.json, by time."""
    return converted(meta.get("left_out", []), list[LeftOut])


def read_meta(path: Path) -> RecordingMeta:
    """The content of the meta.json at `path`. RecordingError if it cannot be read, or no recording can be so."""
    meta = read_of_schema(path, RECORDING_SCHEMA, RecordingMeta)
    if (n_ticks := meta.get("n_ticks", 0)) > MOST_TICKS:
        raise damaged(path, f"expected at most {MOST_TICKS} ticks, which are a week, got {n_ticks}")
    try:
        TurnSettings(**meta["settings"]["turns"])
    except (TypeError, ValueError) as error:  # another name, or a value that no detector takes
        raise damaged(path, f"expected settings of the turn detector, got others: {error}") from error
    return meta
