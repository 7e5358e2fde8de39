from typing import Self, final

import numpy as np
import numpy.typing as npt

@final
class Ear:
    def __new__(cls, taps: npt.NDArray[np.float32]) -> Self: ...
    def hear(
        self, pcm: npt.NDArray[np.int16]
    ) -> tuple[
        npt.NDArray[np.float32],
        npt.NDArray[np.float32],
        npt.NDArray[np.uint16],
        npt.NDArray[np.uint16],
        npt.NDArray[np.int16],
        npt.NDArray[np.int64],
    ]: ...
