from typing import Final, Literal

import numpy as np
import numpy.typing as npt

OPERATIONS: Final[tuple[Literal["match"], Literal["substitution"], Literal["deletion"], Literal["insertion"]]]
FACTOR_ONE: Final[int]

def align_range(
    reference_acts: npt.NDArray[np.int8],
    reference_weights: npt.NDArray[np.int64],
    reference_offsets: npt.NDArray[np.int64],
    prediction_acts: npt.NDArray[np.int8],
    prediction_weights: npt.NDArray[np.int64],
    prediction_offsets: npt.NDArray[np.int64],
    first: int,
    scores: npt.NDArray[np.int64],
    operations: npt.NDArray[np.int8],
    path_starts: npt.NDArray[np.int64],
    factors: npt.NDArray[np.int16] | None = None,
) -> None: ...
