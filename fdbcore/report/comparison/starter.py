"""A file of gates to begin with: the limits that fdbcore ships, each with its source and what a run has."""

import json
from typing import Final

from fdbcore.analysis.gate_results import DecidedGates, GateResult
from fdbcore.measures.catalogue import MEASURES
from fdbcore.report.comparison import phrases

HEAD: Final = """\
# The limits that releases must keep. Change them, take out what does not fit your calls, and decide them with
#
#     fdbcore report RUN --gate {name}
#
# The exit code is 0 if all gates passed, 1 if one failed, and 3 if one is undecided: too few calls.

cannot_tell = "error"   # what undecided gates do: "pass", "fail" (exit code 1), "error" (exit code 3)
level = 0.95            # of all gates together
"""
TAIL: Final = """
# A limit may also depend on an earlier run (fdbcore report RUN --baseline OLD --gate {name}), and concern some calls:
#
# [[gates]]
# check = "{measure} <= baseline + 0.02"
# where = {{ language = "ja" }}   # a column of --meta
"""


def starter(gates: DecidedGates, name: str) -> str:
    """The text of the file, which is TOML. gates: the shipped gates, decided on the run. name: the file's own."""
    share = next(gate["measure"] for gate in gates["results"] if MEASURES[gate["measure"]].quantity == "share")
    tail = TAIL.format(name=name, measure=share)
    return "".join([HEAD.format(name=name), *map(_table, gates["results"]), tail])


def _table(gate: GateResult) -> str:
    lines = ["", "[[gates]]", f"check = {_text(gate['gate'])}", f"source = {_text(gate['source'])}"]
    return "\n".join([*lines, f"# This run: {phrases.STATUSES[gate['status']]}. {_figures(gate)}", ""])


def _figures(gate: GateResult) -> str:
    if gate["status"] == "not measured":
        return f"{phrases.gate_finding(gate)}. Take this gate out if your calls never have it: it would stay undecided."
    return "; ".join(filter(None, [phrases.gate_finding(gate), phrases.gate_basis(gate), phrases.gate_but(gate)]))


def _text(value: str) -> str:
    """A text as TOML writes it: its basic strings have the escapes of JSON."""
    return json.dumps(value, ensure_ascii=False)
