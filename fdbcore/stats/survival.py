"""Times until an event that something else may hide: the product-limit estimate (Kaplan and Meier 1958)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fdbcore.stats.bootstrap import Floats


@dataclass(frozen=True, slots=True)
class Survival:
    """The share of items that have had no event until a time. times: (k,), of events, sorted. shares: (k,), after."""

    times: Floats
    shares: Floats

    def __call__(self, time: npt.ArrayLike) -> Floats:
        """The share without an event at these times or before, in the shape of `time`; 1 before the first event."""
        row = np.searchsorted(self.times, time, side="right")
        found: Floats = np.append(1.0, self.shares)[row]
        return found


def product_limit(times: npt.ArrayLike, is_event: npt.ArrayLike, least_at_risk: int = 1) -> Survival:
    """The product-limit estimate. times: (n,), of the event, or of the last time at which it had not come (censored;
    may be infinite); is_event: (n,), which of the two. Of equal times, events come before what is censored.

    least_at_risk: the estimate ends where fewer items are left: each event among few moves it far.
    """
    given, events = np.asarray(times, dtype=np.float64), np.asarray(is_event, dtype=np.bool_)
    at, counts = np.unique(given[events], return_counts=True)
    at_risk = len(given) - np.searchsorted(np.sort(given), at, side="left")
    is_kept = at_risk >= least_at_risk
    shares = np.cumprod(1 - counts[is_kept] / at_risk[is_kept])
    return Survival(at[is_kept], shares.astype(np.float64))
