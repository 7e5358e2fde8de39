"""What differences between systems the test of v3 finds, and how often it tells apart what is the same.

Whether a system passes a recording is drawn by a probit model: each speaker and each scenario is easier or harder for
all systems, and again for each system by itself; only the latter sets systems apart on some recordings. The other
measures, shares and times, share half of that with whether it passes. A false alarm is a study in which any comparison
of any measure says that two systems differ that do not.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import combinations
from statistics import NormalDist
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.harness import met, print_table
from fdbcore.results.comparing import gated_p
from fdbcore.stats.bootstrap import RESAMPLES

STUDIES: Final = 2_000
POWER_STUDIES: Final = 500
FLIPS: Final = 1_000
MEASURES: Final = 7
SHARES: Final = 4
"""The first of the measures; the others are times."""
COMMON: Final = 0.5
"""The spread of speakers, and of scenarios, that is alike for all systems; that of a single recording is 1."""
OWN: Final = (0.0, 0.5, 1.0)
"""The spread of speakers, and of scenarios, for each system by itself."""
DIFFERENCES: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
LEVEL: Final = 0.05

Floats: TypeAlias = npt.NDArray[np.float64]


class Design(NamedTuple):
    """Who says what: of each recording the number of its speaker, and of its scenario."""

    name: str
    speakers: Sequence[int]
    scenarios: Sequence[int]
    systems: int

    @property
    def clusters(self) -> list[list[str]]:
        """The names of both, as the test takes them."""
        return [[f"{kind}{number:03}" for number in of] for kind, of in (("p", self.speakers), ("s", self.scenarios))]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Each two systems."""
        return [*combinations([f"system {number}" for number in range(self.systems)], 2)]


def designs() -> list[Design]:
    """The set that ships, that of the paper (21 of 79 scenarios have two speakers), and a larger one."""
    return [
        Design("8 speakers, 40 recordings, 5 systems", [n // 5 for n in range(40)], [*range(40)], 5),
        Design("12 speakers, 100 recordings, 6 systems", [n % 12 for n in range(100)], [*range(79), *range(21)], 6),
        Design("40 speakers, 200 recordings, 6 systems", [n // 5 for n in range(200)], [*range(200)], 6),
    ]


def study(random: np.random.Generator, design: Design, own: float, rates: Floats) -> Floats:
    """The values (measures, systems, recordings). rates: (measures, systems), how many pass; of times, how they lie."""
    shape, speakers, scenarios = (MEASURES, design.systems), np.array(design.speakers), np.array(design.scenarios)

    def drawn(*before: int) -> Floats:
        by_speaker = random.normal(size=(*before, speakers.max() + 1))[..., speakers]
        return np.asarray(by_speaker + random.normal(size=(*before, scenarios.max() + 1))[..., scenarios])

    own_part = own * 0.5**0.5 * (drawn(1, design.systems) + drawn(*shape))
    spread = (1 + 2 * COMMON**2 + 2 * own**2) ** 0.5
    middle = spread * np.vectorize(NormalDist().inv_cdf)(rates)[..., None]
    latent = middle + COMMON * drawn() + own_part + random.normal(size=(*shape, len(speakers)))
    latent[:SHARES] = latent[:SHARES] > 0
    latent[SHARES:] = np.exp(latent[SHARES:])
    return np.asarray(latent)


def corrected(design: Design, values: Floats, flips: int = FLIPS) -> list[list[float | None]]:
    """The corrected p of each measure and pair."""
    pairs = design.pairs
    places = [*combinations(range(design.systems), 2)]
    columns = np.array([own[a] - own[b] for own in values for a, b in places])
    _, found = gated_p(columns.T, pairs * MEASURES, design.clusters, flips)
    return [found[first : first + len(pairs)] for first in range(0, len(found), len(pairs))]


def is_told(p: float | None) -> bool:
    """Whether it says that two systems differ."""
    return p is not None and p < LEVEL


def false_alarms(design: Design, own: float, differing: int, studies: int) -> float:
    """In how many of 100 studies anything wrong is said, if the first system differs in so many of the measures."""
    random, alarms = np.random.default_rng(1), 0
    rates = np.full((MEASURES, design.systems), 0.6)
    rates[:differing, 0] = 0.05
    for _ in range(studies):
        alarms += any(
            is_told(p)
            for measure, own_p in enumerate(corrected(design, study(random, design, own, rates)))
            for p, (a, _) in zip(own_p, design.pairs, strict=True)
            if measure >= differing or a != "system 0"
        )
    return 100 * alarms / studies


def power(design: Design, own: float, difference: float, studies: int) -> float:
    """In how many of 100 studies two systems are told apart that pass 0.5 plus and minus half of the difference."""
    random, told = np.random.default_rng(2), 0
    rates = np.full((MEASURES, design.systems), 0.5)
    rates[:SHARES, 0] += difference / 2
    rates[:SHARES, 1] -= difference / 2
    for _ in range(studies):
        told += is_told(corrected(design, study(random, design, own, rates))[0][0])
    return 100 * told / studies


def largest(design: Design) -> float:
    """The corrected p of a system that passes all against one that passes nothing; the others pass half."""
    shape = (MEASURES, design.systems, len(design.speakers))
    values = np.random.default_rng(3).integers(2, size=shape).astype(np.float64)
    values[:, 0], values[:, 1] = 1.0, 0.0
    return corrected(design, values, RESAMPLES)[0][0] or 1.0


def main(studies: int = STUDIES, power_studies: int = POWER_STUDIES) -> None:
    """Print both tables."""
    rows = []
    for design in designs()[:2]:
        for own in OWN:
            alarms = [false_alarms(design, own, differing, studies) for differing in (0, 1, MEASURES)]
            noise = 100 * 3.1 * (LEVEL * (1 - LEVEL) / studies) ** 0.5
            goal = met(f"false alarms of v3 at 5 %: {design.name}, spread {own:g}", max(alarms) <= 100 * LEVEL + noise)
            rows.append([design.name, f"{own:g}", *(f"{each:.1f}" for each in alarms), goal])
    head = ["design", "spread", "none differs", "one, in passed", "one, in all", "at most 5"]
    print_table(f"False alarms of all measures and pairs; % of {studies:,} studies", head, rows)
    rows = []
    for design in designs():
        told = largest(design)
        goal = met(f"all against none told by {design.name}", told < LEVEL)
        for own in OWN:
            found = [power(design, own, difference, power_studies) for difference in DIFFERENCES]
            rows.append([design.name, f"{own:g}", *(f"{each:.0f}" for each in found), f"{told:.4f}", goal])
    head = ["design", "spread", *(f"{each:g}" for each in DIFFERENCES), "all to none: p", "told"]
    print_table(f"True differences in passed that are told; % of {power_studies:,} studies", head, rows)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
