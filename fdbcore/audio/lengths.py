"""Reads the length that a file states, and how much audio it really holds."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

_LEFT_OPEN_BYTES: Final = 0x7FFF_F000  # a writer that cannot seek states 2 or 4 GiB, less its header or a page
_IN_DS64: Final = 0xFFFF_FFFF  # RF64: this size stands in the ds64 chunk, with 64 bits
_CHUNK_HEADER_BYTES: Final = 8
_AFTER_AUDIO: Final = {
    b"LIST",
    b"id3 ",
    b"ID3 ",
    b"bext",
    b"cue ",
    b"fact",
    b"smpl",
    b"inst",
    b"iXML",
    b"_PMX",
    b"PEAK",
}
_TAGS: Final = (b"TAG", b"ID3", b"APETAGEX")  # tags of MP3 files; some writers append them to any file
_MOST_PADDING_BYTES: Final = 65_536  # zeros up to the end of a page or a cluster

# These containers store their length. For others FFmpeg guesses it from the bit rate at the start.
_STATE_LENGTH: Final = frozenset(
    {"aiff", "ape", "asf", "au", "avi", "caf", "flac", "flv", "matroska,webm", "mov,mp4,m4a,3gp,3g2,mj2", "mpeg"}
    | {"mpegts", "ogg", "tta", "w64", "wav", "wv"}
)
_IN_FIRST_MP3_FRAME: Final = (b"Xing", b"Info", b"VBRI")
_MOST_MP3_FRAME_BYTES: Final = 2_881

# ISO 11172-3, 2.4.2.3, and ISO 13818-3: kbit/s by (whether it is MPEG-1, code of the layer: 1 is III, 2 is II)
_MPEG_KBIT_S: Final = {
    (True, 1): (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    (True, 2): (32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384),
    (False, 1): (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
    (False, 2): (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
_MPEG_RATES_HZ: Final = (44_100, 48_000, 32_000)
_MPEG_HALVED: Final = {3: 0, 2: 1, 0: 2}  # how often the rate is halved, by the code of the version (MPEG-1, 2, 2.5)


def stated_s(container: Any, stream: Any, path: Path) -> float | None:  # noqa: ANN401
    """The length in seconds that an open file states; None if it states none. Raises OSError.

    container, stream: of PyAV.
    """
    name = container.format.name
    if name not in _STATE_LENGTH and not (name == "mp3" and _mp3_states_length(path)):
        return None
    if stream.duration:
        return float(stream.duration * stream.time_base)
    return container.duration / 1_000_000 if container.duration and len(container.streams) == 1 else None


def _mp3_states_length(path: Path) -> bool:
    """Whether the first frame (after an ID3 tag, if there is one) holds a header that states how many frames follow."""
    with open(path, "rb") as file:
        start = file.read(10)
        if start[:3] == b"ID3":
            size = 0
            for byte in start[6:]:  # ID3v2 stores seven bits of its size in each byte
                size = size * 128 + byte % 128
            file.seek(10 + size)
        first = start + file.read(_MOST_MP3_FRAME_BYTES)
        return any(name in first for name in _IN_FIRST_MP3_FRAME)


def is_cut_mpeg_frame(packet: bytes) -> bool:
    """Whether `packet` begins a frame of MPEG audio layer II or III, and is shorter than its header says."""
    if len(packet) < 4 or packet[0] != 0xFF or packet[1] < 0xE0:
        return False
    version, layer = packet[1] >> 3 & 3, packet[1] >> 1 & 3
    rate_code, kbit_s_code, padding = packet[2] >> 2 & 3, packet[2] >> 4, packet[2] >> 1 & 1
    if version == 1 or layer in (0, 3) or rate_code == 3 or kbit_s_code in (0, 15):
        return False
    samples = 1152 if version == 3 or layer == 2 else 576
    kbit_s = _MPEG_KBIT_S[version == 3, layer][kbit_s_code - 1]
    rate_hz = _MPEG_RATES_HZ[rate_code] >> _MPEG_HALVED[version]
    return len(packet) < samples * kbit_s * 125 // rate_hz + padding


class WavData(NamedTuple):
    """How many bytes of audio a WAV file states and holds.

    stated_bytes: as its header says; None if the writer left it open (0, or an enormous size), as streams and crashed
    recorders do. held_bytes: up to the end of the file, or up to the chunks that follow the stated bytes.
    """

    stated_bytes: int | None
    held_bytes: int

    @property
    def missing_bytes(self) -> int:
        """How many stated bytes are missing; 0 if none."""
        return max((self.stated_bytes or 0) - self.held_bytes, 0)

    @property
    def unstated_bytes(self) -> int:
        """How many bytes follow beyond the stated ones: a recorder that crashes leaves the size of its last flush."""
        return 0 if self.stated_bytes is None else max(self.held_bytes - self.stated_bytes, 0)


def wav_data(path: Path) -> WavData | None:
    """How much audio a WAV, RF64 or BW64 file states and holds; None for another file, or if it has no data chunk.

    Raises OSError.
    """
    with open(path, "rb") as file:
        start = file.read(12)
        if start[:4] not in (b"RIFF", b"RF64", b"BW64") or start[8:] != b"WAVE":
            return None
        stated_64 = None
        while len(header := file.read(_CHUNK_HEADER_BYTES)) == _CHUNK_HEADER_BYTES:
            size, at = int.from_bytes(header[4:], "little"), file.tell()
            if header[:4] == b"data":
                left_open = size == 0 or size >= _LEFT_OPEN_BYTES
                stated_bytes = stated_64 if size == _IN_DS64 else None if left_open else size
                return WavData(stated_bytes, _held_bytes(file, at, stated_bytes))
            if header[:4] == b"ds64":
                stated_64 = int.from_bytes(file.read(16)[8:], "little") or None
            file.seek(at + size + size % 2)  # chunks are padded to even sizes
    return None


def _held_bytes(file: BinaryIO, start: int, stated_bytes: int | None) -> int:
    """How many bytes of audio follow `start`: the stated ones only if what follows them is not audio."""
    end = file.seek(0, os.SEEK_END)
    if stated_bytes is None or start + stated_bytes >= end:
        return end - start
    ends = {start + stated_bytes, start + stated_bytes + stated_bytes % 2}  # not all writers pad to even sizes
    return stated_bytes if any(_is_no_audio(file, at, end) for at in ends) else end - start


def _is_no_audio(file: BinaryIO, start: int, end: int) -> bool:
    """Whether the bytes from `start` to `end` are nothing, tags, padding, or chunks (the last may be cut off)."""
    file.seek(start)
    first = file.read(_CHUNK_HEADER_BYTES)
    if len(first) < _CHUNK_HEADER_BYTES or first.startswith(_TAGS) or first[:4] in _AFTER_AUDIO:
        return True
    if end - start <= _MOST_PADDING_BYTES and not any(first + file.read()):
        return True
    at = start
    while end - at >= _CHUNK_HEADER_BYTES:
        file.seek(at)
        header = file.read(_CHUNK_HEADER_BYTES)
        size = int.from_bytes(header[4:], "little")
        if not all(32 <= byte < 127 for byte in header[:4]):
            return False
        at += _CHUNK_HEADER_BYTES + size + size % 2
    return at <= end + 1
