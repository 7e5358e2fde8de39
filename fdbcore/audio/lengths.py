"""Reads the length that a file states, and how much audio it really holds."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, NamedTuple

from fdbcore.audio.ogg import MOST_PAGE_BYTES, is_last_page
from fdbcore.clock import clock_s

_IN_DS64: Final = 0xFFFF_FFFF  # RF64: this size stands in the ds64 chunk, with 64 bits


class _Form(NamedTuple):
    """The layout of chunks in a kind of file: a name, a size, the content, and what fills up to a multiple of `align`.

    left_open: a writer that cannot seek states 0, or this and more. includes_header: the size counts name and size.
    before_audio: bytes between the size of the chunk with the audio and its first sample, which the size counts.
    """

    first_chunk: int
    left_open: int
    audio: bytes = b"data"
    name_bytes: int = 4
    size_bytes: int = 4
    order: Literal["little", "big"] = "big"
    align: int = 2
    includes_header: bool = False
    before_audio: int = 0

    def size(self, header: bytes) -> int:
        """The size of the content of a chunk."""
        stated = int.from_bytes(header[self.name_bytes :], self.order, signed=self.size_bytes == 8)
        return stated - self.header_bytes * self.includes_header

    @property
    def header_bytes(self) -> int:
        """The length of name and size."""
        return self.name_bytes + self.size_bytes


_WAV: Final = _Form(12, 0x7FFF_F000, order="little")  # 2 or 4 GiB, less its header or a page
_FORMS: Final = {
    (b"RIFF", b"WAVE"): _WAV,
    (b"RF64", b"WAVE"): _WAV,
    (b"BW64", b"WAVE"): _WAV,
    (b"FORM", b"AIFF"): (_aiff := _Form(12, 0x7F00_0000, audio=b"SSND", before_audio=8)),
    (b"FORM", b"AIFC"): _aiff,
    (b"riff", b""): _Form(40, 1 << 62, b"data", 16, 8, "little", 8, includes_header=True),  # Wave64
    (b"caff", b""): _Form(8, 1 << 62, size_bytes=8, align=1, before_audio=4),
    (b".snd", b""): (_AU := _Form(4, 0xFFFF_FFFF)),
}
"""By the first four bytes, and those at 8: uncompressed audio, whose header states how many bytes it has."""

_STARTS: Final = frozenset({*(start for start, _ in _FORMS), b"fLaC", b"OggS"})
"""The first bytes of an audio file: what begins so after the audio is another one."""
_AFTER_AUDIO: Final = frozenset(
    {b"LIST", b"id3 ", b"ID3 ", b"bext", b"cue ", b"fact", b"smpl", b"inst", b"iXML", b"_PMX", b"PEAK"}
)
_TAGS: Final = (b"TAG", b"ID3", b"APETAGEX")  # tags of MP3 files; some writers append them to any file
_MOST_PADDING_BYTES: Final = 65_536  # zeros up to the end of a page or a cluster

# These containers store their length. For others FFmpeg guesses it from the bit rate at the start.
_STATE_LENGTH: Final = frozenset(
    {"aiff", "ape", "asf", "au", "avi", "caf", "flac", "flv", "matroska,webm", "mov,mp4,m4a,3gp,3g2,mj2", "mpeg"}
    | {"mpegts", "nistsphere", "ogg", "tta", "w64", "wav", "wv"}
)
STATE_SAMPLES: Final = frozenset({"flac", "nistsphere", "tta", "wv"})
"""Containers of lossless audio whose header states how many samples they have."""

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
_MPEG_HALVED: Final = {3: 0, 2: 1, 0: 2}  # halvings of the rate by the code of the version (MPEG-1, 2, 2.5)


def stated_s(container: Any, stream: Any, path: Path) -> float | None:  # noqa: ANN401
    """The length in seconds that an open file states; None if it states none. Raises OSError.

    container, stream: of PyAV.
    """
    name = container.format.name
    if name not in _STATE_LENGTH and not (name == "mp3" and _mp3_states_length(path)):
        return None
    if stream.duration:
        return float(stream.duration * stream.time_base)
    with suppress(ValueError):
        if (of_stream_s := clock_s(stream.metadata.get("DURATION", ""))) is not None:  # Matroska
            return of_stream_s
    return container.duration / 1_000_000 if container.duration and len(container.streams) == 1 else None


def _mp3_states_length(path: Path) -> bool:
    """True if the first frame (after an ID3 tag, if there is one) holds a header that states how many frames follow."""
    with open(path, "rb") as file:
        start = file.read(10)
        if start[:3] == b"ID3":
            # ID3v2 stores seven bits of its size in each byte, the last bits first here
            file.seek(10 + sum(byte % 128 << 7 * place for place, byte in enumerate(start[:5:-1])))
        first = start + file.read(_MOST_MP3_FRAME_BYTES)
        return any(name in first for name in _IN_FIRST_MP3_FRAME)


def is_cut_mpeg_frame(packet: bytes) -> bool:
    """True if `packet` begins a frame of MPEG audio layer II or III, and is shorter than its header says."""
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


class StatedData(NamedTuple):
    """Bytes of audio that a file states and holds.

    stated_bytes: as its header says; None if the writer left it open (0, or an enormous size), as streams and crashed
    recorders do. held_bytes: up to the end of the file, or up to the chunks that follow the stated bytes. is_wav:
    whether it is WAV, RF64 or BW64. another_bytes: how many bytes after it another audio file has.
    """

    stated_bytes: int | None
    held_bytes: int
    is_wav: bool = True
    another_bytes: int = 0

    @property
    def missing_bytes(self) -> int:
        """The number of stated bytes that are missing; 0 if none."""
        return max((self.stated_bytes or 0) - self.held_bytes, 0)

    @property
    def unstated_bytes(self) -> int:
        """The number of bytes beyond the stated ones: a recorder that crashes leaves the size of its last flush."""
        return 0 if self.stated_bytes is None else max(self.held_bytes - self.stated_bytes, 0)


def stated_data(path: Path) -> StatedData | None:
    """The stated and held audio of a WAV, RF64, BW64, AIFF, AIFC, Wave64, CAF or AU file.

    None for another file, or if it has no chunk with audio. Raises OSError.
    """
    with open(path, "rb") as file:
        start = file.read(12)
        form = _FORMS.get((start[:4], start[8:])) or _FORMS.get((start[:4], b""))
        if form is None:
            return None
        if start[:4] == b".snd":  # no chunks: where the audio begins, and its size
            at, size = int.from_bytes(start[4:8], "big"), int.from_bytes(start[8:], "big")
            return _data(file, form, at, size)
        stated_64 = None
        file.seek(form.first_chunk)
        while len(header := file.read(form.header_bytes)) == form.header_bytes:
            size, at = form.size(header), file.tell()
            if header[:4] == form.audio:
                if form is _WAV and size == _IN_DS64:
                    held_bytes = _held_bytes(file, form, at, stated_64)
                    return StatedData(stated_64, held_bytes, True, _another_bytes(file, form, at + held_bytes))
                return _data(file, form, at + form.before_audio, size - form.before_audio)
            if header[:4] == b"ds64":
                stated_64 = int.from_bytes(file.read(16)[8:], "little") or None
            if size > os.fstat(file.fileno()).st_size:
                break
            file.seek(at + max(size, 0) + -size % form.align)
    return None


def _data(file: BinaryIO, form: _Form, start: int, size: int) -> StatedData:
    stated_bytes = size if 0 < size < form.left_open else None
    held_bytes = _held_bytes(file, form, start, stated_bytes)
    return StatedData(stated_bytes, held_bytes, form is _WAV, _another_bytes(file, form, start + held_bytes))


def _another_bytes(file: BinaryIO, form: _Form, at: int) -> int:
    """Bytes from `at` on that are another audio file: streams and recorders that cut write several in a row."""
    end = file.seek(0, os.SEEK_END)
    for start in (at, at + -at % form.align):
        file.seek(start)
        if file.read(4) in _STARTS:
            return end - start
    return 0


def _held_bytes(file: BinaryIO, form: _Form, start: int, stated_bytes: int | None) -> int:
    """The bytes of audio that follow `start`: the stated ones only if what follows them is not audio."""
    end = file.seek(0, os.SEEK_END)
    if stated_bytes is None or start + stated_bytes >= end:
        return end - start
    ends = {start + stated_bytes, start + stated_bytes + -stated_bytes % form.align}  # not all writers fill up
    return stated_bytes if any(_is_no_audio(file, form, at, end) for at in ends) else end - start


def _is_no_audio(file: BinaryIO, form: _Form, start: int, end: int) -> bool:
    """True if the bytes from `start` to `end` are nothing, tags, padding, or chunks (the last may be cut off)."""
    file.seek(start)
    first = file.read(form.header_bytes)
    few_bytes = form.header_bytes if form is _WAV else 1  # some writers of WAV leave some bytes
    if len(first) < few_bytes or first.startswith(_TAGS) or first[:4] in _AFTER_AUDIO:
        return True
    if form is not _AU and first[:4] in _STARTS:  # FFmpeg reads all of an AU file as audio
        return True
    if end - start <= _MOST_PADDING_BYTES and not any(first + file.read()):
        return True
    at = start
    while end - at >= form.header_bytes:
        file.seek(at)
        header = file.read(form.header_bytes)
        size = form.size(header)
        if size < 0 or not all(32 <= byte < 127 for byte in header[:4]):
            return False
        at += form.header_bytes + size + -size % form.align
    return -form.align < end - at < few_bytes


def is_open_ogg(path: Path) -> bool:
    """True if the last whole page of an Ogg file does not say that it is the last. Raises OSError."""
    with open(path, "rb") as file:
        file.seek(max(file.seek(0, os.SEEK_END) - 2 * MOST_PAGE_BYTES, 0))
        return not is_last_page(file.read())
