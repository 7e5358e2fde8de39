"""The page of a run, index.html: its figures, the worst moments to listen to, and a list of all calls.

It needs no network. Audio is linked, or embedded as clips, and loads only when it is played. Of many calls, the page
has those with the worst moments inside; scripts beside it bring the others while it is read already.
"""

import json
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final

from fdbcore.analysis.cautions import cautions_of
from fdbcore.analysis.comparison import RunComparison
from fdbcore.analysis.sensitivity import Sensitivity
from fdbcore.analysis.survey import CallRow, Survey
from fdbcore.analysis.systems import SystemCalls, measures_by_system, systems
from fdbcore.measures.catalogue import MEASURES
from fdbcore.measures.catalogue import columns as measure_columns
from fdbcore.measures.measure import Column
from fdbcore.recording.files import part_of, write_pieces, write_text
from fdbcore.report import agent_logs
from fdbcore.report.call import sections
from fdbcore.report.call.shared import PAGES
from fdbcore.report.comparison import limits
from fdbcore.report.comparison.page import line
from fdbcore.report.format import scaled
from fdbcore.report.glossary import terms
from fdbcore.report.groups.detectors import detector_table
from fdbcore.report.groups.section import groups_of_calls
from fdbcore.report.html.templates import INDEX, render
from fdbcore.report.html.values import WHOLE, Links, PageParts
from fdbcore.report.listening import ClipCounts, Sounds
from fdbcore.report.run import findings as corpus_findings
from fdbcore.report.run import health as corpus_health
from fdbcore.report.run import sections as corpus_sections
from fdbcore.report.run import systems as system_table
from fdbcore.report.spots import Spots
from fdbcore.types import TurnSettings, ticks_to_s

MOST_INSIDE: Final = 2_000
"""The page has at most this many calls inside: those with the worst moments."""
CALLS_PER_SCRIPT: Final = 5_000


def write_index(
    run: Survey,
    shown: PageParts = WHOLE,
    heard: ClipCounts | None = None,
    titles: Mapping[str, str] | None = None,
    comparison: RunComparison | None = None,
    detectors: Sensitivity | None = None,
) -> Path:
    """Write index.html into the folder of the run and return its path.

    heard: notes what can be played on it. titles: of the run's lists of moments, by their addresses. comparison: the
    last one with a baseline. detectors: what others make of the run. A page that contains its audio has no links to
    other pages, and is named after the folder instead. Raises RecordingError if it cannot be written.
    """
    path = run.corpus.path / (f"{run.corpus.path.resolve().name}.html" if shown.embed else INDEX)
    heard, titles = heard or ClipCounts(), titles or {}
    sounds, compared, link = Sounds(run.corpus.path, shown, heard), systems(run), Links(titles)
    settings = TurnSettings(**run.corpus.settings["turns"]) if run.corpus.settings else TurnSettings()
    page = render(
        "index.html",
        title=corpus_sections.title(run),
        is_alone=shown.embed,
        facts=corpus_sections.header(run),
        gates=limits.banner(run.gated) if run.gated else None,
        compared=line(comparison, is_linked=not shown.embed),
        findings=corpus_findings.listed(run, sounds.page_of),
        noticed=corpus_sections.noticed(run),
        remarks=corpus_sections.remarks(run.corpus.path, cautions_of(measures_by_system(run, compared))),
        evidence=corpus_sections.evidence(run),
        terms=terms(settings),
        footer=corpus_sections.footer(run),
        calls=_list(run, sounds, titles, shown.embed),
        detectors=detector_table(detectors, run.measures) if detectors else None,
        scored=bool(run.pooled),
        **(_scored(run, compared, settings, sounds, link) if run.pooled else {}),
    )
    write_text(path, page)
    if not shown.embed:
        _write_scripts(run, Sounds(run.corpus.path, shown, heard))
    return path


def _scored(
    run: Survey, compared: Sequence[SystemCalls], settings: TurnSettings, sounds: Sounds, link: Links
) -> dict[str, Any]:
    """The values that the page needs only if some call is scored."""
    worst, absent = corpus_sections.moments(run, settings, sounds, link)
    return {
        "health": corpus_health.panel(run, sounds.page_of),
        "logs": agent_logs.run_section(run, link, sounds.page_of),
        "lead": f"{len(compared)} systems. Each row counts only that system's calls."
        if compared
        else "".join(Spots(run.measures).lines("run lead").values()),
        "systems": system_table.section(compared, link) if compared else None,
        "figures": None if compared else corpus_sections.figures(run, settings, link),
        "worst": worst,
        "absent": absent,
        "groups": groups_of_calls(run, sounds.place(run.corpus.path)),
        "charts": corpus_sections.charts(run, settings),
        "intervals": sections.intervals(run.measures),
        "measures": sections.measures(run.measures, settings, link),
    }


def _list(run: Survey, sounds: Sounds, titles: Mapping[str, str], is_alone: bool) -> dict[str, Any]:
    """The data of the list of calls, and of the lists of moments, as JSON values."""
    columns, inside = _columns(run), run.rows if is_alone else _apart(run)[0]
    return {
        "of": len(run.rows),
        "scripts": [] if is_alone else [f"{PAGES}/{name}" for name in _scripts(run)],
        "run": sounds.place(run.corpus.path),
        "columns": columns,
        "lists": {"folder": PAGES, "titles": titles},
        "figures": [_column(name, column) for name, column in measure_columns().items()],
        "calls": [_listed(row, columns, sounds) for row in inside],
        "gates": limits.gate_columns(run.gated) if run.gated else None,
    }


def _columns(run: Survey) -> list[str]:
    return list(dict.fromkeys(name for row in run.rows for name in row.call.columns))


def _apart(run: Survey) -> tuple[list[CallRow], list[CallRow]]:
    """The calls that the page has inside, which are those that it shows first, and those that scripts bring."""
    ranked = sorted(run.rows, key=lambda row: -row.worst.severity if row.worst else 0.0)
    inside = run.rows if len(run.rows) <= MOST_INSIDE else ranked[:MOST_INSIDE]
    return inside, ranked[len(inside) :]


def _scripts(run: Survey) -> dict[str, list[CallRow]]:
    """The calls that a browser loads after the page, by the names of their scripts."""
    others = _apart(run)[1]
    return {
        f"calls-{number}.js": others[first : first + CALLS_PER_SCRIPT]
        for number, first in enumerate(range(0, len(others), CALLS_PER_SCRIPT))
    }


def _write_scripts(run: Survey, sounds: Sounds) -> None:
    """Write the scripts, and remove those of a run that was larger. A page opened from a disk may load no JSON."""
    folder, columns, scripts = part_of(run.corpus.path, PAGES), _columns(run), _scripts(run)
    for name, rows in scripts.items():
        lines = (json.dumps(_listed(row, columns, sounds), separators=(",", ":")) for row in rows)
        write_pieces(folder / name, chain(["calls([\n"], (f"{line},\n" for line in lines), ["]);\n"]))
    for path in folder.glob("calls-*.js"):
        if path.name not in scripts:
            path.unlink()


def _column(name: str, column: Column) -> dict[str, Any]:
    """The column of a measure. is: its cells are a "share" (count, n), a "count" of items, or a "time" in seconds.

    first: the direction of the first sorting, 1 for ascending, so that the worst calls come first.
    """
    measure = MEASURES[name]
    kind = "count" if column.is_count else "share" if measure.quantity == "share" else "time"
    return {"measure": name, "title": measure.label, "is": kind, "first": 1 if measure.better == "more" else -1}


def _figure(row: CallRow, name: str, column: Column) -> Any:  # noqa: ANN401 - JSON
    """The cell of a column for a call; None if the call does not have the measure."""
    if name not in row.figures:
        return None
    value, n = row.figures[name]
    if column.is_count:
        return n
    if MEASURES[name].quantity == "share":
        return [row.counts[name], n]
    return None if value is None else scaled(value, MEASURES[name].unit)


def _listed(row: CallRow, columns: Sequence[str], sounds: Sounds) -> dict[str, Any]:
    call, worst = row.call, row.worst
    known: dict[str, Any] = {
        "name": call.name,
        "status": call.status,
        "columns": [call.columns.get(c, "") for c in columns],
    }
    if call.unscored is not None:
        return known | {"why": corpus_sections.in_short(call, call.unscored), "page": sounds.page_of(call)}
    known |= {
        "s": row.length_s,
        "figures": [_figure(row, name, column) for name, column in measure_columns().items()],
        "page": sounds.page_of(call),
        "audio": sounds.of_call(call),
        "silent": sounds.silent(call),
        "notes": _notes(row, sounds),
        **({"left_out": ", ".join(span.brief for span in row.left_out)} if row.left_out else {}),
    }
    if row.health is not None:
        known["verdict"] = row.health.verdict
        known["found"] = [[finding.id, finding.text] for finding in row.health.findings]
    if row.verdict is not None:
        known["gates"] = limits.listed(row.verdict)
    if worst is not None:
        known["worst"] = [worst.text, ticks_to_s(worst.start_tick), worst.severity]
    return known


def _notes(row: CallRow, sounds: Sounds) -> list[str]:
    """The notes on a call, each once: damage may be both a warning and the reason."""
    silent = sounds.silent(row.call)
    found = [finding["text"] for finding in row.findings]
    texts = [*found, *filter(None, [row.call.reason]), *row.warnings, *([f"no audio: {silent}"] if silent else [])]
    return list(dict.fromkeys(corpus_sections.in_short(row.call, text) for text in texts))
