"""The types of what a run keeps of itself: corpus.json of `fdbcore replay`, run.json of `fdbcore run`.

They are for type checkers and the schemas, and the forms by which the files of a run are checked as they are read.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypeAlias, TypedDict

from msgspec import Meta

from fdbcore.recording.meta_types import Count, Seconds, Tools
from fdbcore.types import Side
from fdbcore.types.timing_types import LatenessSummary, Priority

Standing: TypeAlias = Literal["done", "damaged", "failed", "invalid", "waiting"]


class ReplayedFile(TypedDict):
    """A file that a call was replayed from."""

    path: Annotated[str, Meta(description="from the folder of the run")]
    sha256: Annotated[str | None, Meta(description="of its audio; null before it was read")]


class CorpusCall(TypedDict):
    """A call of a corpus, and what became of it."""

    name: Annotated[str, Meta(description="of its folder in the run")]
    status: Annotated[
        Standing, Meta(description="damaged: a part of its file is missing, the rest is scored; waiting: not yet held")
    ]
    reason: Annotated[str | None, Meta(description="why it is not done")]
    unscored: Annotated[str | None, Meta(description="why it is in no measure")]
    files: list[ReplayedFile]
    columns: Annotated[dict[str, str], Meta(description="those of --meta; of a live call system, clip and more")]


class CorpusSettings(TypedDict):
    """How all calls were replayed."""

    vad: str
    changes: Annotated[dict[str, int], Meta(description="of the turn detector, in ms")]
    real_time: bool
    line_open: NotRequired[Literal[True]]
    count_bad_input: NotRequired[Literal[True]]


class Corpus(TypedDict):
    """The calls that were replayed into a run. Fields may be added under the same version; a field is never given
    another meaning."""

    schema: Literal["fdbcore.corpus/1"]
    began: Annotated[str, Meta(description="UTC, ISO 8601")]
    updated: str
    settings: CorpusSettings
    versions: dict[str, str]
    oddities: Annotated[dict[str, list[str]], Meta(description="what did not fit, and of which calls")]
    calls: list[CorpusCall]


class Outcome(TypedDict):
    """How a conversation ended."""

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


class PlannedSuite(TypedDict):
    """The benchmark that a run is of."""

    name: str
    data: str
    sha256: dict[str, str]


class Decisions(TypedDict):
    """What decides a plan."""

    systems: Annotated[dict[str, dict[str, Any]], Meta(description="what each is described by")]
    a: Annotated[
        dict[str, Any] | list[dict[str, Any]],
        Meta(description="who talks to them: in common, or each where they differ"),
    ]
    trials: Annotated[int, Meta(ge=1)]
    seed: int
    clock: Literal["real", "virtual"]
    max_s: Seconds
    vad: str
    turns: Annotated[dict[str, int], Meta(description="settings of the turn detector, in ms")]
    ends: NotRequired[Annotated[dict[str, float], Meta(description="when calls with recorded users are over, in s")]]
    lines: NotRequired[
        Annotated[list[dict[str, Any]], Meta(description="what the calls go over, as each describes itself")]
    ]
    suite: NotRequired[PlannedSuite]
    tools: NotRequired[Tools]


class PlannedRun(TypedDict):
    """A run's plan, with every case in its order. Fields may be added under the same version; a field is never given
    another meaning."""

    schema: Literal["fdbcore.run/1"]
    created: Annotated[str, Meta(description="UTC, ISO 8601")]
    versions: dict[str, str]
    plan: Decisions
    cases: list[PlannedCase]


class TimingSelftest(TypedDict):
    """What the harness itself adds, and whether that is what it states; without figures where it cannot be measured.
    Fields may be added under the same version; a field is never given another meaning."""

    schema: Literal["fdbcore.selftest/1"]
    created: Annotated[str, Meta(description="UTC, ISO 8601")]
    passed: Annotated[bool | None, Meta(description="null where it could not be done")]
    why_not: NotRequired[str]
    transport: NotRequired[str]
    clicks: NotRequired[Annotated[int, Meta(description="that were sent")]]
    returned: NotRequired[int]
    delay_ms: NotRequired[Annotated[float, Meta(description="after which clicks came back: the median")]]
    jitter_ms: NotRequired[Annotated[float, Meta(description="the largest delay less the smallest")]]
    drift_ppm: NotRequired[float]
    stated_ms: NotRequired[Annotated[float, Meta(description="the delay that the harness states: the median")]]
    error_ms: NotRequired[Annotated[float, Meta(description="by how much clicks came later than stated: the median")]]
    wire: NotRequired[Annotated[LatenessSummary, Meta(description="how late packets left")]]
    missed: NotRequired[Annotated[int, Meta(description="ticks")]]
    priority: NotRequired[Priority | None]
    broke: NotRequired[Annotated[list[str], Meta(description="what did not hold")]]


class SystemCosts(TypedDict):
    """How much there is to hold with a system."""

    calls: Count
    left: Count
    audio_s: Annotated[float, Meta(description="of the calls left")]
    wall_s: Annotated[float | None, Meta(description="of the calls left; null on a virtual clock")]
    usd: Annotated[float | None, Meta(description="about what the calls left cost; null where a price is not known")]


class RunCosts(TypedDict):
    """How much a run has to hold. Fields may be added under the same version; a field is never given another
    meaning."""

    schema: Literal["fdbcore.costs/1"]
    systems: Annotated[dict[str, SystemCosts], Meta(description="by name, and of all together: all")]
    recipients: Annotated[list[str], Meta(description="what goes to whom, a line each; empty if nothing leaves")]
    endings: Annotated[list[str], Meta(description="models that have gone or end soon, a line each")]
