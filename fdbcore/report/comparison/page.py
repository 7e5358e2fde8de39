"""The page of a comparison, compare.html: what got worse, to listen to; the gates; all measures.

A line on the page of the run tells of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from fdbcore.analysis.comparison import ComparedCalls, DescribedRun, RunComparison
from fdbcore.analysis.corpus import Call, Run
from fdbcore.analysis.differences import MeasuredDifference
from fdbcore.analysis.gate_moments import GateMoment
from fdbcore.analysis.gate_results import GateResult
from fdbcore.analysis.groups import NO_VALUE
from fdbcore.analysis.kept import Kept
from fdbcore.analysis.summaries import Summary
from fdbcore.measures.catalogue import MEASURES
from fdbcore.measures.moments import BY_ID
from fdbcore.recording.files import write_text
from fdbcore.recording.places import place_from
from fdbcore.report.call.shared import PAGES
from fdbcore.report.comparison import limits as limits_of_gates
from fdbcore.report.comparison import phrases
from fdbcore.report.evidence import of_settings, of_versions
from fdbcore.report.format import NONE, NOT_CORRECTED, brief, brief_step, counted, headline, limits, long_unit, p_value
from fdbcore.report.glossary import in_words, terms
from fdbcore.report.html.templates import COMPARE, INDEX, render
from fdbcore.report.html.values import ALL, NO_LINKS, WHOLE, Cell, Fact, Links, PageParts, Row, Shown, without_empty
from fdbcore.report.listening import ClipCounts, Sounds, named_card
from fdbcore.types import TurnSettings

DETECTABLE: Final = "minimum detectable effect"
VERDICT: Final = "verdict"
NEITHER: Final = (NO_LINKS, NO_LINKS)

OPENS, CLOSES = "<!-- comparison -->", "<!-- end of the comparison -->"
_CSS: Final = {"worse": "failed", "better": "passed"}


def write_comparison(given: Kept, run: Run, shown: PageParts = WHOLE) -> Path:
    """Write compare.html into the folder of a run and return its path. Raises RecordingError if that fails."""
    path = run.path / COMPARE
    write_text(path, page(given, run, shown))
    return path


def page(given: Kept, run: Run, shown: PageParts = WHOLE) -> str:
    """The whole page."""
    documents = [document for document in (given.comparison, given.gates) if document is not None]
    comparison, settings = given.comparison, documents[0]["run"]["settings"]
    turns = TurnSettings(**settings["turns"]) if settings else TurnSettings()
    listed = Listed(run, shown)
    before = phrases.name(comparison["baseline"]) if comparison and comparison["baseline"] else ""
    to_hear = sections_to_hear(comparison["comparisons"], before, listed) if comparison else []
    compared = _comparisons(comparison, run.path, turns) if comparison else []
    return render(
        "compare.html",
        title=run.path.resolve().name,
        facts=_facts(documents[0], run.path),
        is_run_linked=(run.path / INDEX).is_file(),
        warnings=list(dict.fromkeys(text for document in documents for text in phrases.notices(document))),
        shared=list(dict.fromkeys(text for document in documents for text in document.get("shared", ()))),
        lead=phrases.lead(comparison) if comparison else "",
        to_hear=to_hear,
        gates=_gates(given.gates, listed) if given.gates else None,
        comparisons=compared,
        shows_detectable=any(DETECTABLE in each["columns"] for each in compared),
        not_corrected=NOT_CORRECTED,
        evidence=_evidence(documents, run.path),
        terms=terms(turns),
    )


class Listed:
    """Makes the cards of moments, and knows which moments have one."""

    def __init__(self, run: Run, shown: PageParts) -> None:
        self._sounds = Sounds(run.path, shown, ClipCounts())
        self._before = Sounds(run.path, shown, ClipCounts())
        self._calls: Mapping[str, Call] = {call.name: call for call in run.calls}
        self._carded: set[tuple[str, float]] = set()

    def cards(self, moments: Iterable[GateMoment]) -> list[dict[str, Any]]:
        """The values of the cards of those moments that have none yet."""
        found = {(moment["call"], moment["start_s"]): moment for moment in moments if moment["call"] in self._calls}
        new = [moment for key, moment in found.items() if key not in self._carded]
        self._carded |= found.keys()
        return [self._card(moment) for moment in new]

    def _card(self, moment: GateMoment) -> dict[str, Any]:
        card, was = named_card(self._calls[moment["call"]], moment, self._sounds), moment.get("was")
        before = was and named_card(Call(was["call"], Path(was["page"].rpartition("#")[0]).parent), was, self._before)
        return {**card, "beside": phrases.beside(moment), "before": before}


def sections_to_hear(comparisons: Sequence[ComparedCalls], baseline: str, listed: Listed) -> list[dict[str, Any]]:
    """Cards to listen to: what got worse, without what is listed already; then what is longest, be it chance."""
    of_worse, found = [], []
    for of in comparisons:
        about = f"{of['title']}: " if of["title"] else ""
        for row in of["measures"]:
            of_worse.append((f"{about}{phrases.label(row['measure'])}", "", listed.cards(row["worst"])))
        for each in of["longer"]:
            name = f"{about}{BY_ID[each['kind']].title}"
            of_worse.append((name, phrases.longer_note(each, of), listed.cards(each["worst"])))
    if any(cards for _, _, cards in of_worse):
        title = f"Listen to what got worse since {baseline}"
        found.append({"title": title, "note": "", "kinds": of_worse})
    for of in comparisons:
        if "longest" in of:
            kinds = [(title, "", listed.cards(moments)) for title, moments in phrases.longest(of).items()]
            found.append({"title": phrases.LONGEST, "note": phrases.longest_note(of), "kinds": kinds})
    return found


def _facts(document: RunComparison, run: Path) -> list[str]:
    baseline = document["baseline"]
    against = [f"against {_place(baseline, run)}, {phrases.scored_calls(baseline)}"] if baseline else []
    by = [f"by {document['by']}"] if document["by"] else []
    return [phrases.scored_calls(document["run"]), *against, *by, phrases.made_on(document)]


def _evidence(documents: Sequence[RunComparison], run: Path) -> dict[str, list[Fact]]:
    """The facts about each side; the gates may have another baseline than the comparison."""
    found = {f"{name[:1].upper()}{name[1:]}": side for name, side in phrases.sides(documents[0])}
    last = documents[-1]["baseline"]
    if last is not None and last != documents[0]["baseline"]:
        found["Baseline of the gates"] = last
    return {name: _facts_of(side, run) for name, side in found.items()}


def _place(described: DescribedRun, run: Path) -> str:
    """The folder of a run, from the one that holds the run of the page."""
    return place_from(run.resolve().parent, Path(described["path"]))


def _facts_of(described: DescribedRun, run: Path) -> list[Fact]:
    settings = described["settings"]
    decided = of_settings(settings, described["settings_sha256s"]) if settings else []
    return [("folder", _place(described, run)), *decided, *of_versions(described["versions"])]


def _gates(document: RunComparison, listed: Listed) -> dict[str, Any]:
    gates = document["gates"]
    n, level = len(gates["results"]), f"{100 * gates['level']:g} %"
    together = f"an interval so wide that all {n} hold together at {level}" if n > 1 else f"a {level} interval"
    made = phrases.decided(document)
    note = (
        f"{made[:1].upper()}{made[1:]}. Each gate is decided by {together}. Undecided: the interval lies on both sides "
        "of the limit, or there are too few calls for an interval."
    )
    results = [_gate(gate, listed) for gate in phrases.in_order(gates)]
    return {
        "verdict": phrases.gates_verdict(gates),
        "note": note,
        "open": [result for result in results if result["css"] != "passed"],
        "passed": [result for result in results if result["css"] == "passed"],
    }


def _gate(gate: GateResult, listed: Listed) -> dict[str, Any]:
    cards = listed.cards(gate["worst"])
    above = len(gate["worst"]) - len(cards)
    return {
        "css": limits_of_gates.css(gate["status"], bool(gate.get("but"))),
        "status": phrases.STATUSES[gate["status"]],
        "name": phrases.gate_name(gate),
        "lines": phrases.gate_lines(gate),
        "source": gate["source"],
        "cards": cards,
        "above": f"Of its {len(gate['worst'])} worst moments, {above} are listed above." if above else "",
    }


def _comparisons(document: RunComparison, folder: Path, settings: TurnSettings) -> list[dict[str, Any]]:
    """The table of measures of each comparison of a document, with links to their moments."""
    names = " against ".join(phrases.name(side) for _, side in phrases.sides(document))
    return [
        compared_table(compared, settings, _links(document, compared, folder)) | {"title": compared["title"] or names}
        for compared in document["comparisons"]
        if compared["measures"]
    ]


def _links(document: RunComparison, compared: ComparedCalls, folder: Path) -> Sequence[Links]:
    """Links from the counts of both sides to the lists of moments on the pages of their runs, where there are any."""
    baseline, by = document["baseline"], document["by"]
    value = compared["title"].removeprefix(f"{by} = ") if by else ""
    if baseline is None or value == NO_VALUE:
        return NEITHER
    calls = f"{by}={value}" if by else ""
    # Both paths are as they were given, so the way from one to the other holds from any folder.
    way = os.path.relpath(baseline["path"], document["run"]["path"])
    return _links_into(folder, "", calls), _links_into(folder, way, calls)


def _links_into(folder: Path, place: str, calls: str) -> Links:
    """Links to the lists of moments on the page of the run in `place`, relative to the folder of the page."""
    pages = folder / place / PAGES
    if not (folder / place / INDEX).is_file():
        return NO_LINKS
    names = {name for name in MEASURES if (pages / f"{name}.js").is_file()}
    return Links({*names, *(f"{name}{ALL}" for name in names)}, calls, quote((Path(place) / INDEX).as_posix()))


def compared_table(compared: ComparedCalls, settings: TurnSettings, links: Sequence[Links] = NEITHER) -> dict[str, Any]:
    """The values for a section of two sides, with a row for each measure. links: from the counts of each side."""
    a, b = compared["a"], compared["b"]
    sizes = "; ".join(f"{side['name']}: {counted(side['calls'], 'call')}" for side in (a, b))
    note = f"{sizes}; {phrases.pairing(compared)}."
    note += "".join(f" {text[:1].upper()}{text[1:]}." for text in phrases.warnings(compared))
    rows = []
    for row in compared["measures"]:
        name, text = row["measure"], MEASURES[row["measure"]]
        label = Cell(text.label, long_unit(text.shown_in), name=name, about=in_words(text.meaning, settings))
        cells = compared_cells(name, row, row["verdict"], (row["a"], row["b"]), links)
        rows.append((label, cells))
    title = compared["title"] or f"{a['name']} against {b['name']}"
    return {"title": title, "note": note, **rows_of_two((a["name"], b["name"]), rows)}


def rows_of_two(names: tuple[str, str], rows: Sequence[Row]) -> dict[str, Any]:
    """The columns and the rows of a table that compares two sides of these names, each row by `compared_cells`."""
    columns = (VERDICT, *names, "difference, 95 % interval", "p (Holm)", DETECTABLE)
    used, shown = without_empty(columns, rows)
    return {"columns": ["measure", *used], "rows": shown}


def compared_cells(
    name: str, found: MeasuredDifference, told: str, sides: Sequence[Summary | None], links: Sequence[Links] = NEITHER
) -> Sequence[Shown]:
    """The cells of a measure: the verdict, both sides with their counts, the difference, its p, what it could be."""
    unit, reason = MEASURES[name].shown_in, found["reason"]
    value: Shown = NONE
    if found["value"] is not None:
        value = Cell(brief_step(found["value"], unit, "+"), limits(found["interval"], unit, "+") or reason)
    why = reason if told == "undecided" and found["interval"] else ""
    return [
        Cell(reason if found["value"] is None else told, why, verdict=told.replace(" ", "-")),
        *(
            Cell(brief(headline(of), unit), phrases.counts(of, name, link), is_linked=True)
            for of, link in zip(sides, links, strict=True)
        ),
        value,
        p_value(found["p_holm"]),
        brief_step(found["detectable"], unit) if found["detectable"] else "",
    ]


def line(document: RunComparison | None, is_linked: bool = True) -> str:
    """The line, between OPENS and CLOSES; without a comparison these alone. is_linked: to compare.html."""
    return f"{OPENS}{'' if document is None else _line_inside(document, is_linked)}{CLOSES}"


def replace_line(folder: Path, document: RunComparison) -> None:
    """Write the line anew into index.html of a run, if there is such a page: to draw all of it takes much longer.

    RecordingError if it cannot be written.
    """
    path = folder / INDEX
    if path.is_file():
        before, opens, rest = path.read_text(encoding="utf-8").partition(OPENS)
        after = rest.partition(CLOSES)[2]
        if opens:
            write_text(path, f"{before}{line(document)}{after}")


def _line_inside(document: RunComparison, is_linked: bool) -> str:
    verdict, baseline = phrases.verdict_of_all(document), document["baseline"]
    assert baseline is not None
    return render(
        "compared-line.html",
        css=_CSS.get(verdict, "not-measured"),
        sign=phrases.SIGNS[verdict],
        baseline=phrases.name(baseline),
        sentence=phrases.lead(document),
        listens=bool(phrases.moments_of(document)),
        made=phrases.made_on(document),
        is_linked=is_linked,
    )
