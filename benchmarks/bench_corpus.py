"""`fdbcore replay FOLDER` over many calls of two minutes, with its tables and its page, beside hotato.

The calls are a few dialogues of synthetic speech, each linked many times; all of them are read, hashed and replayed.
"CPU" is the time of all processes together, which other programs disturb less than wall time. Goals on two cores: 1,000
calls with the energy detector in under 150 s, with the neural detector in under 300 s, and that at 1.9 times the speed
of one core. Cores share memory and caches, so the most that two cores can gain is what two separate programs gain, each
with half of the calls and a core of its own.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import numpy as np
import soxr

from benchmarks.harness import Cost, cost_of, machine, met, print_table
from benchmarks.speech import make_dialogue
from fdbcore.types import SAMPLE_RATE_HZ

CALLS: Final = 1_000
COMPARED: Final = 60  # calls that are enough to tell how fast a slower one is
ROUNDS: Final = 2  # of one core and both in turn: a machine is not equally fast at all times
GOAL_S: Final = 150.0
GOAL_NEURAL_S: Final = 300.0
GOAL_SPEED_UP: Final = 1.9
DIALOGUES: Final = 6
MINUTES: Final = 2
RATE_HZ: Final = 16_000


def main(calls: int = CALLS, compared: int = COMPARED) -> None:
    two_cores = sorted(os.sched_getaffinity(0))[:2]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sources = synthetic_calls(folder / "sources")
        many, few = _linked(folder / "many", sources, calls), _linked(folder / "few", sources, compared)
        print(machine(), f"{DIALOGUES} dialogues of {MINUTES} min, {RATE_HZ} Hz stereo WAV", sep="\n")
        energy = _replay(many, folder / "energy", "energy", two_cores)
        again = _replay(many, folder / "energy", "energy", two_cores)
        small = _replay(few, folder / "few-energy", "energy", two_cores)
        rounds = [_one_and_both(few, folder / str(number), two_cores) for number in range(ROUNDS)]
        one, both = (_mean(costs) for costs in zip(*rounds, strict=True))
        apart = _halves(folder, sources, compared // 2, two_cores)
        hotato = _run(["hotato", "scan", str(few)], folder, two_cores)
    goal_s, neural_s = GOAL_S * calls / CALLS, GOAL_NEURAL_S / CALLS
    rows = [
        _row(
            f"fdbcore, energy, {len(two_cores)} cores",
            calls,
            energy,
            met(f"corpus: {calls:,} calls by energy in {goal_s:.0f} s", energy.seconds < goal_s),
        ),
        _row("the same again: all kept", calls, again, ""),
        _row(f"fdbcore, energy, {len(two_cores)} cores", compared, small, ""),
        _row("fdbcore, silero, 1 core", compared, one, ""),
        _row(
            f"fdbcore, silero, {len(two_cores)} cores",
            compared,
            both,
            met(f"corpus: {CALLS:,} calls by silero in {GOAL_NEURAL_S:.0f} s", both.seconds / compared < neural_s),
        ),
        _row("the same, beside one core", compared, both, _speed_up(one.seconds / both.seconds)),
        _row(
            "two such programs, 1 core each", compared // 2 * 2, apart, f"{one.seconds / apart.seconds:.2f} x one core"
        ),
        _row("hotato scan", compared, hotato, f"fdbcore {hotato.seconds / small.seconds:.1f} x"),
    ]
    goals = f"energy {GOAL_S:.0f} s, silero {GOAL_NEURAL_S:.0f} s"
    print_table(
        f"A folder of calls, whole process (goals for {CALLS:,} calls: {goals})",
        ("run", "calls", "s", "s/call", "CPU s/call", "x real time", ""),
        rows,
    )
    print(f"largest process: {energy.peak_mib:.0f} MiB with {calls} calls, {small.peak_mib:.0f} MiB with {compared}")


def _row(name: str, calls: int, cost: Cost, note: str) -> tuple[object, ...]:
    audio_s = 60.0 * MINUTES * calls
    return name, calls, cost.seconds, cost.seconds / calls, cost.cpu_s / calls, audio_s / cost.seconds, note


def _speed_up(ratio: float) -> str:
    goal = met(f"corpus: two cores {GOAL_SPEED_UP} times as fast as one", ratio >= GOAL_SPEED_UP)
    return f"{ratio:.2f} x one core, {goal}"


def synthetic_calls(folder: Path) -> list[Path]:
    """Different dialogues, recorded as by a telephone system."""
    from scipy.io import wavfile

    folder.mkdir()
    paths = [folder / f"{seed}.wav" for seed in range(DIALOGUES)]
    for seed, path in enumerate(paths):
        pcm = soxr.resample(make_dialogue(seed, 60 * MINUTES).pcm, SAMPLE_RATE_HZ, RATE_HZ)
        noise = np.random.default_rng(seed).normal(0, 10, pcm.shape)
        wavfile.write(path, RATE_HZ, np.clip(pcm * 32767 + noise, -32768, 32767).astype(np.int16))
    return paths


def _linked(folder: Path, sources: Sequence[Path], calls: int) -> Path:
    folder.mkdir()
    for number in range(calls):
        os.link(sources[number % len(sources)], folder / f"call{number:05}.wav")
    return folder


def _replay(calls: Path, run: Path, vad: str, cores: Sequence[int]) -> Cost:
    options = ["--quiet", "--vad", vad, "--jobs", str(len(cores)), "--out", str(run)]
    return _run(["fdbcore", "replay", *options, str(calls)], calls.parent, cores)


def _one_and_both(calls: Path, run: Path, cores: Sequence[int]) -> tuple[Cost, Cost]:
    """The neural detector on one core, and on all."""
    return _replay(calls, run / "one", "silero", cores[:1]), _replay(calls, run / "both", "silero", cores)


def _mean(costs: Sequence[Cost]) -> Cost:
    return Cost(*(sum(values) / len(costs) for values in zip(*costs, strict=True)))


def _halves(folder: Path, sources: Sequence[Path], calls: int, cores: Sequence[int]) -> Cost:
    """The cost of replaying this many calls on each core at the same time, by programs that share nothing."""

    def replay(core: int) -> Cost:
        linked = _linked(folder / f"half{core}", sources, calls)
        return _replay(linked, folder / f"apart{core}", "silero", [core])

    with ThreadPoolExecutor() as pool:
        costs = list(pool.map(replay, cores))
    return Cost(max(c.seconds for c in costs), sum(c.cpu_s for c in costs), max(c.peak_mib for c in costs))


def _run(command: Sequence[str], folder: Path, cores: Sequence[int]) -> Cost:
    """The cost of a command of this environment on some cores."""
    beside = Path(sys.executable).with_name(command[0])
    program = str(beside) if beside.is_file() else shutil.which(command[0])
    if program is None:
        raise RuntimeError(f"{command[0]} is not installed")
    return cost_of([program, *command[1:]], folder, cores)


if __name__ == "__main__":
    main()
