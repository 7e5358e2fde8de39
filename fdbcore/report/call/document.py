"""The JSON document of one recording: what `fdbcore replay --json` prints, and what the HTML report draws.

`fdbcore.report.schemas` publishes the schema of its type.
"""

from collections.abc import Iterator
from typing import Annotated, Final, Literal, NotRequired, TypedDict, cast

from msgspec import Meta, to_builtins

from fdbcore.analysis.score import CallScores, Curves
from fdbcore.analysis.sensitivity import Sensitivity
from fdbcore.analysis.settings_differences import earlier
from fdbcore.analysis.stages import stage_table
from fdbcore.analysis.summaries import Measures
from fdbcore.analysis.survey import ReplaySummary
from fdbcore.measures.findings import Finding
from fdbcore.measures.heard_words import HeardLine, heard_lines
from fdbcore.measures.live_record import Held, live_record
from fdbcore.measures.moments import Moment
from fdbcore.measures.opportunities import opportunities_in
from fdbcore.measures.placed_lines import PlacedLines, placed_lines
from fdbcore.measures.reading import Reading
from fdbcore.recording.agent_log import AgentLog
from fdbcore.recording.health import Health
from fdbcore.recording.labels import Label
from fdbcore.recording.left_out import LeftOut
from fdbcore.recording.meta import Parties, RecordingStatus, Settings, SourceFiles
from fdbcore.recording.reader import Recording
from fdbcore.types import Side, TurnKind, ticks_to_s
from fdbcore.types.timing import TimingCertificate
from fdbcore.types.units import Count, Seconds, Tick


class ToldLeftOut(LeftOut, frozen=True, kw_only=True):
    """A span that no measure counts, in seconds and in words, too."""

    start_s: Seconds
    end_s: Seconds
    text: str


class Unmeasured(TypedDict, total=False):
    """Spans of a recording that are not measured; nothing if it is measured as a whole."""

    measured_s: Annotated[float, Meta(ge=0, description="the length of what is measured")]
    left_out: Annotated[list[ToldLeftOut], Meta(description="by time")]


class Described(Unmeasured):
    """A recording, and what it was made of."""

    name: str
    n_ticks: Tick
    length_s: Seconds
    created: Annotated[str | None, Meta(description="UTC, ISO 8601")]
    status: RecordingStatus
    reason: Annotated[str | None, Meta(description="why it is not complete")]
    source: SourceFiles | None
    parties: Parties | None
    settings_sha256: str | None
    versions: dict[str, str] | None
    platform: str | None


class EventOfAnyKind(TypedDict):
    """The fields of each turn event."""

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


class Event(EventOfAnyKind, total=False):
    """A turn event."""

    fto_ticks: Annotated[int, Meta(description="floor transfer offset, of gap and overlap_between")]
    other_spoke: Annotated[bool, Meta(description="of pause")]
    stretches: Annotated[list[tuple[Tick, Tick]], Meta(description="of overlap_between: where both speak, in ticks")]
    onset: Annotated[Literal["overlap", "silence"], Meta(description="of intrusion")]
    outcome: Annotated[Literal["kept", "taken"], Meta(description="of intrusion: what became of the holder's floor")]
    stop_ticks: Annotated[Count | None, Meta(description="of intrusion: until the holder fell silent")]
    simultaneous: Annotated[bool, Meta(description="of intrusion")]
    terminal: Annotated[bool, Meta(description="of intrusion")]
    suspect: Annotated[
        Literal[True],
        Meta(description="it is there only where speech that is echo of the other side counts; no measure counts it"),
    ]
    unanswered: Annotated[
        Literal[True],
        Meta(description="of pause: A waited in vain and went on by itself; the measures count a missing answer of B"),
    ]


class CountedLabels(TypedDict):
    """Labels by people, within the length of the session."""

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
    labels: NotRequired[Annotated[CountedLabels | None, Meta(description="null where nobody has labelled it")]]
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


DOCUMENT_SCHEMA: Final = "fdbcore.replay/2"


def document(reading: Reading, scores: CallScores) -> Document:
    """Everything that is known of a recording and its scores, as JSON values."""
    content = page_document(reading, scores)
    return {**content, "events": list(content["events"])}


def page_document(reading: Reading, scores: CallScores) -> Document:
    """The same for a page, which embeds its events one by one: they are made each time that they are gone through.

    Those of a day take 40 MiB as JSON values.
    """
    unscored = scores.get("unscored")
    content: Document = {
        "schema": DOCUMENT_SCHEMA,
        "recording": _described(reading),
        "settings": reading.meta["settings"],
        "health": reading.health,
        "lines": to_builtins(placed_lines(reading)),
        "events": cast("list[Event]", _Events(reading)),
        "measures": scores["measures"],
        "curves": scores["curves"],
        "moments": [] if unscored else to_builtins(reading.moments),
        "labels": _labels(reading),
        "findings": scores["findings"],
        "warnings": [*scores["warnings"], *earlier([reading.meta["settings"]])],
        "unscored": unscored,
        "timing": reading.meta.get("timing"),
        "held": live_record(reading),
        "marks": _marks(reading),
    }
    if lines := heard_lines(reading):
        content["transcript"] = lines
    return content


class _Events:
    """The turn events of a recording as JSON values."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def __iter__(self) -> Iterator[Event]:
        unanswered = {event for event in opportunities_in(self._reading.dialogue).missed if event.kind == "pause"}
        for event, suspect in self._reading.events_with_suspects:
            yield cast(
                "Event",
                event.to_json()
                | ({"suspect": True} if suspect else {})
                | ({"unanswered": True} if not suspect and event in unanswered else {}),
            )


def told_first(content: Document | CallScores) -> list[str]:
    """Facts to know before any number, of a document or of scores: the findings, then the warnings."""
    return [*(finding["text"] for finding in content["findings"]), *content["warnings"]]


def _described(recording: Recording) -> Described:
    meta = recording.meta
    return {
        "name": recording.name,
        "n_ticks": recording.n_ticks,
        "length_s": ticks_to_s(recording.n_ticks),
        **_left_out(recording),
        "created": meta.get("created"),
        "status": meta["status"],
        "reason": meta.get("reason"),
        "source": meta.get("source"),
        "parties": meta.get("parties"),
        "settings_sha256": meta.get("settings_sha256"),
        "versions": meta.get("versions"),
        "platform": meta.get("platform"),
    }


def _left_out(recording: Recording) -> Unmeasured:
    """Spans that no measure counts, and how much is measured; empty if that is all of it."""
    if not recording.left_out:
        return {}
    spans: list[ToldLeftOut] = [
        to_builtins(span)
        | {"start_s": ticks_to_s(span.start_tick), "end_s": ticks_to_s(span.end_tick), "text": span.text}
        for span in recording.left_out
    ]
    return {"measured_s": ticks_to_s(recording.measured_ticks), "left_out": spans}


def _marks(recording: Recording) -> AgentLog | None:
    log: AgentLog | None = recording.marks
    if log is None:
        return None
    table = stage_table([log])
    return {**log, "stages": to_builtins([stage.times for stage in table.stages] if table else [])}


def _labels(recording: Recording) -> CountedLabels | None:
    labels = recording.labels
    if labels is None:
        return None
    return {"source": labels.source, "counts": labels.counts(), "labels": to_builtins(labels.labels)}
