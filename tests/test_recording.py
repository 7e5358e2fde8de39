"""Recordings of live conversations: what a kill leaves behind, what a full disk does, and that they replay the same."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
import time
import wave
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from drawn import activity
from fakes.parties import Speaker

from fdbcore.cli.main import main
from fdbcore.errors import RecordingError
from fdbcore.live import LiveSettings, converse
from fdbcore.offline import replay
from fdbcore.protocols import Clocking
from fdbcore.recording import AUDIO, Recording, recordings_in
from fdbcore.types import FRAME_SAMPLES, TICKS_PER_S, Happening, Pcm, TurnEvent, TurnSettings

KILLS, AT_ONCE = 50, 17

RECORDERS = """
    # Records each of the named folders in a process of its own until it is killed; counts its ticks in a file.
    import os, sys
    import numpy as np
    from pathlib import Path
    from fakes.parties import LoudVad
    from fdbcore.clock import MonotonicClock
    from fdbcore.recording import RecordingWriter
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
    result = CliRunner().invoke(main, ["replay", "--quiet", "--out", str(tmp_path / "replay"), *map(str, kept)])
    assert result.exit_code == 0, result.output
    assert [recording.meta["held"]["same"] for recording in recordings_in(tmp_path / "replay")] == [None] * len(kept)
    assert len(kept) > KILLS // 2


def kill_while_recording(paths: Sequence[Path]) -> None:
    command = [sys.executable, "-c", textwrap.dedent(RECORDERS), *map(str, paths)]
    env = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) as recorders:
        assert recorders.stdout is not None
        pids = [int(recorders.stdout.readline()) for _ in paths]
        while not all(map(ticks_held, paths)):
            time.sleep(0.01)
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


class Voice(Speaker):
    """Noise where it is drawn, which the energy detector takes for speech; and a log as of a party on a network."""

    def __init__(self, active: Sequence[bool], seed: int, clocking: Clocking = "tick") -> None:
        super().__init__(active)
        self.clocking = clocking
        self._rng = np.random.default_rng(seed)
        self._logged: list[Happening] = []

    def say(self, tick: int) -> Pcm | None:
        if tick >= len(self.speaks):
            self.left = "finished"
            return None
        arrivals = {"at_us": [10_000 * tick + 300], "start_sample": [480 * tick], "samples": [480]}
        self._logged.append(Happening(tick, "arrivals", arrivals))
        noise = self._rng.normal(0, 3000 if self.speaks[tick] else 1, FRAME_SAMPLES)
        return noise.astype(np.int16)

    def log(self) -> Sequence[Happening]:
        logged, self._logged = self._logged, []
        return logged

    def measured(self) -> Mapping[str, Any]:
        return {"padded_samples": 480, "delay_changes": [{"tick": 100, "kind": "slip", "delay_samples": 960}]}


DIALOGUE = "A 0.1-1.2 2.2-2.9 4-5 | B 1.4-2.1 2.6-2.8 3.1-3.5"


def voices(drawing: str = DIALOGUE) -> tuple[Voice, Voice]:
    a, b = activity(drawing, tail_s=0.4)
    return Voice(a.tolist(), 1), Voice(b.tolist(), 2)


def hold(path: Path, a: Speaker, b: Speaker, realtime: bool = False, **turns: int) -> Recording:
    settings = LiveSettings(vad="energy", turns=TurnSettings(**turns), realtime=realtime, spin_ns=0)
    return converse(a, b, path, settings, {}, Event())


def results(recording: Recording) -> tuple[list[TurnEvent], list[list[bool]]]:
    return recording.turn_events, [track.tolist() for track in recording.activity]


@pytest.mark.parametrize("realtime", [False, True])
def test_a_replay_gives_the_same_events_with_the_settings_of_then(tmp_path: Path, realtime: bool) -> None:
    drawing = "A 0.1-0.9 | B 1.1-1.6" if realtime else DIALOGUE
    held = hold(tmp_path / "run" / "case", *voices(drawing), realtime, min_silence_ms=150, resume_ms=700)
    replayed = replay(held.path, out=tmp_path / "again")
    assert replayed.meta["settings"]["turns"] == held.meta["settings"]["turns"]
    assert replayed.meta["settings"]["vad"] == held.meta["settings"]["vad"]
    assert results(replayed) == results(held)
    assert len(replayed.turn_events) > 4
    assert (replayed.meta["held"]["same"], replayed.meta["held"]["differences"]) == (True, [])
    assert replayed.as_held == held.meta
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
