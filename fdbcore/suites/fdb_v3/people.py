"""People in place of the recordings: what they are shown, and whether they rank systems as the recordings do."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

import numpy as np

from fdbcore.runtime.address import query_of, split_query
from fdbcore.stats.raters import spearman
from fdbcore.suites.fdb_v3.playing import RECORDINGS
from fdbcore.suites.fdb_v3.terms import COMPARED, MEASURES
from fdbcore.types import SideA

if TYPE_CHECKING:
    from fdbcore.suites.fdb_v3.document_types import OursRanks
    from fdbcore.suites.fdb_v3.ours.rows import OursItem
    from fdbcore.suites.fdb_v3.scenario_types import RecordedScenarioEntry

PEOPLE: Final = "people, "
"""What the condition of calls with people begins with; the rest is that of the recordings."""
LEAST_SYSTEMS: Final = 3
"""Two systems are in the same order, or in the other one: that says little."""


def played_by(side_a: SideA, address: str) -> SideA:
    """The same scenarios with the party at an address in place of the recordings; a page shows what to ask for."""
    assert side_a.material is not None
    records: list[RecordedScenarioEntry] = json.loads(side_a.material.texts[RECORDINGS])["record"]
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
        record.get("title", ""),
        f"Say this, as you would say it: {record.get('script', '')}",
        record.get("acting_notes", ""),
        "Then only listen, and hang up when you have your answer.",
    ]
    return "\n".join(filter(None, lines))


def ranks_of(items: Mapping[str, Sequence[OursItem]]) -> Iterator[OursRanks]:
    """How alike people and recordings rank systems, under the same tools. items: by condition.

    Spearman's correlation of the systems that both have, by their figures on the scenarios that both have.
    """
    for condition, by_people in items.items():
        recorded = items.get(condition.removeprefix(PEOPLE), ())
        if not condition.startswith(PEOPLE) or not recorded:
            continue
        shared = {item.record["id"] for item in by_people} & {item.record["id"] for item in recorded}
        for measure in COMPARED:
            figures = [_figures(own, shared, measure) for own in (by_people, recorded)]
            systems = [name for name in figures[0] if name in figures[1]]
            if not systems:
                continue
            pairs = np.array([[each[name] for each in figures] for name in systems])
            rho = float(spearman(pairs, np.ones((1, len(systems))))[0]) if len(systems) >= LEAST_SYSTEMS else np.nan
            yield {
                "condition": condition.removeprefix(PEOPLE),
                "measure": measure,
                "systems": len(systems),
                "scenarios": len(shared),
                "rho": None if np.isnan(rho) else rho,
            }


def _figures(items: Sequence[OursItem], shared: set[str], measure: str) -> dict[str, float]:
    """The figure of each system on these recordings."""
    values: dict[str, list[float]] = {}
    for item in items:
        if item.record["id"] in shared and (value := item.values[measure]) is not None:
            values.setdefault(item.system, []).append(value)
    pooled = np.median if MEASURES[measure].pooled == "median" else np.mean
    return {name: float(pooled(own)) for name, own in values.items()}


def rank_notes(ranks: Sequence[OursRanks]) -> Iterator[str]:
    """The correlations of each condition, in a sentence."""
    for condition in dict.fromkeys(each["condition"] for each in ranks):
        own = [each for each in ranks if each["condition"] == condition]
        n, known = own[0], [each for each in own if each["rho"] is not None]
        told = ", ".join(f"{MEASURES[each['measure']].label} {each['rho']:.2f}" for each in known)
        if n["systems"] < LEAST_SYSTEMS:
            told = f"unknown with {n['systems']} systems, expected {LEAST_SYSTEMS} at least"
        told = told or "unknown: all figures are alike"
        yield (
            f"People and recordings ({condition}) rank {n['systems']} systems on {n['scenarios']} scenarios alike by "
            f"Spearman's correlation: {told}."
        )
