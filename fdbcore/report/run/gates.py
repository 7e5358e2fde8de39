"""What gates say of a run and of its calls, for the page of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fdbcore.analysis.call_verdicts import VERDICTS, CallVerdict, GatedRun
from fdbcore.measures.catalogue import columns as measure_columns
from fdbcore.report.comparison import limits, words
from fdbcore.report.comparison.page import COMPARE

if TYPE_CHECKING:
    from fdbcore.analysis.comparison_types import DecidedGates


def banner(gated: GatedRun) -> dict[str, Any]:
    """The values for the sentence about the run."""
    status = words.run_status(gated.gates)
    return {
        "css": limits.css(status, bool(words.passed_beside(gated.gates))),
        "sign": limits.SIGNS[status],
        "sentence": words.gates_verdict(gated.gates),
        "page": COMPARE,
        "made": words.decided(gated.document),
        "failing": any(call["status"] == "failed" for call in gated.gates["calls"]),
    }


def columns(gated: GatedRun) -> dict[str, Any]:
    """What the list of calls needs to show verdicts: their words and signs, and the column of each gate, null if none.

    A column shows the median or the share of a measure, so gates on other statistics have no column.
    """
    return {
        "words": VERDICTS,
        "signs": limits.SIGNS,
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
        "why": [limits.beyond(gate) for gate in verdict.beyond],
    }
