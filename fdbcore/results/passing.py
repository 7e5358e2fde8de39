"""Pass rates of systems: pass@k and pass^k (`fdbcore.stats.passes`), means over ids with k trials or more."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fdbcore.results.pooling import Clustered, ScoredItem, pooled
from fdbcore.stats.passes import pass_all, pass_at
from fdbcore.types.scorecard import NO_FIGURE, Figure, Passes, PassesOfK


def passes_of(
    items: Sequence[ScoredItem],
    verdict: Callable[[ScoredItem], bool | None],
    subset: str = "",
    *,
    least_trials: int = 1,
) -> Passes | None:
    """Pass rates of the system of these items, for each k up to the most trials of an id.

    verdict: whether an item passes; None: it cannot be told. None if none can be told, or if no id has `least_trials`.
    """
    told: dict[str, list[bool]] = {}
    first: dict[str, ScoredItem] = {}
    for item in items:
        if (passed := verdict(item)) is not None:
            told.setdefault(item.id, []).append(passed)
            first.setdefault(item.id, item)
    most = max(map(len, told.values()), default=0)
    if most < least_trials:
        return None
    trials = sum(map(len, told.values()))
    return Passes(
        items[0].condition,
        items[0].system,
        subset,
        trials,
        sum(map(sum, told.values())),
        len(items) - trials,
        [_of_k(k, told, first) for k in range(1, most + 1)],
    )


def _of_k(k: int, told: Mapping[str, Sequence[bool]], first: Mapping[str, ScoredItem]) -> PassesOfK:
    enough = {name: own for name, own in told.items() if len(own) >= k}

    def figure(formula: Callable[[int, int, int], float]) -> Figure:
        sample = Clustered.of((formula(k, len(own), sum(own)), first[name]) for name, own in sorted(enough.items()))
        return pooled(sample, "mean") or NO_FIGURE

    return PassesOfK(k, len(enough), figure(pass_at), figure(pass_all))
