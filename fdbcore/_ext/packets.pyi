from typing import Self, final

def opus_samples(payload: bytes) -> int: ...

@final
class PacketWindow:
    def __new__(cls) -> Self: ...
