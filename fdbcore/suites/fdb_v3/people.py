"""People in place of the recordings: what they are shown, and whether they rank systems as the recordings do."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Final
from urllib.parse import urlencode

import msgspec
import numpy as np
from msgspec import Meta, Struct

from fdbcore.results import ScoredItem, by_system, figure_of_values
from fdbcore.runtime import query_of, split_query
from fdbcore.stats import spearman
from fdbcore.suites.fdb_v3.playing import RECORDINGS
from fdbcore.suites.fdb_v3.scenarios import RecordedScenarioEntry, RecordedScenarioFile
from fdbcore.suites.fdb_v3.terms import COMPARED, MEASURES
from fdbcore.types import SideA

PEOPLE: Final = "people, "
"""What the condition of calls with people begins with; the rest is that of the recordings."""
LEAST_SYSTEMS: Final = 3
"""Two systems are in the same order, or in the other one: that says little."""


def played_by(side_a: SideA, address: str) -> SideA:
    """The same scenarios with the party at an address in place of the recordings; a page shows what to ask for."""
    assert side_a.material is not None
    records = msgspec.json.decode(side_a.material.texts[RECORDINGS], type=RecordedScenarioFile).record
    place, query = split_query(address)
    users = [
        replace(user, address=_showing(place, query, task_of(record)), clip=None, length_s=None, problem=None)
        for user, record in zip(side_a.users, records, strict=True)
    ]
    return replace(side_a, users=users, outlasts_b=False)


def _showing(place: str, query: str, text: str) -> str:
    if place.partition(":")[0] != "webrtc":
        return f"{place}?{query}" if query else place
    scheme = place if ":" in place else f"{place}:"
    return f"{scheme}?{urlencode({**query_of(query), 'shows': text})}"


def task_of(record: RecordedScenarioEntry) -> str:
    """What a person is shown: the request as the recording has it, and how it is to be acted."""
    lines = [
        record.title,
        f"Say this, as you would say it: {record.script}",
        record.acting_notes,
        "Then only listen, and hang up when you have your answer.",
    ]
    return "\n".join(filter(None, lines))


class RankAgreement(Struct, frozen=True):
    """How alike people and recordings rank systems by a measure, on the scenarios that both have."""

    condition: str
    measure: str
    systems: int
    scenarios: int
    rho: Annotated[float | None, Meta(description="Spearman's; null with fewer than three systems, or equal figures")]


def ranks_of(items: Sequence[ScoredItem]) -> Iterator[RankAgreement]:
    """How alike people and recordings rank systems, under the same tools.

    Spearman's correlation of the systems that both have, by their figures on the scenarios that both have.
    """
    for people in dict.fromkeys(item.condition for item in items if item.condition.startswith(PEOPLE)):
        condition = people.removeprefix(PEOPLE)
        sides = [[item for item in items if item.condition == name] for name in (people, condition)]
        shared = set.intersection(*({item.id for item in own} for own in sides))
        for measure in COMPARED if sides[1] else ():
            figures = [_figures(own, shared, measure) for own in sides]
            systems = [name for name in figures[0] if name in figures[1]]
            if systems:
                pairs = np.array([[each[name] for each in figures] for name in systems])
                enough = len(systems) >= LEAST_SYSTEMS
                rho = float(spearman(pairs, np.ones((1, len(systems))))[0]) if enough else np.nan
                yield RankAgreement(condition, measure, len(systems), len(shared), None if np.isnan(rho) else rho)


def _figures(items: Sequence[ScoredItem], shared: Collection[str], measure: str) -> dict[str, float]:
    """The figure of each system on these recordings."""
    known = [item for item in items if item.id in shared and measure in item.values]
    found = {name: figure_of_values(own, MEASURES[measure], False) for (_, name), own in by_system(known).items()}
    return {name: figure.value for name, figure in found.items() if figure is not None and figure.value is not None}


def rank_notes(ranks: Sequence[RankAgreement]) -> Iterator[str]:
    """The correlations of each condition, in a sentence."""
    for condition in dict.fromkeys(each.condition for each in ranks):
        own = [each for each in ranks if each.condition == condition]
        n, known = own[0], [each for each in own if each.rho is not None]
        told = ", ".join(f"{MEASURES[each.measure].label} {each.rho:.2f}" for each in known)
        if n.systems < LEAST_SYSTEMS:
            told = f"unknown with {n.systems} systems, expected {LEAST_SYSTEMS} at least"
        told = told or "unknown: all figures are alike"
        yield (
            f"People and recordings ({condition}) rank {n.systems} systems on {n.scenarios} scenarios alike by "
            f"Spearman's correlation: {told}."
        )
