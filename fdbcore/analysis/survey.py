"""One pass over the calls of a run: what its tables, its screen and its page are made of."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from fdbcore.analysis.call_health import CallHealth
from fdbcore.analysis.corpus import Call, Run
from fdbcore.analysis.score import read_quantities, read_scores, summarise_beside
from fdbcore.errors import FdbError
from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.findings import Finding
from fdbcore.measures.measure import MomentKind
from fdbcore.measures.moments import Moment
from fdbcore.measures.opportunities import fto
from fdbcore.measures.quantities import Quantity, Share, Values
from fdbcore.measures.reading import Reading
from fdbcore.recording.run import FAILED
from fdbcore.stats.bootstrap import quantile
from fdbcore.types import SIDES, TICK_MS, TICKS_PER_S, Side, TurnEvent, ticks_to_s

if TYPE_CHECKING:
    from fdbcore.analysis.summary_types import Measures

WORST: Final = 20
"""How many moments of each kind are listed."""
OF_ONE_CALL: Final = 3
"""The most of them that one call has: a single broken call must not hide all others."""

_FIGURE: Final = re.compile(r"\d+(\.\d+)?")  # by which warnings of one kind differ

OnEvents: TypeAlias = Callable[[Call, Sequence[tuple[TurnEvent, bool | None]]], None]

LEAD_TICKS: Final = 2 * TICKS_PER_S
CLIP_TICKS: Final = 10 * TICKS_PER_S


@dataclass(frozen=True, slots=True)
class CallMoment:
    """A moment of a call, in a recording of n_ticks, with what lies around it.

    speech: the spans in ticks in which each side speaks. said: its words, where they are known.
    """

    call: Call
    moment: Moment
    n_ticks: int
    speech: Mapping[Side, Sequence[tuple[int, int]]]
    said: Mapping[Side, str]


@dataclass(frozen=True, slots=True)
class CallRow:
    """What the tables say of one call.

    length_s: None where nothing was scored. figures: the headline of each measure, with its n; with_echo: of
    those that echo would change. counts: of the measures that are shares, how many of the n. health: None where it was
    not examined. findings, warnings: what must be known before any number. worst: its worst moment.
    """

    call: Call
    length_s: float | None = None
    figures: Mapping[str, tuple[float | None, int]] = field(default_factory=dict)
    with_echo: Mapping[str, tuple[float | None, int]] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    findings: Sequence[Finding] = ()
    warnings: Sequence[str] = ()
    health: CallHealth | None = None
    worst: Moment | None = None


@dataclass(slots=True)
class Survey:
    """A run in figures; made by `survey`.

    rows: a row a call, in the run's order. measures: pooled over all scored calls, as `score.summarise_beside` gives
    them. worst, found: the worst moments of each kind, and how many there are in all. pooled: the items of each scored
    call; with_echo: those that echo would change. fto_ms: of each side's turns after the other's. overlaps_s: lengths
    of all stretches in which both speak.
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

    @property
    def scored(self) -> list[CallRow]:
        """The rows of calls that are in the measures."""
        return [row for row in self.rows if row.call.unscored is None]

    @property
    def examined(self) -> list[tuple[Call, CallHealth]]:
        """The scored calls whose audio was examined, with what is wrong with it."""
        return [(row.call, row.health) for row in self.scored if row.health]

    def amiss(self) -> dict[str, list[tuple[Call, Finding]]]:
        """The calls of each finding by its name, what most of them have first."""
        found: dict[str, list[tuple[Call, Finding]]] = {}
        for row in self.scored:
            for finding in row.findings:
                found.setdefault(finding.name, []).append((row.call, finding))
        return dict(sorted(found.items(), key=lambda item: -len(item[1])))

    def warned(self) -> dict[str, list[str]]:
        """The names of the scored calls of each warning, what most of them have first; without their own names.

        Those that differ by their figures alone are one: the first of them, "and the like".
        """
        alike: dict[str, list[tuple[str, str]]] = {}
        for row in self.scored:
            for text in (warning.removeprefix(f"{row.call.name}: ") for warning in row.warnings):
                alike.setdefault(_FIGURE.sub("#", text), []).append((text, row.call.name))
        found = {}
        for told in alike.values():
            (first, *others), names = dict.fromkeys(text for text, _ in told), [name for _, name in told]
            found[f"{first}, and the like" if others else first] = names
        return dict(sorted(found.items(), key=lambda item: -len(item[1])))

    def values(self, name: str) -> list[float]:
        """All items of a measure that has a value an item."""
        found = (quantities.get(name) for quantities in self.pooled)
        return [value for quantity in found if isinstance(quantity, Values) for value in quantity.values]


def survey(
    corpus: Run,
    on_events: OnEvents = lambda call, events: None,
    on_call: Callable[[int], None] = lambda number: None,
) -> Survey:
    """Read every call once. on_events: told of the events of each call, in order, each with whether it is suspect
    (None: not examined); on_call: of its number, for progress.

    A recording that cannot be read is a failed call in the rows.
    """
    found = Survey(corpus)
    for number, call in enumerate(corpus.calls):
        try:
            found.rows.append(_surveyed(call, found, on_events))
        except FdbError as error:
            found.rows.append(
                CallRow(replace(call, status=FAILED, reason=str(error), unscored=str(error), is_unreadable=True))
            )
        on_call(number)
    found.measures = summarise_beside(found.pooled, found.with_echo)
    return found


def _surveyed(call: Call, found: Survey, on_events: OnEvents) -> CallRow:
    """The row of a call; what it adds to the figures of all is added."""
    if call.unscored is not None:
        return CallRow(call)
    reading = call.recording
    dialogue, scores, health = reading.dialogue, read_scores(reading), reading.health
    on_events(call, [(event, suspect if health else None) for event, suspect in reading.events_with_suspects])
    quantities, beside = read_quantities(reading)
    found.pooled.append(quantities)
    found.with_echo.append(beside)
    for side in SIDES:
        found.fto_ms[side].extend(fto(e) * TICK_MS for e in dialogue.told("gap", "overlap_between", side=side))
    found.overlaps_s.extend(_overlaps_s(dialogue))
    worst = reading.moments
    _keep_worst(call, reading, found)
    return CallRow(
        call,
        ticks_to_s(reading.n_ticks),
        {name: headline(quantity) for name, quantity in quantities.items()},
        {name: headline(quantity) for name, quantity in beside.items()},
        {name: quantity.count for name, quantity in quantities.items() if isinstance(quantity, Share)},
        [Finding.from_json(finding) for finding in scores["findings"]],
        scores["warnings"],
        CallHealth.of(health) if health else None,
        worst[0] if worst else None,
    )


def headline(quantity: Quantity) -> tuple[float | None, int]:
    """The figure by which a quantity of one call is known, the median, share or rate; and its n."""
    if isinstance(quantity, Values):
        return quantile(quantity.values, 0.5) if quantity.values else None, len(quantity.values)
    if isinstance(quantity, Share):
        return quantity.count / quantity.n if quantity.n else None, quantity.n
    return quantity.total / quantity.exposure if quantity.exposure else None, quantity.n


def _overlaps_s(dialogue: Dialogue) -> Iterator[float]:
    for event in dialogue.told("overlap_within", "overlap_between"):
        spans = event.stretches if event.kind == "overlap_between" else [(event.start_tick, event.end_tick)]
        yield from (ticks_to_s(end - start) for start, end in spans or () if end is not None)


def _keep_worst(call: Call, reading: Reading, found: Survey) -> None:
    """Put the worst moments of a call among those of all."""
    found.found.update(moment.kind for moment in reading.moments)
    for kind in {moment.kind for moment in reading.moments}:
        own = [moment for moment in reading.moments if moment.kind == kind][:OF_ONE_CALL]
        listed = [*found.worst.get(kind, ()), *(_around(call, reading, moment) for moment in own)]
        found.worst[kind] = sorted(listed, key=lambda each: -each.moment.severity)[:WORST]


def clip_ticks(moment: Moment, n_ticks: int) -> tuple[int, int]:
    """The ten seconds to hear of a moment: from two before it, or earlier where the recording ends."""
    start = max(min(moment.start_tick - LEAD_TICKS, n_ticks - CLIP_TICKS), 0)
    return start, min(start + CLIP_TICKS, n_ticks)


def _around(call: Call, reading: Reading, moment: Moment) -> CallMoment:
    start, end = clip_ticks(moment, reading.n_ticks)
    speech = {
        side: [(max(first, start), min(last, end)) for first, last in spans.tolist() if first < end and last > start]
        for side, spans in reading.dialogue.ipus.items()
    }
    said = {side: reading.said(side, ticks_to_s(start), ticks_to_s(end)) for side in SIDES}
    return CallMoment(call, moment, reading.n_ticks, speech, said)
