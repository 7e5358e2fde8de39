"""Each call's part in figures of many calls. All of it is computed from the call's files, and JSON can hold it.

The table of a run keeps the facts of its calls (see `fdbcore.analysis.facts_table`), so that figures of a hundred
thousand calls need not read a million small files.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Any, Final, Generic, TypeVar

from msgspec import to_builtins

from fdbcore.analysis import score
from fdbcore.measures import quantities as stored
from fdbcore.measures.costs import Cost, call_cost, recipients
from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.moments import Moment
from fdbcore.measures.opportunities import fto
from fdbcore.measures.placed_lines import PlacedLines, placed_lines
from fdbcore.measures.quantities import Quantity
from fdbcore.measures.reading import Reading
from fdbcore.types import SIDES, TICK_MS, Side, TurnEvent, ticks_to_s

T = TypeVar("T")


@dataclass(frozen=True)
class Fact(Generic[T]):
    """A fact about a call.

    name: of its column in the table of a run. of: reads it from the files of a call, and raises FdbError if it cannot.
    to_json: how JSON holds it. form: its type, by which JSON is read;
    None: the JSON is the fact.
    """

    name: str
    of: Callable[[Reading], T]
    to_json: Callable[[T], Any] = to_builtins
    form: type[T] | UnionType | None = None


def fto_ms(dialogue: Dialogue) -> dict[Side, list[int]]:
    """The floor transfer offsets to each side."""
    uncensored = dialogue.uncensored
    return {side: [fto(e) * TICK_MS for e in uncensored("gap", "overlap_between", side=side)] for side in SIDES}


def _overlaps_s(reading: Reading) -> list[float]:
    found = []
    for event in reading.dialogue.uncensored("overlap_within", "overlap_between"):
        spans = event.stretches if event.kind == "overlap_between" else [(event.start_tick, event.end_tick)]
        found += [ticks_to_s(end - start) for start, end in spans or () if end is not None]
    return found


def _events(reading: Reading) -> list[tuple[TurnEvent, bool | None]]:
    examined = reading.health is not None
    return [(event, suspect if examined else None) for event, suspect in reading.events_with_suspects]


def _quantities_sha256(reading: Reading) -> str:
    """Of its quantities, as they are read again: to write the same anew changes nothing."""
    found = (stored.all_from_json(quantities_json(each)) for each in score.read_quantities(reading))
    return hashlib.sha256(json.dumps([*map(quantities_json, found)]).encode()).hexdigest()


def _told(reading: Reading) -> dict[str, Any]:
    scores = score.read_scores(reading, keep=False)
    return {"findings": scores["findings"], "warnings": scores["warnings"]}


META: Final = Fact("meta", lambda reading: reading.meta)
HEALTH: Final = Fact("health", lambda reading: reading.health)
LOG: Final = Fact("log", lambda reading: reading.marks)
UNSCORED: Final = Fact("unscored", score.unscored)
TOLD: Final = Fact("told", _told)
"""The findings and warnings of its scores."""
MOMENTS: Final = Fact[Sequence[Moment]]("moments", lambda reading: reading.moments, form=list[Moment])
LINES: Final = Fact[PlacedLines | None]("lines", placed_lines, form=PlacedLines | None)
COST: Final = Fact[Cost | None]("cost", call_cost, form=Cost | None)
RECIPIENTS: Final = Fact[Sequence[str]]("recipients", recipients)
FTO_MS: Final = Fact("fto_ms", lambda reading: fto_ms(reading.dialogue))
"""The floor transfer offsets to each side."""
OVERLAPS_S: Final = Fact[Iterable[float]]("overlaps_s", _overlaps_s)
"""The lengths of all stretches in which both speak."""
EVENTS: Final = Fact[Sequence[tuple[TurnEvent, bool | None]]](
    "events",
    _events,
    lambda events: [[event.to_json(), suspect] for event, suspect in events],
    list[tuple[TurnEvent, bool | None]],
)
"""The events in the order in which they became known, each with whether echo may have made it (None: not examined)."""
IS_CURRENT: Final = Fact("is_current", lambda reading: score.current_quantities(reading) is not None)
"""True if scoring it again would only repeat its scores."""
QUANTITIES_SHA256: Final = Fact("quantities_sha256", _quantities_sha256)

FACTS: Final[Sequence[Fact[Any]]] = (
    META, HEALTH, LOG, UNSCORED, TOLD, MOMENTS, LINES, COST, RECIPIENTS, FTO_MS, OVERLAPS_S, EVENTS, IS_CURRENT,
    QUANTITIES_SHA256,
)  # fmt: skip


def quantities_json(quantities: Mapping[str, Quantity]) -> dict[str, Any]:
    """The quantities of a call as JSON values, by their measures."""
    return {name: stored.to_json(quantity) for name, quantity in quantities.items()}
