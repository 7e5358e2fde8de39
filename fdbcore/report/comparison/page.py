"""The page of a comparison, compare.html: the gates, then all measures."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from fdbcore.measures.catalogue import MEASURES
from fdbcore.recording.files import write_text
from fdbcore.report.comparison import words
from fdbcore.report.evidence import of_settings, of_versions
from fdbcore.report.format import NONE, NOT_CORRECTED, amount, counted, headline, limits, p_value, step
from fdbcore.report.glossary import in_words, terms
from fdbcore.report.html.templates import INDEX, render
from fdbcore.report.html.values import Cell, Fact, Row, Shown
from fdbcore.types import TurnSettings

if TYPE_CHECKING:
    from fdbcore.analysis.comparison_types import (
        ComparedCalls,
        ComparedMeasure,
        Comparison,
        DecidedGates,
        DescribedRun,
        GateMoment,
        GateResult,
        LongerBetween,
    )

COMPARE: Final = "compare.html"
DETECTABLE: Final = "detectable"
VERDICT: Final = "verdict"


def write_comparison(document: Comparison, folder: Path) -> Path:
    """Write compare.html into the folder of the run and return its path. Raises RecordingError if that fails."""
    path = folder / COMPARE
    write_text(path, page(document, folder))
    return path


def page(document: Comparison, folder: Path) -> str:
    """The whole page. folder: the folder that its links are relative to."""
    run, gates = document["run"], document.get("gates")
    listed = {moment["page"] for gate in (gates["results"] if gates else []) for moment in gate["worst"]}
    settings = TurnSettings(**run["settings"]["turns"]) if run["settings"] else TurnSettings()
    return render(
        "compare.html",
        title=Path(run["path"]).resolve().name,
        facts=_facts(document),
        is_run_linked=(folder / INDEX).is_file(),
        warnings=words.notices(document),
        lead=words.lead(document) if document["comparisons"] else "",
        gates=_gates(gates, folder) if gates else None,
        comparisons=[
            compared_table(compared, settings) | {"worse": _worse(compared, folder, listed)}
            for compared in document["comparisons"]
        ],
        not_corrected=NOT_CORRECTED,
        evidence={f"{name[:1].upper()}{name[1:]}": _evidence(side) for name, side in words.sides(document)},
        terms=terms(settings),
    )


def _facts(document: Comparison) -> list[str]:
    baseline = document["baseline"]
    against = [f"against {baseline['path']}, {words.scored_calls(baseline)}"] if baseline else []
    return [words.scored_calls(document["run"]), *against, *([f"by {document['by']}"] if document["by"] else [])]


def _evidence(described: DescribedRun) -> list[Fact]:
    settings = described["settings"]
    decided = of_settings(settings, described["settings_sha256s"]) if settings else []
    return [("folder", described["path"]), *decided, *of_versions(described["versions"])]


def _gates(gates: DecidedGates, folder: Path) -> dict[str, Any]:
    n, level = len(gates["results"]), f"{100 * gates['level']:g} %"
    together = f"an interval so wide that all {n} hold together at {level}" if n > 1 else f"a {level} interval"
    note = (
        f"Each gate is decided by {together}. Undecided: the interval lies on both sides of the limit, or there are "
        "too few calls for an interval."
    )
    results = [_gate(gate, folder) for gate in gates["results"]]
    return {"verdict": words.gates_verdict(gates), "note": note, "results": results}


def _gate(gate: GateResult, folder: Path) -> dict[str, Any]:
    return {
        "css": gate["status"].replace(" ", "-"),
        "status": words.STATUSES[gate["status"]],
        "name": words.gate_name(gate),
        "lines": [words.gate_finding(gate), words.gate_basis(gate), *filter(None, [words.gate_advice(gate)])],
        "source": gate["source"],
        "moments": _moments(gate["worst"], folder),
    }


def _worse(compared: ComparedCalls, folder: Path, listed: set[str]) -> list[dict[str, Any]]:
    """What to listen to of each measure that got worse, and the moments that are longer than nearly all before.

    Those are listed whole; the others without what is listed already. All are added to `listed`.
    """
    found = []
    for row in compared["measures"]:
        moments = [moment for moment in row["worst"] if moment["page"] not in listed]
        listed |= {moment["page"] for moment in moments}
        if moments:
            name = f"{words.label(row['measure'])}: listen to what got worse"
            found.append({"name": name, "note": "", "moments": _moments(moments, folder)})
    return [*found, *longer_lists(compared, folder)]


def longer_lists(of: LongerBetween, folder: Path) -> list[dict[str, Any]]:
    """The values for the macro `to_listen`: the moments of each kind that is longer. folder: that of the page."""
    return [
        {
            "name": words.longer(each, of),
            "note": words.longer_note(each, of),
            "moments": _moments(each["worst"], folder),
        }
        for each in of["longer"]
    ]


def _moments(found: Sequence[GateMoment], folder: Path) -> list[dict[str, Any]]:
    return [{**moment, "address": _address(moment, folder)} for moment in found]


def _address(moment: GateMoment, folder: Path) -> str | None:
    """The address of a moment on the page of its call; None if that page is not written."""
    path, _, time = moment["page"].rpartition("#")  # a name may have one too
    return f"{quote(Path(os.path.relpath(path, folder)).as_posix())}#{time}" if Path(path).is_file() else None


def compared_table(compared: ComparedCalls, settings: TurnSettings) -> dict[str, Any]:
    """The values for a section of two sides, with a row for each measure."""
    a, b = compared["a"], compared["b"]
    sizes = "; ".join(f"{side['name']}: {counted(side['calls'], 'call')}" for side in (a, b))
    note = f"{sizes}; {words.pairing(compared)}."
    note += "".join(f" {text[:1].upper()}{text[1:]}." for text in words.cautions(compared))
    columns = (VERDICT, a["name"], b["name"], "difference, 95 % interval", "p (Holm)", DETECTABLE)
    rows = [_row(row, settings) for row in compared["measures"]]
    used = [k for k in range(len(columns)) if any(cells[k] for _, cells in rows)]
    return {
        "title": compared["title"] or f"{a['name']} against {b['name']}",
        "note": note,
        "columns": ["measure", *(columns[k] for k in used)],
        "rows": [(label, [cells[k] for k in used]) for label, cells in rows],
    }


def _row(row: ComparedMeasure, settings: TurnSettings) -> Row:
    unit, text = words.unit_of(row), MEASURES[row["measure"]]
    value: Shown = NONE
    if row["value"] is not None:
        value = Cell(step(row["value"], unit, "+"), limits(row["interval"], unit, "+") or row["reason"])
    cells = [
        Cell(
            words.verdict(row),
            row["reason"] if row["verdict"] == "undecided" and row["interval"] else "",
            verdict=row["verdict"].replace(" ", "-"),
        ),
        *(Cell(amount(headline(side), unit), words.counts(side)) for side in (row["a"], row["b"])),
        value,
        p_value(row["p_holm"]),
        step(row["detectable"], unit) if row["detectable"] else "",
    ]
    return Cell(text.label, in_words(text.meaning, settings), name=row["measure"]), cells
