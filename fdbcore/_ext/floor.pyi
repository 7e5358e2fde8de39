from typing import Final, Self, final

from fdbcore.types import Pcm

LOUD_ENERGY: Final[int]
QUIET_ENERGY: Final[int]

@final
class NoiseFloor:
    def __new__(cls) -> Self: ...
    def is_quiet(self, frame: Pcm) -> bool: ...
