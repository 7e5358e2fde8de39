"""Runs of very many calls: what `report`, `score`, a comparison and a gate cost, from files and from a table of facts.

A call of 20 s is replayed and linked; each copy gets other times in its quantities. `python -m benchmarks.bench_large
N` measures N calls, whose pages take 70 kB of disk each; `python -m benchmarks.bench_large N FOLDER` leaves such a run
in FOLDER. CPU is the time of all processes together, which other programs disturb less than wall time.
"""

from __future__ import annotations

import json
import random
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from scipy.io import wavfile

from benchmarks.harness import Cost, cost_of, machine, met, print_table
from benchmarks.speech import make_dialogue
from fdbcore.analysis.corpus import Run
from fdbcore.analysis.facts_table import TABLE
from fdbcore.recording.files import QUANTITIES, REPORT
from fdbcore.recording.run import CORPUS
from fdbcore.runs.replays import replay_all
from fdbcore.types import SAMPLE_RATE_HZ

CALLS: Final = 1_000
SECONDS: Final = 20
CALLERS: Final = 500
MOST_LINKS: Final = 50_000  # ext4 has at most 65,000 of a file
GATES: Final = 'gates = ["no_response_per_turn <= 1"]\ncannot_tell = "pass"\n'
GOAL_MS: Final = 5.0
"""CPU time of a later `report` for each call that has not changed."""


def main(calls: int = CALLS) -> None:
    print(machine())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run, old = large_run(folder / "run", calls, seed=1), large_run(folder / "old", calls, seed=2)
        gates = folder / "gates.toml"
        gates.write_text(GATES)
        commands = {
            "score, from files": ["score", run],
            "report, the first time": ["report", run],
            "report, nothing new": ["report", run],
            "report, 1 % new": ["report", run],
            "report --since, 1 % new": ["report", run, "--since", "2026-01-01"],
            "score": ["score", run],
            "score --since": ["score", run, "--since", "2099-01-01"],
            "report --baseline, of a run without a table": ["report", run, "--baseline", old],
            "report --gate": ["report", run, "--gate", gates],
        }
        rows = [_row(what, _measured(what, command, run, calls), calls) for what, command in commands.items()]
        table_mb, index_mb = ((run / file).stat().st_size / 1e6 for file in (TABLE, "index.html"))
    print_table(
        f"A run of {calls:,} calls of {SECONDS} s", ("command", "s", "CPU s", "CPU ms/call", "peak MiB", ""), rows
    )
    print(f"{TABLE} {table_mb:.1f} MB, index.html {index_mb:.1f} MB")


def _measured(what: str, command: list[Any], run: Path, calls: int) -> Cost:
    if "1 % new" in what:
        for number, path in enumerate(sorted(run.glob(f"*/{QUANTITIES}"))):
            if number % 100 == 0:
                path.write_text(path.read_text().replace("}}}", "}}} "))
    return cost_of([sys.executable, "-m", "fdbcore.cli", *map(str, command), "--quiet"])


def _row(what: str, cost: Cost, calls: int) -> tuple[object, ...]:
    each_ms = 1_000 * cost.cpu_s / calls
    goal = f"large: report of {calls:,} calls with nothing new, {GOAL_MS:g} ms of CPU a call"
    told = met(goal, each_ms <= GOAL_MS) if what == "report, nothing new" else ""
    return what, cost.seconds, cost.cpu_s, each_ms, cost.peak_mib, told


def large_run(path: Path, calls: int, seed: int = 0) -> Path:
    """A run of many calls, each a copy of one with other times in its quantities."""
    once = path.with_name(f"{path.name}-once")
    pcm = make_dialogue(seed, SECONDS).pcm[::6]
    once.mkdir()
    wavfile.write(once / "call.wav", SAMPLE_RATE_HZ // 6, (pcm * 32767).astype(np.int16))
    (call,) = replay_all(once / "call.wav", out=once / "run", vad="energy", jobs=1).calls
    known = json.loads((once / "run" / CORPUS).read_text())
    files = [file for file in call.path.rglob("*") if file.is_file() and file.name not in (REPORT, QUANTITIES)]
    names = [f"call{number:06}" for number in range(calls)]
    varied = _varied((call.path / QUANTITIES).read_bytes(), seed)
    for number, (name, quantities) in enumerate(zip(names, varied, strict=False)):
        (path / name / QUANTITIES).parent.mkdir(parents=True)
        copied = path / names[number - number % MOST_LINKS]
        for file in (file.relative_to(call.path) for file in files):
            if path / name == copied:
                shutil.copy(call.path / file, copied / file)
            else:
                (path / name / file).hardlink_to(copied / file)
        (path / name / QUANTITIES).write_text(quantities)  # last: scores count as older than their files otherwise
    (entry,) = known["calls"]
    entries = [
        {**entry, "name": name, "columns": {"version": str(number % 3), "caller": f"c{number % CALLERS}"}}
        for number, name in enumerate(names)
    ]
    (path / CORPUS).write_text(json.dumps({**known, "calls": entries}))
    return path


def _varied(quantities: bytes, seed: int) -> Iterator[str]:
    """Quantities with other values, again and again."""
    rng, known = random.Random(seed), json.loads(quantities)
    while True:
        for each in known["quantities"].values():
            if each["kind"] == "values":
                step = 0.01 if each["unit"] == "s" else 10.0
                each["values"] = [value + step * rng.randint(-20, 20) for value in each["values"]]
        yield json.dumps(known)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        print(Run(large_run(Path(sys.argv[2]), int(sys.argv[1]))).path)
        shutil.rmtree(Path(f"{sys.argv[2]}-once"))
    else:
        main(*map(int, sys.argv[1:]))
