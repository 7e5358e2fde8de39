"""An agent's own log on the timeline of a recording, as marks.json keeps it, and how it is read."""

from typing import Annotated, Literal, NotRequired, TypeAlias, TypedDict

from msgspec import UNSET, Meta, Struct, UnsetType

from fdbcore.recording.files import OfActivity
from fdbcore.types.units import Count, Seconds

Place: TypeAlias = Literal["starts of B's turns", "ends of B's turns", "starts of A's turns", "ends of A's turns"]


class LogEventOnTimeline(TypedDict):
    """An entry of the log."""

    time_s: Seconds
    name: str


class LogClock(Struct, frozen=True):
    """The map from times t of the log to times of the recording: t + offset_s + drift_ppm * 1e-6 * (t + offset_s)."""

    offset_s: float
    drift_ppm: float
    low_s: Annotated[float | None, Meta(description="95 % limits of offset_s; null if the user gave it")]
    high_s: float | None
    spread_s: Annotated[float | None, Meta(description="the median distance of the marks from where they should be")]
    anchor: Annotated[str | None, Meta(description="the name of the marks that it rests on")]
    place: Annotated[Place | None, Meta(description="what they were fitted to")]
    matched: Annotated[Count, Meta(description="how many of these starts or ends have such a mark")]
    of: Count
    also: Annotated[list[str], Meta(description="names that agree, where each has too few marks alone")] | UnsetType = (
        UNSET
    )


class SplitAnswer(TypedDict):
    """An answer of B, with the events of the log in it."""

    a_end_s: Seconds
    b_onset_s: Seconds
    answer_ms: Annotated[float, Meta(description="from A's end to B's onset; negative if B began before A's end")]
    events_ms: Annotated[dict[str, float], Meta(description="the time from A's end to each event that the log has")]


class StageTimes(Struct, frozen=True):
    """The time between two events that follow each other."""

    start: str
    end: str
    median_ms: float | None
    p90_ms: float | None
    n: Annotated[Count, Meta(description="answers that have both events")]
    missing: Annotated[Count, Meta(description="answers that lack one of them")]


class AgentLog(TypedDict):
    """An agent's own log on the timeline of a recording, and each answer of B with the events of the log. Fields may be
    added under the same version; a field is never given another meaning."""

    schema: Literal["fdbcore.marks/2"]
    source: Annotated[str | None, Meta(description="the file of the log")]
    sha256: Annotated[str | None, Meta(description="of that file")]
    activity_sha256: NotRequired[OfActivity]
    given_offset_ms: Annotated[float | None, Meta(description="the offset that the user gave")]
    given_session: NotRequired[Annotated[str, Meta(description="only entries that hold this text were read")]]
    refused: Annotated[str | None, Meta(description="why there are neither marks nor answers")]
    clock: LogClock | None
    marks: list[LogEventOnTimeline]
    left_out: NotRequired[Annotated[list[str], Meta(description="entries that cannot be read, the first ones")]]
    left_out_count: NotRequired[Count]
    outside: Annotated[Count, Meta(description="marks beyond the recording")]
    events: Annotated[dict[str, str], Meta(description="the events of answers, each with its name in the log")]
    answers: list[SplitAnswer]
    stages: NotRequired[Annotated[list[StageTimes], Meta(description="of all answers; not in marks.json")]]
