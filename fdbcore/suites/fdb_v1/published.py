"""The table of v1 as its authors publish it, beside on request; nothing is tested against it.

The README of github.com/DanielLin94144/Full-Duplex-Bench, with the words of Parakeet-TDT 0.6B v2 (since June 2025).
Results of v1.5 were not found as a table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fdbcore.suites.fdb_v1.samples import BACKCHANNEL, INTERRUPTION, PAUSE, TURN_TAKING, V1, Version

if TYPE_CHECKING:
    from fdbcore.suites.fdb_v1.document_types import V1Figure, V1Row

_COLUMNS: Final = (
    (PAUSE, "synthetic", "compat_takeover_unwanted", 137),
    (PAUSE, "Candor", "compat_takeover_unwanted", 216),
    (BACKCHANNEL, "ICC", "compat_takeover_unwanted", 55),
    (BACKCHANNEL, "ICC", "compat_backchannels_per_s", 55),
    (BACKCHANNEL, "ICC", "compat_jsd", 55),
    (TURN_TAKING, "Candor", "compat_takeover_wanted", 119),
    (TURN_TAKING, "Candor", "compat_latency_s", 119),
    (INTERRUPTION, "synthetic", "compat_takeover_wanted", 200),
    (INTERRUPTION, "synthetic", "compat_rating", 200),
    (INTERRUPTION, "synthetic", "compat_latency_s", 200),
)
_TABLE: Final = {
    "PersonaPlex": (0.584, 0.662, 0.327, 0.025, 0.649, 0.992, 0.070, 1.000, 4.210, 0.400),
    "dGSLM": (0.934, 0.935, 0.691, 0.015, 0.934, 0.975, 0.352, 0.917, 0.201, 2.531),
    "Moshi": (0.985, 0.980, 1.000, 0.001, 0.957, 0.941, 0.265, 1.000, 0.765, 0.257),
    "Freeze-Omni": (0.642, 0.481, 0.636, 0.001, 0.997, 0.336, 0.953, 0.867, 3.615, 1.409),
    "Gemini Live 2.0": (0.255, 0.310, 0.091, 0.012, 0.896, 0.655, 1.301, 0.891, 3.376, 1.183),
    "GPT-Realtime": (0.010, 0.120, 0.000, 0.007, 0.980, 1.000, 1.470, 0.970, 3.850, 1.500),
}


def published_rows(version: Version) -> list[V1Row]:
    """The published figures as rows, in the order of the table; n as the data state it."""
    rows: dict[tuple[str, str, str], V1Row] = {}
    for system, values in _TABLE.items() if version == V1 else ():
        for (condition, group, measure, n), value in zip(_COLUMNS, values, strict=True):
            row = rows.setdefault(
                (condition, group, system),
                {"condition": condition, "group": group, "system": system, "n": n, "measures": {}},
            )
            figure: V1Figure = {"value": value, "sd": None, "ci95": None, "n": n}
            row["measures"][measure] = figure
    return list(rows.values())
