"""How many live calls at once a machine holds: what `fdbcore doctor --calls` finds, for long, and half as many again.

FDBCORE_CAPACITY_MINUTES: how long the calls are held, 10 by default; half as many again are held for a tenth of that.
The search before takes two minutes. Nothing else should run meanwhile.
"""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING

from benchmarks.harness import met, print_table
from fdbcore.runs.calls_at_once import calls_at_once, hold_at_once
from fdbcore.session.converse import MAX_MISSED_SHARE

if TYPE_CHECKING:
    from fdbcore.types.timing import HeldAtOnce

MINUTES = float(os.environ.get("FDBCORE_CAPACITY_MINUTES", "10"))
HEADER = ("", "calls", "ticks", "late", "missed", "missed %", "packets p99 ms late")


def row(what: str, held: HeldAtOnce) -> tuple[object, ...]:
    missed_share = 100 * held.missed / held.ticks
    return (what, held.calls, held.ticks, held.late, held.missed, missed_share, held.wire_p99_ms)


def main() -> None:
    print(f"\nlive calls at once: {2 + 1.1 * MINUTES:.0f} minutes", flush=True)
    rows = []
    found = calls_at_once(lambda held: rows.append(row("ten seconds", held)))
    print_table("The search of fdbcore doctor --calls", HEADER, rows)
    calls, more = found.calls, math.ceil(1.5 * found.calls)
    print(f"found: {calls} at once, of {found.most} that ten seconds held", flush=True)
    held = hold_at_once(calls, 60 * MINUTES)
    print_table("Held for long", HEADER, [row(f"{MINUTES:g} min", held)])
    overloaded = hold_at_once(more, 6 * MINUTES)
    print_table("Half as many again", HEADER, [row(f"{MINUTES / 10:g} min", overloaded)])
    goal = f"capacity: {MINUTES:g} min of {calls} calls miss no tick"
    print(f"{met(goal, not held.missed)} (goal: no tick missed)")
    too_many = overloaded.missed > MAX_MISSED_SHARE * overloaded.ticks
    print(f"{met(f'capacity: {more} calls miss more than 0.1 %', too_many)} (goal: more than 0.1 % missed)")


if __name__ == "__main__":
    main()
