"""A run beside a reference corpus, of people say: how time is filled, and how far apart their floor transfers are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from fdbcore.analysis.corpus import Call, Run
from fdbcore.analysis.differences import difference, with_holm
from fdbcore.analysis.groups import CallGroup, Unit
from fdbcore.analysis.score import pool, summarise
from fdbcore.errors import FdbError, InputError
from fdbcore.measures.opportunities import fto
from fdbcore.measures.quantities import Quantity, Ratio
from fdbcore.measures.timing import composition
from fdbcore.stats.distances import BIN_MS, FIRST_MS, LAST_MS, Comparison, Sample, compare, split_half_distances
from fdbcore.types import SIDES, TICK_MS, Side, TurnSettings

if TYPE_CHECKING:
    from fdbcore.analysis.statement_types import (
        BesideReference,
        DistanceEstimate,
        FloorTransfers,
        HalfDistances,
        ReferencedRows,
        ReferenceRow,
    )
    from fdbcore.recording.meta_types import Settings

ROWS: Final = ("ipu", "pause", "gap", "overlap")
"""Of both sides together, in number and seconds a minute (the panel of Nguyen et al. 2023)."""

_OF_BOTH: Final = {"ipu": ("a_ipu", "b_ipu"), "pause": ("a_pause", "b_pause"), "gap": ("gap",), "overlap": ("overlap",)}
_UNITS: Final = ("per_min", "s_per_min")

Panel: TypeAlias = Mapping[str, Quantity]
_Panels: TypeAlias = tuple[Sequence[Panel], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Filled:
    """One call: the rows of the panel as ratios "ipu_per_min", ..., and the floor transfer offsets of each side."""

    panel: Panel
    fto_ms: Mapping[Side, Sequence[float]]

    @property
    def all_fto_ms(self) -> list[float]:
        """Of both sides."""
        return [value for side in SIDES for value in self.fto_ms[side]]


def filled(call: Call, settings: TurnSettings) -> Filled:
    """How a call is filled, by these settings: its stored activity is read again if it was scored with others.

    RecordingError if it cannot be read.
    """
    reading = call.recording
    as_scored = reading.dialogue_with_echo.settings == settings
    dialogue = reading.dialogue if as_scored else reading.dialogue_by(settings)
    parts = composition(dialogue)
    panel = {
        f"{row}_{unit}": _together([parts[f"{p}_{unit}"] for p in _OF_BOTH[row]]) for row in ROWS for unit in _UNITS
    }
    transfers = {side: dialogue.told("gap", "overlap_between", side=side) for side in SIDES}
    return Filled(panel, {side: [float(fto(e) * TICK_MS) for e in of] for side, of in transfers.items()})


def _together(parts: Sequence[Quantity]) -> Ratio:
    ratios = [part for part in parts if isinstance(part, Ratio)]
    return Ratio(ratios[0].unit, sum(r.total for r in ratios), ratios[0].exposure, sum(r.n for r in ratios))


def beside_reference(
    of: Sequence[CallGroup],
    chosen: Unit,
    own: Settings,
    reference: Run,
    on_call: Callable[[], None] = lambda: None,
) -> BesideReference:
    """Groups of calls beside a reference, all read with the run's settings of the turn detector, as JSON values.

    own: the settings of the run. on_call: told of each call that was read. Keys: path, calls, unread {call: reason},
    detectors {"run", "reference"}, bins_ms {first, last, width}, floor {distance: [median, 95th percentile]}, groups
    [{name, rows {"ipu_per_min": {run, reference, difference}, ...}, floor_transfers {side: {n, reference_n,
    jensen_shannon, wasserstein_ms}}}]. The offsets of each side are compared with those of both sides of the reference.
    InputError if nothing of the reference is scored.
    """
    settings, unread = TurnSettings(**own["turns"]), dict[str, str]()
    theirs = list(_read(reference.scored, settings, unread, on_call))
    if not theirs:
        raise InputError(f"--reference {reference.path}: expected calls that are scored, got none")
    names = [f"reference {call.name}" for call, _ in theirs]
    people = _sample([of.all_fto_ms for _, of in theirs], names)
    panels = ([of.panel for _, of in theirs], names)
    return {
        "path": str(reference.path),
        "calls": len(theirs),
        "detectors": {"run": own["vad"]["B"]["name"], "reference": (reference.settings or own)["vad"]["B"]["name"]},
        "bins_ms": {"first": FIRST_MS, "last": LAST_MS, "width": BIN_MS},
        "floor": _floor(people),
        "groups": [
            {"name": group.name, **_beside(list(_read(group.calls, settings, unread, on_call)), chosen, panels, people)}
            for group in of
        ],
        "unread": unread,
    }


def _beside(ours: Sequence[tuple[Call, Filled]], chosen: Unit, panels: _Panels, people: Sample) -> ReferencedRows:
    clusters = [chosen.of(call) for call, _ in ours]

    def transfers(side: Side) -> FloorTransfers:
        return _apart(_sample([of.fto_ms[side] for _, of in ours], clusters), people)

    return {
        "rows": _rows(([of.panel for _, of in ours], clusters), panels),
        "floor_transfers": {"A": transfers("A"), "B": transfers("B")},
    }


def _read(
    calls: Sequence[Call], settings: TurnSettings, unread: dict[str, str], on_call: Callable[[], None]
) -> Iterator[tuple[Call, Filled]]:
    """The calls that can be read; why of the others."""
    for call in calls:
        try:
            yield call, filled(call, settings)
        except FdbError as error:
            unread[call.name] = str(error)
        on_call()


def _sample(fto_ms: Sequence[Sequence[float]], clusters: Sequence[str]) -> Sample:
    names, numbers = np.unique(np.asarray(clusters, np.str_), return_inverse=True)
    values = np.array([value for of in fto_ms for value in of], dtype=np.float64)
    return Sample(values, np.repeat(numbers, [len(of) for of in fto_ms]), len(names))


def _rows(run: _Panels, reference: _Panels) -> dict[str, ReferenceRow]:
    """Both summaries and the difference, for each of ROWS in each unit."""
    ours, theirs = summarise(*run), summarise(*reference)
    pools = {name: (pool(name, *run), pool(name, *reference)) for name in ours}
    compared = with_holm([difference(*pair) for pair in pools.values()])
    return {
        name: {"run": ours[name], "reference": theirs[name], "difference": found.to_json()}
        for name, found in zip(pools, compared, strict=True)
    }


def _apart(sample: Sample, people: Sample) -> FloorTransfers:
    """Both distances with their intervals; None for both where there are too few calls."""
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


def _floor(people: Sample) -> HalfDistances | None:
    """Of two halves of the reference, the median of each distance and its 95th percentile."""
    found = split_half_distances(people)
    if found is None:
        return None
    return {
        "jensen_shannon": [each.jensen_shannon for each in found],
        "wasserstein_ms": [each.wasserstein_ms for each in found],
    }
