"""Faults of the calls that a passed gate counts: a side that fell silent makes no figure worse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

from fdbcore.analysis.corpus import Call
from fdbcore.analysis.facts import HEALTH, TOLD
from fdbcore.errors import FdbError
from fdbcore.measures.findings import ENDS_UNANSWERED

OF_A_SIDE: Final = ("never_spoke", "fell_silent", "went_on", ENDS_UNANSWERED)
"""The ids of the findings that say of one side that it was not heard."""


class FindingsBeside:
    """Names the findings in the calls of gates; reads each call once for all of them. unscored: calls in no figure."""

    def __init__(self, unscored: Sequence[Call]) -> None:
        self.unscored = unscored
        self._of_call: dict[str, Sequence[str]] = {}

    def told(self, calls: Sequence[Call], unscored: Sequence[Call]) -> list[str]:
        """Each finding with its number of calls, the most common first: "B fell silent in 2 of 6 calls".

        Before them, how many more calls there are that a gate never sees, as recordings that went wrong.
        """
        found = Counter(name for call in calls for name in self._names(call))
        more = [f"{len(unscored):,} of {len(calls) + len(unscored):,} calls not scored"] if unscored else []
        return more + [
            f"{name} in {n:,} of {len(calls):,} call{'s' * (len(calls) > 1)}" for name, n in found.most_common()
        ]

    def _names(self, call: Call) -> Sequence[str]:
        if call.name not in self._of_call:
            self._of_call[call.name] = list(dict.fromkeys(_names(call)))
        return self._of_call[call.name]


def _names(call: Call) -> Iterable[str]:
    """The names of what is wrong with a call; none if it cannot be read."""
    with suppress(FdbError):
        reading = call.recording
        yield from (found["name"] for found in call.fact(TOLD, reading)["findings"] if found["id"] in OF_A_SIDE)
        if (health := call.fact(HEALTH, reading)) and health["verdict"] == "bad":
            yield "bad input"
