from typing import Self, final

import numpy as np
import numpy.typing as npt

@final
class RealFourier:
    def __new__(cls, n: int, window: npt.NDArray[np.float32] | None = None, most_lanes: int = 8) -> Self: ...
    def lines(self, rows: npt.NDArray[np.float32]) -> npt.NDArray[np.complex64]: ...
    def powers(self, rows: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]: ...
