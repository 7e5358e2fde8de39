from collections.abc import Mapping
from typing import Any, ClassVar, Self, final

import numpy as np
import numpy.typing as npt

from fdbcore._ext.bank import edges_hz as edges_hz

@final
class EnergyDetector:
    delay_ticks: ClassVar[int]
    settings: ClassVar[Mapping[str, Any]]
    def __new__(cls) -> Self: ...
    def push(self, frame: npt.NDArray[np.int16]) -> bool: ...
    def finish(self) -> list[bool]: ...
    @property
    def level_dbfs(self) -> float: ...
    @property
    def band_levels_dbfs(self) -> tuple[float, float, float]: ...
    @property
    def seems_active(self) -> bool: ...
