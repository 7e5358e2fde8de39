"""Keeps the cost of a run below a limit: whether one more call may begin."""

from typing import Final

from fdbcore.errors import SettingsError
from fdbcore.measures.costs import Cost
from fdbcore.report.format import usd_text
from fdbcore.runs.estimates import unpriced
from fdbcore.runs.plan import RunPlan

MOST_UNTOLD: Final = 3
"""After so many calls that do not say what they cost, and none that does, no other begins."""


class Budget:
    """Costs of a run's calls, against a limit in USD.

    A call that is under way counts as the mean of the calls that have ended. So does one whose counts are incomplete,
    unless it cost more already. While no call has ended, only one may be under way.
    """

    def __init__(self, limit_usd: float) -> None:
        self.limit_usd = limit_usd
        self._costs: dict[str, Cost] = {}

    def note(self, call: str, cost: Cost) -> None:
        """Take what a call has cost so far, all its attempts included."""
        self._costs[call] = cost

    @property
    def spent_usd(self) -> float:
        """The known cost of all calls."""
        return sum(cost.usd for cost in self._costs.values())

    @property
    def why_not(self) -> str:
        """The reason why no other call may begin."""
        if unpriced_calls := [name for name, cost in self._costs.items() if cost.unpriced]:
            return f"{unpriced_calls[0]} used something without a known price, so --max-cost cannot be kept"
        return f"{usd_text(self.spent_usd)} spent of --max-cost {self.limit_usd:g}"

    def allows(self, under_way: int) -> bool:
        """True if one more call may begin beside those that are under way."""
        whole = [cost.usd for cost in self._costs.values() if not cost.incomplete]
        cut = [cost.usd for cost in self._costs.values() if cost.incomplete]
        if any(cost.unpriced for cost in self._costs.values()):
            return False
        if not whole:
            return under_way == 0 and len(cut) < MOST_UNTOLD and sum(cut) < self.limit_usd
        mean = sum(whole) / len(whole)
        expected = sum(whole) + sum(max(usd, mean) for usd in cut) + (under_way + 1) * mean
        return expected <= self.limit_usd


def check_priced(plan: RunPlan) -> None:
    """SettingsError if a price is not known: such a run cannot be kept below a limit."""
    for services in plan.services.values():
        for name in unpriced(services):
            raise SettingsError(f"--max-cost: expected systems with a known price, but {name} is unpriced")
