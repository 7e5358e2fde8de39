"""A comparison on a terminal of at least 60 columns: the gates, then all measures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from fdbcore.analysis.comparison import ComparedCalls, ComparedMeasure, RunComparison
from fdbcore.analysis.gate_moments import GateMoment
from fdbcore.analysis.gate_results import DecidedGates
from fdbcore.analysis.longer_moments import LongerBetween
from fdbcore.report.comparison import phrases
from fdbcore.report.format import NOT_CORRECTED, clock_text, counted, difference, p_text, step
from fdbcore.report.terminal import filled

MOST_COLUMNS: Final = 100


def comparison_screen(document: RunComparison, columns: int) -> str:
    """The text, without a final newline."""
    width = min(columns, MOST_COLUMNS) - 1
    lines = [*_head(document), *_gates(document.get("gates"))]
    for compared in document["comparisons"]:
        lines += ["", *_compared(compared)]
    lines += ["", NOT_CORRECTED] if document["comparisons"] else []
    return "\n".join(indented(line, width) for line in lines)


def indented(line: str, width: int) -> str:
    """The line, wrapped with an indent."""
    return filled(line, width, " " * (len(line) - len(line.lstrip()) + 2))


def _head(document: RunComparison) -> Iterator[str]:
    run, baseline = document["run"], document["baseline"]
    yield f"{run['path']}: {phrases.scored_calls(run)}" + (
        f" against {baseline['path']}: {phrases.scored_calls(baseline)}" if baseline else ""
    )
    yield from (f"!! {text}" for text in phrases.notices(document))
    yield from document.get("shared", ())


def _gates(gates: DecidedGates | None) -> Iterator[str]:
    if gates is None:
        return
    yield ""
    yield phrases.gates_verdict(gates)
    yield f"gates: {gates['file']}"
    for gate in phrases.in_order(gates):
        yield f"{phrases.STATUSES[gate['status']]}  {phrases.gate_name(gate)}"
        if but := phrases.gate_but(gate):
            yield f"  !! {but}"
        yield f"  {phrases.gate_finding(gate)}"
        yield f"  {phrases.gate_basis(gate)}"
        if advice := phrases.gate_advice(gate):
            yield f"  {advice}"
        if lines := gate.get("lines"):
            yield f"  !! {lines}"
        yield from _moments(gate["worst"])


def _moments(found: Sequence[GateMoment]) -> Iterator[str]:
    for moment in found:
        yield f"  {_named(moment)}, {moment['file']}"
        yield f"    {moment['page']}"


def _named(moment: GateMoment) -> str:
    return ", ".join(filter(None, [f"{clock_text(moment['start_s'])} {moment['text']}", phrases.beside(moment)]))


def _compared(compared: ComparedCalls) -> Iterator[str]:
    a, b = compared["a"], compared["b"]
    title = f"{compared['title']}: " if compared["title"] else ""
    sides = " minus ".join(f"{side['name']} ({counted(side['calls'], 'call')})" for side in (a, b))
    yield f"{title}{sides}, {phrases.pairing(compared)}"
    yield from (f"!! {text}" for text in phrases.warnings(compared))
    for row in compared["measures"]:
        yield from _row(row)
    yield from longer_lines(compared)
    yield from longest_lines(compared)


def longer_lines(of: LongerBetween) -> Iterator[str]:
    """The moments that are longer on one side, and the pages to hear them on."""
    for each in of["longer"]:
        yield phrases.longer(each, of)
        if note := phrases.longer_note(each, of):
            yield f"  {note}"
        yield from _moments(each["worst"])


def longest_lines(of: ComparedCalls) -> Iterator[str]:
    """The longest moments beside the longest of the baseline, whether or not that is chance."""
    if "longest" not in of:
        return
    yield ""
    yield phrases.LONGEST
    yield f"  {phrases.longest_note(of)}"
    for title, moments in phrases.longest(of).items():
        yield f"{title}:"
        yield from (f"  {_named(moment)}, {moment['file']}" for moment in moments)


def _row(row: ComparedMeasure) -> Iterator[str]:
    unit = phrases.unit_of(row)
    yield f"{phrases.label(row['measure'])}: {' | '.join(phrases.sides_of(row))}"
    if row["value"] is None:
        yield f"  {row['reason']}"
        return
    parts = [f"{row['verdict']:<9} {difference(row['value'], row['interval'], unit)}"]
    parts += [f"Holm {p_text(row['p_holm'])}"] if row["p_holm"] is not None else []
    parts += [f"minimum detectable effect {step(row['detectable'], unit)}"] if row["detectable"] else []
    parts += [row["reason"]] if row["reason"] else []
    yield f"  {'; '.join(parts)}"
    yield from _moments(row["worst"])
