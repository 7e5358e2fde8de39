"""Compares a run with a reference corpus, such as conversations between people: use of time and floor transfers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, TypeAlias, TypedDict

import numpy as np
from msgspec import Meta

from fdbcore.analysis.corpus import Call, Run
from fdbcore.analysis.differences import MeasuredDifference, Verdict, difference, verdict, with_holm
from fdbcore.analysis.facts import fto_ms
from fdbcore.analysis.groups import CallGroup, Unit
from fdbcore.analysis.summaries import Interval, Summary, pool, summarise
from fdbcore.errors import FdbError, InputError
from fdbcore.measures.quantities import Quantity, Ratio
from fdbcore.measures.timing import composition
from fdbcore.recording.meta import Settings
from fdbcore.stats.distances import BIN_MS, FIRST_MS, LAST_MS, Comparison, Sample, compare, split_half_distances
from fdbcore.types import SIDES, Side, TurnSettings
from fdbcore.types.units import Count

ROWS: Final = ("ipu", "pause", "gap", "overlap")
"""The rows of the panel of Nguyen et al. (2023): both sides together, in number and seconds per minute."""

_OF_BOTH: Final = {"ipu": ("a_ipu", "b_ipu"), "pause": ("a_pause", "b_pause"), "gap": ("gap",), "overlap": ("overlap",)}
_UNITS: Final = ("per_min", "s_per_min")

Panel: TypeAlias = Mapping[str, Quantity]
_Panels: TypeAlias = tuple[Sequence[Panel], Sequence[str]]


class ReferenceDetectors(TypedDict):
    """The voice activity detectors of both."""

    run: str
    reference: str


class Bins(TypedDict):
    """The bins of the histograms of floor transfer offsets, in ms; the outer ones are open."""

    first: int
    last: int
    width: int


class HalfDistances(TypedDict):
    """Distances of two halves of the reference: the median, and the 95th percentile."""

    jensen_shannon: list[float]
    wasserstein_ms: list[float]


class DistanceEstimate(TypedDict):
    """A distance with its interval."""

    value: float
    ci95: Interval


class FloorTransfers(TypedDict):
    """Distances of a side's floor transfer offsets from those of the reference; null where there are too few calls."""

    n: Count
    reference_n: Count
    jensen_shannon: DistanceEstimate | None
    wasserstein_ms: DistanceEstimate | None


class FloorTransfersOfSides(TypedDict):
    """Of the turns of each side after the other's."""

    A: FloorTransfers
    B: FloorTransfers


class ReferenceRow(TypedDict):
    """The filling of time with something, here and in the reference."""

    run: Summary
    reference: Summary
    difference: MeasuredDifference
    verdict: Annotated[Verdict, Meta(description="whether they are different; neither is better")]


class ReferencedGroup(TypedDict):
    """A group beside the reference."""

    rows: dict[str, ReferenceRow]
    floor_transfers: FloorTransfersOfSides
    name: str


class BesideReference(TypedDict):
    """A run beside a reference corpus."""

    path: str
    calls: Count
    detectors: ReferenceDetectors
    bins_ms: Bins
    floor: HalfDistances | None
    groups: list[ReferencedGroup]
    unread: dict[str, str]


@dataclass(frozen=True, slots=True)
class Filled:
    """Contents of a call's time: the rows of the panel ("ipu_per_min", ...), and the floor transfer offsets to each
    side in ms."""

    panel: Panel
    fto_ms: Mapping[Side, Sequence[float]]

    @property
    def all_fto_ms(self) -> list[float]:
        """The floor transfer offsets to both sides."""
        return [value for side in SIDES for value in self.fto_ms[side]]


def filled(call: Call, settings: TurnSettings) -> Filled:
    """Contents of a call's time. If it was scored with other settings, its stored activity is read again.

    Raises RecordingError if the call cannot be read.
    """
    reading = call.recording
    as_scored = reading.dialogue_with_echo.settings == settings
    dialogue = reading.dialogue if as_scored else reading.dialogue_by(settings)
    parts = composition(dialogue)
    panel = {
        f"{row}_{unit}": _together([parts[f"{p}_{unit}"] for p in _OF_BOTH[row]]) for row in ROWS for unit in _UNITS
    }
    return Filled(panel, fto_ms(dialogue))


def _together(parts: Sequence[Quantity]) -> Ratio:
    ratios = [part for part in parts if isinstance(part, Ratio)]
    return Ratio(ratios[0].unit, sum(r.total for r in ratios), ratios[0].exposure, sum(r.n for r in ratios))


def beside_reference(
    compared_groups: Sequence[CallGroup],
    chosen: Unit,
    own: Settings,
    reference: Run,
    on_call: Callable[[], None] = lambda: None,
) -> BesideReference:
    """Compare groups of calls with a reference, all with the run's settings of the turn detector, as JSON values.

    own: the settings of the run. on_call: called after each call. The offsets of each side are compared with those of
    both sides of the reference. Raises InputError if no call of the reference is scored.
    """
    settings = TurnSettings(**own["turns"])
    unread = {call.name: str(call.unscored) for call in reference.calls if call.is_unreadable}
    theirs = list(_read(reference.scored, settings, unread, on_call))
    if not theirs:
        raise InputError(f"--reference {reference.path}: expected calls that are scored, got none")
    names = [f"reference {call.name}" for call, _ in theirs]
    people = _sample([each.all_fto_ms for _, each in theirs], names)
    panels = ([each.panel for _, each in theirs], names)
    return {
        "path": str(reference.path),
        "calls": len(theirs),
        "detectors": {"run": own["vad"]["B"]["name"], "reference": (reference.settings or own)["vad"]["B"]["name"]},
        "bins_ms": {"first": FIRST_MS, "last": LAST_MS, "width": BIN_MS},
        "floor": _distances_of_halves(people),
        "groups": [
            _beside(group.name, list(_read(group.calls, settings, unread, on_call)), chosen, panels, people)
            for group in compared_groups
        ],
        "unread": unread,
    }


def _beside(
    name: str, ours: Sequence[tuple[Call, Filled]], chosen: Unit, panels: _Panels, people: Sample
) -> ReferencedGroup:
    clusters = [chosen.of(call) for call, _ in ours]

    def transfers(side: Side) -> FloorTransfers:
        return _distances(_sample([each.fto_ms[side] for _, each in ours], clusters), people)

    return {
        "name": name,
        "rows": _rows(([each.panel for _, each in ours], clusters), panels),
        "floor_transfers": {"A": transfers("A"), "B": transfers("B")},
    }


def _read(
    calls: Sequence[Call], settings: TurnSettings, unread: dict[str, str], on_call: Callable[[], None]
) -> Iterator[tuple[Call, Filled]]:
    """The calls that can be read; `unread` collects the errors of the others."""
    for call in calls:
        try:
            yield call, filled(call, settings)
        except FdbError as error:
            unread[call.name] = str(error)
        on_call()


def _sample(fto_ms: Sequence[Sequence[float]], clusters: Sequence[str]) -> Sample:
    names, numbers = np.unique(np.asarray(clusters, np.str_), return_inverse=True)
    values = np.array([value for of_call in fto_ms for value in of_call], dtype=np.float64)
    return Sample(values, np.repeat(numbers, [len(of_call) for of_call in fto_ms]), len(names))


def _rows(run: _Panels, reference: _Panels) -> dict[str, ReferenceRow]:
    """The summaries of run and reference and their difference, for each row of the panel in each unit."""
    ours, theirs = summarise(*run), summarise(*reference)
    pools = {name: (pool(name, *run), pool(name, *reference)) for name in ours}
    compared = with_holm([difference(*pair) for pair in pools.values()])
    return {
        name: {"run": ours[name], "reference": theirs[name], "difference": found, "verdict": verdict(found, None)}
        for name, found in zip(pools, compared, strict=True)
    }


def _distances(sample: Sample, people: Sample) -> FloorTransfers:
    """Both distances of the sample from the reference, with intervals; None if there are too few calls."""
    found = compare(sample, people)
    return {
        "n": len(sample.values_ms),
        "reference_n": len(people.values_ms),
        "jensen_shannon": _estimate(found, "jensen_shannon"),
        "wasserstein_ms": _estimate(found, "wasserstein_ms"),
    }


def _estimate(found: Comparison | None, distance: str) -> DistanceEstimate | None:
    if found is None:
        return None
    return {"value": getattr(found.distances, distance), "ci95": found.interval(distance)}


def _distances_of_halves(people: Sample) -> HalfDistances | None:
    """The median of each distance between two halves of the reference, and its 95th percentile."""
    found = split_half_distances(people)
    if found is None:
        return None
    return {
        "jensen_shannon": [each.jensen_shannon for each in found],
        "wasserstein_ms": [each.wasserstein_ms for each in found],
    }
