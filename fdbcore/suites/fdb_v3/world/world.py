"""The world of Full-Duplex-Bench v3: its functions as tools, with seeded latencies and planted faults.

fdb-v3:?latency=slow&faults=error@2        the 12 released functions
fdb-v3:paper                               the 11 of the paper's Table 1
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any, Final

from fdbcore.errors import SettingsError
from fdbcore.runtime.address import parsed
from fdbcore.suites.fdb_v3.world.services import PaperServices, ReleasedServices, ToolServices
from fdbcore.worlds.function_world import SETTINGS, FunctionWorld
from fdbcore.worlds.latency import LATENCY, PROFILES

KIND: Final = "fdb-v3"
TABLES: Final[Mapping[str, type[ToolServices]]] = {"released": ReleasedServices, "paper": PaperServices}
"""The functions by the name of their list; "released" if none is named."""
AS_RELEASED: Final = "as-released"
RELEASED_LATENCIES: Final = {
    "search_flights": PROFILES["normal"],
    "search_apartments": PROFILES["normal"],
    "calculate_commute": PROFILES["normal"],
    "update_search_filter": PROFILES["fast"],
}
"""Those of the released code, whatever its profile is; its other eight functions answer at once."""

_LATENCY: Final = replace(
    LATENCY, form=f"{AS_RELEASED}, {LATENCY.form}", fits=lambda text: text == AS_RELEASED or LATENCY.fits(text)
)
_SETTINGS: Final = tuple(_LATENCY if each is LATENCY else each for each in SETTINGS)


def fdb_v3_world(address: str) -> Fdb3World:
    """The world at "fdb-v3:LIST?SETTINGS". SettingsError for another list, or a wrong setting."""
    _, table, settings = parsed(address, _SETTINGS)
    if (table or "released") not in TABLES:
        raise SettingsError(f"{KIND}: expected one of {', '.join(TABLES)}, got {table!r}")
    return Fdb3World(table or "released", **settings)


class Fdb3World(FunctionWorld):
    """The functions of one list, and what the calls of one conversation have changed."""

    def __init__(self, table: str, latency: str, timeout_s: float, faults: str) -> None:
        self._table, self._as_released = table, latency == AS_RELEASED
        self._services = TABLES[table]()
        functions = self._services.functions()
        super().__init__(KIND, functions, "instant" if self._as_released else latency, timeout_s, faults)

    def latency_ticks(self, name: str, earlier: int, random: Random) -> int:
        """As the profile says; as-released: the function's own."""
        if not self._as_released:
            return super().latency_ticks(name, earlier, random)
        return RELEASED_LATENCIES.get(name, PROFILES["instant"]).draw_ticks(earlier, random)

    def state(self) -> Any:  # noqa: ANN401
        """The tables that the calls have written, each with its values by key."""
        return self._services.changed

    def describe(self) -> Mapping[str, Any]:
        """The list of functions, the settings, and the tools, as JSON values."""
        own = {"list": self._table} | ({"latency": AS_RELEASED} if self._as_released else {})
        return {**super().describe(), **own}
