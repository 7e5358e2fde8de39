"""The types of the document of one recording, `fdbcore.replay/2`; its published JSON schema is generated from them.

    python -m fdbcore.report.call.document_types     writes static/replay.schema.json anew; it needs msgspec

They are for type checkers and for the schema: nothing at run time imports this module.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NotRequired, TypeAlias, TypedDict

import msgspec
from msgspec import Meta

from fdbcore.measures.health.finding import Severity
from fdbcore.measures.measure import MomentKind
from fdbcore.recording.labels import LabelKind
from fdbcore.types import Side, TurnKind

SCHEMA_FILE: Final = Path(__file__).parents[1] / "static" / "replay.schema.json"

Count: TypeAlias = Annotated[int, Meta(ge=0)]
Tick: TypeAlias = Annotated[int, Meta(ge=0, description="ticks of 10 ms from the start of the session")]
Seconds: TypeAlias = Annotated[float, Meta(ge=0)]
Spans: TypeAlias = Annotated[list[tuple[Tick, Tick]], Meta(description="spans of ticks")]
Status: TypeAlias = Literal["running", "complete", "interrupted", "failed"]
HealthId: TypeAlias = Literal[
    "echo", "no_speech", "same_channels", "repeats", "mixed", "offset", "out_of_step", "exchanged", "soft", "loud",
    "noise", "clipping", "dc", "telephone", "dropouts", "dtmf", "ringing", "tone", "music",
]  # fmt: skip


class SourceFile(TypedDict):
    """A file that was read."""

    path: str
    sha256: NotRequired[str]
    codec: NotRequired[str]
    rate_hz: NotRequired[float]
    channels: NotRequired[int]


class SourceSide(TypedDict, total=False):
    """Where a side comes from."""

    file: int
    channel: Literal["left", "right", "mono", "mean"]
    lead_samples: int
    samples: int


class Source(TypedDict, total=False):
    """The files that were read."""

    files: list[SourceFile]
    sides: Annotated[dict[str, SourceSide], Meta(description="which file (by number) and channel each side comes from")]
    swap: bool
    offset_ms: int
    playable_in_browser: Annotated[
        bool, Meta(description="the file itself plays as the session; else session.wav does")
    ]


class Parties(TypedDict, total=False):
    """What is known of each side."""

    A: dict[str, Any]
    B: dict[str, Any]


class Described(TypedDict):
    """What a recording is, and what it was made of."""

    name: str
    n_ticks: Tick
    length_s: Seconds
    created: Annotated[str | None, Meta(description="UTC, ISO 8601")]
    status: Status
    reason: Annotated[str | None, Meta(description="why it is not complete")]
    source: Source | None
    parties: Parties | None
    settings_sha256: str | None
    versions: dict[str, str] | None
    platform: str | None


class Settings(TypedDict):
    """What decided on the events."""

    turns: Annotated[dict[str, int], Meta(description="of the turn detector, in ms")]
    vad: Annotated[Parties, Meta(description="of each side's voice activity detector")]


class Event(TypedDict):
    """A turn event."""

    kind: TurnKind
    side: Annotated[
        Side,
        Meta(
            description="gap, overlap_between: who takes the floor; pause, turn: who holds it; overlap_within, "
            "intrusion: who comes in; no_response: who does not answer"
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


class Measure(TypedDict):
    """The summary of a measure; its id carries the unit and the denominator."""

    n: Annotated[Count, Meta(description="items; of a share its denominator; of a rate the events counted")]
    count: NotRequired[Annotated[Count, Meta(description="of a share: its numerator")]]
    median: float | None
    p90: float | None
    p95: NotRequired[float | None]
    max: NotRequired[float | None]
    mean: Annotated[float | None, Meta(description="of a share or a rate: its value")]
    ci95: Annotated[
        Annotated[list[float], Meta(min_length=2, max_length=2)] | None,
        Meta(description="of the median, or of a share or a rate itself"),
    ]
    unit: str
    excluded: Annotated[dict[str, Annotated[int, Meta(ge=1)]], Meta(description="items left out, by reason")]
    by_chance: NotRequired[
        Annotated[float | None, Meta(description="the share to expect if the sides did not hear each other")]
    ]
    with_echo: NotRequired[Annotated[Measure, Meta(description="with the suspect events, where that differs")]]
    of: NotRequired[
        Annotated[
            list[Annotated[int, Meta(ge=1)]],
            Meta(min_length=2, max_length=2, description="of a difference of two shares: their denominators"),
        ]
    ]


class ResponseCurve(TypedDict):
    """The share of its opportunities that B has begun to answer after x ms: the latencies of at most x over all."""

    latency_ms: list[float]
    eligible: Count


class Curves(TypedDict):
    """Curves, for drawing."""

    response: ResponseCurve


class Moment(TypedDict):
    """A span in which something took longer than it may."""

    kind: MomentKind
    side: Side
    start_tick: Tick
    end_tick: Tick
    start_s: Seconds
    end_s: Seconds
    severity: Annotated[float, Meta(gt=1, description="length as a multiple of what is ordinary for its kind")]
    text: str


class Finding(TypedDict):
    """What must be said of the call first, in plain words: who was silent, and since when."""

    id: str
    side: Side | None
    name: Annotated[str, Meta(description="what all calls with it have in common")]
    text: str
    start_tick: Tick
    end_tick: Tick
    start_s: float
    end_s: float


class HealthFinding(TypedDict):
    """Something wrong with the input."""

    id: HealthId
    side: Annotated[Side | None, Meta(description="whose audio it is in; null: both")]
    severity: Severity
    text: str
    means: Annotated[str, Meta(description="what it does to the measures")]
    figures: Annotated[dict[str, float], Meta(description="by name, with the unit in it")]
    spans: Spans


class HealthSides(TypedDict):
    """dBov: 0 is a square wave of full scale; -100 is digital silence; null where there is nothing to measure."""

    A: dict[str, float | None]
    B: dict[str, float | None]


class SuspectSpans(TypedDict):
    """Where the activity of a side is echo of the other."""

    A: Spans
    B: Spans


class Health(TypedDict):
    """What is wrong with the audio."""

    schema: Literal["fdbcore.health/2"]
    verdict: Annotated[Literal["ok", "warn", "bad"], Meta(description="the worst severity; notes leave it ok")]
    sides: HealthSides
    findings: Annotated[list[HealthFinding], Meta(description="the worst first")]
    suspect: SuspectSpans


class Label(TypedDict):
    """What somebody says of a span of one side; a moment is a span of no length."""

    side: Side
    kind: LabelKind
    start_s: Seconds
    end_s: Seconds


class Labels(TypedDict):
    """What people have labelled, within the length of the session."""

    source: Annotated[str, Meta(description="the file or folder of the labels")]
    counts: Annotated[dict[str, Annotated[int, Meta(ge=1)]], Meta(description="labels by side and kind")]
    labels: list[Label]


class Outcome(TypedDict):
    """How a conversation ended."""

    kind: Annotated[
        Literal["done", "invalid", "failed"],
        Meta(description="invalid: the harness is to blame; failed: the system is"),
    ]
    side: Side | None
    reason: str | None


class ReplayOf(TypedDict):
    """The recording that was replayed, and whether that gave the same turn events and activity, bit for bit."""

    path: str
    same: Annotated[bool | None, Meta(description="null where it was cut off")]
    differences: list[str]


class Deliveries(TypedDict):
    """Of a side's audio: how many deliveries, the median length of one, and how far apart they came."""

    n: int
    length_ms: float
    p50_ms: float
    p99_ms: float
    max_ms: float


class Arrivals(TypedDict, total=False):
    """How the audio of each side came."""

    A: Deliveries | None
    B: Deliveries | None


class Held(TypedDict):
    """How the conversation was held."""

    created: str | None
    status: Status
    reason: str | None
    outcome: Outcome | None
    parties: dict[str, Any] | None
    timing: Annotated[dict[str, Any] | None, Meta(description="its timing certificate; sides: what each side measured")]
    replay_of: ReplayOf | None
    missed: Annotated[
        list[tuple[Count, Count]],
        Meta(description="spans of ticks that were silent on both sides because they came too late"),
    ]
    arrivals: Arrivals


class Document(TypedDict):
    """One recorded session: its turn events, measures and worst moments. Spans are half open. Fields may be added under
    the same version; a field is never given another meaning."""

    schema: Literal["fdbcore.replay/2"]
    recording: Described
    settings: Settings
    health: NotRequired[Annotated[Health | None, Meta(description="null where the audio was not examined")]]
    events: Annotated[list[Event], Meta(description="in the order in which they became known")]
    measures: Annotated[dict[str, Measure], Meta(description="by id")]
    curves: Curves
    moments: Annotated[list[Moment], Meta(description="the worst first")]
    labels: NotRequired[Annotated[Labels | None, Meta(description="null where nobody has labelled it")]]
    findings: NotRequired[list[Finding]]
    warnings: Annotated[list[str], Meta(description="what must be known before any number")]
    unscored: NotRequired[Annotated[str | None, Meta(description="why there are no measures, curves and moments")]]
    timing: Annotated[
        dict[str, Any] | None,
        Meta(description="the timing certificate of the clock; that of a replayed conversation is in held"),
    ]
    held: NotRequired[Annotated[Held | None, Meta(description="null of recorded files")]]
    marks: NotRequired[
        Annotated[
            dict[str, Any] | None,
            Meta(
                description="the agent's own log on the timeline (fdbcore.marks/1), and each response of B split at "
                "its marks; null without one"
            ),
        ]
    ]


CLOSED: Final = (Event, HealthFinding, Label, Moment, ResponseCurve)
"""Types that have no other fields than these."""

_OF_A_KIND: Final = {
    ("gap", "overlap_between"): ("fto_ticks",),
    ("intrusion",): ("onset", "outcome", "stop_ticks", "simultaneous", "terminal"),
}
"""What events of some kinds have beside."""


def schema() -> dict[str, Any]:
    """The JSON schema (2020-12) of a document."""
    found = msgspec.json.schema(Document)
    types = found["$defs"]
    for closed in CLOSED:
        types[closed.__name__]["additionalProperties"] = False
    types["Event"]["allOf"] = [
        {"if": {"properties": {"kind": {"enum": list(kinds)}}}, "then": {"required": list(names)}}
        for kinds, names in _OF_A_KIND.items()
    ]
    document = types.pop("Document")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://github.com/fdbcore/fdbcore/schemas/replay/2",
        **document,
        "title": "fdbcore.replay/2",
        "$defs": types,
    }


def schema_text() -> str:
    """The published file."""
    return json.dumps(schema(), indent=1) + "\n"


if __name__ == "__main__":
    SCHEMA_FILE.write_text(schema_text(), encoding="utf-8")
