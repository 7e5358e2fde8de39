"""What the scores come to, in sentences: how often systems pass, which one is better, and why recordings fail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from fdbcore.report.format import counted
from fdbcore.report.scorecard.screen import number_text
from fdbcore.report.scorecard.verdicts import first_of, verdicts
from fdbcore.stats.significance import pairs_needed
from fdbcore.suites.fdb_v3.terms import FAILURES
from fdbcore.types.scorecard import Scorecard, ScoreRow

if TYPE_CHECKING:
    from fdbcore.suites.fdb_v3.document_types import OursFigure, OursPasses, V3Document, V3Group


def findings(card: Scorecard, document: V3Document) -> Iterator[str]:
    """A few sentences for each condition, which they name if there are several."""
    for group in document["groups"]:
        place = f"{group['condition']}: " if len(document["groups"]) > 1 else ""
        rows = [row for row in card.rows if row.condition == group["condition"]]
        rows.sort(key=lambda row: row.measures["passed"].value or 0.0, reverse=True)
        result = [
            _passing(rows, document),
            *(_least_p(document, group) or verdicts(card, group["condition"], [row.system for row in rows])),
        ]
        told = [" ".join(result), *_failing(rows, group, document), *_trials(group)]
        yield from (f"{place}{text}" for text in told)


def _passing(rows: Sequence[ScoreRow], document: V3Document) -> str:
    """ "right passes 40 of 40 recordings, stale 32 of 40."."""
    what = "trials" if any(item["trial"] > 1 for item in document["items"]) else "recordings"
    counts = [(row.system, row.measures["passed"].value or 0.0, row.n_of("passed") or 0) for row in rows]
    told = [f"{round(share * n):,} of {n:,}" for _, share, n in counts]
    first, *others = (row.system for row in rows)
    beside = (f", {system} {text}" for system, text in zip(others, told[1:], strict=True))
    return f"{first} passes {told[0]} {what}{''.join(beside)}."


def _least_p(document: V3Document, group: V3Group) -> list[str]:
    """A sentence where there are so few clusters that no difference can be told from none, if so.

    Of n clusters sign flips give a p of 2 / 2**n or more, for however many comparisons it is corrected.
    """
    own = [item for item in document["items"] if item["condition"] == group["condition"]]
    speakers, scenarios = ({item[name] for item in own} for name in ("speaker", "scenario"))
    n, kind = min((len(speakers), "speaker"), (len(scenarios), "scenario"))
    needed = pairs_needed(document["settings"]["level"])
    if not group["comparisons"] or n >= needed:
        return []
    return [
        f"Which is better cannot be told with {counted(n, kind)}, however large a difference is: p is "
        f"{min(2 / 2**n, 1.0):.2g} at least; it takes {needed}."
    ]


def _failing(rows: Sequence[ScoreRow], group: V3Group, document: V3Document) -> Iterator[str]:
    """ "stale fails 8 of 40: stale value 8 (finance_09, finance_10, housing_09 and 5 more)."."""
    for row in rows:
        own = [
            item
            for item in document["items"]
            if (item["condition"], item["system"]) == (group["condition"], row.system) and item["failure"] is not None
        ]
        of_kind = {
            label: [item["record"] for item in own if item["failure"] == kind] for kind, (label, _) in FAILURES.items()
        }
        largest = sorted(filter(lambda kind: of_kind[kind], of_kind), key=lambda kind: -len(of_kind[kind]))
        told = [f"{kind} {len(of_kind[kind]):,} ({first_of(sorted({*of_kind[kind]}))})" for kind in largest]
        if told:
            yield f"{row.system} fails {len(own):,} of {row.n:,}: {', '.join(told)}."


def _trials(group: V3Group) -> Iterator[str]:
    """How often systems pass in the most trials that they have of a recording."""
    most: dict[str, OursPasses] = {each["system"]: each for each in group["passes"] if each["k"] > 1}
    for k in dict.fromkeys(each["k"] for each in most.values()):
        shares = [
            f"{system} {_shown(each['pass_at_k'])} and {_shown(each['pass_all_k'])}"
            for system, each in most.items()
            if each["k"] == k
        ]
        one, all_ = f"pass@{k}, at least one of {k} trials of a recording passes", f"pass^{k}, all do"
        yield f"{one}, and {all_}: {', '.join(shares)}."


def _shown(figure: OursFigure) -> str:
    interval = "" if figure["ci95"] is None else " [{:.2f}, {:.2f}]".format(*figure["ci95"])
    return f"{number_text(figure['value'])}{interval}"
