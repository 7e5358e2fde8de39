"""A trend over runs, as a page, trend.html, and on a terminal: each measure as a line, and what the latest changed.

The page of all runs of a folder, index.html beside them, is alike: it has what was run when, and what changed last.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from fdbcore.analysis.comparison import RunComparison, differing, read
from fdbcore.analysis.corpus import Run
from fdbcore.analysis.groups import StatedGroup, groups, stated_headlines, unit, units_text
from fdbcore.analysis.kept import kept
from fdbcore.analysis.order import positions
from fdbcore.analysis.trends import RunTrend
from fdbcore.errors import FdbError
from fdbcore.measures.catalogue import MEASURES, headlines
from fdbcore.recording.files import write_text
from fdbcore.recording.others import keep_others
from fdbcore.report.comparison.page import Listed, compared_table, sections_to_hear
from fdbcore.report.comparison.phrases import lead, longer_sentences, unscored
from fdbcore.report.comparison.phrases import name as name_of
from fdbcore.report.comparison.screen import indented, longer_lines, longest_lines
from fdbcore.report.format import NONE, NOT_CORRECTED, counted, with_interval
from fdbcore.report.glossary import terms
from fdbcore.report.groups import phrases
from fdbcore.report.groups.section import charts, table
from fdbcore.report.html.templates import COMPARE, INDEX, render
from fdbcore.report.html.values import WHOLE, Cell, Row, flat
from fdbcore.report.terminal import laid_out
from fdbcore.types import TurnSettings

TREND: Final = "trend.html"
ALL_RUNS: Final = "all runs"


def write_trend(found: RunTrend, latest: Run, made: Mapping[str, Any]) -> Path:
    """Write trend.html into the folder of the latest run and return its path. made: how. RecordingError if it fails."""
    path = latest.path / TREND
    write_text(path, page(found, latest, made))
    return path


def page(found: RunTrend, latest: Run, made: Mapping[str, Any]) -> str:
    """The whole page. latest: the run whose folder its links are relative to. made: how the trend was made."""
    points, described = found["points"], found["runs"][-1]
    names, calls = [point["name"] for point in points], sum(point["calls"] for point in points)
    places = dict(zip(names, map(float, positions(names) or range(len(names))), strict=True))  # or one step apart
    settings = TurnSettings(**described["settings"]["turns"]) if described["settings"] else TurnSettings()
    return render(
        "trend.html",
        title=" to ".join([names[0], names[-1]]),
        product="trend over runs",
        not_drawn="",
        pages_of="The calls of",
        facts=[
            counted(len(points), "run"),
            counted(calls, "call"),
            f"95 % intervals over {units_text(found['cluster'])}",
        ],
        lead=" ".join([verdict(found), *longer_sentences([found["latest"]])]),
        warnings=notices(found),
        shared=found.get("shared", ()),
        pages=_pages(found, latest.path),
        charts=charts(points, places, least=2),
        table=table(points, "run"),
        latest=compared_table(found["latest"], settings),
        to_hear=sections_to_hear([found["latest"]], found["latest"]["b"]["name"], Listed(latest, WHOLE)),
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
    notes, latest = [f"!! {note}" for note in notices(found)], found["latest"]
    told = [indented(line, width) for line in (verdict(found), *longer_lines(latest), *longest_lines(latest))]
    return "\n".join([*notes, *found.get("shared", ()), *laid_out(rows, width), *told])


def notices(found: RunTrend) -> list[str]:
    """Notices that a reader must see before any figure."""
    runs = zip((point["name"] for point in found["points"]), found["runs"], strict=True)
    return [*found["notes"], *unscored(runs)]


def verdict(found: RunTrend) -> str:
    """The changes by the latest run, in a sentence."""
    latest = found["latest"]
    rows = [row for row in latest["measures"] if row["value"] is not None]
    return f"{latest['a']['name']} against {latest['b']['name']}: {phrases.verdicts(rows)}."


def _pages(found: RunTrend, folder: Path) -> list[tuple[str, str]]:
    """The name and the address of each run's own page, if it has one."""
    listed = []
    for point, described in zip(found["points"], found["runs"], strict=True):
        path = Path(described["path"]) / INDEX
        if path.is_file():
            listed.append((point["name"], quote(Path(os.path.relpath(path, folder)).as_posix())))
    return listed


class ListedRun(NamedTuple):
    """A run in the list. points: the figures of each of its systems. comparison: the last that it was given."""

    run: Run
    points: Sequence[StatedGroup]
    comparison: RunComparison | None


def listed_runs(paths: Sequence[Path]) -> tuple[list[ListedRun], dict[str, str]]:
    """The runs in these folders, the latest last, and why others could not be read, by their names.

    Dates and versions as names give the order, else the time at which the first call of each was made.
    """
    found, unread = [], {}
    for path in paths:
        try:
            run, group = read(Run(path))
            of_systems = groups(group, "system", len(group.calls)) if "system" in group.calls[0].columns else [group]
            points = [stated_headlines(of, unit(of.calls, None)) for of in of_systems]
            found.append(ListedRun(run, points, kept(run).comparison))
        except FdbError as error:
            unread[path.name] = str(error)
    places: list[Any] = positions([each.run.path.name for each in found]) or [each.run.created for each in found]
    return [each for _, _, each in sorted(zip(places, range(len(found)), found, strict=True))], unread


def write_start(folder: Path, found: Sequence[ListedRun], unread: Mapping[str, str]) -> tuple[Path, str]:
    """Write index.html into the folder of the runs; its path, and what the newest comparison says, if there is one.

    SettingsError if another file stands there, RecordingError if it cannot be written.
    """
    keep_others(path := folder / INDEX, form=rf"(?s)<!doctype html>.{{,4000}}: {ALL_RUNS} – fdbcore</title>")
    latest, alike = found[-1].run, _like_the_latest(found)
    drawn: list[StatedGroup] = [{**each.points[0], "name": each.run.path.name} for each in alike]
    names = [point["name"] for point in drawn]
    given = [(each.run.path.name, each.comparison) for each in found if each.comparison]
    name, comparison = max(given, key=lambda pair: pair[1]["made"], default=("", None))
    baseline = comparison["baseline"] if comparison else None
    told = f"{name} against {name_of(baseline)}: {lead(comparison)}" if comparison and baseline else ""
    html = render(
        "trend.html",
        title=folder.resolve().name,
        product=ALL_RUNS,
        facts=[counted(len(found), "run"), f"the latest: {latest.path.name}, {latest.created[:10] or NONE}"],
        warnings=[f"{name} is not listed: {why}" for name, why in unread.items()],
        shared=(),
        lead=told,
        pages=[(name, quote(f"{name}/{COMPARE}"))] if comparison else [],
        pages_of="The newest comparison, of",
        table=_table(found),
        charts=charts(drawn, dict(zip(names, positions(names) or map(float, range(len(names))), strict=True)), least=2),
        not_drawn=", ".join(each.run.path.name for each in found if each not in alike),
        to_hear=(),
        latest=None,
        evidence={},
        terms={},
    )
    write_text(path, html)
    return path, told


def _like_the_latest(found: Sequence[ListedRun]) -> list[ListedRun]:
    """The runs that make a trend: of the one system of the latest, with its settings."""
    alike, latest = [], found[-1]
    for each in found:
        with suppress(FdbError):
            differing(latest.run, each.run, allowed=False)
            if len(each.points) == 1 and [of["name"] for of in each.points] == [of["name"] for of in latest.points]:
                alike.append(each)
    return alike


def _table(found: Sequence[ListedRun]) -> dict[str, Any]:
    """A row for each run and system, the latest first."""
    of_rows = [(each.run, point) for each in reversed(found) for point in each.points]
    made = table([point for _, point in of_rows], "run")
    rows: list[Row] = []
    for (run, _), (system, cells) in zip(of_rows, made["rows"], strict=True):
        name, link = run.path.name, f"[{run.path.name}]({quote(f'{run.path.name}/{INDEX}')}#)"
        is_there = (run.path / INDEX).is_file() and not {*"[]"} & {*name}
        rows.append((Cell(link if is_there else name, system, is_linked=is_there), [run.created[:10] or NONE, *cells]))
    return {"columns": ["run", "made on", *made["columns"][1:]], "rows": rows}
