"""The measures of the suite, ours and the published ones, in words: tables, terms and comparisons read this.

They are registered in data/measures.toml.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Final, Literal, NamedTuple, TypeAlias

FailureClass: TypeAlias = Literal[
    "silent",
    "wrong_tool",
    "stale_value",
    "wrong_argument",
    "missing_step",
    "wrong_order",
    "wrong_outcome",
]

Pooled: TypeAlias = Literal["share", "mean", "median"]

FAILURES: Final[Mapping[FailureClass, tuple[str, str]]] = {
    "silent": ("silent", "The system said nothing, whatever it called."),
    "wrong_tool": ("wrong tool", "It called a function that the label does not have, and did not withdraw it."),
    "stale_value": ("stale value", "A value that the user took back stands: in a call, or in the final state."),
    "wrong_argument": ("wrong argument", "Another wrong value stands: in a call, or in the final state."),
    "missing_step": ("missing step", "An expected call was not made, or it failed and was not tried again."),
    "wrong_order": ("wrong order", "A call was made before the result that it needs had come."),
    "wrong_outcome": ("wrong outcome", "All calls are right, and the final state is not, as after a second booking."),
}
"""Why a recording does not pass, with a label and a meaning: the first that applies."""


class V3Measure(NamedTuple):
    """A measure of one recording. direction: 1 if more is better, -1 if less is, 0 if neither.

    id: of a published one the name of a field of `CompatScores`. pooled: "share": 0 or 1 of each recording, and their
    share; "mean": the mean of shares from 0 to 1, or of times; "median": the median. over: the recordings that have it.
    meaning: of a published one its known defect. part: the heading above it. compared: whether systems are compared by
    it.
    """

    id: str
    label: str
    direction: Literal[-1, 0, 1]
    pooled: Pooled
    over: str
    meaning: str
    part: str
    unit: Literal["", "s", "ms"] = ""
    compared: bool = False


def _measures(groups: list[dict[str, Any]]) -> Mapping[str, V3Measure]:
    return {each["id"]: V3Measure(**each, part=group["part"]) for group in groups for each in group["measures"]}


_FILE: Final = tomllib.loads((files("fdbcore.suites.fdb_v3") / "data" / "measures.toml").read_text(encoding="utf-8"))
PUBLISHED: Final = _measures(_FILE["published"])
MEASURES: Final = _measures(_FILE["ours"])
"""Our measures. These and the published ones are by their ids."""
COMPARED: Final = [name for name, measure in MEASURES.items() if measure.compared]
"""The measures by which systems are compared. The first one is tested first, the others only where it differs."""
