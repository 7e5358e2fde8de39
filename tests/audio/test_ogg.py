"""Ogg Opus in pieces: against libavformat, against Moshi's own library, and against pages laid out by hand."""

from __future__ import annotations

import io
import struct
from itertools import pairwise

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdbcore.audio.ogg import OggOpusReader, OggOpusWriter, checksum
from fdbcore.audio.opus import OpusEncoder
from fdbcore.errors import AudioError, SettingsError

HEAD = b"OpusHead" + struct.pack("<BBHIhB", 1, 1, 312, 24_000, 0, 0)
TAGS = b"OpusTags" + struct.pack("<I", 4) + b"test" + struct.pack("<I", 0)


def crc_bit_by_bit(data: bytes) -> int:
    """As RFC 3533 states it."""
    register = 0
    for byte in data:
        register ^= byte << 24
        for _ in range(8):
            register = (register << 1 ^ (0x04C11DB7 if register & 0x80000000 else 0)) & 0xFFFFFFFF
    return register


def page(segments: list[bytes], sequence: int, flags: int = 0, serial: int = 7) -> bytes:
    """A page of segments of at most 255 bytes."""
    lacing = bytes(len(segment) for segment in segments)
    front = b"OggS" + struct.pack("<BBqII", 0, flags, -1, serial, sequence)
    back = bytes([len(lacing)]) + lacing + b"".join(segments)
    return front + struct.pack("<I", crc_bit_by_bit(front + bytes(4) + back)) + back


def pages(packets: list[bytes], segments_a_page: int) -> list[bytes]:
    """Head and tags on pages of their own, then `packets` one behind the other, cut wherever a page is full."""
    flat = []
    for packet in packets:
        cuts = [packet[at : at + 255] for at in range(0, len(packet) + 1, 255)]
        flat += [(cut, number > 0) for number, cut in enumerate(cuts)]
    out = [page([HEAD], 0, flags=2), page([TAGS], 1)]
    for at in range(0, len(flat), segments_a_page):
        group = flat[at : at + segments_a_page]
        out.append(page([cut for cut, _ in group], len(out), flags=1 if group[0][1] else 0))
    return out


def pushed(reader: OggOpusReader, data: bytes, cuts: list[int]) -> list[bytes]:
    """What a reader makes of `data` cut at these places."""
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [packet for a, b in pairwise(edges) for packet in reader.push(data[a:b])]


PACKETS = st.lists(st.binary(min_size=1, max_size=1200), max_size=12)
CUTS = st.lists(st.integers(0, 1 << 20), max_size=12)


@given(st.binary(max_size=600))
def test_the_checksum_is_that_of_the_rfc(data: bytes) -> None:
    assert checksum(data) == crc_bit_by_bit(data)


@given(PACKETS, st.integers(1, 40), CUTS)
def test_packets_come_out_as_they_went_in_however_they_are_laid_and_cut(
    packets: list[bytes], segments_a_page: int, cuts: list[int]
) -> None:
    reader = OggOpusReader()
    assert pushed(reader, b"".join(pages(packets, segments_a_page)), cuts) == packets
    assert (reader.pre_skip_samples, reader.skipped_bytes, reader.breaks) == (312, 0, 0)


@given(st.lists(st.binary(min_size=1, max_size=200), min_size=1, max_size=8), st.integers(0, 9), CUTS, st.data())
def test_garbage_between_pages_is_skipped_and_counted(
    packets: list[bytes], where: int, cuts: list[int], data: st.DataObject
) -> None:
    garbage = data.draw(st.binary(max_size=300).filter(lambda some: b"OggS" not in some + b"OggS"[:3]))
    laid = pages(packets, 1)
    where %= len(laid)
    reader = OggOpusReader()
    stream = b"".join(laid[:where]) + garbage + b"".join(laid[where:])
    assert pushed(reader, stream, cuts) == packets
    assert (reader.skipped_bytes, reader.breaks) == (len(garbage), 0)


@given(st.lists(st.binary(min_size=1, max_size=200), min_size=3, max_size=8), st.integers(0, 99), st.integers(1, 255))
def test_a_damaged_page_costs_its_own_packets_only(packets: list[bytes], where: int, change: int) -> None:
    laid = pages(packets, 1)
    victim = 2 + where % (len(packets) - 1)  # the last is whole, so that the gap shows
    damaged = bytearray(laid[victim])
    damaged[-1] ^= change
    reader = OggOpusReader()
    got = reader.push(b"".join([*laid[:victim], bytes(damaged), *laid[victim + 1 :]]))
    assert got == packets[: victim - 2] + packets[victim - 1 :]
    assert (reader.skipped_bytes, reader.breaks) == (len(damaged), 1)


def test_what_only_looks_like_a_page_does_not_swallow_the_next_one() -> None:
    laid = pages([b"one", b"two"], 1)
    reader = OggOpusReader()
    fake = b"OggS" + bytes(22) + b"\x01\xff"  # claims 255 bytes that are those of real pages
    assert reader.push(b"".join(laid[:2]) + fake + b"".join(laid[2:])) == []
    assert reader.push(page([bytes(250)], 4)) == [b"one", b"two", bytes(250)]
    assert reader.skipped_bytes == len(fake)


def test_a_packet_whose_middle_page_is_missing_is_left_out() -> None:
    laid = pages([b"x" * 700, b"whole"], 1)
    reader = OggOpusReader()
    assert reader.push(b"".join(laid[:3] + laid[4:])) == [b"whole"]
    assert reader.breaks == 1


def test_empty_packets_and_pages_without_packets_are_no_audio() -> None:
    stream = [page([HEAD], 0, flags=2), page([TAGS], 1), page([], 2), page([b"", b"a", b""], 3)]
    assert OggOpusReader().push(b"".join(stream)) == [b"a"]


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        (page([HEAD], 3), "beginning of a stream"),
        (page([HEAD], 0, flags=2) + page([HEAD], 0, flags=2, serial=8), "second one"),
        (page([HEAD], 0, flags=2) + page([TAGS], 1) + page([b"a"], 0, serial=8), "second one"),
        (page([HEAD], 0, flags=2) + page([TAGS], 1) + page([HEAD], 0, flags=2), "second one"),
        (page([b"\x01vorbis"], 0, flags=2), "OpusHead as first"),
        (page([HEAD[:12]], 0, flags=2), "OpusHead as first"),
        (page([HEAD], 0, flags=2) + page([b"audio"], 1), "OpusTags as second"),
        (page([HEAD[:9] + b"\x06" + HEAD[10:]], 0, flags=2), "6 channels"),
        (page([HEAD[:8] + b"\x10" + HEAD[9:]], 0, flags=2), "version 16"),
        (page([HEAD[:16] + struct.pack("<h", -768) + HEAD[18:]], 0, flags=2), "gain -3 dB"),
    ],
)
def test_what_is_not_one_opus_stream_is_refused_in_one_line(stream: bytes, message: str) -> None:
    with pytest.raises(AudioError, match=message):
        OggOpusReader().push(stream)


def test_a_packet_without_end_is_refused() -> None:
    reader = OggOpusReader()
    reader.push(page([HEAD], 0, flags=2) + page([TAGS], 1))
    endless = [page([bytes(255)] * 255, sequence, flags=int(sequence > 2)) for sequence in range(2, 40)]
    with pytest.raises(AudioError, match="at most 1048576 bytes"):
        reader.push(b"".join(endless))


def encoded(n_packets: int) -> tuple[list[bytes], bytes]:
    """Packets of 20 ms of a tone, and the stream that they make."""
    encoder, writer = OpusEncoder(20), OggOpusWriter(pre_skip_samples=120)
    tone = (8000 * np.sin(np.arange(960 * n_packets) * 2 * np.pi * 440 / 48_000)).astype(np.int16)
    packets = [encoder.encode(tone[at : at + 960]) for at in range(0, len(tone), 960)]
    return packets, writer.headers() + b"".join(writer.page(packet, 960) for packet in packets)


def test_libavformat_reads_what_is_written() -> None:
    packets, stream = encoded(50)
    with av.open(io.BytesIO(stream), "r", format="ogg") as container:
        demuxed = [packet for packet in container.demux(audio=0) if packet.size]
    assert [bytes(packet) for packet in demuxed] == packets
    assert [packet.pts for packet in demuxed] == [960 * number - 120 for number in range(50)]


def test_moshis_own_library_reads_what_is_written() -> None:
    sphn = pytest.importorskip("sphn")
    _, stream = encoded(50)
    reader = sphn.OpusStreamReader(24_000)
    pcm = np.concatenate([reader.append_bytes(stream[at : at + 100]) for at in range(0, len(stream), 100)])
    assert len(pcm) == 50 * 480
    assert np.abs(pcm).max() == pytest.approx(8000 / 32768, rel=0.1)


def test_what_moshis_own_library_writes_is_read() -> None:
    sphn = pytest.importorskip("sphn")
    writer, reader = sphn.OpusStreamWriter(24_000), OggOpusReader()
    noise = np.random.default_rng(0).standard_normal((5, 1920)).astype(np.float32) * 0.1
    packets = [reader.push(writer.append_pcm(step)) for step in noise]
    assert [len(some) for some in packets] == [2] * 5  # 40 ms each
    assert reader.pre_skip_samples == 3840
    assert (reader.skipped_bytes, reader.breaks) == (0, 0)


def test_what_libavformat_writes_is_read_also_with_comments_over_many_pages() -> None:
    file = io.BytesIO()
    with av.open(file, "w", format="ogg") as container:
        container.metadata["comment"] = "x" * 200_000
        stream = container.add_stream("libopus", rate=48_000, layout="mono")
        packets = []
        for number in range(30):
            frame = av.AudioFrame.from_ndarray(np.full((1, 960), 500, np.int16), format="s16", layout="mono")
            frame.sample_rate, frame.pts = 48_000, 960 * number
            packets += stream.encode(frame)
        packets += stream.encode(None)
        written = [bytes(packet) for packet in packets]
        container.mux(packets)
    reader = OggOpusReader()
    assert pushed(reader, file.getvalue(), list(range(0, 300_000, 777))) == written
    assert (reader.skipped_bytes, reader.breaks) == (0, 0)


def test_a_packet_of_a_whole_page_goes_on_one_page_and_a_longer_one_is_refused() -> None:
    writer, reader = OggOpusWriter(pre_skip_samples=0), OggOpusReader()
    longest = bytes(65_024)
    assert reader.push(writer.headers() + writer.page(longest, 960)) == [longest]
    with pytest.raises(SettingsError, match="65024 bytes"):
        writer.page(longest + b"x", 960)
