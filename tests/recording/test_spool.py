"""What reaches the disk: all of it in time, all in its place after a stall, and one error when the disk is full."""

from __future__ import annotations

import wave
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from fakes.disks import SlowDisk, full_after
from helpers.patience import wait_until

from fdbcore.errors import RecordingError
from fdbcore.recording.spool import BUFFER_S, MOST_LINES, Spool
from fdbcore.types import FRAME_SAMPLES, TICKS_PER_S, Pcm

BUFFER_TICKS = BUFFER_S * TICKS_PER_S


def frame(value: int) -> Pcm:
    return np.full(FRAME_SAMPLES, value, dtype=np.int16)


def write(spool: Spool, ticks: range) -> None:
    """Frames that tell their tick."""
    for tick in ticks:
        spool.write(frame(tick + 1), frame(-tick - 1))


def first_samples(path: Path) -> npt.NDArray[np.int16]:
    """The first sample of each whole tick of both sides, int16 (n, 2); every tick must be of one value."""
    with wave.open(str(path)) as audio:
        ticks = audio.getnframes() // FRAME_SAMPLES
        pcm = np.frombuffer(audio.readframes(ticks * FRAME_SAMPLES), dtype="<i2").reshape(-1, FRAME_SAMPLES, 2)
    assert (pcm == pcm[:, :1]).all()
    return pcm[:, 0]


@pytest.mark.parametrize("realtime", [False, True])
def test_all_of_it_arrives_whoever_writes(tmp_path: Path, realtime: bool) -> None:
    spool = Spool(tmp_path / "x.wav", tmp_path / "x.txt", realtime)
    spool.start()
    for tick in range(0, 1030, 10):
        write(spool, range(tick, tick + 10))
        spool.line(f"ü{tick}")
    spool.close()
    expected = np.arange(1, 1031)
    assert np.array_equal(first_samples(tmp_path / "x.wav"), np.stack([expected, -expected], axis=1))
    assert np.array_equal(spool.peaks, np.stack([expected, expected], axis=1))
    assert (tmp_path / "x.txt").read_text().splitlines() == [f"ü{tick}" for tick in range(0, 1030, 10)]
    assert (spool.lost_ticks, spool.lost_lines, spool.lost_spans) == (0, 0, [])


def test_the_thread_writes_within_the_second(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "x.wav", tmp_path / "x.txt", realtime=True)
    spool.start()
    write(spool, range(TICKS_PER_S))
    spool.line("x")
    wait_until(
        lambda: (tmp_path / "x.txt").read_text() == "x\n" and len(first_samples(tmp_path / "x.wav")) == TICKS_PER_S
    )
    spool.close()


@pytest.fixture
def stalled(tmp_path: Path) -> Iterator[tuple[Spool, SlowDisk]]:
    """A spool whose thread waits for the disk."""
    disk = SlowDisk(tmp_path / "pipe")
    spool = Spool(tmp_path / "x.wav", tmp_path / "pipe", realtime=True)
    spool.start()
    spool.line("x" * 1_000_000)
    disk.wait_for_writer()
    yield spool, disk
    disk.flow()
    spool.close()
    disk.close()


def test_a_disk_that_stands_still_costs_what_does_not_fit_and_moves_nothing(
    tmp_path: Path, stalled: tuple[Spool, SlowDisk]
) -> None:
    spool, disk = stalled
    write(spool, range(BUFFER_TICKS + 1000))  # would never return if it waited for the disk
    assert spool.lost_ticks == 1000
    disk.flow()
    wait_until(lambda: len(first_samples(tmp_path / "x.wav")) == BUFFER_TICKS)
    end = BUFFER_TICKS + 1130
    write(spool, range(BUFFER_TICKS + 1000, end))
    spool.close()
    assert spool.lost_ticks == 1000
    assert spool.lost_spans == [(BUFFER_TICKS, BUFFER_TICKS + 1000)]
    expected = np.arange(1, end + 1)
    expected[BUFFER_TICKS : BUFFER_TICKS + 1000] = 0
    assert np.array_equal(first_samples(tmp_path / "x.wav")[:, 0], expected)
    assert np.array_equal(spool.peaks[:, 1], expected)


def test_lines_are_bounded_too(stalled: tuple[Spool, SlowDisk]) -> None:
    spool, _ = stalled
    for _ in range(MOST_LINES + 7):
        spool.line("x")
    assert spool.lost_lines == 7


def test_a_full_disk_ends_the_ticks_with_the_error_of_the_thread(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "x.wav", tmp_path / "x.txt", realtime=True)
    spool.start()
    with full_after(300_000):
        write(spool, range(3 * TICKS_PER_S))
        with pytest.raises(RecordingError, match=r"x\.wav: expected to write audio, got: File"):
            wait_until(lambda: write(spool, range(1)))
    spool.line("later")
    with pytest.raises(RecordingError, match=r"x\.wav"):
        spool.close()
    assert first_samples(tmp_path / "x.wav")[:, 0].tolist() == list(range(1, 157))
    assert (tmp_path / "x.txt").read_text() == "later\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("realtime", [False, True])
def test_without_room_for_lines_the_error_names_their_file(tmp_path: Path, realtime: bool) -> None:
    spool = Spool(tmp_path / "x.wav", Path("/dev/full"), realtime)
    spool.start()
    spool.line("x")
    with pytest.raises(RecordingError, match=r"/dev/full: cannot be written: No space left on device"):
        spool.close()
