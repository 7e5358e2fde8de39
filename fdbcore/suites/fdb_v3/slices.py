"""Pass@1 by what the released reports divide it by: domain, difficulty, number of calls, disfluency, rollback."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, get_args

from fdbcore.suites.fdb_v3.compat.logs import SystemLog
from fdbcore.suites.fdb_v3.compat.measures import CompatRate, passes
from fdbcore.suites.fdb_v3.released.released_types import Difficulty, Disfluency, Domain

if TYPE_CHECKING:
    from fdbcore.suites.fdb_v3.scenario_types import RecordedScenarioEntry

CALLS: Final = ("no call", "one call", "two calls", "three or more calls")
ORDER: Final = (
    *get_args(Domain),
    *get_args(Difficulty),
    *CALLS,
    *get_args(Disfluency),
    "rollback",
    "no rollback",
)
"""All slices. A recording is in one of each kind, but in that of every disfluency that it is tagged with."""


def slices_of(record: RecordedScenarioEntry) -> Iterator[str]:
    """The slices that a recording is in. The number of calls is that of the released label."""
    yield from (record["domain"], record["difficulty"])
    yield CALLS[min(len(record.get("as_released", ())), 3)]
    yield from record.get("disfluencies", ())
    yield "rollback" if record.get("rollback_test", False) else "no rollback"


def passed_by_slice(recordings: Iterable[tuple[RecordedScenarioEntry, SystemLog]]) -> dict[str, CompatRate]:
    """Pass@1 of the recordings of each slice that are scored; slices without any are left out."""
    found: dict[str, CompatRate] = {}
    for record, log in recordings:
        if (has_passed := passes(log)) is None:
            continue
        for name in slices_of(record):
            total, n = found.get(name, CompatRate(0, 0))
            found[name] = CompatRate(total + has_passed, n + 1)
    return {name: found[name] for name in ORDER if name in found}
