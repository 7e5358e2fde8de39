"""The document that `fdbcore doctor --json` prints."""

from typing import Annotated, Any, Literal, NotRequired, Required, TypedDict

from msgspec import Meta

from fdbcore.measures.placed_lines import PlacedLines
from fdbcore.recording.health import HealthFinding, HealthSides, SuspectSpans
from fdbcore.types.timing import CallsAtOnce, TimingSelftest


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
    """The readiness of a system."""

    ready: bool
    seconds: NotRequired[Annotated[float, Meta(description="until it was ready")]]
    party: NotRequired[Annotated[dict[str, Any], Meta(description="what it says of itself")]]
    why_not: NotRequired[str]
    endings: NotRequired[Annotated[list[str], Meta(description="its models that have gone or end soon, a line each")]]


class CheckedModel(TypedDict):
    """The state of a local model's files: are they those that were fetched, byte by byte?"""

    whole: bool
    why_not: NotRequired[str]


class Checkup(TypedDict, total=False):
    """The health of audio to be measured, the timing of this machine, and the readiness of systems. Fields may be added
    under the same version; a field is never given another meaning."""

    schema: Required[Literal["fdbcore.doctor/1"]]
    files: Annotated[dict[str, CheckedSession], Meta(description="by the name of the session")]
    timing: TimingSelftest
    calls: Annotated[CallsAtOnce, Meta(description="how many live calls at once this machine holds, if asked for")]
    systems: Annotated[dict[str, Probe], Meta(description="by their addresses, without secrets")]
    models: Annotated[dict[str, CheckedModel], Meta(description="local models that have been fetched, by their names")]
