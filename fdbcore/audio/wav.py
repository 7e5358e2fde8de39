"""Writes WAV files that stay readable whatever happens to the process."""

import contextlib
import io
import os
import struct
import wave
from pathlib import Path
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from fdbcore.errors import FrameError, RecordingError
from fdbcore.types import SAMPLE_RATE_HZ

HEADER_BYTES: Final = 80
"""The length of the header before the audio, in the files written here."""
_SAMPLE_BYTES: Final = 2
_IN_DS64: Final = 0xFFFFFFFF  # as a 32-bit size: the real size stands in the ds64 chunk
_LARGEST_RIFF_BYTES: Final = _IN_DS64 - 1


def is_session_format(path: Path) -> bool:
    """True if the header of a WAV file states int16 of two channels at 48 kHz. Raises OSError."""
    with open(path, "rb") as file:
        return _format(2) in file.read(HEADER_BYTES)


def _format(channels: int) -> bytes:
    """The chunk that states int16 at 48 kHz."""
    block_bytes = channels * _SAMPLE_BYTES
    return struct.pack(
        "<4sIHHIIHH", b"fmt ", 16, 1, channels, SAMPLE_RATE_HZ, SAMPLE_RATE_HZ * block_bytes, block_bytes, 16
    )


def wav_header(channels: int, data_bytes: int) -> bytes:
    """The header of 80 bytes before `data_bytes` of int16 audio at 48 kHz.

    A JUNK chunk reserves the place for the ds64 chunk, which holds the sizes once they need 64 bits (RF64, EBU Tech
    3306).
    """
    riff_bytes = HEADER_BYTES - 8 + data_bytes
    form = _format(channels)
    if riff_bytes <= _LARGEST_RIFF_BYTES:
        start = struct.pack("<4sI4s4sI28x", b"RIFF", riff_bytes, b"WAVE", b"JUNK", 28)
        return start + form + struct.pack("<4sI", b"data", data_bytes)
    sizes = struct.pack("<QQQI", riff_bytes, data_bytes, data_bytes // (channels * _SAMPLE_BYTES), 0)
    start = struct.pack("<4sI4s4sI", b"RF64", _IN_DS64, b"WAVE", b"ds64", 28) + sizes
    return start + form + struct.pack("<4sI", b"data", _IN_DS64)


def wav_bytes(pcm: npt.NDArray[np.int16], rate_hz: int) -> bytes:
    """A whole WAV file of mono int16 (n,): a header of 44 bytes, then the audio."""
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(_SAMPLE_BYTES)
        writer.setframerate(rate_hz)
        writer.writeframes(pcm.astype("<i2").tobytes())
    return file.getvalue()


class WavWriter:
    """Writes int16 audio at 48 kHz. What `write` has taken stays readable if the process crashes.

    The audio and the sizes in the header reach the operating system before `write` returns. Beyond 4 GiB the file
    becomes RF64. If the disk is full, `write` raises one RecordingError, and the file is closed with all that could be
    written.

    path: overwritten if it exists. channels: 1 or more, interleaved. RecordingError if the file cannot be opened.
    """

    def __init__(self, path: str | os.PathLike[str], channels: int) -> None:
        self.path = Path(path)
        self.channels = channels
        self._file_bytes = 0
        try:
            self._file = open(self.path, "wb", buffering=0)
        except OSError as error:
            raise RecordingError(f"{self.path}: expected a file to write audio to, got: {error.strerror}") from error
        self._append(memoryview(wav_header(channels, 0)))

    @property
    def samples(self) -> int:
        """The number of whole samples per channel that the file holds."""
        return max(0, self._file_bytes - HEADER_BYTES) // self._block_bytes

    def write(self, pcm: npt.NDArray[np.int16]) -> None:
        """Append int16 (n, channels); a mono file also takes (n,). FrameError for anything else."""
        row_shapes = ((1,), ()) if self.channels == 1 else ((self.channels,),)
        if pcm.dtype != np.int16 or pcm.ndim not in (1, 2) or pcm.shape[1:] not in row_shapes:
            raise FrameError(f"pcm: expected int16 (n, {self.channels}), got {pcm.dtype} {pcm.shape}")
        self._append(np.ascontiguousarray(pcm, dtype="<i2").reshape(-1).view(np.uint8).data)
        self._state_sizes()

    def close(self) -> None:
        """Write the final sizes and close the file. Does nothing a second time, or after a failure."""
        if not self._file.closed:
            with self._file:
                self._state_sizes()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def _block_bytes(self) -> int:
        return self.channels * _SAMPLE_BYTES

    def _append(self, data: memoryview) -> None:
        if self._file.closed:
            raise RecordingError(f"{self.path}: expected an open file, got one that was closed after {self._length()}")
        end = self._file_bytes + len(data)
        try:
            while self._file_bytes < end:
                self._file_bytes += self._file.write(data[self._file_bytes - end :])
        except OSError as error:
            raise self._failure(error) from error

    def _state_sizes(self) -> None:
        try:
            os.pwrite(self._file.fileno(), wav_header(self.channels, self.samples * self._block_bytes), 0)
        except OSError as error:
            raise self._failure(error) from error

    def _failure(self, error: OSError) -> RecordingError:
        """Close the file, with correct sizes if they can still be written; readers stop at its end anyway."""
        with self._file, contextlib.suppress(OSError):
            os.pwrite(self._file.fileno(), wav_header(self.channels, self.samples * self._block_bytes), 0)
        return RecordingError(f"{self.path}: expected to write audio, got: {error.strerror}; {self._length()} are kept")

    def _length(self) -> str:
        return f"{self.samples / SAMPLE_RATE_HZ:.2f} s"
