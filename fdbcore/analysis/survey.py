"""Reads the calls of a run once, and collects what its tables, its screen and its page show."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Final, Literal, NamedTuple, NotRequired, TypeAlias, TypedDict

from msgspec import Meta

from fdbcore.analysis import facts
from fdbcore.analysis.call_verdicts import CallVerdict, GatedRun
from fdbcore.analysis.corpus import Call, Run, unreadable
from fdbcore.analysis.input_notes import SoundOfCall, standing_out
from fdbcore.analysis.line_effects import PooledLines, pooled_lines
from fdbcore.analysis.summaries import Measures, headline, summarise_beside
from fdbcore.errors import FdbError
from fdbcore.measures.costs import Cost, total
from fdbcore.measures.findings import Finding
from fdbcore.measures.health.finding import SEVERITIES
from fdbcore.measures.measure import MomentKind
from fdbcore.measures.moments import Moment
from fdbcore.measures.placed_lines import PlacedLines
from fdbcore.measures.quantities import Quantity, Share, Values
from fdbcore.measures.reading import Reading, with_pauses
from fdbcore.recording.agent_log import AgentLog
from fdbcore.recording.form import one_call
from fdbcore.recording.health import Health, Severity
from fdbcore.recording.left_out import LeftOut, kept_spans
from fdbcore.recording.meta import left_out_of
from fdbcore.types import SIDES, TICKS_PER_S, Side, TurnEvent, ticks_to_s


class ReplaySummary(TypedDict):
    """The calls of a run of `fdbcore replay`, pooled. Fields may be added under the same version; a field is never
    given another meaning."""

    schema: Literal["fdbcore.summary/2"]
    recordings: list[str]
    unscored: Annotated[dict[str, str], Meta(description="those of them that are in no measure: why")]
    measures: Measures
    findings: Annotated[dict[str, list[str]], Meta(description="what must be known first, and of which calls")]
    warnings: Annotated[dict[str, list[str]], Meta(description="what must be known beside, and of which calls")]
    failed: Annotated[list[str], Meta(description="of each call that failed or is damaged: why")]
    lines: NotRequired[Annotated[PooledLines | None, Meta(description="null where no call was examined for it")]]


WORST: Final = 20
"""Moments of each kind that are listed."""
OF_ONE_CALL: Final = 3
"""At most this many of them are from one call: a single broken call must not hide all others."""

_FIGURE: Final = re.compile(r"\d+(\.\d+)?")  # warnings of one kind differ only by their figures

OnEvents: TypeAlias = Callable[[Call, Sequence[tuple[TurnEvent, bool | None]]], None]

LEAD_TICKS: Final = 2 * TICKS_PER_S
CLIP_TICKS: Final = 10 * TICKS_PER_S


class BriefFinding(NamedTuple):
    """A finding of `fdbcore.measures.health.examine`, without its figures and spans."""

    id: str
    side: str | None
    severity: Severity
    text: str


@dataclass(frozen=True, slots=True)
class CallHealth:
    """The input health of a call, without figures and spans, so that thousands of calls need little memory."""

    verdict: str
    findings: Sequence[BriefFinding]

    @classmethod
    def of(cls, health: Health) -> CallHealth:
        """The health of a call, from the `health` of its recording."""
        found = health["findings"]
        return cls(health["verdict"], tuple(BriefFinding(f["id"], f["side"], f["severity"], f["text"]) for f in found))

    @property
    def ids(self) -> str:
        """The verdict and the findings with their sides: "warn: echo B, telephone A"."""
        found = ", ".join(" ".join(filter(None, (finding.id, finding.side))) for finding in self.findings)
        return f"{self.verdict}: {found}" if found else self.verdict


@dataclass(slots=True)
class HealthKind:
    """All findings of one id: their worst severity, and the calls that have one."""

    id: str
    severity: Severity = SEVERITIES[0]
    calls: list[Call] = field(default_factory=list)


def health_kinds(examined: Iterable[tuple[Call, CallHealth]]) -> list[HealthKind]:
    """The findings in these calls by id, the most severe first, then those that most calls have."""
    found: dict[str, HealthKind] = {}
    for call, health in examined:
        for finding in health.findings:
            kind = found.setdefault(finding.id, HealthKind(finding.id))
            kind.severity = max(kind.severity, finding.severity, key=SEVERITIES.index)
            if call not in kind.calls[-1:]:
                kind.calls.append(call)
    return sorted(found.values(), key=lambda kind: (-SEVERITIES.index(kind.severity), -len(kind.calls)))


@dataclass(frozen=True, slots=True)
class CallMoment:
    """A moment of a call, in a recording of n_ticks, with the ten seconds around it.

    speech: the spans of ticks in which each side speaks. said: the words of each side, "" if they are not known.
    """

    call: Call
    moment: Moment
    n_ticks: int
    speech: Mapping[Side, Sequence[tuple[int, int]]]
    said: Mapping[Side, str]


@dataclass(frozen=True, slots=True)
class CallRow:
    """The row of one call in tables.

    length_s: None if it is not scored. measured_s: how much of it measures count; left_out: what they do not count.
    figures: the value and n of each measure; with_echo: the same for measures that echo would change. counts: the count
    of each measure that is a share. findings, warnings: what a reader must know before any number. health: None if the
    audio was not examined. worst: its worst moment. verdict: what the gates say of it; None without gates, and for a
    call that is not scored. cost, recipients: of a live call: what it cost, and what went to whom; None and empty if
    nothing left one's own network. lines: what they do to edges and answers; None if it was not examined for that.
    """

    call: Call
    length_s: float | None = None
    measured_s: float | None = None
    left_out: Sequence[LeftOut] = ()
    figures: Mapping[str, tuple[float | None, int]] = field(default_factory=dict)
    with_echo: Mapping[str, tuple[float | None, int]] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    findings: Sequence[Finding] = ()
    warnings: Sequence[str] = ()
    health: CallHealth | None = None
    worst: Moment | None = None
    verdict: CallVerdict | None = None
    cost: Cost | None = None
    recipients: Sequence[str] = ()
    lines: PlacedLines | None = None


@dataclass(slots=True)
class Survey:
    """The rows and figures of a run; `survey` makes it.

    rows: one per call, in the order of the run. measures: pooled over all scored calls, by `score.summarise_beside`.
    worst: the worst moments of each kind; found: how many moments there are of each kind. fto_ms: the floor transfer
    offsets to each side. overlaps_s: the lengths of all stretches in which both speak. pooled: the quantities of each
    scored call; with_echo: those that echo would change. logs: the agents' logs of the scored calls that have one.
    gated: what gates say of the run, if there are any. heard: what each scored call sounds like.
    """

    corpus: Run
    rows: list[CallRow] = field(default_factory=list)
    measures: Measures = field(default_factory=dict)
    worst: dict[MomentKind, list[CallMoment]] = field(default_factory=dict)
    found: Counter[MomentKind] = field(default_factory=Counter)
    fto_ms: Mapping[Side, list[int]] = field(default_factory=lambda: {side: [] for side in SIDES})
    overlaps_s: list[float] = field(default_factory=list)
    pooled: list[Mapping[str, Quantity]] = field(default_factory=list)
    with_echo: list[Mapping[str, Quantity]] = field(default_factory=list)
    logs: list[tuple[Call, AgentLog]] = field(default_factory=list)
    gated: GatedRun | None = None
    heard: dict[str, SoundOfCall] = field(default_factory=dict)

    @property
    def lengths_s(self) -> tuple[float, float]:
        """The length of all scored calls together, and how much of it is measured."""
        return sum(row.length_s or 0.0 for row in self.rows), sum(row.measured_s or 0.0 for row in self.rows)

    @property
    def cost(self) -> Cost | None:
        """The cost of all calls; None if nothing left one's own network."""
        return total(row.cost for row in self.rows)

    @property
    def recipients(self) -> list[str]:
        """Data of the calls that went to others, and to whom, each once."""
        return list(dict.fromkeys(text for row in self.rows for text in row.recipients))

    @property
    def scored(self) -> list[CallRow]:
        """The rows of the calls that measures count."""
        return [row for row in self.rows if row.call.unscored is None]

    @property
    def examined(self) -> list[tuple[Call, CallHealth]]:
        """The scored calls whose audio was examined, with their health."""
        return [(row.call, row.health) for row in self.scored if row.health]

    @property
    def lines(self) -> PooledLines | None:
        """Effects of the scored calls' lines on B's answer times; None if no call was examined for it."""
        return pooled_lines((row.call.name, row.lines) for row in self.scored)

    def amiss(self) -> dict[str, list[tuple[Call, Finding]]]:
        """The calls with each finding, by its name, the most common finding first."""
        found: dict[str, list[tuple[Call, Finding]]] = {}
        for row in self.scored:
            for finding in row.findings:
                found.setdefault(finding["name"], []).append((row.call, finding))
        return dict(sorted(found.items(), key=lambda item: -len(item[1])))

    def warned(self) -> dict[str, list[str]]:
        """The names of the scored calls with each warning, the most common warning first.

        Warnings that differ only by their figures count as one: the first of them, "and the like".
        """
        alike: dict[str, list[tuple[str, str]]] = {}
        for told, names in standing_out(self.heard).items():
            alike[told] = [(told, name) for name in names]
        for row in self.scored:
            for text in (warning.removeprefix(f"{row.call.name}: ") for warning in row.warnings):
                alike.setdefault(_FIGURE.sub("#", text), []).append((text, row.call.name))
        found = {}
        for texts_and_names in alike.values():
            first, *others = dict.fromkeys(text for text, _ in texts_and_names)
            found[f"{first}, and the like" if others else first] = [name for _, name in texts_and_names]
        return dict(sorted(found.items(), key=lambda item: -len(item[1])))

    def values(self, name: str) -> list[float]:
        """All items of a measure that has one value per item."""
        found = (quantities.get(name) for quantities in self.pooled)
        return [value for quantity in found if isinstance(quantity, Values) for value in quantity.values]


def survey(
    corpus: Run,
    on_events: OnEvents | None = None,
    on_call: Callable[[int], None] = lambda number: None,
    gated: GatedRun | None = None,
) -> Survey:
    """Read every call of a run once.

    on_events: called with the events of each call, in order, each with whether it is suspect (None: not examined).
    on_call: called with the index of each call, for progress. gated: what gates say of the run and its calls. A
    recording that cannot be read becomes a failed call.
    """
    found = Survey(corpus, gated=gated)
    listed: dict[MomentKind, list[tuple[Call, Moment]]] = {}
    for number, call in enumerate(corpus.calls):
        try:
            with one_call(call.path):
                found.rows.append(_read_call(call, found, listed, on_events))
        except FdbError as error:
            found.rows.append(CallRow(unreadable(call, error)))
        on_call(number)
    found.worst = {
        kind: [around(call, call.recording, moment) for call, moment in worst] for kind, worst in listed.items()
    }
    found.measures = summarise_beside(found.pooled, found.with_echo)
    return found


def _read_call(
    call: Call, found: Survey, listed: dict[MomentKind, list[tuple[Call, Moment]]], on_events: OnEvents | None
) -> CallRow:
    """The row of a call; also adds its figures and moments to those of the run."""
    if call.unscored is not None:
        return _unscored_row(call)
    reading = call.recording
    told, health = call.fact(facts.TOLD, reading), call.fact(facts.HEALTH, reading)
    quantities, beside = call.both_quantities(reading)
    left_out = with_pauses(left_out_of(reading.meta), health)
    moments, fto_ms = call.fact(facts.MOMENTS, reading), call.fact(facts.FTO_MS, reading)
    if on_events is not None:
        on_events(call, call.fact(facts.EVENTS, reading))
    if health:
        found.heard[call.name] = SoundOfCall(reading.n_ticks, health["sides"], fto_ms, "held" in reading.meta)
    found.pooled.append(quantities)
    found.with_echo.append(beside)
    for side in SIDES:
        found.fto_ms[side].extend(fto_ms[side])
    found.overlaps_s.extend(call.fact(facts.OVERLAPS_S, reading))
    if (log := call.fact(facts.LOG, reading)) is not None:
        found.logs.append((call, log))
    _keep_worst(call, moments, found, listed)
    return CallRow(
        call,
        ticks_to_s(reading.n_ticks),
        ticks_to_s(sum(end - start for start, end in kept_spans(left_out, reading.n_ticks))),
        left_out,
        {name: headline(quantity) for name, quantity in quantities.items()},
        {name: headline(quantity) for name, quantity in beside.items()},
        {name: quantity.count for name, quantity in quantities.items() if isinstance(quantity, Share)},
        told["findings"],
        told["warnings"],
        CallHealth.of(health) if health else None,
        moments[0] if moments else None,
        found.gated.calls.get(call.name) if found.gated else None,
        call.fact(facts.COST, reading),
        call.fact(facts.RECIPIENTS, reading),
        call.fact(facts.LINES, reading),
    )


def _unscored_row(call: Call) -> CallRow:
    """The row of a call that no measure counts; it may have cost something all the same."""
    with suppress(FdbError), one_call(call.path):
        reading = call.recording
        return CallRow(call, cost=call.fact(facts.COST, reading), recipients=call.fact(facts.RECIPIENTS, reading))
    return CallRow(call)


def _keep_worst(
    call: Call, moments: Sequence[Moment], found: Survey, listed: dict[MomentKind, list[tuple[Call, Moment]]]
) -> None:
    """Add the worst moments of a call to those of the run."""
    found.found.update(moment.kind for moment in moments)
    for kind in {moment.kind for moment in moments}:
        own = [(call, moment) for moment in moments if moment.kind == kind][:OF_ONE_CALL]
        both = [*listed.get(kind, ()), *own]
        listed[kind] = sorted(both, key=lambda each: (-each[1].severity, each[1].start_tick - each[1].end_tick))[:WORST]


def clip_ticks(moment: Moment, n_ticks: int) -> tuple[int, int]:
    """The ten seconds to play for a moment: from two seconds before it, or earlier if the recording ends."""
    start = max(min(moment.start_tick - LEAD_TICKS, n_ticks - CLIP_TICKS), 0)
    return start, min(start + CLIP_TICKS, n_ticks)


def around(call: Call, reading: Reading, moment: Moment) -> CallMoment:
    """A moment of a call with what is around it."""
    start, end = clip_ticks(moment, reading.n_ticks)
    speech = {
        side: [(max(first, start), min(last, end)) for first, last in spans.tolist() if first < end and last > start]
        for side, spans in reading.dialogue.ipus.items()
    }
    said = {side: reading.said(side, ticks_to_s(start), ticks_to_s(end)) for side in SIDES}
    return CallMoment(call, moment, reading.n_ticks, speech, said)
