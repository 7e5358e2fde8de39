"""Results of a gate: passed, failed or undecided, and how many calls would decide it."""

import math
from collections.abc import Sequence
from typing import Annotated, Final, Literal, NotRequired, TypeAlias, TypedDict

from msgspec import Meta

from fdbcore.analysis.differences import FEWEST_CLUSTERS, pooled_value
from fdbcore.analysis.gate_file import CannotTell, Gate
from fdbcore.analysis.gate_moments import GateMoment
from fdbcore.analysis.groups import CallGroup
from fdbcore.analysis.summaries import Interval, pool
from fdbcore.measures.quantities import Share, Values
from fdbcore.stats.bootstrap import Estimate
from fdbcore.stats.significance import POWER
from fdbcore.stats.student import t_quantile
from fdbcore.types.units import Count

Status: TypeAlias = Literal["passed", "failed", "cannot tell", "not measured"]
ExitCode: TypeAlias = Literal[0, 1, 3]


class GateSide(TypedDict):
    """One side of a gate: its statistic, of how many items, calls and clusters."""

    value: float | None
    n: Count
    calls: Count
    clusters: Count
    unit: str


class GateResult(TypedDict):
    """The result of a gate."""

    gate: Annotated[str, Meta(description="its line")]
    where: Annotated[dict[str, str], Meta(description="the calls that it is about: columns and their values")]
    source: Annotated[str, Meta(description="where the limit comes from, as its file says")]
    measure: str
    status: Status
    unit: str
    value: Annotated[float | None, Meta(description="the run's, or what it exceeds `times` the baseline's by")]
    interval: Interval | None
    level: Annotated[float, Meta(description="of the interval, so that all gates together hold at theirs")]
    limit: float
    times: Annotated[float, Meta(description="0 where the limit is a number")]
    run: GateSide
    baseline: GateSide | None
    paired_by: str | None
    calls_needed: Annotated[Count | None, Meta(description="about how many of each side would decide it")]
    calls_range: Annotated[
        tuple[Count, Count | None] | None,
        Meta(description="what that lies between in four of five such runs; the second null: no end"),
    ]
    reason: Annotated[str, Meta(description="why there is no value or no interval")]
    worst: Annotated[list[GateMoment], Meta(description="of a gate that failed, the worst first")]
    lines: NotRequired[
        Annotated[str, Meta(description="of a gate that allows less than the lines of its calls do to its measure")]
    ]
    but: NotRequired[
        Annotated[
            list[str],
            Meta(
                description="of a gate that passed, what is wrong with its calls: a side that was not heard, bad input"
            ),
        ]
    ]


class GatedCall(TypedDict):
    """Verdicts of the gates on one call: its own figures against the limits."""

    call: str
    status: Annotated[Status, Meta(description="failed: beyond a limit by more than chance explains")]
    failed: Annotated[list[str], Meta(description="the gates that it fails")]
    cannot_tell: Annotated[list[str], Meta(description="the gates that it is beyond, as chance may explain")]


class DecidedGates(TypedDict):
    """The gates of a file, decided."""

    file: str
    level: Annotated[float, Meta(description="at which all of them together hold")]
    cannot_tell: Annotated[CannotTell, Meta(description="what a gate that cannot be decided does to the exit code")]
    exit_code: Annotated[
        ExitCode, Meta(description="0: all passed, 1: one failed, 3: one could not be decided or measured")
    ]
    results: list[GateResult]
    calls: Annotated[list[GatedCall], Meta(description="every scored call")]


MOST_CALLS: Final = 1_000_000
LIKELY: Final = 0.8
"""The probability that the range for the number of calls needed contains the true number."""


def gate_side(gate: Gate, group: CallGroup, clusters: Sequence[str]) -> GateSide:
    """One side of a gate. clusters: the cluster of each call."""
    pooled = pool(gate.measure, group.quantities, clusters)
    quantities, having = pooled
    if not quantities:
        return {"value": None, "n": 0, "calls": len(group.calls), "clusters": 0, "unit": ""}
    n = sum(len(q.values) if isinstance(q, Values) else q.n for q in quantities)
    unit_of_measure = "share" if isinstance(quantities[0], Share) else quantities[0].unit
    return {
        "value": pooled_value(pooled, gate.function),
        "n": n,
        "calls": len(group.calls),
        "clusters": len({*having}),
        "unit": unit_of_measure,
    }


def gate_result(
    gate: Gate,
    level: float,
    found: Estimate,
    run: GateSide,
    baseline: GateSide | None = None,
    paired_by: str | None = None,
) -> GateResult:
    """The gate's result by the estimate. "not measured" without any item, "cannot tell" if there are too few."""
    result: GateResult = {
        "gate": gate.text,
        "where": dict(gate.where),
        "source": gate.source,
        "measure": gate.measure,
        "status": "cannot tell",
        "unit": run["unit"],
        "value": found.value,
        "interval": found.interval,
        "level": level,
        "limit": gate.plus,
        "times": gate.times,
        "run": run,
        "baseline": baseline,
        "paired_by": paired_by,
        "calls_needed": None,
        "calls_range": None,
        "reason": "" if found.interval else found.reason,
        "worst": [],
    }
    if found.value is None and not all(side["n"] for side in (run, baseline) if side is not None):
        result["status"] = "not measured"
    elif found.value is not None and found.interval is not None:
        best, worst = found.interval if gate.at_most else found.interval[::-1]
        if _holds(worst, gate) or not _holds(best, gate):
            result["status"] = "passed" if _holds(worst, gate) else "failed"
        else:
            reach = abs((worst if _holds(found.value, gate) else best) - found.value)
            result["calls_needed"], result["calls_range"] = _calls_needed(result, found.value, reach, found.clusters)
    return result


def _holds(value: float, gate: Gate) -> bool:
    return value <= gate.plus if gate.at_most else value >= gate.plus


def _calls_needed(
    result: GateResult, value: float, reach: float, clusters: int
) -> tuple[int | None, tuple[int, int | None] | None]:
    """The number of calls of each side that would decide a gate with a probability of 80 %, about, if the value stayed
    the same; and a range for that number that holds in 80 % of such runs, since the value will change.

    reach: how far the interval extends towards the limit: t standard errors, which shrink with the square root of the
    number of calls.
    """
    margin = abs(result["limit"] - value)
    freedom = max(clusters, FEWEST_CLUSTERS) - 1
    t = t_quantile((1 + result["level"]) / 2, freedom)
    error = reach / t
    calls = float(result["run"]["calls"])
    if result["baseline"] is not None:
        calls = 2 / (1 / calls + 1 / result["baseline"]["calls"])  # as many calls on each side give the same precision

    def needed(margin: float) -> int | None:
        found = calls * (error * (t + t_quantile(POWER, freedom)) / margin) ** 2 if margin > 0 else math.inf
        return rounded(found) if found <= MOST_CALLS else None

    away = t_quantile((1 + LIKELY) / 2, freedom) * error
    least = needed(margin + away)
    return needed(margin), None if least is None else (least, needed(margin - away))


def rounded(count: float) -> int:
    """The count rounded up to two digits, since such an estimate is not more precise."""
    step = math.pow(10, max(math.floor(math.log10(count)) - 1, 0))
    return math.ceil(count / step) * round(step)
