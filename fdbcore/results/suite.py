"""A suite that hands over items alone: the house pools, compares, documents and shows them."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from fdbcore.protocols.suite import Show, Suite
from fdbcore.results.comparing import differences, every_two
from fdbcore.results.document import PooledWith, Scores, problem_entries, scorecard
from fdbcore.results.pooling import ScoredItem, rows_of, with_sd
from fdbcore.types import Problem
from fdbcore.types.scorecard import Measure, Scorecard, Scored, ScoredCase

TEST = "paired differences on the same items; p by sign flips; Holm over all differences"


class ItemScores(Scores, frozen=True, kw_only=True):
    """The scores of systems by a suite that hands over items."""

    settings: PooledWith
    items: list[ScoredItem]


class ItemSuite(Suite):
    """A benchmark that is its measures, who talks to the systems, and the values of each item.

    Every figure is over all values with the interval of their clusters; measures with `compared` are tested between
    every two systems of a condition (`fdbcore.results`).
    """

    title: str
    """The title of the scorecard."""
    measures: Sequence[Measure]
    """The measures, in the order of their columns."""

    @abstractmethod
    def items(
        self, paths: Sequence[Path], options: Mapping[str, Any], jobs: int | None, show: Show
    ) -> tuple[Sequence[ScoredItem], Sequence[Problem]]:
        """The items of runs, and what could not be used. The arguments are those of `Suite.score`."""

    def score(
        self, paths: Sequence[Path], options: Mapping[str, Any], jobs: int | None, out: Path, show: Show
    ) -> Scored:
        """Pools the items and compares the systems."""
        items, problems = self.items(paths, options, jobs, show)
        found = differences(every_two(items), self.measures)
        subsets = list(dict.fromkeys(subset for item in items for subset in item.subsets))
        document = ItemScores(
            schema=self.schema,
            settings=PooledWith(family=sum(one.p is not None for one in found)),
            rows=list(rows_of(items, self.measures, subsets, with_sd)),
            differences=found,
            items=list(items),
            problems=problem_entries(problems),
        )
        return Scored(msgspec.to_builtins(document))

    def card(self, document: Mapping[str, Any]) -> Scorecard:
        """The rows and differences of the document, and its items as cases."""
        items = msgspec.convert(document["items"], list[ScoredItem])
        conditions = dict.fromkeys(item.condition for item in items)
        scored = {item.recording for item in items}
        card = scorecard(self.title, document, self.measures, {name: name for name in conditions}, scored, test=TEST)
        terms = {scale.label: scale.meaning for scale in card.scales if scale.meaning}
        return replace(card, cases=[_case(item) for item in items], terms=terms)


def _case(item: ScoredItem) -> ScoredCase:
    values = {name: sum(own) / len(own) for name, own in item.values.items() if own}
    subset = next(iter(item.subsets), "")
    return ScoredCase(
        item.condition, item.system, item.id, item.text, values, subset, tags=item.tags, recording=item.recording
    )
