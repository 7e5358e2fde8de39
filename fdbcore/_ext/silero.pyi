from collections.abc import Sequence
from typing import Self, final

import numpy as np
import numpy.typing as npt

@final
class SileroWeights:
    def __new__(
        cls,
        fft: int,
        window: npt.NDArray[np.float32],
        circle: npt.NDArray[np.float32],
        weights: Sequence[npt.NDArray[np.float32]],
        biases: Sequence[npt.NDArray[np.float32]],
    ) -> Self: ...

@final
class SileroStream:
    def __new__(cls, weights: SileroWeights, most_lanes: int = 16) -> Self: ...
    @property
    def window_samples(self) -> int: ...
    def process(self, window: npt.NDArray[np.int16], gain: float = 1.0) -> float: ...
