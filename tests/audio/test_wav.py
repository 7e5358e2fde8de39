"""Writing WAV: read back by independent readers, after crashes, on a full disk, and beyond 4 GiB."""

from __future__ import annotations

import contextlib
import resource
import shutil
import signal
import subprocess
import sys
import textwrap
import wave
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.io import wavfile

from fdbcore.audio.decode import AudioFile
from fdbcore.audio.wav import WavWriter, wav_header
from fdbcore.errors import FrameError, RecordingError
from fdbcore.types import SAMPLE_RATE_HZ


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


@contextlib.contextmanager
def disk_full_after(file_bytes: int) -> Iterator[None]:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_full_disk_is_one_error_and_what_was_written_is_readable(tmp_path: Path) -> None:
    path = tmp_path / "x.wav"
    pcm = noise(2 * SAMPLE_RATE_HZ, 2)
    with disk_full_after(200_003), WavWriter(path, 2) as writer:
        writer.write(pcm[:48_000])
        with pytest.raises(RecordingError, match=r"x\.wav: expected to write audio, got: .*; 1\.04 s are kept$"):
            writer.write(pcm[48_000:])
        assert writer.samples == (200_003 - 80) // 4
    assert np.array_equal(read(path), pcm[: writer.samples])
    with wave.open(str(path)) as reader:
        assert reader.getnframes() == writer.samples


def test_a_disk_without_room_for_the_header_is_one_error(tmp_path: Path) -> None:
    with disk_full_after(40), pytest.raises(RecordingError, match=r"x\.wav: expected to write audio, got: .*; 0\.00 s"):
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
