"""Containers that we write ourselves: Ogg and WAV, whole after a kill or on a full disk, and read by others."""

import io
import shutil
import signal
import struct
import subprocess
import sys
import textwrap
import wave
from itertools import pairwise
from pathlib import Path
from typing import Any

import av
import numpy as np
import numpy.typing as npt
import pytest
from fakes.disks import full_after
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.io import wavfile

from fdbcore.audio.decode import AudioFile
from fdbcore.audio.ogg import OggOpusReader, OggOpusWriter, checksum
from fdbcore.audio.opus import OpusEncoder
from fdbcore.audio.wav import WavWriter, wav_header
from fdbcore.errors import AudioError, FrameError, RecordingError, SettingsError
from fdbcore.types import SAMPLE_RATE_HZ

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


def noise(samples: int, channels: int, seed: int = 0) -> npt.NDArray[np.int16]:
    return np.random.default_rng(seed).integers(-32768, 32768, (samples, channels)).astype(np.int16)


def read(path: Path) -> npt.NDArray[np.int16]:
    with AudioFile(path) as audio:
        return np.concatenate(list(audio.blocks()))


@given(cuts=st.lists(st.integers(0, 3000), max_size=6), channels=st.integers(1, 2))
@settings(max_examples=25, deadline=None)
def test_the_blocks_come_back_as_one(tmp_path_factory: pytest.TempPathFactory, cuts: list[int], channels: int) -> None:
    path = tmp_path_factory.mktemp("wav") / "x.wav"
    pcm = noise(sum(cuts), channels)
    with WavWriter(path, channels) as writer:
        for block in np.split(pcm, np.cumsum(cuts)):
            writer.write(block)
        assert writer.samples == sum(cuts)
    with wave.open(str(path)) as reader:
        assert reader.getparams()[:4] == (channels, 2, SAMPLE_RATE_HZ, sum(cuts))
        assert reader.readframes(sum(cuts)) == pcm.tobytes()


def test_a_mono_file_takes_flat_blocks_and_strided_ones(tmp_path: Path) -> None:
    pcm = noise(1000, 2)
    with WavWriter(tmp_path / "x.wav", 1) as writer:
        writer.write(pcm[:, 0])
        writer.write(pcm[:, 1:])
    rate_hz, found = wavfile.read(tmp_path / "x.wav")
    assert rate_hz == SAMPLE_RATE_HZ
    assert np.array_equal(found, pcm.T.reshape(-1))


@pytest.mark.parametrize(
    "pcm", [np.zeros(4, np.int16), np.zeros((4, 1), np.int16), np.zeros((4, 2)), np.zeros((1, 4, 2), np.int16)]
)
def test_other_blocks_are_refused(tmp_path: Path, pcm: npt.NDArray[Any]) -> None:
    with WavWriter(tmp_path / "x.wav", 2) as writer, pytest.raises(FrameError, match=r"expected int16 \(n, 2\), got"):
        writer.write(pcm)


def test_a_closed_writer_says_so(tmp_path: Path) -> None:
    writer = WavWriter(tmp_path / "x.wav", 1)
    writer.write(noise(24_000, 1))
    writer.close()
    writer.close()
    with pytest.raises(RecordingError, match=r"x\.wav: expected an open file, got one that was closed after 0\.50 s"):
        writer.write(noise(1, 1))


def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=r"no/x\.wav: expected a file to write audio to, got: No such file"):
        WavWriter(tmp_path / "no" / "x.wav", 1)


def test_after_a_kill_all_that_was_written_is_readable(tmp_path: Path) -> None:
    script = """
        import os, signal, sys
        import numpy as np
        from fdbcore.audio.wav import WavWriter
        writer = WavWriter(sys.argv[1], 2)
        pcm = np.random.default_rng(0).integers(-32768, 32768, (48_000 * 5 // 2, 2)).astype(np.int16)
        for start in range(0, len(pcm), 480):
            writer.write(pcm[start : start + 480])
        os.kill(os.getpid(), signal.SIGKILL)
    """
    path = tmp_path / "x.wav"
    killed = subprocess.run([sys.executable, "-c", textwrap.dedent(script), path], check=False)
    assert killed.returncode == -signal.SIGKILL
    pcm = noise(SAMPLE_RATE_HZ * 5 // 2, 2)
    assert np.array_equal(read(path), pcm)
    with wave.open(str(path)) as reader:
        assert reader.getnframes() == len(pcm)


def test_a_copy_made_while_it_is_written_is_readable(tmp_path: Path) -> None:
    writer = WavWriter(tmp_path / "x.wav", 2)
    writer.write(noise(20_000, 2))
    crashed = shutil.copy(tmp_path / "x.wav", tmp_path / "crashed.wav")
    writer.close()
    assert np.array_equal(read(Path(crashed)), noise(20_000, 2))


def test_a_full_disk_is_one_error_and_what_was_written_is_readable(tmp_path: Path) -> None:
    path = tmp_path / "x.wav"
    pcm = noise(2 * SAMPLE_RATE_HZ, 2)
    with full_after(200_003), WavWriter(path, 2) as writer:
        writer.write(pcm[:48_000])
        with pytest.raises(RecordingError, match=r"x\.wav: expected to write audio, got: .*; 1\.04 s are kept$"):
            writer.write(pcm[48_000:])
        assert writer.samples == (200_003 - 80) // 4
    assert np.array_equal(read(path), pcm[: writer.samples])
    with wave.open(str(path)) as reader:
        assert reader.getnframes() == writer.samples


def test_a_disk_without_room_for_the_header_is_one_error(tmp_path: Path) -> None:
    with full_after(40), pytest.raises(RecordingError, match=r"x\.wav: expected to write audio, got: .*; 0\.00 s"):
        WavWriter(tmp_path / "x.wav", 2)


@pytest.mark.parametrize(("data_bytes", "kind"), [(0xFFFFFFFF - 72 - 3, b"RIFF"), (0xFFFFFFFF - 72 + 1, b"RF64")])
def test_the_header_changes_to_64_bit_sizes_where_32_end(tmp_path: Path, data_bytes: int, kind: bytes) -> None:
    """The file is one hole: its 4 GiB are stated, not written."""
    path = tmp_path / "x.wav"
    with open(path, "wb") as file:
        file.write(wav_header(2, data_bytes // 4 * 4))
        file.truncate(80 + data_bytes // 4 * 4)
    with open(path, "rb") as file:
        assert file.read(4) == kind
    with av.open(str(path)) as container:
        assert container.duration == pytest.approx(data_bytes // 4 * 1_000_000 / SAMPLE_RATE_HZ, abs=1)


def test_beyond_the_limit_the_writer_makes_a_file_that_others_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fdbcore.audio.wav._LARGEST_RIFF_BYTES", 200_000)
    pcm = noise(2 * SAMPLE_RATE_HZ, 2)
    with WavWriter(tmp_path / "x.wav", 2) as writer:
        writer.write(pcm)
    assert (tmp_path / "x.wav").read_bytes()[:4] == b"RF64"
    assert np.array_equal(read(tmp_path / "x.wav"), pcm)
    assert np.array_equal(wavfile.read(tmp_path / "x.wav")[1], pcm)
