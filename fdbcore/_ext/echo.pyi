from typing import Final

import numpy as np
import numpy.typing as npt

N_WEIGHTS: Final[int]
REACH_TICKS: Final[int]

def heard_before(source: npt.NDArray[np.float32], first: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]: ...
def response(
    before: npt.NDArray[np.float64], power: npt.NDArray[np.float32], noise: float, start: float, most: float
) -> npt.NDArray[np.float64]: ...
def explained(before: npt.NDArray[np.float64], weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]: ...
