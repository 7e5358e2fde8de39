"""The files of a recording: in pieces, as their types say, and whole on a disk that is slow or full."""

import json
import wave
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pytest
from fakes.disks import SlowDisk, full_after
from helpers.commands import done
from helpers.patience import wait_until
from helpers.voices import DIALOGUE, RATE_HZ, voices
from hypothesis import given
from hypothesis import strategies as st
from scipy.io import wavfile

from fdbcore.clock import MonotonicClock
from fdbcore.errors import RecordingError
from fdbcore.recording.agent_log import AgentLog
from fdbcore.recording.files import HEALTH, MARKS, META, json_pieces
from fdbcore.recording.health import Health
from fdbcore.recording.meta import RecordingMeta
from fdbcore.recording.spool import BUFFER_S, MOST_LINES, Spool
from fdbcore.types import FRAME_SAMPLES, TICKS_PER_S, Pcm
from fdbcore.types.timing import TimingCertificate

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), VALUES, max_size=4), st.sampled_from([(", ", ": "), (",", ":")]))
def test_pieces_are_those_of_the_whole(value: dict[str, Any], separators: tuple[str, str]) -> None:
    expected = json.dumps(value, ensure_ascii=False, separators=separators)
    assert "".join(json_pieces(value, separators)) == expected


def test_an_iterator_is_written_as_a_list() -> None:
    assert "".join(json_pieces({"n": (n for n in range(3)), "none": iter(())})) == '{"n": [0, 1, 2], "none": []}'


def test_what_is_no_json_is_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        list(json_pieces({"value": [float("nan")]}))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a live call, a replay of it with an agent's log, and a replayed file of other length on each side."""
    path = tmp_path_factory.mktemp("run")
    spoken = voices(DIALOGUE)
    for name, pcm in (("one", spoken[:, 0]), ("a", spoken[:, 0]), ("b", spoken[:-RATE_HZ, 1])):
        wavfile.write(path / f"{name}.wav", RATE_HZ, pcm)
    (path / "log.jsonl").write_text('{"time": 1.5, "name": "asr_final"}\n')
    live = ["run", "--clips", f"{path / 'one.wav'}?tail_s=3", "--system", "echo", "--clock", "virtual"]
    done(*live, "--vad", "energy", "--out", path / "live")
    done("replay", path / "live" / "one", "--out", path, "--marks", path / "log.jsonl", "--marks-offset-ms", 0)
    done("replay", "-a", path / "a.wav", "-b", path / "b.wav", "--vad", "energy", "--out", path / "files")
    return path


@pytest.mark.parametrize(("file", "kind"), [(META, RecordingMeta), (HEALTH, Health), (MARKS, AgentLog)])
def test_files_are_of_their_types(run: Path, file: str, kind: type) -> None:
    found = [json.loads(path.read_text()) for path in run.rglob(file)]
    assert len(found) == (1 if file == MARKS else 3)
    for values in found:
        assert set(values) == set(msgspec.convert(values, kind))  # what a type does not name is left out


def test_a_timing_certificate_is_of_its_type() -> None:
    clock = MonotonicClock()
    clock.wait(0)
    with clock.undisturbed():
        certificate = clock.certificate()
    assert set(certificate) == set(msgspec.convert(certificate, TimingCertificate))


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
    wait_until(lambda: (tmp_path / "x.txt").read_text() == "x\n")
    wait_until(lambda: len(first_samples(tmp_path / "x.wav")) == TICKS_PER_S)
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
