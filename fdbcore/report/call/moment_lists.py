"""The moments behind each number: lists of spans that a link from the number opens, in the page of a call or of a run.

The address of a list is the id of its measure, or of its kind of moments. For a share it has what counts; with `.all`
also the rest of the denominator.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from fdbcore.analysis.score import with_spans
from fdbcore.analysis.stages import Stage, stage_table, time_ms
from fdbcore.measures.catalogue import MEASURES, MOMENTS
from fdbcore.measures.quantities import Quantity, Ratio, Share
from fdbcore.measures.reading import Reading
from fdbcore.recording.agent_log import AgentLog
from fdbcore.report.format import MACHINE_MS, amount
from fdbcore.report.html.values import ALL
from fdbcore.types import SIDES, TICKS_PER_S, Side, Span, other_side, ticks_to_s

Item: TypeAlias = tuple[int, int, str]
"""Start and end in ticks, and what is told of it: its length, or what was measured there."""


class MomentList(NamedTuple):
    """A list: its title, and its items by time. others: those of a denominator that do not count. whole: the title of
    the list with these."""

    title: str
    items: Sequence[Item]
    others: Sequence[Item] = ()
    whole: str = ""


def moment_lists(reading: Reading) -> dict[str, MomentList]:
    """All lists of a scored call that have an item, by their addresses without `.all`."""
    quantities = with_spans(reading)
    lengths = _Lengths()
    lists = {name: _of_measure(name, quantity, lengths) for name, quantity in quantities.items()}
    lists |= {over_address(side): _over(side, lists) for side in SIDES}
    for kind in MOMENTS:
        found = [(each.start_tick, each.end_tick, each.text) for each in reading.moments if each.kind == kind.id]
        lists[kind.id] = MomentList(kind.title, sorted(found))
    lists |= _of_stages(reading)
    return {name: found for name, found in lists.items() if found.items or found.others}


def over_address(side: Side) -> str:
    """The address of the list of long speech of a side over the other, as the key figures count it."""
    return f"long_{side.lower()}_onset"


def titles(lists: Mapping[str, MomentList]) -> dict[str, str]:
    """The titles of all lists that are not empty, by their addresses."""
    return {name: found.title for name, found in lists.items() if found.items} | {
        f"{name}{ALL}": found.whole for name, found in lists.items() if found.whole
    }


def _of_stages(reading: Reading) -> dict[str, MomentList]:
    """The stages of the answers by the agent's log, each where it is in its answer."""
    log = reading.marks
    table = None if log is None else stage_table([log])
    if log is None or table is None:
        return {}
    return {
        stage.address: MomentList(
            f"{stage.name[:1].upper()}{stage.name[1:]}, by the agent's log", sorted(_of_stage(log, stage))
        )
        for stage in (*table.stages, table.answer)
    }


def _of_stage(log: AgentLog, stage: Stage) -> Iterator[Item]:
    for answer in log["answers"]:
        start_ms, end_ms = time_ms(answer, stage.start), time_ms(answer, stage.end)
        if start_ms is not None and end_ms is not None:
            start, end = sorted(round((answer["a_end_s"] + ms / 1000) * TICKS_PER_S) for ms in (start_ms, end_ms))
            yield start, end, amount(end_ms - start_ms, MACHINE_MS)


class _Lengths:
    """The items of spans, each with its length. Many measures count the same spans: those share their items."""

    def __init__(self) -> None:
        self._known: dict[int, list[Item]] = {}
        self._texts: dict[int, str] = {}

    def of(self, spans: Sequence[Span]) -> list[Item]:
        """The items of these spans, which must live as long as this object does."""
        if id(spans) not in self._known:
            self._known[id(spans)] = sorted((start, end, self._text(end - start)) for start, end in spans)
        return self._known[id(spans)]

    def _text(self, ticks: int) -> str:
        return self._texts.setdefault(ticks, amount(ticks_to_s(ticks), "s"))


def _of_measure(name: str, quantity: Quantity, lengths: _Lengths) -> MomentList:
    measure = MEASURES.get(name)
    title = measure.label if measure else name
    if isinstance(quantity, Share):
        whole = f"{measure.over} (yes: {title})" if measure and measure.over else f"{title}: yes or no"
        return MomentList(title, lengths.of(quantity.spans), lengths.of(quantity.others), whole)
    if isinstance(quantity, Ratio):
        return MomentList(title, lengths.of(quantity.spans))
    told = [amount(value, quantity.unit) for value in quantity.values]
    return MomentList(title, sorted((*span, text) for span, text in zip(quantity.spans, told, strict=False)))


def _over(side: Side, lists: Mapping[str, MomentList]) -> MomentList:
    """All that a line or a tile counts as its onsets, each with what the other side did."""
    other = other_side(side)
    within, at_once = (
        lists[f"{other.lower()}_stopped_{when}_per_long_{side.lower()}_onset"] for when in ("within_2s", "at_once")
    )
    told = ((within.items, "stopped within 2 s"), (within.others, "went on"), (at_once.items, "stopped at once"))
    found = [(start, end, f"{other} {text}") for items, text in told for start, end, _ in items]
    return MomentList(f"{side} talks over {other}", sorted(found))
