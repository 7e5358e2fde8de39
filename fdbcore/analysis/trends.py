"""A trend over runs: the headline measures of each, and what the latest has changed."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Final, Literal, TypedDict

from msgspec import Meta

from fdbcore.analysis.comparison import ComparedCalls, DescribedRun, Sides, described, differing, read
from fdbcore.analysis.corpus import Run
from fdbcore.analysis.groups import StatedGroup, stated_headlines, unit
from fdbcore.analysis.order import in_order, positions
from fdbcore.errors import InputError

TREND_SCHEMA: Final = "fdbcore.trend/1"


class RunTrend(TypedDict):
    """Several runs of a system, one after the other. Fields may be added under the same version; a field is never given
    another meaning."""

    schema: Literal["fdbcore.trend/1"]
    cluster: Annotated[str | None, Meta(description="the column whose values intervals resample; null: the calls")]
    notes: Annotated[list[str], Meta(description="what must be known before any figure")]
    runs: Annotated[list[DescribedRun], Meta(description="in the order of the trend, the latest last")]
    points: Annotated[list[StatedGroup], Meta(description="the headline measures of each run")]
    latest: Annotated[ComparedCalls, Meta(description="the latest run less the one before")]


def trend(runs: Sequence[Run], *, cluster: str | None = None, different_settings: bool = False) -> RunTrend:
    """Several runs one after the other, as JSON values: the headline measures of each, and the latest against the one
    before.

    If the names of their folders are dates or versions, these give the order; otherwise it is that of `runs`. cluster:
    the column whose values intervals resample; by default the call. different_settings: allow runs with different
    settings. The comparison is that of `compare`.

    Keys: points [{name, calls, clusters, measures}], latest {a, b, measures [{measure, verdict, p_holm, ...}]}, runs,
    notes. Raises InputError for fewer than two runs or an unknown column, SettingsError for runs with different
    settings, RecordingError if no call of a run is scored.
    """
    if len(runs) < 2:
        raise InputError(f"trend: expected two runs or more, got {len(runs)}")
    named = _named(runs)
    *earlier, before, latest = named.values()
    *earlier_names, before_name, latest_name = named
    sides = Sides.of(latest, before, different_settings, (latest_name, before_name))
    notes = list(sides.notes)
    for name, run in zip(earlier_names, earlier, strict=True):
        notes += differing(latest, run, different_settings, (latest_name, name))
    assert sides.baseline is not None
    assert sides.of_baseline is not None
    sources = [*map(read, earlier), (sides.baseline, sides.of_baseline), (sides.run, sides.of_run)]
    (compared,) = sides.compared(None, cluster)["comparisons"]
    compared["a"]["name"], compared["b"]["name"] = latest_name, before_name
    return {
        "schema": TREND_SCHEMA,
        "cluster": cluster,
        "notes": list(dict.fromkeys(notes)),
        "runs": [described(run) for run, _ in sources],
        "points": [
            stated_headlines(replace(group, name=name), unit(group.calls, cluster))
            for name, (_, group) in zip(named, sources, strict=True)
        ],
        "latest": compared,
    }


def _named(runs: Sequence[Run]) -> dict[str, Run]:
    """The runs by their names, the latest last: the names of their folders, or their paths if two have the same."""
    names = [run.path.resolve().name for run in runs]
    if len({*names}) < len(names):
        names = [str(run.path) for run in runs]
    if len({*names}) < len(names):
        raise InputError(f"expected different runs, got {', '.join(names)}")
    found = dict(zip(names, runs, strict=True))
    return {name: found[name] for name in (in_order(names) if positions(names) is not None else names)}
