"""`fdbcore replay` as a whole process and by stage: x real time, and peak memory, which must not grow with the length.

The audio is the sample session, repeated. Goals: 2 minutes in under 3 s with the neural detector and 1.5 s with the
energy one; the loop stage (energy detector, turn events, recording) faster than 1,000 x real time.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import av
import numpy as np

from benchmarks.harness import best_seconds, print_table
from fdbcore.analysis.score import score
from fdbcore.audio.wav import WavWriter
from fdbcore.clock import VirtualClock
from fdbcore.endpoints.replay import replayed_sides
from fdbcore.measures.reading import Reading
from fdbcore.recording.recorded_types import KnownMeta
from fdbcore.recording.writer import RecordingWriter
from fdbcore.report.call.document import document
from fdbcore.report.call.page import write_report
from fdbcore.session.loop import run
from fdbcore.session.vad import make_vads
from fdbcore.sources.sessions import SessionInput, session_inputs
from fdbcore.types import SAMPLE_RATE_HZ, Pcm, TurnSettings

SAMPLE = Path(__file__).parent / "sample" / "sample.flac"
MINUTES = (2, 120)
GOALS_S = {"silero": 3.0, "energy": 1.5}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = {minutes: _tiled(Path(folder) / f"{minutes}.wav", minutes) for minutes in MINUTES}
        _stages(files[MINUTES[0]], Path(folder))
        rows: list[tuple[object, ...]] = []
        for vad, goal_s in GOALS_S.items():
            peaks_mib = []
            for minutes, path in files.items():
                repeats = 3 if minutes == MINUTES[0] else 1
                runs = [_process(path, vad, Path(folder) / "run") for _ in range(repeats)]
                seconds, peak_mib = min(runs)
                peaks_mib.append(peak_mib)
                goal = ("met" if seconds < goal_s else "MISSED") if minutes == MINUTES[0] else ""
                rows.append((f"{vad}, {minutes} min", seconds, 60 * minutes / seconds, peak_mib, goal))
            rows.append((f"{vad}, memory {MINUTES[1]} min / {MINUTES[0]} min", "", "", peaks_mib[1] / peaks_mib[0], ""))
        goals = ", ".join(f"{vad} {goal_s} s" for vad, goal_s in GOALS_S.items())
        print_table(
            f"fdbcore replay, whole process (goals for {MINUTES[0]} min: {goals})",
            ("run", "s", "x real time", "peak MiB", "goal"),
            rows,
        )


def _tiled(path: Path, minutes: int) -> Path:
    """A WAV of the sample session, repeated to a length; 48 kHz stereo."""
    with av.open(str(SAMPLE)) as container:
        resampler = av.AudioResampler(format="s16", layout="stereo", rate=SAMPLE_RATE_HZ)
        frames = [out for frame in container.decode(audio=0) for out in resampler.resample(frame)]
    once = np.concatenate([frame.to_ndarray().reshape(-1, 2) for frame in frames])
    left = minutes * 60 * SAMPLE_RATE_HZ
    with WavWriter(path, channels=2) as wav:
        while left > 0:
            wav.write(np.ascontiguousarray(once[:left]))
            left -= len(once)
    return path


def _process(path: Path, vad: str, out: Path) -> tuple[float, float]:
    """Seconds and peak MiB of one `fdbcore replay` from start to end."""
    command = [sys.executable, "-m", "fdbcore.cli", "replay", "--quiet", "--vad", vad, "--out", str(out), str(path)]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    return seconds, usage.ru_maxrss / 1024


def _stages(path: Path, folder: Path) -> None:
    """What each part of a replay costs on its own."""
    (session,) = session_inputs([path])
    audio_s = 60.0 * MINUTES[0]
    blocks = list(_blocks(session))

    def loop(vad: str) -> None:
        with session.open() as source:
            vads = make_vads(vad, source.rates_hz)
        meta: KnownMeta = {"settings": {"turns": {}, "vad": {"A": {}, "B": {}}}}
        with RecordingWriter(folder / "stage", meta, keep_audio=False) as recording:
            run(*replayed_sides(iter(blocks)), VirtualClock(), vads, TurnSettings(), recording)

    def decode() -> None:
        for _ in _blocks(session):
            pass

    seconds = {
        "decode (WAV, 48 kHz)": best_seconds(decode, 3),
        "loop: energy, turn events, recording": best_seconds(lambda: loop("energy"), 3),
        "loop: silero, turn events, recording": best_seconds(lambda: loop("silero"), 1),
    }
    _process(path, "energy", folder / "run")
    recording = Reading(folder / "run" / path.stem)
    seconds["score"] = best_seconds(lambda: score(Reading(recording.path)), 3)
    scores = score(recording)

    def report() -> None:
        reading = Reading(recording.path)
        write_report(reading, document(reading, scores))

    seconds["report"] = best_seconds(report, 3)
    rows = [(name, s, audio_s / s) for name, s in seconds.items()]
    print_table(
        f"Stages of {MINUTES[0]} min (goal: loop with energy over 1,000 x)", ("stage", "s", "x real time"), rows
    )


def _blocks(session: SessionInput) -> Iterator[tuple[Pcm | None, Pcm | None]]:
    with session.open() as source:
        yield from source.blocks()


if __name__ == "__main__":
    main()
