"""Ogg Opus as a live stream: turns packets into pages and back, each as soon as it is whole (RFC 3533, RFC 7845).

libavformat is made for whole files: it probes, buffers, and takes times from granule positions. Each of these would
delay a live stream.
"""

import struct
import zlib
from typing import Final, NamedTuple

from fdbcore.errors import AudioError, SettingsError
from fdbcore.types import SAMPLE_RATE_HZ

_CAPTURE: Final = b"OggS"
_HEADER: Final = struct.Struct("<4sBBqIIIB")  # capture, version, flags, granule, serial, sequence, CRC, segments
_CRC: Final = slice(22, 26)
_CONTINUED, _FIRST, _LAST = 1, 2, 4
_FULL: Final = 255  # a segment of this length is not the last of its packet
_LONGEST_PACKET: Final = 1 << 20
_HEAD: Final = struct.Struct("<8sBBHIhB")  # OpusHead, version, channels, pre-skip, input rate, gain, mapping family
MOST_PAGE_BYTES: Final = _HEADER.size + 255 + 255 * _FULL
_REVERSED: Final = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def checksum(page: bytes) -> int:
    """The CRC of a page whose CRC field is zero (RFC 3533): polynomial 0x04c11db7, most significant bit first.

    zlib has the same polynomial, but takes the bits of each byte in the opposite order, and inverts and mirrors the
    result. So bytes and result are mirrored here, and the inversion is undone.
    """
    mirrored = zlib.crc32(page.translate(_REVERSED), 0xFFFFFFFF) ^ 0xFFFFFFFF
    return int.from_bytes(mirrored.to_bytes(4, "little").translate(_REVERSED), "big")


def is_last_page(data: bytes) -> bool:
    """True if the last whole page in `data` is flagged as the last of its stream."""
    start = data.rfind(_CAPTURE)
    while start >= 0:
        if (page := _page_at(data, start)) is not None:
            return bool(page.flags & _LAST)
        start = data.rfind(_CAPTURE, 0, start)
    return False


class OggOpusWriter:
    """Writes one mono stream, a page for each packet.

    pre_skip_samples: how many samples a decoder drops at the beginning (at 48 kHz). serial: the number of the stream.
    """

    def __init__(self, pre_skip_samples: int, serial: int = 1) -> None:
        self._pre_skip_samples = pre_skip_samples
        self._serial = serial
        self._pages = 0
        self._end_sample = 0

    def headers(self) -> bytes:
        """The two pages that must come first: the identification and the (empty) comments."""
        head = _HEAD.pack(b"OpusHead", 1, 1, self._pre_skip_samples, SAMPLE_RATE_HZ, 0, 0)
        vendor = b"fdbcore"
        tags = b"OpusTags" + struct.pack("<I", len(vendor)) + vendor + struct.pack("<I", 0)
        return self._page(head, _FIRST) + self._page(tags, 0)

    def page(self, packet: bytes, samples: int) -> bytes:
        """The page of the next packet. samples: its length at 48 kHz. SettingsError if it exceeds 65,024 bytes."""
        self._end_sample += samples
        return self._page(packet, 0)

    def _page(self, packet: bytes, flags: int) -> bytes:
        full, rest = divmod(len(packet), _FULL)
        if full >= _FULL:
            raise SettingsError(f"packet: expected at most {_FULL * _FULL - 1} bytes for one page, got {len(packet)}")
        lacing = bytes([_FULL] * full + [rest])
        header = _HEADER.pack(_CAPTURE, 0, flags, self._end_sample, self._serial, self._pages, 0, len(lacing))
        page = bytearray(header + lacing + packet)
        page[_CRC] = struct.pack("<I", checksum(bytes(page)))
        self._pages += 1
        return bytes(page)


class _Page(NamedTuple):
    flags: int
    serial: int
    sequence: int
    lacing: bytes
    body: bytes


def _page_at(data: bytes, start: int) -> _Page | None:
    """The page that begins at `start`; None if it is not whole, or its checksum is wrong."""
    if len(data) - start < _HEADER.size:
        return None
    _, version, flags, _, serial, sequence, crc, segments = _HEADER.unpack_from(data, start)
    lacing = data[start + _HEADER.size : start + _HEADER.size + segments]
    page = data[start : start + _HEADER.size + segments + sum(lacing)]
    whole = len(page) == _HEADER.size + segments + sum(lacing) and len(lacing) == segments and version == 0
    if not whole or crc != checksum(page[: _CRC.start] + bytes(4) + page[_CRC.stop :]):
        return None
    return _Page(flags, serial, sequence, lacing, page[_HEADER.size + segments :])


class OggOpusReader:
    """Reads one stream from bytes that may be cut anywhere.

    Bytes outside pages with a correct checksum are skipped and counted. Bytes that only look like a page delay the
    stream until the end that they state, at most 65 kB later. Granule positions are ignored: servers get them wrong.

    pre_skip_samples: how many samples to drop at the beginning (at 48 kHz); None before the first page.
    skipped_bytes: how many bytes of garbage were skipped. breaks: how often pages were missing; a packet that a missing
    page cuts is left out.
    """

    def __init__(self) -> None:
        self.pre_skip_samples: int | None = None
        self.skipped_bytes = 0
        self.breaks = 0
        self._bytes = bytearray()
        self._serial: int | None = None
        self._sequence = 0
        self._open: bytearray | None = None  # the packet that goes on on the next page
        self._packets = 0

    def push(self, data: bytes) -> list[bytes]:
        """The audio packets that `data` completes.

        AudioError if this is no Opus, or not one stream of one or two channels and no gain: multiplexed or chained.
        """
        self._bytes += data
        audio: list[bytes] = []
        while (page := self._next_page()) is not None:
            for packet in self._packets_of(page):
                self._packets += 1
                if self._packets == 1:
                    self._read_head(packet)
                elif self._packets == 2 and not packet.startswith(b"OpusTags"):
                    raise AudioError(f"ogg: expected OpusTags as second packet, got {packet[:8]!r}")
                elif self._packets > 2 and packet:
                    audio.append(packet)
        return audio

    def _next_page(self) -> _Page | None:
        """The next page with a correct checksum; None until it is complete."""
        while True:
            start = self._bytes.find(_CAPTURE)
            self._skip(start if start >= 0 else max(len(self._bytes) - len(_CAPTURE) + 1, 0))
            if start < 0 or len(self._bytes) < _HEADER.size:
                return None
            segments = self._bytes[_HEADER.size - 1]
            lacing = bytes(self._bytes[_HEADER.size : _HEADER.size + segments])
            size = _HEADER.size + segments + sum(lacing)
            if len(lacing) < segments or len(self._bytes) < size:
                return None
            if (page := _page_at(bytes(self._bytes[:size]), 0)) is not None:
                del self._bytes[:size]
                return page
            self._skip(1)

    def _skip(self, count: int) -> None:
        del self._bytes[:count]
        self.skipped_bytes += count

    def _packets_of(self, page: _Page) -> list[bytes]:
        """The packets that end on this page. A packet that goes on is kept for the next page."""
        self._check_order(page)
        packets = []
        packet = self._open if page.flags & _CONTINUED else bytearray()  # None: its beginning was lost
        at = 0
        for length in page.lacing:
            if packet is not None:
                packet += page.body[at : at + length]
            at += length
            if length < _FULL:
                if packet is not None:
                    packets.append(bytes(packet))
                packet = bytearray()
        if page.lacing:
            self._open = packet if page.lacing[-1] == _FULL else None
        if self._open is not None and len(self._open) > _LONGEST_PACKET:
            raise AudioError(f"ogg: expected packets of at most {_LONGEST_PACKET} bytes, got a longer one")
        return packets

    def _check_order(self, page: _Page) -> None:
        if self._serial is None:
            if not page.flags & _FIRST:
                raise AudioError("ogg: expected the beginning of a stream, got a later page")
            self._serial = page.serial
        elif page.serial != self._serial or page.flags & _FIRST:
            raise AudioError(f"ogg: expected one stream, got a second one (serial {page.serial})")
        elif page.sequence != self._sequence:
            self.breaks += 1
            self._open = None
        self._sequence = (page.sequence + 1) & 0xFFFFFFFF

    def _read_head(self, packet: bytes) -> None:
        if len(packet) < _HEAD.size or not packet.startswith(b"OpusHead"):
            raise AudioError(f"ogg: expected OpusHead as first packet, got {packet[:8]!r}")
        _, version, channels, pre_skip_samples, _, gain, family = _HEAD.unpack_from(packet)
        if version >> 4 or family or not 1 <= channels <= 2 or gain:
            raise AudioError(
                "ogg: expected OpusHead of version 0.x, 1 or 2 channels of mapping family 0, no gain;"
                f" got version {version}, {channels} channels, family {family}, gain {gain / 256:g} dB"
            )
        self.pre_skip_samples = pre_skip_samples
