"""`fdbcore replay` as a whole process and by stage: x real time, and peak memory, which must not grow with the length.

The audio is the sample session, repeated. Goals: 2 minutes in under 1.5 s with the neural detector and 1 s with the
energy one; the loop stage (energy detector, turn events, recording) faster than 1,000 x real time.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import av
import numpy as np

from benchmarks.harness import Cost, best_seconds, cost_of, met, print_table
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
GOALS_S = {"silero": 1.5, "energy": 1.0}
GOAL_MIB_AN_HOUR = 8.0
LOOP = "loop: energy, turn events, recording"
GOAL_LOOP_TIMES = 1_000


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = {minutes: _tiled(Path(folder) / f"{minutes}.wav", minutes) for minutes in MINUTES}
        _stages(files[MINUTES[0]], Path(folder))
        rows: list[tuple[object, ...]] = []
        for vad, goal_s in GOALS_S.items():
            costs = []
            for minutes, path in files.items():
                is_short = minutes == MINUTES[0]
                cost = min(_process(path, vad, Path(folder) / "run") for _ in range(3 if is_short else 1))
                costs.append(cost)
                goal = met(f"replay: {minutes} min by {vad} in {goal_s} s", cost.seconds < goal_s) if is_short else ""
                times = 60 * minutes / cost.seconds
                rows.append((f"{vad}, {minutes} min", cost.seconds, cost.cpu_s, times, cost.peak_mib, goal))
            grown_mib = (costs[1].peak_mib - costs[0].peak_mib) * 60 / (MINUTES[1] - MINUTES[0])
            goal = met(f"replay: by {vad} {GOAL_MIB_AN_HOUR:.0f} MiB more an hour", grown_mib < GOAL_MIB_AN_HOUR)
            rows.append((f"{vad}, more an hour", "", "", "", grown_mib, goal))
        goals = ", ".join(f"{vad} {goal_s} s" for vad, goal_s in GOALS_S.items())
        print_table(
            f"fdbcore replay, whole process (goals for {MINUTES[0]} min: {goals})",
            ("run", "s", "CPU s", "x real time", "peak MiB", "goal"),
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


def _process(path: Path, vad: str, out: Path) -> Cost:
    """One `fdbcore replay` from start to end."""
    command = [sys.executable, "-m", "fdbcore.cli", "replay", "--quiet", "--vad", vad, "--out", str(out), str(path)]
    return cost_of(command)


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
        LOOP: best_seconds(lambda: loop("energy"), 3),
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
    loop_times = audio_s / seconds[LOOP]
    goal = met(f"replay: {LOOP} over {GOAL_LOOP_TIMES:,} x real time", loop_times > GOAL_LOOP_TIMES)
    rows = [(name, s, audio_s / s, goal if name == LOOP else "") for name, s in seconds.items()]
    print_table(
        f"Stages of {MINUTES[0]} min (goal: loop with energy over 1,000 x)", ("stage", "s", "x real time", "goal"), rows
    )


def _blocks(session: SessionInput) -> Iterator[tuple[Pcm | None, Pcm | None]]:
    with session.open() as source:
        yield from source.blocks()


if __name__ == "__main__":
    main()
