"""What judging took, as a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fdbcore.analysis.judging_types import JudgingSpent


def judging_took(judging: JudgingSpent, what: str) -> str:
    """How many requests, tokens and USD, and why it stopped if it did. what: was judged: "these dialogues"."""
    tokens = sum(count for unit, count in judging["counts"].items() if unit.endswith("tokens"))
    dated = f" (list prices of {judging['priced_on']})" if judging["priced_on"] else ""
    unpriced = f", {judging['unpriced']:,} of them unpriced" if judging["unpriced"] else ""
    stopped = f" It stopped: {judging['stopped']}. The same command goes on." if judging["stopped"] else ""
    return (
        f"Judging {what} took {judging['requests']:,} requests so far{unpriced}, {tokens:,.0f} tokens and "
        f"{judging['usd']:.2f} USD{dated}.{stopped}"
    )
