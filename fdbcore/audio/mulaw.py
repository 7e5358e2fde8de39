"""Mu-law, the 8 bits a sample of telephone networks (ITU-T G.711)."""

from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

from fdbcore.types import Pcm

_BIAS: Final = 132  # of the 16-bit value, so that each segment begins at a power of two
_CLIP: Final = 32_635


def mulaw(pcm: Pcm) -> bytes:
    """Samples, int16 (n,), as n bytes. A value between two steps goes to the lower one, as G.711's tables have it."""
    return _codes()[pcm.view(np.uint16)].tobytes()


def from_mulaw(data: bytes) -> Pcm:
    """The samples of n bytes, int16 (n,)."""
    return _values()[np.frombuffer(data, np.uint8)]


@cache
def _values() -> Pcm:
    """The value of each byte. Bits are inverted on the line; the first is the sign."""
    code = ~np.arange(256, dtype=np.int32) & 0xFF
    magnitude = (((code & 15) << 3) + _BIAS << (code >> 4 & 7)) - _BIAS
    values: Pcm = np.where(code & 128, -magnitude, magnitude).astype(np.int16)
    return values


@cache
def _codes() -> npt.NDArray[np.uint8]:
    """The byte of each value, by its bits as an unsigned number."""
    value = np.arange(65536, dtype=np.uint16).view(np.int16).astype(np.int32)
    magnitude = np.minimum(np.abs(value), _CLIP) + _BIAS
    segment = np.floor(np.log2(magnitude)).astype(np.int32) - 7
    code = np.where(value < 0, 128, 0) | segment << 4 | (magnitude >> segment + 3) & 15
    codes: npt.NDArray[np.uint8] = (~code & 0xFF).astype(np.uint8)
    return codes
