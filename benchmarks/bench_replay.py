"""`fdbcore replay` as a whole process and by stage: x real time, and peak memory, which must not grow with the length.

The audio is the sample session, repeated. Goals: 2 minutes in under 1.5 s with the neural detector and 1 s with the
energy one, 2 hours in under a minute; the loop stage (energy detector, turn events, recording) faster than 1,000 x real
time. The stages are CPU times and add up to that of the whole process; the last one is what no other stage names.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

import av
import numpy as np

from benchmarks.harness import Cost, best_seconds, cost_of, met, print_table
from fdbcore.analysis.score import score
from fdbcore.audio.files import content_hash
from fdbcore.audio.wav import WavWriter
from fdbcore.clock import VirtualClock
from fdbcore.endpoints.replay import replayed_sides
from fdbcore.measures.health.examine import HealthProbe, examine
from fdbcore.measures.reading import Reading
from fdbcore.recording.meta import KnownMeta
from fdbcore.recording.writer import RecordingWriter
from fdbcore.report.call.document import document
from fdbcore.report.call.page import write_report
from fdbcore.session.loop import run
from fdbcore.session.vad import make_vads
from fdbcore.sources.sessions import CallInput, session_inputs
from fdbcore.types import SAMPLE_RATE_HZ, SIDES, Pcm, TurnSettings

SAMPLE = Path(__file__).parent / "sample" / "sample.flac"
MINUTES = (2, 120)
GOALS_S = {"silero": (1.5, 60.0), "energy": (1.0, 60.0)}  # by detector, of each length
GOAL_MIB_AN_HOUR = 8.0
LOOP = "loop: energy, turn events, recording"
GOAL_LOOP_TIMES = 1_000
_IMPORTS = """
from fdbcore.cli import main, replay
from fdbcore.runs import replay_jobs
from fdbcore.report.call import document, page, screen
import av, jinja2
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = {minutes: _tiled(Path(folder) / f"{minutes}.wav", minutes) for minutes in MINUTES}
        _stages(files[MINUTES[0]], Path(folder))
        rows: list[tuple[object, ...]] = []
        for vad, goals_s in GOALS_S.items():
            costs = []
            for (minutes, path), goal_s in zip(files.items(), goals_s, strict=True):
                is_short = minutes == MINUTES[0]
                cost = min(_process(path, vad, Path(folder) / "run") for _ in range(3 if is_short else 1))
                costs.append(cost)
                goal = met(f"replay: {minutes} min by {vad} in {goal_s} s", cost.seconds < goal_s)
                times = 60 * minutes / cost.seconds
                rows.append((f"{vad}, {minutes} min", cost.seconds, cost.cpu_s, times, cost.peak_mib, goal))
            grown_mib = (costs[1].peak_mib - costs[0].peak_mib) * 60 / (MINUTES[1] - MINUTES[0])
            goal = met(f"replay: by {vad} {GOAL_MIB_AN_HOUR:.0f} MiB more an hour", grown_mib < GOAL_MIB_AN_HOUR)
            rows.append((f"{vad}, more an hour", "", "", "", grown_mib, goal))
        goals = ", ".join(f"{vad} {short_s} and {long_s:.0f} s" for vad, (short_s, long_s) in GOALS_S.items())
        print_table(
            f"fdbcore replay, whole process (goals for {MINUTES[0]} and {MINUTES[1]} min: {goals})",
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
    """What each part of a replay costs on its own, and what is left of the whole."""
    (session,) = session_inputs([path])
    audio_s = 60.0 * MINUTES[0]
    blocks = list(_blocks(session))
    whole_s = min(_process(path, "energy", folder / "run").cpu_s for _ in range(5))
    recording = Reading(folder / "run" / path.stem)
    scores = score(recording)

    def loop(vad: str) -> None:
        with session.open() as source:
            vads = make_vads(vad, source.rates_hz)
        meta: KnownMeta = {"settings": {"turns": {}, "vad": {"A": {}, "B": {}}}}
        with RecordingWriter(folder / "stage", meta, keep_audio=False) as made:
            run(*replayed_sides(iter(blocks)), VirtualClock(), vads, TurnSettings(), made)

    def listen() -> None:
        with HealthProbe() as probe:
            deque(probe.tap(iter(blocks)), maxlen=0)

    def report() -> None:
        reading = Reading(recording.path)
        write_report(reading, document(reading, scores))

    stages: dict[str, Callable[[], object]] = {
        "decode (WAV, 48 kHz)": lambda: deque(_blocks(session), maxlen=0),
        "listen for input health": listen,
        LOOP: lambda: loop("energy"),
        "SHA-256 of the file": lambda: content_hash(path),
        "score": lambda: score(Reading(recording.path)),
        "report": report,
    }
    seconds = {
        "start: Python and its modules": min(cost_of([sys.executable, "-c", _IMPORTS]).cpu_s for _ in range(5)),
        **{name: best_seconds(work, 5, time.process_time) for name, work in stages.items()},
    }
    with HealthProbe() as probe:
        deque(probe.tap(iter(blocks)), maxlen=0)
        heard = probe.sides()
        active = dict(zip(SIDES, map(np.array, recording.activity), strict=True))
        seconds["input health"] = best_seconds(lambda: examine(heard, active), 5, time.process_time)
    seconds["the rest: first uses, small files"] = whole_s - sum(seconds.values())
    loop_times = audio_s / seconds[LOOP]
    goal = met(f"replay: {LOOP} over {GOAL_LOOP_TIMES:,} x real time", loop_times > GOAL_LOOP_TIMES)
    seconds["fdbcore replay --vad energy"] = whole_s
    neural_s = best_seconds(lambda: loop("silero"), 3, time.process_time)
    rows = [(name, s, s / whole_s, audio_s / s, goal if name == LOOP else "") for name, s in seconds.items()]
    rows.append(("loop: silero in place of energy", neural_s, neural_s / whole_s, audio_s / neural_s, ""))
    print_table(
        f"Stages of {MINUTES[0]} min, CPU time (goal: loop with energy over {GOAL_LOOP_TIMES:,} x)",
        ("stage", "CPU s", "of the whole", "x real time", "goal"),
        rows,
    )


def _blocks(session: CallInput) -> Iterator[tuple[Pcm | None, Pcm | None]]:
    with session.open() as source:
        yield from source.blocks()


if __name__ == "__main__":
    main()
