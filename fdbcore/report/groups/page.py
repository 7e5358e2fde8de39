"""The page of what holds of a run, scores.html: each figure with its interval and its range over the settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from fdbcore.measures.catalogue import MEASURES, headlines
from fdbcore.recording.files import write_text
from fdbcore.report.format import counted, headline, scaled, shown_unit
from fdbcore.report.glossary import in_words, terms
from fdbcore.report.groups import words
from fdbcore.report.groups.words import Content
from fdbcore.report.html.templates import INDEX, render
from fdbcore.report.html.values import flat
from fdbcore.report.svg.forest import Forest, Row, forest
from fdbcore.types import TurnSettings

SCORES_PAGE: Final = "scores.html"
ALL: Final = "all calls"


def write_statements(content: Content, folder: Path) -> Path:
    """Write scores.html into `folder` and return its path. RecordingError if it cannot be written."""
    path = folder / SCORES_PAGE
    write_text(path, page(content, folder))
    return path


def page(content: Content, folder: Path) -> str:
    """The whole page. folder: what its links are relative to."""
    settings = TurnSettings(**content["settings"]["turns"])
    lines = [*words.settings(content), *words.notes(content)]
    return render(
        "scores.html",
        title=Path(content["run"]).resolve().name,
        facts=_facts(content),
        is_run_linked=(folder / INDEX).is_file(),
        warnings=_warnings(lines, content["unscored"]),
        measures=[_measure(content, name, settings) for name in headlines()],
        told=[(label or "\N{NO-BREAK SPACE}", text) for label, text in lines if not label.startswith("!!")],
        reference=_reference(content) if content.get("reference") else None,
        evidence=flat({key: content[key] for key in ("run", "versions", "settings")}),
        terms=terms(settings),
    )


def _facts(content: Content) -> list[str]:
    by = [f"by {content['by']}"] if content["by"] else []
    return [f"{counted(content['calls'], 'call')} scored", words.resampled(content), *by]


def _warnings(lines: Iterable[tuple[str, str]], unscored: Mapping[str, str]) -> list[str]:
    marked = [(label[2:].strip(), text) for label, text in lines if label.startswith("!!")]
    found = [": ".join(filter(None, line)) for line in marked]
    found += [f"not scored: {name}: {reason}" for name, reason in unscored.items()]
    return [f"{text[:1].upper()}{text[1:]}" for text in found]


def _measure(content: Content, name: str, settings: TurnSettings) -> dict[str, Any]:
    """One measure: of each group a row of the drawing, and the differences under it."""
    return {
        "name": name,
        "label": MEASURES[name].label,
        "meaning": in_words(MEASURES[name].meaning, settings),
        "forest": None if words.is_empty(content, name) else _drawn(content, name),
        "differences": [(label.strip(), line) for label, line in words.differences(content, name)],
    }


def _drawn(content: Content, name: str) -> Forest:
    varied, unit = words.ranges(content), MEASURES[name].unit
    rows = [
        _row(group["name"] or ALL, words.summary_of(group, name), varied.get((group["name"], name)), unit)
        for group in content["groups"] or [content]
    ]
    return forest(rows, shown_unit(unit))


def _row(name: str, summary: Mapping[str, Any], varied: Mapping[str, Any] | None, unit: str) -> Row:
    def span(limits: Any) -> tuple[float, float] | None:  # noqa: ANN401 - of JSON
        return None if not limits or limits[0] is None else (scaled(limits[0], unit), scaled(limits[1], unit))

    value, chance = headline(summary), summary.get("by_chance")
    figure, _, rest = words.figure(summary, varied).partition(" | ")
    return Row(
        name,
        figure,
        rest,
        None if value is None else scaled(value, unit),
        span(summary["ci95"]),
        span((varied["low"], varied["high"])) if varied else None,
        None if chance is None else scaled(chance, unit),
    )


def _reference(content: Content) -> dict[str, Any]:
    """How the time is filled beside the reference."""
    found = content["reference"]
    head, *_, distances = words.reference(content)
    groups = [_beside(group, found["floor"]) for group in found["groups"]]
    return {"head": head[1], "distances": distances[1], "groups": groups}


def _beside(group: Mapping[str, Any], floor: Any) -> dict[str, Any]:  # noqa: ANN401 - of JSON
    rows = []
    for name, row in group["rows"].items():
        cells = [words.in_row(row["run"]), words.in_row(row["reference"])]
        verdict = "they differ" if words.is_apart(row["difference"]) else words.why_not_apart(row["difference"])
        rows.append((words.row_name(name), [*cells, verdict]))
    apart = [
        (f"{side} after {'AB'[side == 'A']}", words.distances(told, floor))
        for side, told in group["floor_transfers"].items()
    ]
    return {"name": group["name"], "rows": rows, "apart": apart}
