"""The gates of a run in each of its calls: which calls keep to the limits, and which do not.

A gate decides about a system, by an interval over calls. One call has no such interval. So its verdict is about the
call itself: its own figure is compared with the limit. A figure beyond the limit fails the call only if chance hardly
explains it: if a system exactly at the limit would have so many items beyond it in fewer than 5 % of such calls (the
exact binomial test, with independent items). Otherwise the call is undecided. A quantile within its limit passes the
call only if it has enough items for that quantile (`Gate.items_for_a_pass`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fdbcore.analysis.comparison import RunComparison
from fdbcore.analysis.corpus import Call
from fdbcore.analysis.differences import pooled_value
from fdbcore.analysis.gate_file import Gate, parse
from fdbcore.analysis.gate_results import DecidedGates, GateResult, Status
from fdbcore.analysis.groups import NO_VALUE, CallGroup
from fdbcore.measures.quantities import Quantity, Share, Values

VERDICTS: Final[Mapping[Status, str]] = {
    "failed": "fail",
    "cannot tell": "undecided",
    "passed": "pass",
    "not measured": "not measured",
}
"""The words for what a call is: by the first of these that one of its gates is, so the worst one."""


@dataclass(frozen=True, slots=True)
class GateInCall:
    """A gate in one call.

    limit: in the unit of the measure, also if the gate depends on a baseline. value: the call's own statistic. beyond,
    n: how many of its items are beyond the limit, of how many; beyond is None for a mean or a rate. If status is "not
    measured" and there are items, they are too few.
    """

    gate: Gate
    status: Status
    limit: float
    value: float | None = None
    beyond: int | None = None
    n: int = 0


@dataclass(frozen=True, slots=True)
class CallVerdict:
    """Verdicts of the gates on one call. gates: one per gate of the file; None for a gate that concerns other calls."""

    status: Status
    gates: Sequence[GateInCall | None]

    def having(self, status: Status) -> list[GateInCall]:
        """The gates of this status."""
        return [each for each in self.gates if each is not None and each.status == status]

    @property
    def beyond(self) -> list[GateInCall]:
        """The gates whose limit the call is beyond, those that it fails first."""
        return [*self.having("failed"), *self.having("cannot tell")]


@dataclass(frozen=True, slots=True)
class GatedRun:
    """The gates of a run, decided, and the verdict on each of its scored calls, by the name of the call.

    document: the kept one with the gates.
    """

    document: RunComparison
    calls: Mapping[str, CallVerdict]

    @property
    def gates(self) -> DecidedGates:
        """The gates of the document."""
        return self.document["gates"]


def call_verdicts(run: CallGroup, results: Sequence[GateResult], level: float) -> dict[str, CallVerdict]:
    """The verdict on each call of a run, by its name. results: of the gates. level: of one gate in one call."""
    limits = [_limit(result) for result in results]
    found = {}
    for call, quantities in zip(run.calls, run.quantities, strict=True):
        gates = [
            None
            if limit is None or not meets(call, gate.where)
            else _in_call(gate, limit, quantities.get(gate.measure), level)
            for gate, limit in limits
        ]
        statuses = {each.status for each in gates if each is not None}
        found[call.name] = CallVerdict(next((s for s in VERDICTS if s in statuses), "not measured"), gates)
    return found


def _limit(result: GateResult) -> tuple[Gate, float | None]:
    """A gate, and its limit in the unit of the measure: the statistic of all calls of a baseline limits each call. None
    if it depends on a baseline that does not have the measure."""
    gate = parse(result["gate"], result["where"], "gates")
    if not gate.needs_baseline:
        return gate, gate.plus
    baseline = result["baseline"] and result["baseline"]["value"]
    return gate, None if baseline is None else gate.times * baseline + gate.plus


def meets(call: Call, where: Mapping[str, str]) -> bool:
    """True if the columns of a call have these values."""
    return all((call.columns.get(column) or NO_VALUE) == value for column, value in where.items())


def _in_call(gate: Gate, limit: float, quantity: Quantity | None, level: float) -> GateInCall:
    value = None if quantity is None else pooled_value(([quantity], [""]), gate.function)
    if quantity is None or value is None:
        return GateInCall(gate, "not measured", limit)
    beyond, n, allowed = _beyond(gate, limit, quantity)
    status: Status = "passed" if n >= gate.items_for_a_pass else "not measured"
    if not (value <= limit if gate.at_most else value >= limit):
        by_chance = 1.0 if beyond is None else _chance_of(beyond, n, allowed)
        status = "failed" if by_chance < 1 - level else "cannot tell"
    return GateInCall(gate, status, limit, value, beyond, n)


def _beyond(gate: Gate, limit: float, quantity: Quantity) -> tuple[int | None, int, float]:
    """The number of items beyond the limit (None for a mean or a rate), of how many, and the share that is allowed."""
    if isinstance(quantity, Share):
        against = quantity.count if gate.at_most else quantity.n - quantity.count
        return against, quantity.n, limit if gate.at_most else 1 - limit
    if not isinstance(quantity, Values):
        return None, quantity.n, 0.0
    if gate.statistic == "mean":
        return None, len(quantity.values), 0.0
    against = sum(value > limit if gate.at_most else value < limit for value in quantity.values)
    below = gate.quantile
    return against, len(quantity.values), 1 - below if gate.at_most else below


def _chance_of(beyond: int, n: int, allowed: float) -> float:
    """The probability of `beyond` or more of n items, each with the probability `allowed`."""
    from scipy.special import bdtrc

    return float(bdtrc(beyond - 1, n, min(max(allowed, 0.0), 1.0)))
