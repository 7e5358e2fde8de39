"""A trend over runs, as a page, trend.html, and on a terminal: each measure as a line, and what the latest changed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from fdbcore.analysis.groups import units_text
from fdbcore.analysis.order import positions
from fdbcore.analysis.trends import RunTrend
from fdbcore.measures.catalogue import MEASURES, headlines
from fdbcore.recording.files import write_text
from fdbcore.report.comparison.page import compared_table, longer_lists
from fdbcore.report.comparison.screen import indented, longer_lines
from fdbcore.report.comparison.words import longer_sentences, unscored
from fdbcore.report.format import NOT_CORRECTED, counted, with_interval
from fdbcore.report.glossary import terms
from fdbcore.report.groups import words
from fdbcore.report.groups.section import charts, table
from fdbcore.report.html.templates import INDEX, render
from fdbcore.report.html.values import flat
from fdbcore.report.terminal import laid_out
from fdbcore.types import TurnSettings

TREND: Final = "trend.html"


def write_trend(found: RunTrend, made: Mapping[str, Any]) -> Path:
    """Write trend.html into the folder of the latest run and return its path. made: how. RecordingError if it fails."""
    path = Path(found["runs"][-1]["path"]) / TREND
    write_text(path, page(found, path.parent, made))
    return path


def page(found: RunTrend, folder: Path, made: Mapping[str, Any]) -> str:
    """The whole page. folder: the folder that its links are relative to. made: how the trend was made."""
    points, described = found["points"], found["runs"][-1]
    names, calls = [point["name"] for point in points], sum(point["calls"] for point in points)
    places = dict(zip(names, map(float, positions(names) or range(len(names))), strict=True))  # or one step apart
    settings = TurnSettings(**described["settings"]["turns"]) if described["settings"] else TurnSettings()
    return render(
        "trend.html",
        title=" to ".join([names[0], names[-1]]),
        facts=[counted(len(points), "run"), counted(calls, "call"), _resampled(found)],
        lead=" ".join([verdict(found), *longer_sentences([found["latest"]])]),
        warnings=notices(found),
        pages=_pages(found, folder),
        charts=charts(points, places, least=2),
        table=table(points, "run"),
        latest=compared_table(found["latest"], settings),
        longer=longer_lists(found["latest"], folder),
        not_corrected=NOT_CORRECTED,
        evidence={title: flat(of) for title, of in made.items()},
        terms=terms(settings),
    )


def screen(found: RunTrend, width: int) -> str:
    """A row for each run, and what the latest changed: lines of at most `width`, without a final newline."""
    shown = [name for name in headlines() if any(p["measures"].get(name, {"n": 0})["n"] for p in found["points"])]
    rows = [["run", "calls", *(headlines()[name] for name in shown)]]
    for point in found["points"]:
        known = point["measures"]
        figures = [with_interval(known[name], MEASURES[name].shown_in) if name in known else "" for name in shown]
        rows.append([point["name"], f"{point['calls']:,}", *figures])
    notes = [f"!! {note}" for note in notices(found)]
    told = [indented(line, width) for line in (verdict(found), *longer_lines(found["latest"]))]
    return "\n".join([*notes, *laid_out(rows, width), *told])


def notices(found: RunTrend) -> list[str]:
    """Notices that a reader must see before any figure."""
    runs = zip((point["name"] for point in found["points"]), found["runs"], strict=True)
    return [*found["notes"], *unscored(runs)]


def verdict(found: RunTrend) -> str:
    """The changes by the latest run, in a sentence."""
    latest = found["latest"]
    rows = [row for row in latest["measures"] if row["value"] is not None]
    return f"{latest['a']['name']} against {latest['b']['name']}: {words.verdicts(rows)}."


def _resampled(found: RunTrend) -> str:
    return f"95 % intervals over {units_text(found['cluster'])}"


def _pages(found: RunTrend, folder: Path) -> list[tuple[str, str]]:
    """The name and the address of each run's own page, if it has one."""
    listed = []
    for point, described in zip(found["points"], found["runs"], strict=True):
        path = Path(described["path"]) / INDEX
        if path.is_file():
            listed.append((point["name"], quote(Path(os.path.relpath(path, folder)).as_posix())))
    return listed
