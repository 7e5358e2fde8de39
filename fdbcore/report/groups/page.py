"""The page of the scores of a run, scores.html: each figure with its interval and its range over settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from fdbcore.analysis.corpus import Call, Run
from fdbcore.analysis.reference import BesideReference, HalfDistances, ReferencedGroup
from fdbcore.analysis.sensitivity import FigureRange
from fdbcore.analysis.statements import Statements
from fdbcore.analysis.summaries import Summary
from fdbcore.measures.catalogue import MEASURES, headlines
from fdbcore.recording.files import write_text
from fdbcore.report.comparison.page import Listed
from fdbcore.report.comparison.phrases import longer, longer_note, longer_sentences
from fdbcore.report.evidence import of_settings, of_versions
from fdbcore.report.format import counted, headline, scaled, shown_unit
from fdbcore.report.glossary import in_words, terms
from fdbcore.report.groups import phrases
from fdbcore.report.html.templates import INDEX, render
from fdbcore.report.html.values import WHOLE
from fdbcore.report.svg.forest import Forest, ForestRow, forest
from fdbcore.types import SIDES, TurnSettings, other_side

SCORES_PAGE: Final = "scores.html"
FEW: Final = "!!"
"""The label of a line that warns of few calls; a line that asks for more has a word after it."""
ALL: Final = "all calls"


def write_statements(content: Statements, folder: Path, calls: Sequence[Call]) -> Path:
    """Write scores.html into `folder` and return its path. Raises RecordingError if it cannot be written."""
    path = folder / SCORES_PAGE
    write_text(path, page(content, folder, calls))
    return path


def page(content: Statements, folder: Path, calls: Sequence[Call] = ()) -> str:
    """The whole page. folder: the folder that its links are relative to. calls: those that one can listen to."""
    settings = TurnSettings(**content["settings"]["turns"])
    lines = [*phrases.settings(content), *phrases.notes(content)]
    return render(
        "scores.html",
        title=content["run"],
        facts=_facts(content),
        is_run_linked=(folder / INDEX).is_file(),
        leads=[*phrases.in_short(content), *longer_sentences(content["longer"])],
        cluster=phrases.cluster(content),
        warnings=_warnings(lines, content["unscored"]),
        interval_warnings=[_sentence(text) for label, text in lines if label == FEW],
        to_hear=_to_hear(content, Listed(Run(folder, calls), WHOLE)),
        measures=[_measure(content, name, settings) for name in headlines()],
        told=[(label or "\N{NO-BREAK SPACE}", text) for label, text in lines if not label.startswith("!!")],
        reference=_reference(content, content["reference"]) if "reference" in content else None,
        evidence={"": [("run", content["run"]), *of_settings(content["settings"]), *of_versions(content["versions"])]},
        terms=terms(settings),
    )


def _to_hear(content: Statements, listed: Listed) -> list[dict[str, Any]]:
    """The moments of each kind that is longer in a few calls."""
    found = [(of, each) for of in content["longer"] for each in of["longer"]]
    kinds = [(longer(each, of), longer_note(each, of), listed.cards(each["worst"])) for of, each in found]
    return [{"title": "Longer in a few calls", "note": "", "kinds": kinds}] if kinds else []


def _facts(content: Statements) -> list[str]:
    by = [f"by {content['by']}"] if content["by"] else []
    return [f"{counted(content['calls'], 'call')} scored", phrases.resampled(content), *by]


def _warnings(lines: Iterable[tuple[str, str]], unscored: Mapping[str, str]) -> list[str]:
    """Warnings that a reader must see and settle before any figure. Those about few calls are not among them."""
    marked = [(label[2:].strip(), text) for label, text in lines if label.startswith("!! ")]
    found = [": ".join(line) for line in marked]
    found += [f"not scored: {name}: {reason}" for name, reason in unscored.items()]
    return [_sentence(text) for text in found]


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _measure(content: Statements, name: str, settings: TurnSettings) -> dict[str, Any]:
    """One measure: a row of the drawing per group, and the differences below it."""
    return {
        "name": name,
        "label": MEASURES[name].label,
        "meaning": in_words(MEASURES[name].meaning, settings),
        "forest": None if phrases.is_empty(content, name) else _drawn(content, name),
        "differences": [(label.strip(), line) for label, line in phrases.differences(content, name)],
    }


def _drawn(content: Statements, name: str) -> Forest:
    varied = phrases.ranges(content)
    rows = [
        _row(name, group["name"] or ALL, group["measures"].get(name), varied.get((group["name"], name)))
        for group in content["groups"] or [content]
    ]
    return forest(rows, shown_unit(MEASURES[name].shown_in))


def _row(measure: str, name: str, summary: Summary | None, varied: FigureRange | None) -> ForestRow:
    unit = MEASURES[measure].unit

    def span(low: float | None, high: float | None) -> tuple[float, float] | None:
        return None if low is None or high is None else (scaled(low, unit), scaled(high, unit))

    value, chance, interval = headline(summary), None, None
    if summary is not None:
        chance, interval = summary.get("by_chance"), summary["ci95"]
    figure, _, rest = phrases.figure(measure, summary, varied).partition(" | ")
    return ForestRow(
        name,
        figure,
        rest,
        None if value is None else scaled(value, unit),
        span(*interval) if interval else None,
        span(varied["low"], varied["high"]) if varied else None,
        None if chance is None else scaled(chance, unit),
    )


def _reference(content: Statements, found: BesideReference) -> dict[str, Any]:
    """The values for the section that compares the use of time with the reference."""
    head, *_, distances = phrases.reference(content)
    groups = [_beside(group, found["floor"]) for group in found["groups"]]
    return {"head": head[1], "distances": distances[1], "groups": groups}


def _beside(group: ReferencedGroup, floor: HalfDistances | None) -> dict[str, Any]:
    rows = []
    for name, row in group["rows"].items():
        cells = [phrases.in_row(row["run"]), phrases.in_row(row["reference"])]
        rows.append((phrases.row_name(name), [*cells, phrases.told(row)]))
    apart = [
        (f"{side} after {other_side(side)}", phrases.distances(group["floor_transfers"][side], floor)) for side in SIDES
    ]
    return {"name": group["name"], "rows": rows, "apart": apart}
