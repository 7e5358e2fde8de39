"""Verdicts of gates on a run and its calls: on the page of the run, in its list of calls, on the page of a call."""

from collections.abc import Sequence
from typing import Any, Final

from fdbcore.analysis.call_verdicts import VERDICTS, CallVerdict, GatedRun, GateInCall
from fdbcore.analysis.gate_results import DecidedGates, Status
from fdbcore.measures.catalogue import MEASURES
from fdbcore.measures.catalogue import columns as measure_columns
from fdbcore.report.comparison import phrases
from fdbcore.report.format import amount, limit_text
from fdbcore.report.html.templates import COMPARE
from fdbcore.report.html.values import Limit

SIGNS: Final[dict[Status, str]] = {"failed": "✕", "cannot tell": "?", "passed": "✓", "not measured": "–"}
"""Signs that tell a status apart without its colour."""


def css(status: Status, is_doubted: bool = False) -> str:
    """The class of a status on a page. is_doubted: whether a pass would stand beside something wrong."""
    return f"{status.replace(' ', '-')}{' doubted' if is_doubted and status == 'passed' else ''}"


def of_run(gated: GatedRun | None, measure: str) -> list[Limit]:
    """The limits of a measure, each with what its gate says of the run."""
    results = gated.gates["results"] if gated else []
    return [_told(gate["status"], phrases.whole_limit(gate)) for gate in results if gate["measure"] == measure]


def of_call(verdict: CallVerdict | None, measures: Sequence[str]) -> list[Limit]:
    """The limits of the measures of one figure, each with what its gate says of the call."""
    return [
        _told(gate.status, f"{_named(gate, len(measures) > 1)}{_too_few(gate)}")
        for gate in (verdict.gates if verdict else ())
        if gate is not None and gate.gate.measure in measures
    ]


def _told(status: Status, text: str) -> Limit:
    return Limit(css(status), SIGNS[status], f"{VERDICTS[status]}: {text}")


def sentence(verdict: CallVerdict) -> Limit:
    """A call in one sentence."""
    told = "; ".join(map(beyond, verdict.beyond))
    if verdict.status == "cannot tell":
        told = f"{told}. So few may be chance"
    elif verdict.status == "passed":
        told = "no figure of this call is beyond its limit"
    elif verdict.status == "not measured":
        few = [f"{_label(gate)}{_too_few(gate)}" for gate in verdict.having("not measured") if _too_few(gate)]
        told = "; ".join(few) or "this call has nothing that a gate is about"
    found = _told(verdict.status, f"{told}.")
    return found._replace(text=f"{found.text[:1].upper()}{found.text[1:]}")


def beyond(gate: GateInCall) -> str:
    """A call's excess over a limit: "response latency 1.82 s, at most 1.5 s"."""
    return f"{_label(gate)} {_figure(gate)}, {_limit(gate)}"


def _too_few(gate: GateInCall) -> str:
    """The reason why a limit with items says nothing: ", not enough: 5 of 10"; otherwise empty."""
    is_too_few = gate.status == "not measured" and gate.n
    return f", not enough: {gate.n} of {gate.gate.items_for_a_pass}" if is_too_few else ""


def _named(gate: GateInCall, with_label: bool) -> str:
    """A limit, with its measure or at least with its statistic, unless that is the usual one."""
    statistic = gate.gate.statistic if gate.gate.statistic != "median" else ""
    return f"{_label(gate) if with_label else statistic} {_limit(gate)}".strip()


def _label(gate: GateInCall) -> str:
    statistic = gate.gate.statistic
    return MEASURES[gate.gate.measure].label + (f" ({statistic})" if statistic not in ("", "median") else "")


def _figure(gate: GateInCall) -> str:
    measure = MEASURES[gate.gate.measure]
    if measure.quantity == "share" and gate.beyond is not None:
        return f"{gate.beyond if gate.gate.at_most else gate.n - gate.beyond} of {gate.n}"
    return amount(gate.value, measure.shown_in)


def _limit(gate: GateInCall) -> str:
    unit = MEASURES[gate.gate.measure].shown_in
    limit = amount(gate.limit, unit) if gate.gate.needs_baseline else limit_text(gate.limit, unit)
    return f"{'at most' if gate.gate.at_most else 'at least'} {limit}"


def banner(gated: GatedRun) -> dict[str, Any]:
    """The values for the sentence about the run."""
    status = phrases.run_status(gated.gates)
    return {
        "css": css(status, bool(phrases.passed_beside(gated.gates))),
        "sign": SIGNS[status],
        "sentence": phrases.gates_verdict(gated.gates),
        "page": COMPARE,
        "made": phrases.decided(gated.document),
        "failing": any(call["status"] == "failed" for call in gated.gates["calls"]),
    }


def gate_columns(gated: GatedRun) -> dict[str, Any]:
    """Verdicts for the list of calls: their words and signs, and the column of each gate, null if none.

    A column shows the median or the share of a measure, so gates on other statistics have no column.
    """
    return {
        "words": VERDICTS,
        "signs": SIGNS,
        "columns": [_column(gated.gates, number) for number in range(len(gated.gates["results"]))],
    }


def _column(gates: DecidedGates, number: int) -> int | None:
    gate = gates["results"][number]
    shown = [name for name, column in measure_columns().items() if not column.is_count]
    usual = (gate["measure"], f"{gate['measure']}.median")
    if gate["measure"] not in shown or gate["gate"].split()[0] not in usual:
        return None
    return list(measure_columns()).index(gate["measure"])


def listed(verdict: CallVerdict) -> dict[str, Any]:
    """The verdict on a call: what it is, what it is by each gate (null: the gate concerns other calls), and in words
    which limits it is beyond."""
    return {
        "is": verdict.status,
        "of": [gate and gate.status for gate in verdict.gates],
        "why": [beyond(gate) for gate in verdict.beyond],
    }
