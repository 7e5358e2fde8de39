"""Gates decided by confidence intervals: passed, failed, or undecided because there are too few calls."""

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from fdbcore.analysis.call_verdicts import CallVerdict, call_verdicts, meets
from fdbcore.analysis.comparison import Sides
from fdbcore.analysis.corpus import Call, Run
from fdbcore.analysis.differences import difference, estimate
from fdbcore.analysis.facts import HEALTH, TOLD
from fdbcore.analysis.gate_file import Gate, Gates, gates_of, read_gates
from fdbcore.analysis.gate_moments import worst
from fdbcore.analysis.gate_results import DecidedGates, ExitCode, GatedCall, GateResult, gate_result, gate_side
from fdbcore.analysis.groups import NO_VALUE, CallGroup, unit
from fdbcore.analysis.line_effects import LineShifts, gate_note
from fdbcore.analysis.matching import Matched, items_over_lines, match
from fdbcore.analysis.summaries import pool
from fdbcore.errors import FdbError, InputError, nearest
from fdbcore.measures.catalogue import MEASURES
from fdbcore.measures.findings import ENDS_UNANSWERED
from fdbcore.measures.quantities import Share
from fdbcore.stats.bootstrap import ONE_CLUSTER, Estimate, Interval

PASSED: Final = 0
FAILED: Final = 1
UNMEASURED: Final = 3
"""The exit codes of a command with gates."""
LEAST_MS: Final = 10
"""Of a limit in milliseconds, as long as a tick: who writes less means seconds."""
MOST_UNANSWERED: Final = 0.1
"""A gate on latencies says so if a larger share of the opportunities has no response: what took longest is missing."""


class Decision(NamedTuple):
    """A decided gate. group: the calls that it concerns; baseline_calls: those of the baseline. result: what is told of
    it, as yet without moments and without what is wrong beside it.
    """

    gate: Gate
    group: CallGroup
    result: GateResult
    baseline_calls: Sequence[Call] = ()


def decide(gates: Gates, run: CallGroup, baseline: CallGroup | None, cluster: str | None = None) -> list[Decision]:
    """Decide each gate. Raises InputError for an unknown measure, column or value, and for a missing baseline."""
    for gate in gates.gates:
        _check(gate, run, baseline)
    return [_decided(gate, gates.level_of_each, run, baseline, cluster) for gate in gates.gates]


def exit_code(decisions: Sequence[Decision], gates: Gates) -> ExitCode:
    """0: all passed; 1: one failed; 3: none failed, and one could not be measured or told."""
    statuses = {decision.result["status"] for decision in decisions}
    undecided = {"pass": PASSED, "fail": FAILED, "error": UNMEASURED}[gates.cannot_tell]
    codes = {FAILED} if "failed" in statuses else set()
    codes |= {undecided} if "cannot tell" in statuses else set()
    codes |= {UNMEASURED} if "not measured" in statuses else set()
    return next(code for code in (FAILED, UNMEASURED, PASSED) if code in codes or code == PASSED)


def _check(gate: Gate, run: CallGroup, baseline: CallGroup | None) -> None:
    if gate.measure not in MEASURES:
        known = nearest(gate.measure, [*MEASURES, *(measure.label for measure in MEASURES.values())])
        raise InputError(f"{gate.text}: expected a measure, got {gate.measure}{known}")
    measure = MEASURES[gate.measure]
    if gate.needs_baseline and baseline is None:
        raise InputError(f"{gate.text}: expected --baseline, which the gate names")
    if gate.statistic and measure.quantity != "values":
        raise InputError(f"{gate.text}: expected {gate.measure} alone: it is a share or a rate, and has no quantiles")
    if measure.unit == "share":
        _check_share(gate)
    if measure.unit == "ms":
        _check_ms(gate, may_be_zero=gate.needs_baseline or not measure.direction)
    for column, value in gate.where.items():
        _check_where(gate, column, value, run)


def _check_share(gate: Gate) -> None:
    """Refuse limits that are no shares: a limit in per cent would always or never be met."""
    if gate.needs_baseline and not abs(gate.plus) < 1:
        raise InputError(f"{gate.text}: expected to add less than 1 to the baseline: shares are from 0 to 1")
    if not gate.needs_baseline and not 0 <= gate.plus <= 1:
        raise InputError(f"{gate.text}: expected a limit from 0 to 1, as shares are, got {gate.plus:g}")


def _check_ms(gate: Gate, may_be_zero: bool) -> None:
    """Refuse limits that must be seconds: no call would meet them."""
    least = 1 if gate.needs_baseline else LEAST_MS
    if abs(gate.plus) < least and not (gate.plus == 0 and may_be_zero):
        are = f"; {gate.plus:g} s are {1000 * gate.plus:g}" if gate.plus else ""
        raise InputError(f"{gate.text}: expected milliseconds, {least} or more, got {gate.plus:g}{are}")


def _check_where(gate: Gate, column: str, value: str, run: CallGroup) -> None:
    columns = dict.fromkeys(name for call in run.calls for name in call.columns)
    if column not in columns:
        raise InputError(f"{gate.text}: where {column}: expected a column of the calls{_known(column, list(columns))}")
    values = dict.fromkeys(call.columns.get(column) or NO_VALUE for call in run.calls)
    if value not in values:
        known = _known(value, list(values))
        raise InputError(f"{gate.text}: where {column} = {value}: expected a value of that column{known}")


def _known(name: str, known: Sequence[str]) -> str:
    return nearest(name, known) or (f", one of {', '.join(known[:10])}" if known else ", and there are none")


def chosen(group: CallGroup, where: Mapping[str, str]) -> CallGroup:
    """The calls of a group whose columns have these values."""
    return group.only([number for number, call in enumerate(group.calls) if meets(call, where)], group.name)


def _decided(gate: Gate, level: float, run: CallGroup, baseline: CallGroup | None, cluster: str | None) -> Decision:
    of_run = chosen(run, gate.where)
    if not gate.needs_baseline or baseline is None:
        clusters = of_run.clusters(unit(run.calls, cluster or items_over_lines(of_run)))
        found = estimate(pool(gate.measure, of_run.quantities, clusters), gate.function, level=level)
        return Decision(gate, of_run, gate_result(gate, level, found, gate_side(gate, of_run, clusters)))
    matched = match(gate.about, of_run, chosen(baseline, gate.where), cluster)
    return Decision(gate, of_run, _against(gate, level, matched), matched.b.calls)


def _against(gate: Gate, level: float, matched: Matched) -> GateResult:
    a, b = matched.pools(gate.measure)
    found = difference(a, b, statistic=gate.function, times=gate.times, level=level)
    run, baseline = gate_side(gate, matched.a, matched.clusters_a), gate_side(gate, matched.b, matched.clusters_b)
    reason = found["reason"]
    if not a[0] or not b[0]:
        reason = f"no call of the {'run' if not a[0] else 'baseline'} has this measure"
    elif reason == ONE_CLUSTER:
        with_one = [name for name, pooled in (("run", a), ("baseline", b)) if len({*pooled[1]}) == 1]
        reason += f" (of the {' and the '.join(with_one)})" if with_one else ""
    interval = found["interval"] and Interval(*found["interval"])
    told = Estimate(found["value"], interval, found["clusters"], reason)
    return gate_result(gate, level, told, run, baseline, matched.paired_by)


def gate(
    run: Run,
    gates: str | os.PathLike[str] | Sequence[str],
    baseline: Run | None = None,
    *,
    cluster: str | None = None,
    different_settings: bool = False,
) -> DecidedGates:
    """Decide gates on a run, such as "premature_per_turn <= baseline + 0.02", by intervals; as JSON values.

    gates: the path of a TOML file, "defaults" for the limits that fdbcore ships, or the lines themselves, which are
    decided at a level of 95 % together. baseline, cluster, different_settings: as in `compare`.

    Keys: exit_code (0: all passed, 1: one failed, 3: one could not be decided or measured), level, results [{gate,
    status, value, interval, limit, run, baseline, reason, calls_needed, worst [{call, file, start_s, text, page}], but:
    what is wrong with the calls of a gate that passed, if anything}],
    calls [{call, status, failed, cannot_tell}] (see `call_verdicts`), where status is "passed", "failed", "cannot tell"
    or "not measured", and values are in the unit of the measure (ms for latencies, shares from 0 to 1). `fdbcore report
    RUN --call NAME` writes the page of a call.
    Raises InputError for gates that cannot be read, an unknown measure or column, and a missing baseline, SettingsError
    for runs with different settings, RecordingError if no call is scored.
    """
    if isinstance(gates, (str, os.PathLike)):
        file, found = Path(gates), read_gates(Path(gates))
    else:
        file, found = Path("gates"), gates_of({"gates": list(gates)}, "gates")
    return decided(file, found, Sides.of(run, baseline, different_settings), cluster)


def decided(file: Path, gates: Gates, sides: Sides, cluster: str | None) -> DecidedGates:
    """The gates of a file, decided, and the verdict on each scored call, as JSON values."""
    try:
        decisions = decide(gates, sides.of_run, sides.of_baseline, cluster)
    except InputError as error:
        raise InputError(f"{file}: {error}") from None
    calls = call_verdicts(sides.of_run, [each.result for each in decisions], gates.level)
    shifts, beside = LineShifts(), FindingsBeside([call for call in sides.run.calls if call.unscored is not None])
    return {
        "file": str(file),
        "level": gates.level,
        "cannot_tell": gates.cannot_tell,
        "exit_code": exit_code(decisions, gates),
        "results": [_told(one, shifts, beside) for one in decisions],
        "calls": [_call(name, verdict) for name, verdict in calls.items()],
    }


def _call(name: str, verdict: CallVerdict) -> GatedCall:
    return {
        "call": name,
        "status": verdict.status,
        "failed": [each.gate.name for each in verdict.having("failed")],
        "cannot_tell": [each.gate.name for each in verdict.having("cannot tell")],
    }


def _told(decision: Decision, shifts: LineShifts, beside: "FindingsBeside") -> GateResult:
    """A result with its worst moments if it failed, what the lines of its calls do if that is more than it allows, and
    what is wrong with the calls of a gate that passed."""
    gate, result = decision.gate, decision.result
    if result["status"] == "failed":
        result = {**result, "worst": worst(decision.group, gate.measure, gate.at_most)}
    if lines := _on_lines(decision, shifts):
        result["lines"] = lines
    if but := _but(decision, beside) if result["status"] == "passed" else []:
        result["but"] = but
    return result


def _but(decision: Decision, beside: "FindingsBeside") -> list[str]:
    told = beside.told(decision.group.calls, [call for call in beside.unscored if meets(call, decision.gate.where)])
    return told + _unanswered(decision.group, MEASURES[decision.gate.measure].missing)


def _unanswered(group: CallGroup, share: str) -> list[str]:
    """The number of opportunities without a response, which no latency counts, if it is more than MOST_UNANSWERED.

    share: the id of what counts them, "" for measures of all opportunities.
    """
    shares = [found for each in group.quantities if isinstance(found := each.get(share), Share)]
    missing, n = sum(share.count for share in shares), sum(share.n for share in shares)
    return [f"{missing:,} of {n:,} had no response, and no latency"] if missing > MOST_UNANSWERED * n else []


def _on_lines(decision: Decision, shifts: LineShifts) -> str:
    value, baseline = decision.result["value"], decision.result["baseline"]
    if value is None:
        return ""
    calls = {"run": decision.group.calls} | ({"baseline": decision.baseline_calls} if baseline else {})
    found = {name: shifts.median_of(decision.gate.measure, of) for name, of in calls.items()}
    return gate_note(decision.gate, value, decision.gate.plus, baseline and baseline["value"], found)


OF_A_SIDE: Final = ("never_spoke", "fell_silent", "went_on", ENDS_UNANSWERED)
"""The ids of the findings that say of one side that it was not heard."""


class FindingsBeside:
    """Names the findings in the calls of gates; reads each call once for all of them. unscored: calls in no figure."""

    def __init__(self, unscored: Sequence[Call]) -> None:
        self.unscored = unscored
        self._of_call: dict[str, Sequence[str]] = {}

    def told(self, calls: Sequence[Call], unscored: Sequence[Call]) -> list[str]:
        """Each finding with its number of calls, the most common first: "B fell silent in 2 of 6 calls".

        Before them, how many more calls there are that a gate never sees, as recordings that went wrong.
        """
        found = Counter(name for call in calls for name in self._names(call))
        more = [f"{len(unscored):,} of {len(calls) + len(unscored):,} calls not scored"] if unscored else []
        return more + [
            f"{name} in {n:,} of {len(calls):,} call{'s' * (len(calls) > 1)}" for name, n in found.most_common()
        ]

    def _names(self, call: Call) -> Sequence[str]:
        if call.name not in self._of_call:
            self._of_call[call.name] = list(dict.fromkeys(_names(call)))
        return self._of_call[call.name]


def _names(call: Call) -> Iterable[str]:
    """The names of what is wrong with a call; none if it cannot be read."""
    with suppress(FdbError):
        reading = call.recording
        yield from (found["name"] for found in call.fact(TOLD, reading)["findings"] if found["id"] in OF_A_SIDE)
        if (health := call.fact(HEALTH, reading)) and health["verdict"] == "bad":
            yield "bad input"
