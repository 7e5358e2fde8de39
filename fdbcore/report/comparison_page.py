"""The page of a comparison, compare.html: gates, then measure by measure."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from string import Template
from typing import Any, Final
from urllib.parse import quote

from fdbcore.recording import write_text
from fdbcore.report import comparison_words as words
from fdbcore.report import sections
from fdbcore.report.glossary import MEASURES, in_words
from fdbcore.report.index import INDEX
from fdbcore.report.shell import shell, static
from fdbcore.report.tables import facts, flat, table
from fdbcore.report.words import NOT_CORRECTED, clock_text, counted
from fdbcore.types import TurnSettings

COMPARE: Final = "compare.html"
DETECTABLE: Final = "detectable"
VERDICT: Final = "verdict"

Values = Mapping[str, Any]


def write_comparison(document: Values, folder: Path) -> Path:
    """Write compare.html into the folder of the run and return its path. RecordingError if it cannot be written."""
    path = folder / COMPARE
    write_text(path, page(document, folder))
    return path


def page(document: Values, folder: Path) -> str:
    """The whole page. Every text that comes from a file is escaped. folder: what its links are relative to."""
    run = document["run"]
    settings = TurnSettings(**run["settings"]["turns"]) if run["settings"] else TurnSettings()
    title = Path(run["path"]).resolve().name
    evidence = {name: _evidence(document[name]) for name in ("run", "baseline") if document[name]}
    body = Template(static("compare.html")).substitute(
        header=_header(document, title, folder),
        warnings=_warnings(document),
        gates=_gates(document["gates"], folder) if "gates" in document else "",
        comparisons="\n".join(_compared(compared, settings) for compared in document["comparisons"]),
        not_corrected=NOT_CORRECTED,
        closing=sections.closing(facts(flat(evidence)), settings),
    )
    return shell(body, f"{title} compared – fdbcore", static("compare.css"), "img-src data:")


def _header(document: Values, title: str, folder: Path) -> str:
    run, baseline = document["run"], document["baseline"]
    parts = [words.scored_calls(run)]
    parts += [f"against {escape(baseline['path'])}, {words.scored_calls(baseline)}"] if baseline else []
    parts += [f"by {escape(document['by'])}"] if document["by"] else []
    parts += [f'<a href="{INDEX}">the calls of this run</a>'] if (folder / INDEX).is_file() else []
    return (
        f'<p class="product">fdbcore · comparison</p>\n<h1>{escape(title)}</h1>\n'
        f'<p class="facts">{" · ".join(parts)}</p>'
    )


def _warnings(document: Values) -> str:
    items = "".join(f"<li>{escape(text)}</li>" for text in words.notices(document))
    return f'<ul class="warnings" role="alert">{items}</ul>' if items else ""


def _evidence(described: Values) -> dict[str, Any]:
    return {key: described[key] for key in ("path", "versions", "settings")} | {
        "settings SHA-256": list(described["settings_sha256s"])
    }


def _gates(gates: Values, folder: Path) -> str:
    cards = "\n".join(_gate(gate, folder) for gate in gates["results"])
    n, level = len(gates["results"]), f"{100 * gates['level']:g} %"
    together = f"an interval so wide that all {n} together hold at {level}" if n > 1 else f"a {level} interval"
    note = (
        f"Each gate is decided on {together}. Cannot tell: the interval lies on both sides of the limit, or there is "
        "too little for one."
    )
    return (
        f'<section aria-labelledby="gates-title"><h2 id="gates-title">{escape(words.gates_verdict(gates))}</h2>'
        f'<p class="note">{note}</p><ul class="gates">{cards}</ul></section>'
    )


def _gate(gate: Values, folder: Path) -> str:
    status = words.STATUSES[gate["status"]]
    lines = [words.gate_finding(gate), words.gate_basis(gate), *filter(None, [words.gate_advice(gate)])]
    told = "".join(f"<p>{escape(line)}</p>" for line in lines)
    moments = "".join(_moment(moment, folder) for moment in gate["worst"])
    return (
        f'<li class="{gate["status"].replace(" ", "-")}"><p><b class="status">{status}</b> '
        f"<code>{escape(words.gate_name(gate))}</code></p>{told}"
        + (f'<ol class="moments">{moments}</ol>' if moments else "")
        + "</li>"
    )


def _moment(moment: Values, folder: Path) -> str:
    path, _, time = moment["page"].partition("#")
    address = f"{quote(Path(path).relative_to(folder).as_posix())}#{time}"
    return (
        f'<li><a href="{escape(address)}"><span class="at">{clock_text(moment["start_s"])}</span>'
        f"<span>{escape(moment['text'])}<span class='meaning'>{escape(moment['call'])}</span></span></a></li>"
    )


def _compared(compared: Values, settings: TurnSettings) -> str:
    a, b = compared["a"], compared["b"]
    title = compared["title"] or f"{a['name']} against {b['name']}"
    sizes = "; ".join(f"{side['name']}: {counted(side['calls'], 'call')}" for side in (a, b))
    note = f"{sizes}; {words.pairing(compared)}."
    note += "".join(f" {text[:1].upper()}{text[1:]}." for text in words.cautions(compared))
    columns = ("measure", VERDICT, a["name"], b["name"], "difference, 95 % interval", "p (Holm)", DETECTABLE)
    rows = [_row(row, settings) for row in compared["measures"]]
    used = [k for k in range(len(columns) - 1) if any(cells[k] for _, cells in rows)]
    shown = [(name, [cells[k] for k in used]) for name, cells in rows]
    return (
        f"<section><h2>{escape(title)}</h2><p class='note'>{escape(note)}</p>"
        f"{table([columns[0], *(escape(columns[k + 1]) for k in used)], shown)}</section>"
    )


def _row(row: Values, settings: TurnSettings) -> tuple[str, list[str]]:
    unit, text = words.unit_of(row), MEASURES[row["measure"]]
    name = (
        f"{escape(text.label)}<span class='meaning'>{escape(in_words(text.meaning, settings))}</span>"
        f"<span class='literature'><code>{escape(row['measure'])}</code></span>"
    )
    sides = [
        f"{words.amount(words.headline(row[s]), unit)}<span class='meaning'>{words.counts(row[s])}</span>" for s in "ab"
    ]
    value = words.difference(row["value"], None, unit)
    told = words.limits_text(row["interval"], unit) if row["interval"] else escape(row["reason"])
    limits = f"<span class='meaning'>{told}</span>" if row["value"] is not None else ""
    detectable = words.step(row["detectable"], unit) if row["detectable"] else ""
    verdict = f"<span class='verdict {row['verdict'].replace(' ', '-')}'>{escape(words.verdict(row))}</span>"
    p = words.p_text(row["p_holm"]).removeprefix("p = ").removeprefix("p ").replace("<", "&lt;")
    return name, [verdict, *sides, f"{value}{limits}", p, detectable]
