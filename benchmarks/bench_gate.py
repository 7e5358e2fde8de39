"""How often gates decide, and how often they are wrong: without a change, and at twice the allowed change.

Calls have eight turns that resemble each other (intraclass correlation 0.1 of cut-offs, 0.25 of log latencies). The run
and its baseline have equally many calls, but different ones. A false alarm is a gate that fails although nothing has
changed; goal: at most 5 %. A gate that cannot decide says how many calls it would need. That is checked, too: so many
calls are drawn, and the stated range is compared with the number at which four of five such gates decide.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np

from benchmarks.harness import print_table
from fdbcore.analysis.corpus import Call
from fdbcore.analysis.gate_file import Gates, parse
from fdbcore.analysis.gate_results import GateResult
from fdbcore.analysis.gates import decide
from fdbcore.analysis.groups import CallGroup
from fdbcore.measures.quantities import Quantity, Share, Values

STUDIES: Final = 200
PILOTS: Final = (10, 20, 60)
PILOT_STUDIES: Final = 100
DECIDED: Final = 0.8
MOST_DRAWN: Final = 1_000
TURNS: Final = 8

Drawn: TypeAlias = Callable[[np.random.Generator, int, float], list[Quantity]]


def premature(random: np.random.Generator, calls: int, change: float) -> list[Quantity]:
    """Shares around 2 % and the change."""
    share = 0.02 + change
    return [Share(int(n), TURNS) for n in random.binomial(TURNS, random.beta(share * 9, (1 - share) * 9, calls))]


def latencies(random: np.random.Generator, calls: int, change: float) -> list[Quantity]:
    """Lognormal latencies of 0.8 s at the median, in ticks of 10 ms; the change is that of all latencies."""
    logs = random.normal(np.log(800 * (1 + change)), 0.2, calls)[:, None] + random.normal(0, 0.35, (calls, TURNS))
    return [Values("ms", row.tolist()) for row in np.exp(logs).round(-1)]


GATES: Final[tuple[tuple[str, Drawn, float, str, tuple[int, ...]], ...]] = (
    ("premature_per_turn", premature, 0.04, "+ 0.02", (10, 20, 100, 300, 1000)),
    ("response_latency_ms.median", latencies, 0.2, "* 1.1", (10, 20, 100)),
    ("response_latency_ms.p90", latencies, 0.2, "* 1.1", (10, 20, 100)),
)
"""Measure, how its items are drawn, the change of the regression, what is allowed of it, and numbers of calls."""


def group(name: str, measure: str, quantities: list[Quantity]) -> CallGroup:
    """Calls of one run, each with its quantity."""
    calls = [Call(f"{name}{k}", Path()) for k in range(len(quantities))]
    return CallGroup("", calls, [{measure.partition(".")[0]: quantity} for quantity in quantities])


def statuses(
    seed: int, measure: str, drawn: Drawn, calls: int, change: float, allowed: str, studies: int = STUDIES
) -> list[str]:
    """The status of the gate in each study."""
    random = np.random.Generator(np.random.PCG64(seed))
    gates = Gates((parse(f"{measure} <= baseline {allowed}", {}, measure),))
    found: list[str] = []
    for _ in range(studies):
        run = group("a", measure, drawn(random, calls, change))
        (decision,) = decide(gates, run, group("b", measure, drawn(random, calls, 0.0)))
        found.append(decision.result["status"])
    return found


def decided(seed: int, measure: str, drawn: Drawn, calls: int, change: float, allowed: str) -> float:
    """The share of studies in which the gate can decide."""
    found = statuses(seed, measure, drawn, calls, change, allowed, PILOT_STUDIES)
    return 1 - found.count("cannot tell") / PILOT_STUDIES


def calls_to_decide(measure: str, drawn: Drawn, change: float, allowed: str) -> int:
    """The calls on each side at which DECIDED of all gates decide, to within a tenth."""
    below, enough = 1, 10
    while decided(enough, measure, drawn, enough, change, allowed) < DECIDED:
        below, enough = enough, enough * 2
    while enough > 1.1 * below:
        middle = math.ceil(math.sqrt(below * enough))
        short = decided(middle, measure, drawn, middle, change, allowed) < DECIDED
        below, enough = (middle, enough) if short else (below, middle)
    return enough


def pilots(measure: str, drawn: Drawn, change: float, allowed: str) -> Iterator[list[object]]:
    """A row for each size of a pilot: how many calls its gates ask for, and how many are needed."""
    true = calls_to_decide(measure, drawn, change, allowed)
    gates = Gates((parse(f"{measure} <= baseline {allowed}", {}, measure),))
    for calls in PILOTS:
        random = np.random.Generator(np.random.PCG64(calls))

        def one(each: int, random: np.random.Generator = random) -> GateResult:
            run = group("a", measure, drawn(random, each, change))
            return decide(gates, run, group("b", measure, drawn(random, each, 0.0)))[0].result

        told = [found for _ in range(PILOT_STUDIES) if (found := one(calls))["calls_needed"]]
        needed = [found["calls_needed"] or 0 for found in told]
        ranges = [found["calls_range"] or (0, None) for found in told]
        then = [one(min(n, MOST_DRAWN))["status"] != "cannot tell" for n in needed]
        held = [least <= true <= (most or math.inf) for least, most in ranges]
        open_ended = [most is None for _, most in ranges]
        shares = [f"{100 * np.mean(of):.0f} %" for of in (then, held, open_ended)]
        yield [f"{measure} {allowed}", calls, len(told), f"{np.median(needed):.0f}", true, *shares]


def main() -> None:
    rows = []
    for measure, drawn, change, allowed, sizes in GATES:
        for calls in sizes:
            same = statuses(calls, measure, drawn, calls, 0.0, "")
            worse = statuses(calls + 1, measure, drawn, calls, change, allowed)
            shares = [same.count("failed"), *(worse.count(s) for s in ("failed", "cannot tell", "passed"))]
            rows.append([f"{measure} {allowed}", calls, *(f"{100 * n / STUDIES:.1f} %" for n in shares)])
    print_table(
        f"Gates over {STUDIES} studies: no change, and twice what is allowed (goal: false alarms at most 5 %)",
        ("measure, allowed", "calls each", "false alarms", "regression: failed", "cannot tell", "passed"),
        rows,
    )
    print_table(
        f"Calls that it takes, told by {PILOT_STUDIES} pilots that could not tell (goal: {100 * DECIDED:.0f} %)",
        ("measure, allowed", "pilot", "told", "median", "true", "decided then", "range holds", "range is open"),
        [row for measure, drawn, change, allowed, _ in GATES[:2] for row in pilots(measure, drawn, change, allowed)],
    )
