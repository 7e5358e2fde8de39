"""The examiners of a run as they are measured themselves: what they did, and how much of the variance is theirs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from fdbcore.measures.examined import Examined
from fdbcore.measures.examiner_rule import BY, fault
from fdbcore.stats.bootstrap import Floats, quantile
from fdbcore.stats.variance import REPEATED, REST, variance_shares
from fdbcore.suites.staged.cases import LostCase, StagedCase
from fdbcore.suites.staged.rows import COMPARED, ORDER

if TYPE_CHECKING:
    from fdbcore.suites.staged.document_types import StagedExamined, StagedExaminer, StagedProof, StagedVariance

PROVEN: Final = (
    "left_role", "off_script", "unstated", "closed_early", "in_pause", "cut_in", "not_yielded", "too_soon", "too_late",
    "contradicted", "deaf", "stalled", "muted",
)  # fmt: skip
"""What is counted of an examiner, each with its proof; fields of `Examined`."""

SCENARIO, SYSTEM, EXAMINER = "scenario", "system", "examiner"
FACTORS: Final = (SCENARIO, SYSTEM, EXAMINER)
BOTH: Final = f"{SCENARIO} x {SYSTEM}"
PARTS: Final = {
    SCENARIO: SCENARIO, SYSTEM: SYSTEM, BOTH: BOTH, REST: REST, REPEATED: EXAMINER, EXAMINER: EXAMINER,
    f"{SCENARIO} x {EXAMINER}": EXAMINER, f"{SYSTEM} x {EXAMINER}": EXAMINER, f"{BOTH} x {EXAMINER}": EXAMINER,
}  # fmt: skip
"""To which part each component of the variance belongs: an examiner's are its seeds, and what it changes by itself."""


def examined_json(found: Examined) -> StagedExamined:
    """An examiner in one call, for the document."""
    proofs: dict[str, list[StagedProof]] = {
        name: [{"tick": proof.tick, "what": proof.what} for proof in getattr(found, name)] for name in PROVEN
    }
    return {
        "opened": found.opened,
        "sayings": found.sayings,
        "reactions_ms": found.reactions_ms,
        "fault": fault(found),
        "proofs": {name: each for name, each in proofs.items() if each},
    }


def examiners_of(cases: Sequence[StagedCase], lost: Sequence[LostCase]) -> Iterator[StagedExaminer]:
    """A row for each examiner under each pacing."""
    by_key: dict[tuple[str, str], list[Examined]] = {}
    for case in cases:
        if case.examined is not None:
            by_key.setdefault((case.pacing, case.examiner), []).append(case.examined)
    faulty = Counter((each.pacing, each.examiner) for each in lost if BY in each.reason and each.pacing in ORDER)
    for pacing, examiner in sorted({*by_key, *faulty}, key=lambda key: (ORDER.index(key[0]), key)):
        own = by_key.get((pacing, examiner), [])
        reactions_ms = [reaction_ms for each in own for reaction_ms in each.reactions_ms]
        yield {
            "pacing": pacing,
            "examiner": examiner,
            "calls": len(own),
            "invalid": faulty[pacing, examiner],
            "not_opened": sum(each.opened is False for each in own),
            "goals": sum(each.goals for each in own),
            "sayings": sum(each.sayings for each in own),
            "told": sum(each.told for each in own),
            "counts": {name: sum(len(getattr(each, name)) for each in own) for name in PROVEN},
            "reactions": {
                "n": len(reactions_ms),
                "median_ms": quantile(reactions_ms, 0.5) if reactions_ms else None,
                "p95_ms": quantile(reactions_ms, 0.95) if reactions_ms else None,
                "promised_ms": own[0].promised_ms if own else None,
            },
        }


def variance_of(cases: Sequence[StagedCase]) -> Iterator[StagedVariance]:
    """Of each pacing and measure: whose the variance is. Nothing where there is one examiner and one seed of it."""
    for pacing in sorted({case.pacing for case in cases}, key=ORDER.index):
        of_pacing = [case for case in cases if case.pacing == pacing]
        for measure in COMPARED:
            if (found := _variance(pacing, measure, of_pacing)) is not None:
                yield found


def _variance(pacing: str, measure: str, cases: Sequence[StagedCase]) -> StagedVariance | None:
    cells: dict[tuple[str, str, str], dict[int, list[float]]] = {}
    for case in cases:
        if measure in case.values:
            of_seed = cells.setdefault((case.scenario, case.system, case.examiner), {}).setdefault(case.seed, [])
            of_seed.append(case.values[measure])
    examiners = sorted({key[2] for key in cells})
    systems = sorted(
        system
        for system in {key[1] for key in cells}
        if all(any(key[1:] == (system, examiner) for key in cells) for examiner in examiners)
    )
    seeds = max((len(each) for each in cells.values()), default=0)
    if not systems or (seeds < 2 and len(examiners) < 2):
        return None
    trials = max(len(values) for each in cells.values() for values in each.values())
    scenarios = dict.fromkeys(key[0] for key in cells)
    whole = [
        block
        for scenario in scenarios
        if (block := _block([cells.get((scenario, s, e), {}) for s in systems for e in examiners], seeds, trials))
        is not None
    ]
    if len(whole) < 2:
        return None
    values = np.stack(whole).reshape(len(whole), len(systems), len(examiners), seeds, trials)
    shares = variance_shares(values, FACTORS, PARTS)
    return {
        "pacing": pacing,
        "measure": measure,
        "scenarios": len(whole),
        "left_out": len(scenarios) - len(whole),
        "systems": systems,
        "examiners": examiners,
        "seeds": seeds,
        "trials": trials,
        "shares": {part: {"share": each.value, "ci95": each.interval} for part, each in shares.items()},
    }


def _block(cells: Sequence[dict[int, list[float]]], seeds: int, trials: int) -> Floats | None:
    """A scenario's values, (cells, seeds, trials); None if it has not all of them."""
    if any(len(each) < seeds or any(len(values) < trials for values in each.values()) for each in cells):
        return None
    return np.array([[each[seed] for seed in sorted(each)] for each in cells])
