"""Recordings of live conversations: what a kill leaves behind, what a full disk does, and that they replay the same."""

import json
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
import wave
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import pytest
from fakes.conversations import DIALOGUE, Voice, hold, voices
from fakes.disks import SlowDisk, full_after
from fakes.parties import LoudVad, Speaker
from helpers.commands import command, done
from helpers.patience import wait_until

from fdbcore.clock import VirtualClock
from fdbcore.errors import PartyError, RecordingError
from fdbcore.recording.files import AUDIO, EVENTS, META
from fdbcore.recording.meta import Settings
from fdbcore.recording.reader import Recording, folders_in
from fdbcore.recording.spool import BUFFER_S
from fdbcore.recording.writer import RecordingWriter
from fdbcore.runs.replays import replay
from fdbcore.session.loop import run
from fdbcore.types import FRAME_SAMPLES, TICKS_PER_S, Side, TurnEvent, TurnSettings

KILLS, AT_ONCE = 50, 17

RECORDERS = """
    # Records each of the named folders in a process of its own until it is killed; counts its ticks in a file.
    import os, sys
    import numpy as np
    from pathlib import Path
    from fdbcore.clock import MonotonicClock
    from fdbcore.recording.writer import RecordingWriter
    from fdbcore.types import FRAME_SAMPLES

    def record(path):
        count = np.memmap(path.with_suffix(".ticks"), np.int64, "w+", shape=(1,))
        meta = {"settings": {"turns": {}, "vad": {side: {"name": "energy"} for side in "AB"}}}
        rng, clock = np.random.default_rng(0), MonotonicClock(0)
        with RecordingWriter(path, meta, keep_audio=True, realtime=True) as recording:
            for tick in range(10_000):
                clock.wait(tick)
                loud = 3000 * rng.standard_normal((2, FRAME_SAMPLES)) * [[tick % 80 < 40], [tick % 80 >= 40]]
                recording.write(*loud.astype(np.int16))
                recording.event(tick, "A", "arrivals", at_us=[10_000 * tick], start_sample=[480 * tick], samples=[480])
                count[0] = tick + 1

    for path in map(Path, sys.argv[1:]):
        pid = os.fork()
        if pid == 0:
            record(path)
        print(pid, flush=True)
    sys.stdin.read()
"""


def test_a_kill_at_any_moment_leaves_all_but_the_last_second(tmp_path: Path) -> None:
    """The instants are drawn anew in each run."""
    paths = [tmp_path / str(number) for number in range(KILLS)]
    for first in range(0, KILLS, AT_ONCE):
        kill_while_recording(paths[first : first + AT_ONCE])
    kept = [path for path in paths if ticks_left(path)]
    done("replay", "--quiet", "--out", tmp_path / "replay", *kept)
    assert [Recording(folder).meta["held"]["same"] for folder in folders_in(tmp_path / "replay")] == [None] * len(kept)
    assert len(kept) > KILLS // 2


def kill_while_recording(paths: Sequence[Path]) -> None:
    command = [sys.executable, "-c", textwrap.dedent(RECORDERS), *map(str, paths)]
    env = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) as recorders:
        assert recorders.stdout is not None
        pids = [int(recorders.stdout.readline()) for _ in paths]
        wait_until(lambda: all(map(ticks_held, paths)))
        for at_s, pid in sorted((time.monotonic() + random.uniform(0.0, 1.5), pid) for pid in pids):
            time.sleep(max(0.0, at_s - time.monotonic()))
            os.kill(pid, signal.SIGKILL)


def ticks_held(path: Path) -> int:
    counted = path.with_suffix(".ticks")
    return int.from_bytes(counted.read_bytes(), sys.byteorder) if counted.is_file() else 0


def ticks_left(path: Path) -> int:
    """The whole ticks of audio that a killed process has left, which must be all but the last second."""
    ticks = ticks_held(path)
    recording = Recording(path)
    assert recording.meta["status"] == "running"
    with wave.open(str(path / AUDIO)) as audio:
        kept: int = audio.getnframes() // FRAME_SAMPLES
    assert ticks - TICKS_PER_S < kept <= ticks + 1
    arrivals = recording.arrivals("A")
    assert ticks - TICKS_PER_S < len(arrivals.samples) <= ticks + 1
    assert arrivals.start_sample.tolist() == [480 * tick for tick in range(len(arrivals.samples))]
    with pytest.raises(RecordingError, match=rf"got one that is running: `fdbcore replay {path}` recovers it"):
        _ = recording.n_ticks
    return kept


def results(recording: Recording) -> tuple[list[TurnEvent], list[list[bool]]]:
    return recording.turn_events, [track.tolist() for track in recording.activity]


@pytest.mark.parametrize("realtime", [False, pytest.param(True, marks=pytest.mark.live)])
def test_a_replay_gives_the_same_events_with_the_settings_of_then(tmp_path: Path, realtime: bool) -> None:
    drawing = "A 0.1-0.9 | B 1.1-1.6" if realtime else DIALOGUE
    held = hold(tmp_path / "run" / "case", *voices(drawing), realtime, min_silence_ms=150, resume_ms=700)
    replayed = replay(held.path, out=tmp_path / "again")
    assert replayed.meta["settings"]["turns"] == held.meta["settings"]["turns"]
    assert replayed.meta["settings"]["vad"] == held.meta["settings"]["vad"]
    assert results(replayed) == results(held)
    assert len(replayed.turn_events) > 4
    assert (replayed.meta["held"]["same"], replayed.meta["held"]["differences"]) == (True, [])
    assert replayed.original_meta == held.meta
    assert [part.tolist() for part in replayed.arrivals("B")] == [part.tolist() for part in held.arrivals("B")]
    assert held.arrivals("B").at_us.tolist() == [10_000 * tick + 300 for tick in range(held.n_ticks)]


def test_what_was_changed_and_what_came_of_it_is_told(tmp_path: Path) -> None:
    held = hold(tmp_path / "case", *voices())
    other = TurnSettings(min_silence_ms=500)
    replayed = replay(held.path, out=tmp_path / "again", settings=other, vad="silero")
    told = replayed.meta["held"]
    assert replayed.meta["settings"]["turns"]["min_silence_ms"] == 500
    assert told["same"] is False
    assert told["differences"][0] == "min_silence_ms is 500, was 200"
    assert "the voice activity detector of A is silero" in told["differences"][1]
    assert any("turn events" in difference for difference in told["differences"])


def test_a_run_is_replayed_whole_and_what_never_began_is_told(tmp_path: Path) -> None:
    class Nobody(Voice):
        def open(self, side: Side) -> None:
            raise PartyError("nobody is there")

    hold(tmp_path / "run" / "1", *voices())
    hold(tmp_path / "run" / "2", voices()[0], Nobody([], 0))
    hold(tmp_path / "run" / "3", voices()[1], voices()[0])
    before = contents(tmp_path / "run")
    assert command("replay", tmp_path / "run", "--out", tmp_path / "again", code=1).stderr == (
        f"fdbcore replay: {tmp_path}/run/2: expected a conversation, got a recording without audio: nobody is there\n"
    )
    assert [folder.name for folder in folders_in(tmp_path / "again")] == ["1", "3"]
    assert contents(tmp_path / "run") == before


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_replay_says_on_the_screen_that_it_gave_the_same(tmp_path: Path) -> None:
    held = hold(tmp_path / "case", *voices())
    result = done("replay", held.path, "--out", tmp_path / "again")
    told = " ".join(result.stdout.split())
    assert "replay the same turn events and activity as in the original call, bit for bit" in told
    assert "case 0:05   A speaker   B speaker" in result.stdout


@pytest.mark.parametrize(
    ("options", "expected"),
    [(["--swap"], "a recording keeps its sides"), (["--offset-ms", "10"], "a recording keeps its sides")],
)
def test_a_recording_keeps_its_sides(tmp_path: Path, options: list[str], expected: str) -> None:
    held = hold(tmp_path / "case", *voices())
    assert expected in command("replay", *options, held.path, "--out", tmp_path / "again", code=2).stderr


def test_a_recording_is_never_replayed_onto_itself(tmp_path: Path) -> None:
    held = hold(tmp_path / "run" / "case", *voices())
    before = contents(held.path)
    result = command("replay", held.path, "--out", tmp_path / "run", code=1)
    assert "expected a folder without the input" in result.stderr
    assert contents(held.path) == before


def test_a_recording_that_links_its_source_is_replayed_from_it(tmp_path: Path) -> None:
    held = hold(tmp_path / "case", *voices())
    linked = replay(held.path, out=tmp_path / "again")
    assert not (linked.path / AUDIO).is_file()
    third = replay(linked.path, out=tmp_path / "third")
    assert (third.meta["held"]["same"], third.turn_events) == (True, linked.turn_events)
    assert third.original_meta == held.meta  # the conversation, however often it was replayed
    (held.path / AUDIO).write_bytes((held.path / AUDIO).read_bytes()[:-4] + b"\1\2\3\4")
    with pytest.raises(RecordingError, match=rf"expected {held.path / AUDIO} as it was .*, got other content"):
        replay(linked.path, out=tmp_path / "fourth")
    (held.path / AUDIO).unlink()
    with pytest.raises(RecordingError, match=rf"expected {held.path / AUDIO}, which it links, got: No such file"):
        replay(linked.path, out=tmp_path / "fourth")


def test_both_sides_alike_are_a_conversation_too(tmp_path: Path) -> None:
    a, _ = voices()
    b, _ = voices()
    assert replay(hold(tmp_path / "case", a, b).path, out=tmp_path / "again").meta["held"]["same"]


def test_a_line_that_a_crash_has_torn_is_left_out(tmp_path: Path) -> None:
    held = hold(tmp_path / "case", *voices())
    events, meta = held.events, json.loads((held.path / META).read_text())
    del meta["n_events"], meta["sha256s"]  # a process that was killed could not say
    (held.path / META).write_text(json.dumps(meta | {"status": "running"}))
    (held.path / EVENTS).write_bytes((held.path / EVENTS).read_bytes()[:-5])
    assert Recording(held.path).events == events[:-1]


@pytest.mark.parametrize(
    ("damaged", "said"),
    [
        (lambda lines: [], r"expected \d+ lines, as it was closed, got 0$"),
        (lambda lines: lines[:7], r"expected \d+ lines, as it was closed, got 7$"),
        (lambda lines: lines[:3] + lines[4:], "as it was closed"),
        (lambda lines: [*lines, b'{"tick": 1'], "its last line is cut off"),
        (lambda lines: [b'{"tick": 1\n', *lines], "expected JSON in each line"),
        (lambda lines: [b"5\n", *lines], "expected tick, side and kind in each line"),
        (lambda lines: [b"{}\n", *lines], "expected tick, side and kind in each line"),
    ],
)
def test_events_that_are_damaged_or_gone_are_an_error(
    tmp_path: Path, damaged: Callable[[list[bytes]], list[bytes]], said: str
) -> None:
    held = hold(tmp_path / "case", *voices())
    path = held.path / EVENTS
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(damaged(lines)))
    with pytest.raises(RecordingError, match=rf"events\.jsonl: .*{said}"):
        _ = Recording(held.path).events
    path.unlink()
    with pytest.raises(RecordingError, match=r"events\.jsonl: cannot be read"):
        _ = Recording(held.path).events


def test_a_disk_that_is_full_ends_the_conversation_and_keeps_what_was_held(tmp_path: Path) -> None:
    a, b = voices("A 0-30 | B 0-30")
    error = r"session\.wav: expected to write audio, got: File too large; 0\.52 s are kept"
    with full_after(100_000), pytest.raises(RecordingError, match=error):
        hold(tmp_path / "case", a, b, realtime=True)
    assert a.closed
    held = Recording(tmp_path / "case")
    assert held.meta["status"] == "failed"
    assert "File too large" in str(held.meta["reason"])
    replayed = replay(held.path, out=tmp_path / "again")
    assert replayed.n_ticks == 53  # the last is not whole
    assert replayed.meta["held"]["same"] is False


def test_what_a_slow_disk_lost_makes_the_recording_a_failed_one(tmp_path: Path) -> None:
    path = tmp_path / "case"
    path.mkdir()
    disk = SlowDisk(path / EVENTS)
    loud = dict(LoudVad().describe())
    settings: Settings = {"turns": asdict(TurnSettings()), "vad": {"A": loud, "B": loud}}
    a = Speaker([True] * (BUFFER_S + 10) * TICKS_PER_S)
    with RecordingWriter(path, {"settings": settings}, keep_audio=True, realtime=True) as recording:
        recording.event(0, "A", "long", text="x" * 1_000_000)
        disk.wait_for_writer()
        run(a, Speaker([]), VirtualClock(), (LoudVad(), LoudVad()), TurnSettings(), recording)
        told = recording.loss
        disk.flow()
    disk.close()
    assert told == f"the disk was too slow: 1000 of {len(a.speaks)} ticks of audio and 0 events were not recorded"
    held = Recording(path)
    assert (held.meta["status"], held.meta["reason"]) == ("failed", told)
    assert [[*span] for span in held.meta["lost"]["spans"]] == [[BUFFER_S * TICKS_PER_S, (BUFFER_S + 10) * TICKS_PER_S]]
    assert held.activity[0].all()
