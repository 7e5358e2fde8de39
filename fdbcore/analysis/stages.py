"""Stages of answers, where their time goes: between the events of agents' logs, over the answers of one call or many.

The stages of an answer that has all events add up to its answer time.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from fdbcore.recording.agent_log import AgentLog, SplitAnswer, StageTimes
from fdbcore.sources.mark_names import EVENTS, plain
from fdbcore.stats.bootstrap import quantile
from fdbcore.types import TICK_MS

A_END: Final = "A's end"
B_ONSET: Final = "B's onset"
MOST_IN_ADDRESS: Final = 100
_AT_ONCE: Final = (
    "come at the same time in most answers: where the system does not run in lockstep, the log holds when it was "
    "written, as a buffered output does, and not when they happened"
)


@dataclass(frozen=True, slots=True)
class Stage:
    """The time between two events, in ms, of the answers that have both. missing: how many lack one of them."""

    start: str
    end: str
    values_ms: Sequence[float]
    missing: int

    @property
    def name(self) -> str:
        """Such as "A's end to speech final"."""
        return f"{self.start} to {self.end}"

    @property
    def address(self) -> str:
        """Such as "stage_a_end_to_speech_final": a name for files and links."""
        return f"stage_{_plain(self.start)}_to_{_plain(self.end)}"[:MOST_IN_ADDRESS]

    @property
    def median_ms(self) -> float | None:
        """The median; None without answers."""
        return quantile(self.values_ms, 0.5)

    @property
    def p90_ms(self) -> float | None:
        """The 90th percentile; None without answers."""
        return quantile(self.values_ms, 0.9)

    @property
    def times(self) -> StageTimes:
        """Its figures."""
        return StageTimes(self.start, self.end, self.median_ms, self.p90_ms, len(self.values_ms), self.missing)


@dataclass(frozen=True, slots=True)
class StageTable:
    """The stages of answers. events: in the order in which they mostly come. answer: the whole answer time."""

    events: Sequence[str]
    stages: Sequence[Stage]
    answer: Stage

    @property
    def cautions(self) -> list[str]:
        """A sentence for each stage whose median is less than -1 tick: its events come in the other order; and one if
        three events or more come at the same time.
        """
        found = [(stage, stage.median_ms) for stage in self.stages]
        inner_ms = [abs(ms) for _, ms in found[1:-1] if ms is not None]
        at_once = len(inner_ms) >= 2 and max(inner_ms) < TICK_MS
        return [
            *(_caution(stage, -ms) for stage, ms in found if ms is not None and ms < -TICK_MS),
            *([f"{', '.join(self.events[:-1])} and {self.events[-1]} {_AT_ONCE}"] if at_once else []),
        ]


def stage_table(logs: Iterable[AgentLog]) -> StageTable | None:
    """The stages of all answers in logs; None if no log has an event in an answer."""
    answers = [answer for log in logs for answer in log["answers"] if log["events"]]
    events = _in_order(answers)
    if not events:
        return None
    columns = zip(*(split(answer, events) for answer in answers), strict=True)
    stages = [
        Stage(start, end, values := [ms for ms in column if ms is not None], len(answers) - len(values))
        for (start, end), column in zip(pairwise((A_END, *events, B_ONSET)), columns, strict=True)
    ]
    return StageTable(events, stages, Stage(A_END, B_ONSET, [answer["answer_ms"] for answer in answers], 0))


def split(answer: SplitAnswer, events: Sequence[str]) -> list[float | None]:
    """The time of each stage of an answer, in ms; None if it lacks one of the two events."""
    points = [time_ms(answer, event) for event in (A_END, *events, B_ONSET)]
    return [None if a is None or b is None else round(b - a, 1) for a, b in pairwise(points)]


def time_ms(answer: SplitAnswer, event: str) -> float | None:
    """The time from A's end to an event of an answer, A_END and B_ONSET included; None if the answer lacks it."""
    known = {A_END: 0.0, B_ONSET: answer["answer_ms"], **answer["events_ms"]}
    return known.get(event)


def answer_row(call: str, answer: SplitAnswer, events: Sequence[str]) -> dict[str, object]:
    """The row of an answer in stages.csv, see `answer_columns`."""
    stages = split(answer, events)
    values = (
        call,
        answer["a_end_s"],
        answer["b_onset_s"],
        answer["answer_ms"],
        *(answer["events_ms"].get(event) for event in events),
        *stages,
        round(answer["answer_ms"] - sum(ms for ms in stages if ms is not None), 1),
    )
    return dict(zip(answer_columns(events), values, strict=True))


def answer_columns(events: Sequence[str]) -> list[str]:
    """The columns of stages.csv: times from A's end to each event, then the stages, which add up to answer_ms.

    unsplit_ms is the time that is in no stage, because the log lacks an event.
    """
    names = [_plain(name) for name in (A_END, *events, B_ONSET)]
    stages = [f"{start}_to_{end}_ms" for start, end in pairwise(names)]
    return ["call", "a_end_s", "b_onset_s", "answer_ms", *(f"{name}_ms" for name in names[1:-1]), *stages, "unsplit_ms"]


def _in_order(answers: Sequence[SplitAnswer]) -> list[str]:
    """The events: the known ones in the order of an answer, all others where the median of their times puts them.

    Times are those before B's onset. So the stages of different calls are the same, even if a system does two things
    at once.
    """
    before_ms: dict[str, list[float]] = {}
    for answer in answers:
        for event, ms in answer["events_ms"].items():
            before_ms.setdefault(event, []).append(ms - answer["answer_ms"])
    medians: Mapping[str, float] = {event: quantile(each, 0.5) or 0.0 for event, each in before_ms.items()}
    order = [event for event in EVENTS if event in medians]
    for event in sorted(medians.keys() - set(order), key=lambda event: (medians[event], event)):
        later = (place for place, other in enumerate(order) if medians[other] > medians[event])
        order.insert(next(later, len(order)), event)
    return order


def _plain(name: str) -> str:
    return "_".join(plain(name.replace("'s", "")).split())


def _caution(stage: Stage, early_ms: float) -> str:
    if stage.start == A_END:
        why = "the agent decides before A has finished, or the clock of the log is wrong"
    elif stage.end == B_ONSET:
        why = "it is noted late, or the clock of the log is wrong"
        return f"in the median {stage.start} comes {early_ms:,.0f} ms after {B_ONSET}: {why}"
    else:
        why = "the agent does both at once, or one of the names means something else"
    return f"in the median {stage.end} comes {early_ms:,.0f} ms before {stage.start}: {why}"
