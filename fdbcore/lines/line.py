"""A line: what it does to each side's voice before the other side hears it.

    telephone    noise:20    babble:15    loss:5    jitter:40    echo:-30    clean
    noise:20?back=true

It lies on A's way to B; with `back=true` on B's way to A, too. The recording holds what each side said, as without a
line. The same address, seed and frames give the same samples, live and in lockstep.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from fdbcore.errors import SettingsError, nearest
from fdbcore.lines.ways import Babble, Echo, Telephone, Way, White, jittered, lossy
from fdbcore.protocols import CLEAN, CallLine
from fdbcore.runtime.address import Setting, query_of, split_query, values
from fdbcore.types import Pcm

BACK: Final = Setting("back", "B's way to A goes over such a line, too", bool, False)

_RATIO: Final = Setting("dB", "A's active speech level over it", float, least=-20, most=80)
_WAYS: Final[Mapping[str, tuple[Setting | None, Callable[..., Way]]]] = {
    "telephone": (None, lambda seed: Telephone()),
    "noise": (_RATIO, White),
    "babble": (_RATIO, Babble),
    "loss": (Setting("percent", "of the packets are lost", float, least=0, most=100), lossy),
    "jitter": (Setting("ms", "the jitter of RFC 3550", int, least=1, most=500), jittered),
    "echo": (Setting("dB", "the level of the echo", float, least=-80, most=0), Echo),
}
"""Of each kind: the number behind its name, if it has one, and what makes the way from that and a seed."""


def line_at(address: str, seed: str = "") -> "SimulatedLine | None":
    """The line at an address (see the module); None for a clean one. SettingsError if there is none.

    seed: of what is random on it; each way has its own from it.
    """
    if address == CLEAN:
        return None
    place, query = split_query(address)
    kind, _, number = place.partition(":")
    if kind not in _WAYS:
        known = ", ".join([*_WAYS, CLEAN])
        raise SettingsError(f"line: expected one of {known}, got {kind!r}{nearest(kind, _WAYS)}")
    setting, make = _WAYS[kind]
    if setting is None and number:
        raise SettingsError(f"line: expected {kind} without a number, got {number!r}")
    given = [] if setting is None else [setting.read(f"line: {kind}", number)]
    has_back = values(f"line: {kind}", query_of(query), [BACK])["back"]
    return SimulatedLine(
        address, seed, make(*given, f"{seed}/A to B"), make(*given, f"{seed}/B to A") if has_back else None
    )


class SimulatedLine(CallLine):
    """A way from A to B, and perhaps one back."""

    def __init__(self, address: str, seed: str, to_b: Way, to_a: Way | None) -> None:
        self._address, self._seed = address, seed
        self._to_b, self._to_a = to_b, to_a

    def open(self, a_dbov: float | None, b_dbov: float | None) -> None:
        """Get ready; see `CallLine.open`."""
        self._to_b.open(a_dbov)
        if self._to_a is not None:
            self._to_a.open(b_dbov)

    def carry(self, frame_a: Pcm, frame_b: Pcm) -> tuple[Pcm, Pcm]:
        """The frames that A and B hear."""
        heard_by_b = self._to_b.carry(frame_a, frame_b)
        return (frame_b if self._to_a is None else self._to_a.carry(frame_b, frame_a)), heard_by_b

    def describe(self) -> Mapping[str, Any]:
        """Address and seed, and of each way its delay, what it adds, and the level that this goes by."""
        back = {} if self._to_a is None else {"to_a": self._described(self._to_a)}
        return {"name": self._address, "seed": self._seed, "to_b": self._described(self._to_b), **back}

    @staticmethod
    def _described(way: Way) -> dict[str, Any]:
        return {"delay_samples": way.delay_samples, **way.describe()}
