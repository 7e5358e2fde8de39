"""What every benchmark shares: timing, costs of commands, goals, tables, and the line that names the machine."""

from __future__ import annotations

import json
import os
import platform
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

MISSED: Final[list[str]] = []
"""The goals that were missed so far; `python -m benchmarks` lists them at its end."""

# A process begins with the peak of the one that starts it, until its own is higher. So a small one starts it.
_STARTER: Final = """
import json, os, subprocess, sys, time
start = time.perf_counter()
process = subprocess.Popen(sys.argv[2:], pass_fds=())
_, status, usage = os.wait4(process.pid, 0)
told = [time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, status]
os.write(int(sys.argv[1]), json.dumps(told).encode())
"""


def met(goal: str, is_met: bool) -> str:
    """What a table says of a goal; one that was missed is also kept for the list at the end.

    goal: what it is, such as "replay of 2 min by energy in 1.5 s".
    """
    if not is_met:
        MISSED.append(goal)
    return "met" if is_met else "MISSED"


class Cost(NamedTuple):
    """Of a command: wall time, the CPU time of all its processes, and the memory of the largest."""

    seconds: float
    cpu_s: float
    peak_mib: float


def cost_of(
    command: Sequence[str],
    cwd: Path | None = None,
    cores: Sequence[int] = (),
    env: Mapping[str, str] | None = None,
) -> Cost:
    """Run a command without its output, and return its cost. RuntimeError if it fails. cores: those that it may use.

    It keeps its compiled modules, as an installed command does, whatever the environment says.
    """
    env = {**(os.environ if env is None else env)}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    reading, writing = os.pipe()
    starter = [sys.executable, "-I", "-S", "-c", _STARTER, str(writing), *command]

    def pin() -> None:
        os.sched_setaffinity(0, cores)

    try:
        with subprocess.Popen(
            starter,
            cwd=cwd,
            env=env,
            stdout=subprocess.DEVNULL,
            pass_fds=[writing],
            preexec_fn=pin if cores else None,
        ):
            os.close(writing)
            told = os.read(reading, 4096)
    finally:
        os.close(reading)
    if not told:
        raise RuntimeError(f"{' '.join(command)} could not be started")
    seconds, cpu_s, peak_mib, status = json.loads(told)
    if code := os.waitstatus_to_exitcode(status):
        raise RuntimeError(f"{' '.join(command)} ended with {code}")
    return Cost(seconds, cpu_s, peak_mib)


def best_seconds(work: Callable[[], object], repeats: int = 7, clock: Callable[[], float] = time.perf_counter) -> float:
    """The shortest of `repeats` runs of `work`, in seconds: the run that was disturbed least.

    clock: time.process_time for the CPU time, which other programs disturb less.
    """
    times = []
    for _ in range(repeats):
        start = clock()
        work()
        times.append(clock() - start)
    return min(times)


def machine() -> str:
    """One line about the machine that the figures come from."""
    model = "unknown processor"
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo") as lines:
            model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), model)
    return (
        f"{model}, {os.cpu_count()} cores, {platform.system()} {platform.release()}, Python {platform.python_version()}"
    )


def free_port() -> int:
    """A port of this machine on which nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print `rows` under `header`: the first column left, the rest right aligned; floats with three figures."""
    cells = [[f"{cell:,.3g}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in [list(header), *cells]) for column in range(len(header))]
    print(f"\n{title}")
    for row in [list(header), ["-" * width for width in widths], *cells]:
        first, *rest = (
            cell.ljust(width) if not column else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        print("  ".join([first, *rest]).rstrip())
