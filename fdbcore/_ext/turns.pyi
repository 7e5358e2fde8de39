from typing import Self, final

import numpy as np
import numpy.typing as npt

from fdbcore.types import TurnEvent, TurnSettings

KINDS: tuple[str, ...]
SIDES: tuple[str, ...]

@final
class TurnDetector:
    def __new__(cls, settings: TurnSettings | None = None, vad_delay_ticks: int = 0) -> Self: ...
    def push(self, tick: int, active_a: bool, active_b: bool) -> list[TurnEvent]: ...
    def push_all(self, active_a: npt.NDArray[np.uint8], active_b: npt.NDArray[np.uint8]) -> list[TurnEvent]: ...
    def finish(self) -> list[TurnEvent]: ...
