"""The types of what the files of a recording say: meta.json and health.json, as JSON values.

They are for type checkers and the schemas, and the forms by which the files of a run are checked as they are read.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypeAlias, TypedDict

from msgspec import Meta

from fdbcore.audio.file_types import SourceFile
from fdbcore.recording.meta_types import Count, RecordingStatus, Seconds, Settings, Spans, Tick, Tools
from fdbcore.recording.run_types import Outcome, PlannedCase, TimingSelftest
from fdbcore.types import Side
from fdbcore.types.timing_types import TimingCertificate
from fdbcore.types.usage import Takes

Channel: TypeAlias = Literal["left", "right", "mono", "mean", "track 1", "track 2"]
Severity: TypeAlias = Literal["note", "warn", "bad"]
HealthId: TypeAlias = Literal[
    "echo", "no_speech", "same_channels", "repeats", "mixed", "offset", "out_of_step", "exchanged", "soft", "loud",
    "noise", "clipping", "dc", "telephone", "dropouts", "dtmf", "ringing", "tone", "music", "choppy", "paused",
    "recorded_twice", "looped", "half_duplex", "silence_left_out", "wrong_rate", "nonstationary", "agc",
    "reverberation", "comfort_noise", "noise_gate",
]  # fmt: skip
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
    """Where a side comes from."""

    file: int
    channel: Channel
    lead_samples: int
    samples: int


class Source(TypedDict, total=False):
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


class Annotation(TypedDict):
    """An annotation of Full-Duplex-Bench v1."""

    kind: AnnotationKind
    start_s: float
    end_s: float


class Lost(TypedDict):
    """What was not recorded because the disk was too slow."""

    spans: list[tuple[int, int]]
    events: int


class LeftOutSpan(TypedDict):
    """A span that no measure counts."""

    start_tick: Tick
    end_tick: Tick
    by: Annotated[str, Meta(description="what left it out: --from, --to, a column of the table of calls")]


LineOfCall: TypeAlias = Annotated[
    dict[str, Any],
    Meta(
        description="what changed what a side heard of the other, as it describes itself: name, the address; seed; "
        "to_b and perhaps to_a, each with delay_samples and what it added. What each side said is recorded as it was"
    ),
]


class OptionalMeta(TypedDict, total=False):
    """What not every meta.json says of its recording."""

    reason: str | None
    created: str
    n_ticks: Tick
    n_events: Annotated[Count, Meta(description="lines that events.jsonl had when it was closed")]
    sha256s: Annotated[dict[str, str], Meta(description="of the files that were made with it")]
    settings_sha256: str
    versions: dict[str, str]
    platform: str
    source: Source
    parties: Parties
    timing: TimingCertificate
    annotations: list[Annotation]
    left_out: list[LeftOutSpan]
    outcome: Outcome
    case: PlannedCase
    attempts: list[Outcome]
    selftest: TimingSelftest | None
    lost: Lost
    tools: Tools
    line: LineOfCall
    sent_to: SentTo
    held: ReplayedRecording


class KnownMeta(OptionalMeta, total=False):
    """What is known of a recording so far."""

    schema: Literal["fdbcore.recording/1"]
    status: RecordingStatus
    settings: Settings


class RecordingMeta(OptionalMeta):
    """What meta.json says of a recording."""

    schema: Literal["fdbcore.recording/1"]
    status: RecordingStatus
    settings: Settings


class ReplayedRecording(TypedDict):
    """The recording that a recording replays."""

    path: Annotated[str, Meta(description="from the folder of the recording that replays it")]
    meta: RecordingMeta
    same: NotRequired[Annotated[bool | None, Meta(description="null where it was cut off")]]
    differences: NotRequired[list[str]]


class HealthFinding(TypedDict):
    """Something wrong with the input."""

    id: HealthId
    side: Annotated[Side | None, Meta(description="whose audio it is in; null: both")]
    severity: Severity
    text: str
    means: Annotated[str, Meta(description="what it does to the measures")]
    figures: Annotated[dict[str, float], Meta(description="by name, with the unit in it")]
    spans: Spans


class SideFigures(TypedDict):
    """dBov: 0 is a square wave of full scale; -100 is digital silence; null where there is nothing to measure."""

    speech_s: Seconds
    level_dbov: Annotated[float | None, Meta(description="of the speech")]
    noise_dbov: Annotated[float | None, Meta(description="of the background")]
    snr_db: float | None
    peak_dbov: float
    dc_of_full_scale: float
    spread_db: Annotated[float | None, Meta(description="how much the background varies: robust standard deviation")]
    under_db: Annotated[float | None, Meta(description="the softest 5 % in speech, above the background")]
    after_db: Annotated[float | None, Meta(description="the sound 50 to 150 ms after speech, above the background")]
    fall_ms: Annotated[float | None, Meta(description="from 15 to 35 dB below the peak of a stretch of speech")]
    tail_ms: Annotated[
        float | None, Meta(description="in which the quicker stretches die away by 20 dB: long in rooms")
    ]
    high_drop_db: Annotated[float | None, Meta(description="2.5 to 3.3 kHz above 4.5 to 7.5 kHz")]
    pitch_hz: NotRequired[Annotated[float | None, Meta(description="the median pitch of the voice")]]


class HealthSides(TypedDict):
    """The level of each side."""

    A: SideFigures
    B: SideFigures


class SuspectSpans(TypedDict):
    """Where the activity of a side is echo of the other."""

    A: Spans
    B: Spans


class EarlierHealth(TypedDict):
    """What an earlier version said of the audio: with fewer figures."""

    schema: str
    verdict: Literal["ok", "warn", "bad"]
    sides: dict[Side, dict[str, float | None]]
    findings: list[HealthFinding]
    suspect: SuspectSpans


class Health(TypedDict):
    """What is wrong with the audio."""

    schema: Literal["fdbcore.health/3"]
    verdict: Annotated[Literal["ok", "warn", "bad"], Meta(description="the worst severity; notes leave it ok")]
    sides: HealthSides
    findings: Annotated[list[HealthFinding], Meta(description="the worst first")]
    suspect: SuspectSpans
