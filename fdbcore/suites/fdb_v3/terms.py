"""The measures of the suite, ours and the published ones, in words, and the slices of the recordings.

Measures are registered in data/measures.toml.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Final, Literal, TypeAlias, get_args

from msgspec.structs import replace

from fdbcore.suites.fdb_v3.scenarios import Difficulty, Disfluency, Domain
from fdbcore.types.scorecard import Measure

FailureClass: TypeAlias = Literal[
    "silent",
    "wrong_tool",
    "stale_value",
    "wrong_argument",
    "missing_step",
    "wrong_order",
    "wrong_outcome",
]
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

CALLS: Final = ("no call", "one call", "two calls", "three or more calls")
SLICES: Final = (
    *get_args(Domain), *get_args(Difficulty), *CALLS, *get_args(Disfluency), "rollback", "no rollback"
)  # fmt: skip
"""What Pass@1 is divided by, as in the released reports. A recording is in one slice of each kind, but in that of every
disfluency that it is tagged with."""

_DECIMALS: Final = {"": 3, "s": 2, "ms": 0}
_FILE: Final = tomllib.loads((files("fdbcore.suites.fdb_v3") / "data" / "measures.toml").read_text(encoding="utf-8"))


def compat_id(name: str) -> str:
    """The id of the scale of a published measure."""
    return f"compat_{name}"


def _scale(part: str, unit: str = "", compared: bool = False, **fields: Any) -> Measure:  # noqa: ANN401
    return Measure(
        **fields,
        unit=unit,
        decimals=_DECIMALS[unit],
        main=compared,
        compared=compared,
        part="" if compared else part,
        bounds=None if unit else (0.0, 1.0),
    )


PUBLISHED: Final[Mapping[str, Measure]] = {
    each["id"]: _scale(group["part"], **{**each, "id": compat_id(each["id"])})
    for group in _FILE["published"]
    for each in group["measures"]
}
"""The published measures by their names; their ids as scales are those of `compat_id`."""
REPAIRED: Final = replace(PUBLISHED["passed"], id="compat_passed_repaired", label="Pass@1, labels repaired")
MEASURES: Final[Mapping[str, Measure]] = {
    each["id"]: _scale(group["part"], **each) for group in _FILE["ours"] for each in group["measures"]
}
"""Our measures by their ids. Of those that are compared the first one is tested first, the others where it differs."""
COMPARED: Final = [name for name, measure in MEASURES.items() if measure.compared]
SCALES: Final = (
    *sorted(MEASURES.values(), key=lambda measure: not measure.compared), *PUBLISHED.values(), REPAIRED
)  # fmt: skip
"""The columns of the scorecard."""
