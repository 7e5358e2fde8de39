"""The types of the document of one recording, `fdbcore.replay/2`, and of what `fdbcore doctor --json` prints."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, Required, TypedDict

from msgspec import Meta

from fdbcore.analysis.sensitivity import Sensitivity
from fdbcore.analysis.summary_types import Curves, Measures, ReplaySummary
from fdbcore.measures.findings import Finding
from fdbcore.measures.heard_words import HeardLine
from fdbcore.measures.live_record import Held
from fdbcore.measures.moments import Moment
from fdbcore.measures.placed_lines import PlacedLines
from fdbcore.recording.agent_log_types import AgentLog
from fdbcore.recording.labels import Label
from fdbcore.recording.meta_types import Count, RecordingStatus, Seconds, Settings, Tick
from fdbcore.recording.recorded_types import (
    Health,
    HealthFinding,
    HealthSides,
    LeftOutSpan,
    Parties,
    Source,
    SuspectSpans,
)
from fdbcore.recording.run_types import TimingSelftest
from fdbcore.types import Side, TurnKind
from fdbcore.types.timing_types import CallsAtOnce, TimingCertificate


class LeftOut(LeftOutSpan):
    """A span that no measure counts, in seconds and in words, too."""

    start_s: Seconds
    end_s: Seconds
    text: str


class Unmeasured(TypedDict, total=False):
    """What is not measured of a recording; nothing if it is measured as a whole."""

    measured_s: Annotated[float, Meta(ge=0, description="the length of what is measured")]
    left_out: Annotated[list[LeftOut], Meta(description="by time")]


class Described(Unmeasured):
    """What a recording is, and what it was made of."""

    name: str
    n_ticks: Tick
    length_s: Seconds
    created: Annotated[str | None, Meta(description="UTC, ISO 8601")]
    status: RecordingStatus
    reason: Annotated[str | None, Meta(description="why it is not complete")]
    source: Source | None
    parties: Parties | None
    settings_sha256: str | None
    versions: dict[str, str] | None
    platform: str | None


class Event(TypedDict):
    """A turn event."""

    kind: TurnKind
    side: Annotated[
        Side,
        Meta(
            description="gap, overlap_between: who takes the floor; pause, turn: who holds it; overlap_within, "
            "intrusion: who comes in; no_response: who does not answer; keypad: who dials"
        ),
    ]
    start_tick: Tick
    end_tick: Annotated[Tick | None, Meta(description="null while the speech still goes on")]
    known_tick: Annotated[Count, Meta(description="when the event became certain")]
    censored: Annotated[bool, Meta(description="decided only by the end of the recording; counts nowhere")]
    start_s: Seconds
    end_s: Seconds | None
    fto_ticks: NotRequired[Annotated[int, Meta(description="floor transfer offset, of gap and overlap_between")]]
    other_spoke: NotRequired[Annotated[bool, Meta(description="of pause")]]
    stretches: NotRequired[
        Annotated[list[tuple[Tick, Tick]], Meta(description="of overlap_between: where both speak, in ticks")]
    ]
    onset: NotRequired[Annotated[Literal["overlap", "silence"], Meta(description="of intrusion")]]
    outcome: NotRequired[
        Annotated[Literal["kept", "taken"], Meta(description="of intrusion: what became of the holder's floor")]
    ]
    stop_ticks: NotRequired[Annotated[Count | None, Meta(description="of intrusion: until the holder fell silent")]]
    simultaneous: NotRequired[Annotated[bool, Meta(description="of intrusion")]]
    terminal: NotRequired[Annotated[bool, Meta(description="of intrusion")]]
    suspect: NotRequired[
        Annotated[
            Literal[True],
            Meta(
                description="it is there only where speech that is echo of the other side counts; no measure counts it"
            ),
        ]
    ]
    unanswered: NotRequired[
        Annotated[
            Literal[True],
            Meta(
                description="of pause: A waited in vain and went on by itself; the measures count a missing answer of B"
            ),
        ]
    ]


class Labels(TypedDict):
    """What people have labelled, within the length of the session."""

    source: Annotated[str, Meta(description="the file or folder of the labels")]
    counts: Annotated[dict[str, Annotated[int, Meta(ge=1)]], Meta(description="labels by side and kind")]
    labels: list[Label]


class Document(TypedDict):
    """One recorded session: its turn events, measures and worst moments. Spans are half open. Fields may be added under
    the same version; a field is never given another meaning."""

    schema: Literal["fdbcore.replay/2"]
    recording: Described
    settings: Settings
    health: NotRequired[Annotated[Health | None, Meta(description="null where the audio was not examined")]]
    lines: NotRequired[
        Annotated[
            PlacedLines | None,
            Meta(description="what each line does to edges and answers; null where the audio was not examined for it"),
        ]
    ]
    events: Annotated[list[Event], Meta(description="in the order in which they became known")]
    measures: Measures
    curves: Curves
    moments: Annotated[list[Moment], Meta(description="the worst first")]
    labels: NotRequired[Annotated[Labels | None, Meta(description="null where nobody has labelled it")]]
    findings: NotRequired[list[Finding]]
    warnings: Annotated[list[str], Meta(description="what must be known before any number")]
    unscored: NotRequired[Annotated[str | None, Meta(description="why there are no measures, curves and moments")]]
    timing: Annotated[
        TimingCertificate | None,
        Meta(description="the timing certificate of the clock; that of a replayed conversation is in held"),
    ]
    held: NotRequired[Annotated[Held | None, Meta(description="null of recorded files")]]
    marks: NotRequired[Annotated[AgentLog | None, Meta(description="null without a log")]]
    detectors: NotRequired[Annotated[Sensitivity, Meta(description="what other detectors make of it, where asked")]]
    transcript: NotRequired[
        Annotated[
            list[HeardLine],
            Meta(description="what a transcriber heard, by start; what the parties told is in held"),
        ]
    ]


class ReplayedCalls(ReplaySummary):
    """The calls of a run of `fdbcore replay`, pooled. Fields may be added under the same version; a field is never
    given another meaning."""

    detectors: NotRequired[
        Annotated[Sensitivity, Meta(description="what other detectors make of them, where asked; not in summary.json")]
    ]
    sessions: NotRequired[
        Annotated[list[Document], Meta(description="each of the recordings, as they are printed; not in summary.json")]
    ]


class CheckedSession(TypedDict, total=False):
    """The health of a session, and what must be known of it before any number."""

    why_not: Annotated[str, Meta(description="why it cannot be read; then there is nothing else")]
    schema: Literal["fdbcore.health/3"]
    verdict: Annotated[Literal["ok", "warn", "bad"], Meta(description="the worst severity; notes leave it ok")]
    sides: HealthSides
    findings: list[HealthFinding]
    suspect: SuspectSpans
    lines: Annotated[PlacedLines | None, Meta(description="what the line of each side does to edges and answers")]
    damaged: Annotated[list[str], Meta(description="what is missing of its files")]
    warnings: list[str]


class Probe(TypedDict):
    """Whether a system is there."""

    ready: bool
    seconds: NotRequired[Annotated[float, Meta(description="until it was ready")]]
    party: NotRequired[Annotated[dict[str, Any], Meta(description="what it says of itself")]]
    why_not: NotRequired[str]
    endings: NotRequired[Annotated[list[str], Meta(description="its models that have gone or end soon, a line each")]]


class CheckedModel(TypedDict):
    """Whether the files of a local model are those that were fetched, byte by byte."""

    whole: bool
    why_not: NotRequired[str]


class Checkup(TypedDict, total=False):
    """Whether audio is fit to be measured, whether this machine keeps time, whether systems are there. Fields may be
    added under the same version; a field is never given another meaning."""

    schema: Required[Literal["fdbcore.doctor/1"]]
    files: Annotated[dict[str, CheckedSession], Meta(description="by the name of the session")]
    timing: TimingSelftest
    calls: Annotated[CallsAtOnce, Meta(description="how many live calls at once this machine holds, if asked for")]
    systems: Annotated[dict[str, Probe], Meta(description="by their addresses, without secrets")]
    models: Annotated[dict[str, CheckedModel], Meta(description="local models that have been fetched, by their names")]
