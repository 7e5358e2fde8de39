"""Opus (RFC 6716), frame by frame, always at 48 kHz.

The codec is the libopus that PyAV ships. It is called without releasing the GIL: a frame takes 20 to 50 us, but if
another Python thread is busy, getting the GIL back would take sys.getswitchinterval() (5 ms) on every call.
"""

import ctypes
import ctypes.util
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, Literal

import numpy as np

from fdbcore.errors import FrameError, MissingExtraError
from fdbcore.types import SAMPLE_RATE_HZ, TICK_MS, Pcm

APPLICATIONS: Final = {"voip": 2048, "lowdelay": 2051}
_SET_BITRATE: Final = 4002  # OPUS_SET_BITRATE_REQUEST in opus_defines.h
_SET_COMPLEXITY: Final = 4010
_LOOKAHEAD: Final = 4027  # OPUS_GET_LOOKAHEAD_REQUEST
_MAX_PACKET_BYTES: Final = 1275 * 3 + 7  # the size that libopus's documentation recommends for one packet
_MAX_PACKET_SAMPLES: Final = SAMPLE_RATE_HZ * 120 // 1000  # a packet holds at most 120 ms


class OpusEncoder:
    """Encodes mono frames of one length at 48 kHz, each to one packet.

    frame_ms: 10, 20, 40 or 60. bit_rate: in bit/s. application: "voip" is tuned for speech, "lowdelay" has the
    shorter look-ahead. complexity: from 0 to 10, how much work goes into a frame. look_ahead_samples: by how much the
    decoded signal lags the input.
    """

    def __init__(
        self,
        frame_ms: int = TICK_MS,
        bit_rate: int = 64_000,
        application: Literal["voip", "lowdelay"] = "lowdelay",
        complexity: int = 9,
    ) -> None:
        self.frame_samples = frame_ms * SAMPLE_RATE_HZ // 1000
        self._opus = _libopus()
        self._encoder = ctypes.c_void_p(
            self._opus.opus_encoder_create(SAMPLE_RATE_HZ, 1, APPLICATIONS[application], None)
        )
        self._opus.opus_encoder_ctl(self._encoder, _SET_BITRATE, ctypes.c_int(bit_rate))
        self._opus.opus_encoder_ctl(self._encoder, _SET_COMPLEXITY, ctypes.c_int(complexity))
        look_ahead = ctypes.c_int()
        self._opus.opus_encoder_ctl(self._encoder, _LOOKAHEAD, ctypes.byref(look_ahead))
        self.look_ahead_samples = look_ahead.value
        self._packet = ctypes.create_string_buffer(_MAX_PACKET_BYTES)

    def encode(self, pcm: Pcm) -> bytes:
        """The packet of the next frame. pcm: contiguous int16 (frame_samples,), otherwise FrameError."""
        if pcm.shape != (self.frame_samples,) or pcm.dtype != np.int16 or not pcm.flags.c_contiguous:
            raise FrameError(f"opus: expected int16 ({self.frame_samples},), got {pcm.dtype} {pcm.shape}")
        size = self._opus.opus_encode(
            self._encoder, pcm.ctypes.data, self.frame_samples, self._packet, _MAX_PACKET_BYTES
        )
        if size < 0:
            raise FrameError(f"opus: expected a frame that can be encoded, got error {size}")
        return ctypes.string_at(self._packet, size)

    def __del__(self) -> None:
        if hasattr(self, "_encoder"):
            self._opus.opus_encoder_destroy(self._encoder)


class OpusDecoder:
    """Decodes packets (mono or stereo, of any length) to mono at 48 kHz, and conceals lost ones."""

    def __init__(self) -> None:
        self._opus = _libopus()
        self._decoder = ctypes.c_void_p(self._opus.opus_decoder_create(SAMPLE_RATE_HZ, 1, None))
        self._pcm = np.empty(_MAX_PACKET_SAMPLES, dtype=np.int16)
        self._address = self._pcm.ctypes.data

    def decode(self, packet: bytes) -> Pcm:
        """The samples of a packet, int16 (n,), valid until the next call. FrameError if it is not an Opus packet.

        To conceal a lost packet, pass one byte: the TOC byte of the packet before it & 0xFC. It gives as many samples
        as that packet.
        """
        samples = -1  # refuse an empty packet: libopus would conceal 120 ms for it
        if packet:
            samples = self._opus.opus_decode(self._decoder, packet, len(packet), self._address, _MAX_PACKET_SAMPLES, 0)
        if samples < 0:
            raise FrameError(f"opus: expected a packet, got {len(packet)} bytes that are not one (error {samples})")
        return self._pcm[:samples]

    def __del__(self) -> None:
        if hasattr(self, "_decoder"):
            self._opus.opus_decoder_destroy(self._decoder)


@cache
def _libopus() -> ctypes.PyDLL:  # PyDLL keeps the GIL during a call
    for path in _candidates():
        try:
            opus = ctypes.PyDLL(path)
        except OSError:
            continue
        pointer, integer = ctypes.c_void_p, ctypes.c_int
        opus.opus_encoder_create.restype = opus.opus_decoder_create.restype = pointer
        opus.opus_encode.argtypes = [pointer, pointer, integer, ctypes.c_char_p, integer]
        opus.opus_decode.argtypes = [pointer, ctypes.c_char_p, integer, pointer, integer, integer]
        opus.opus_encoder_destroy.restype = opus.opus_decoder_destroy.restype = None
        return opus
    raise MissingExtraError("opus: expected PyAV with libopus (its wheels have it) or libopus itself, found neither")


def _candidates() -> Iterator[str]:
    """Paths of libopus: those in PyAV's wheel (Linux, macOS), then the system's own."""
    import av

    package = Path(av.__file__).parent
    for folder in (package.parent / "av.libs", package / ".dylibs"):
        yield from map(str, sorted(folder.glob("libopus*")))
    if installed := ctypes.util.find_library("opus"):
        yield installed
