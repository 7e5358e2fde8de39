"""Limits from which on the sound of a side moves the edges of its speech, by detector.

`python -m benchmarks voices` measures it: a line is warned of where it moves offsets of the floor by more than a tick
at the median, or the share of premature answers by more than two points.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

NEVER: Final = float("inf")


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a detector. Of one that was not measured, all is told that moved the edges of any.

    soft_dbov: softer speech. nonstationary_snr_db: speech nearer to noise that changes. agc_rise_db: noise that rises
    by more within a pause. fade_ms: speech that takes longer to die away by 20 dB; voices alone take 2 to 39 ms,
    some synthetic ones 60, but see `tail_ms`.
    comfort_rise_db: noise between words that is so much louder than what lies under them. gate_fall_db: noise after
    speech that falls by so much at once.
    """

    soft_dbov: float = -45.0
    nonstationary_snr_db: float = 40.0
    agc_rise_db: float = 3.0
    fade_ms: float = 45.0
    comfort_rise_db: float = 4.0
    gate_fall_db: float = 3.5


MEASURED: Final[Mapping[str, Limits]] = {
    "silero": Limits(soft_dbov=-65.0, nonstationary_snr_db=28.0, comfort_rise_db=NEVER, gate_fall_db=NEVER),
    "energy": Limits(soft_dbov=-65.0),
}
"""By the name of the detector."""


def limits_of(vad: str) -> Limits:
    """The limits of a detector, by its name."""
    return MEASURED.get(vad, Limits())
