"""Writes the figures and tables of `fdbcore report --figures` for a paper."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from fdbcore.analysis.comparison import ComparedCalls, ComparedMeasure, RunComparison
from fdbcore.analysis.corpus import Call, Run
from fdbcore.analysis.floor_transfers import SystemTransfers, system
from fdbcore.analysis.groups import CallGroup, unit, units_text
from fdbcore.analysis.matching import ComparedSide
from fdbcore.analysis.narrow_intervals import interval_warnings
from fdbcore.analysis.summaries import Measures, Summary, summarise
from fdbcore.errors import InputError, nearest
from fdbcore.measures.catalogue import MEASURES, headlines
from fdbcore.measures.reading import Reading
from fdbcore.recording.files import write_text
from fdbcore.recording.others import replacing
from fdbcore.report.comparison import phrases
from fdbcore.report.format import NONE, NOT_CORRECTED, counted, headline, limits, p_value, step, with_interval
from fdbcore.report.paper.drawings import MOST_SYSTEMS, curve_figure, fto_figure
from fdbcore.report.paper.strip import strip_figure
from fdbcore.report.paper.tables import PaperTable, csv_text, latex_comment
from fdbcore.report.svg.text import without_controls
from fdbcore.types import ticks_to_s

LONG_COLUMNS: Final = ("measure", "system", "value", "low", "high", "unit", "n", "count", "clusters", "calls")
LONG_DIFFERENCE_COLUMNS: Final = (
    *("of", "measure"),
    *(name + side for side in ("_a", "_b") for name in ("group", "value", "n", "count", "clusters", "calls")),
    *("difference", "low", "high", "p", "p_holm", "detectable", "unit", "reason"),
)
DIFFERENCE_COLUMNS: Final = ("Comparison", "Measure", "a", "b", "a - b", "95 % CI", "p (Holm)", "MDE")
PEOPLE: Final = "A after B, same calls"

_SPAN: Final = re.compile(
    r"(?:(?P<start_min>\d{1,9}):)?(?P<start_s>\d{1,9}(?:\.\d+)?)"
    r"-(?:(?P<end_min>\d{1,9}):)?(?P<end_s>\d{1,9}(?:\.\d+)?)",
    re.ASCII,
)

Strip = tuple[Reading, float, float]


def write_paper(
    folder: Path,
    groups: Mapping[str, CallGroup],
    reference: CallGroup | None,
    document: RunComparison,
    making: Mapping[str, Any],
    strips: Sequence[Strip] = (),
    cluster: str | None = None,
) -> list[Path]:
    """Write figures and tables into `folder`, and return their paths.

    fto.svg, response.svg: one line per group, over the offsets of both sides of the reference (without one, over the
    offsets of A after B in the same calls). strip-N.svg: one per strip. table.md, .tex (booktabs), .csv: the headline
    measures of each group. differences.md, .tex, .csv: the comparisons in `document`. Raises InputError for too many
    groups, and for files of somebody else in the place of these. making: how, for a comment of each .tex.
    """
    if len(groups) > MOST_SYSTEMS:
        raise InputError(f"--figures: expected at most {MOST_SYSTEMS} groups, got {len(groups)}")
    systems = [system(name, group) for name, group in groups.items()]
    summaries = {
        name: summarise(group.quantities, group.clusters(unit(group.calls, cluster))) for name, group in groups.items()
    }
    found = _files(systems, summaries, _reference(systems, reference), document, strips, cluster)
    files = {name: without_controls(latex_comment(making) * name.endswith(".tex") + text) for name, text in found}
    with replacing(folder) as made:
        for name, text in files.items():
            write_text(made / name, text)
    return [folder / name for name in files]


def strips_of(run: Run, asked: Iterable[str]) -> list[Strip]:
    """The recordings and times (s) of strips such as "call0007@1:05-1:15.5". Raises InputError for a bad one."""
    calls = {call.name: call for call in run.calls}
    return [_strip(calls, text) for text in asked]


def _strip(calls: Mapping[str, Call], text: str) -> Strip:
    name, _, span = text.rpartition("@")
    found = _SPAN.fullmatch(span)
    if found is None:
        raise InputError(f"--strip {text}: expected CALL@START-END, such as call@1:05-1:15.5")
    if name not in calls:
        raise InputError(f"--strip {text}: expected a call of the run, got {name}{nearest(name, calls)}")
    reading = calls[name].recording
    start_s, end_s = (60 * int(found[f"{at}_min"] or 0) + float(found[f"{at}_s"]) for at in ("start", "end"))
    length_s = ticks_to_s(reading.n_ticks)
    if not 0 <= start_s < end_s <= length_s:
        raise InputError(f"--strip {text}: expected START before END, within the {length_s:g} s of the call")
    return reading, start_s, end_s


def _reference(systems: Sequence[SystemTransfers], reference: CallGroup | None) -> tuple[str, list[int]]:
    if reference is None:
        return PEOPLE, [ms for each in systems for ms in each.fto_ms["A"]]
    found = system("reference", reference)
    return "reference", [*found.fto_ms["A"], *found.fto_ms["B"]]


def _files(
    systems: Sequence[SystemTransfers],
    summaries: Mapping[str, Measures],
    reference: tuple[str, list[int]],
    document: RunComparison,
    strips: Sequence[Strip],
    cluster: str | None,
) -> Iterator[tuple[str, str]]:
    yield "fto.svg", fto_figure(systems, reference)
    yield "response.svg", curve_figure(systems)
    for number, strip in enumerate(strips, 1):
        yield f"strip-{number}.svg", strip_figure(*strip)
    table = measures_table(systems, summaries, cluster)
    yield "table.md", table.markdown()
    yield "table.tex", table.latex()
    yield "table.csv", csv_text(LONG_COLUMNS, _long(systems, summaries))
    if document["comparisons"]:
        differences = differences_table(document, cluster)
        yield "differences.md", differences.markdown()
        yield "differences.tex", differences.latex()
        yield "differences.csv", csv_text(LONG_DIFFERENCE_COLUMNS, _long_differences(document))


def measures_table(
    systems: Sequence[SystemTransfers], summaries: Mapping[str, Measures], cluster: str | None
) -> PaperTable:
    """One row per measure and one column per system: figure, interval and n. cluster: what the intervals resample."""
    listed = [name for name in headlines() if any(name in measures for measures in summaries.values())]
    rows = [
        [phrases.label(name), *(_cell(name, summaries[each.name].get(name)) for each in systems)] for name in listed
    ]
    sizes = "; ".join(_size(each, summaries[each.name], cluster) for each in systems)
    caption = (
        f"Turn-taking of {', '.join(each.name for each in systems)} ({sizes}). Medians, shares and rates with 95 % "
        f"intervals over {units_text(cluster)} (shares: Wilson with the design effect of the clusters; else bootstrap, "
        f"{units_text(cluster)} resampled). Shares are of all opportunities, or onsets, n; the median "
        "response latency is of the n that were answered."
    ) + "".join(f" {text[:1].upper()}{text[1:]}." for text in interval_warnings(summaries, cluster))
    columns = ["Measure", *(each.name for each in systems)]
    return PaperTable(caption, columns, "l" + "r" * len(systems), rows, "tab:measures")


def _size(of: SystemTransfers, summaries: Measures, cluster: str | None) -> str:
    clusters = max((summary["clusters"] for summary in summaries.values()), default=0)
    units = "" if cluster is None else f", {clusters:,} {units_text(cluster, clusters)}"
    return f"{of.name}: {counted(of.calls, 'call')}{units}, {counted(of.eligible, 'opportunity')}"


def _cell(name: str, summary: Summary | None) -> str:
    if summary is None or headline(summary) is None:
        return NONE
    return f"{with_interval(summary, MEASURES[name].shown_in)}, n = {summary['n']:,}"


def _long(systems: Sequence[SystemTransfers], summaries: Mapping[str, Measures]) -> Iterator[list[object]]:
    """Every measure of every system, in full."""
    for each in systems:
        for name, summary in summaries[each.name].items():
            low, high = summary["ci95"] or (None, None)
            known = [summary[key] if key in summary else None for key in ("unit", "n", "count", "clusters")]
            yield [name, each.name, headline(summary), low, high, *known, each.calls]


def differences_table(document: RunComparison, cluster: str | None) -> PaperTable:
    """Differences, with the denominators of both sides. cluster: what intervals resample where nothing is paired."""
    rows = [_difference(compared, row) for compared in document["comparisons"] for row in compared["measures"]]
    sizes = "; ".join(_sizes(compared) for compared in document["comparisons"])
    caption = (
        f"Differences ({sizes}). Intervals: 95 %, over what the sides are paired by, else over {units_text(cluster)}; "
        "bootstrap, shares by the square-and-add method. p: Holm's correction over all rows. MDE: the "
        f"minimum detectable effect, the true difference found with 80 % power. {NOT_CORRECTED}"
    )
    notes = "".join(f" {note[:1].upper()}{note[1:]}." for note in document["notes"])
    return PaperTable(caption + notes, DIFFERENCE_COLUMNS, "llrrrrrr", rows, "tab:differences")


def _long_differences(document: RunComparison) -> Iterator[list[object]]:
    """Every row in full."""
    for compared in document["comparisons"]:
        for row in compared["measures"]:
            sides = [*_long_side(compared["a"], row["a"]), *_long_side(compared["b"], row["b"])]
            low, high = row["interval"] or (None, None)
            told = [row["value"], low, high, row["p"], row["p_holm"], row["detectable"]]
            yield [compared["title"], row["measure"], *sides, *told, MEASURES[row["measure"]].unit, row["reason"]]


def _long_side(side: ComparedSide, summary: Summary | None) -> list[object]:
    n, count = (None, None) if summary is None else (summary["n"], summary.get("count"))
    return [side["name"], headline(summary), n, count, side["clusters"], side["calls"]]


def _sizes(compared: ComparedCalls) -> str:
    sides = " less ".join(f"{of['name']} ({counted(of['calls'], 'call')})" for of in (compared["a"], compared["b"]))
    title = f"{compared['title']}: " if compared["title"] else ""
    return f"{title}{sides}, {phrases.pairing(compared)}"


def _difference(compared: ComparedCalls, row: ComparedMeasure) -> list[str]:
    of = phrases.unit_of(row)
    return [
        compared["title"] or f"{compared['a']['name']} - {compared['b']['name']}",
        phrases.label(row["measure"]),
        *phrases.sides_of(row),
        NONE if row["value"] is None else step(row["value"], of, "+"),
        limits(row["interval"], of, "+") or NONE,
        p_value(row["p_holm"]),
        step(row["detectable"], of) if row["detectable"] else NONE,
    ]
