from typing import Self, final

@final
class DecodedAudio:
    def __new__(cls) -> Self: ...
