from collections.abc import Callable
from typing import NamedTuple, Self, final

import numpy as np
import numpy.typing as npt

CONCEALED_FLAG: int
SILENT_FLAG: int

class DelayChange(NamedTuple):
    tick: int
    kind: str
    offset_samples: int
    delay_samples: int
    amount_samples: int

class JitterStats(NamedTuple):
    received: int
    duplicates: int
    reordered: int
    foreign: int
    late: int
    lost: int
    invalid: int
    overflowed: int
    new_ssrcs: int
    lost_samples: int
    longest_loss_samples: int
    paused_samples: int
    unexplained_samples: int
    concealed_samples: int
    silent_samples: int
    dropped_samples: int
    slipped_samples: int

@final
class JitterBuffer:
    def __new__(cls) -> Self: ...
    @property
    def delay_samples(self) -> int: ...
    @property
    def waited_samples(self) -> int: ...
    def add(self, payload: bytes, ssrc: int, sequence: int, timestamp: int, arrival_ns: int) -> None: ...
    def start(self, origin_ns: int) -> None: ...
    def play_into(
        self, frame: npt.NDArray[np.int16], tick: int, decode: Callable[[bytes], npt.NDArray[np.int16]]
    ) -> int: ...
    def drain(self) -> list[DelayChange]: ...
    def arrivals(self) -> npt.NDArray[np.int64]: ...
    def stats(self) -> JitterStats: ...
