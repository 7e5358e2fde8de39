from typing import NamedTuple, Self, TypeAlias, final

import numpy as np
import numpy.typing as npt

_Samples: TypeAlias = (
    npt.NDArray[np.int16]
    | npt.NDArray[np.float32]
    | npt.NDArray[np.float64]
    | npt.NDArray[np.int32]
    | npt.NDArray[np.uint8]
)

MOST_ITEMS: int

class HeardItem(NamedTuple):
    number: int
    start_sample: int
    pushed_samples: int
    heard_samples: int
    flushed_samples: int
    first_frame: int | None
    ended: bool

class PlayoutStats(NamedTuple):
    pushed_samples: int
    heard_samples: int
    flushed_samples: int
    queued_samples: int
    dropped_samples: int
    padded_samples: int
    idle_samples: int
    underruns: int
    longest_underrun_samples: int

def to_int16(pcm: _Samples, start_sample: int = 0) -> npt.NDArray[np.int16]: ...
def to_mono(pcm: npt.NDArray[np.int16] | npt.NDArray[np.float32]) -> npt.NDArray[np.int16]: ...

@final
class PlayoutQueue:
    def __new__(cls, capacity_ms: int = 60_000) -> Self: ...
    def push(self, pcm: npt.NDArray[np.int16] | npt.NDArray[np.float32]) -> int: ...
    def end_item(self) -> None: ...
    def flush(self) -> None: ...
    def pop_into(self, frame: npt.NDArray[np.int16]) -> int: ...
    def heard(self) -> list[HeardItem]: ...
    def item(self, number: int) -> HeardItem | None: ...
    @property
    def begun_items(self) -> int: ...
    @property
    def waiting_items(self) -> int: ...
    def stats(self) -> PlayoutStats: ...
